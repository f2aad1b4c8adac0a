"""Forms of operators that runtimes compute differently: what one of them would not give is not computed beforehand."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from arenite.ir.graph import Array, Node
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.names import split_op

Floats = npt.NDArray[np.float32]


def disputed(node: Node, operands: Sequence[Array | None]) -> str | None:
    """What onnxruntime and onnx.reference do not agree on in a node; None where nothing is known.

    Args:
        node: of any operator.
        operands: what it reads.
    """
    domain, operator = split_op(node.op)
    attrs = node.attrs if isinstance(node.attrs, OnnxAttrs) else OnnxAttrs()
    if domain:
        return None
    if operator == "Resize" and (problem := _sizes(attrs, operands)) is not None:
        return problem
    if operator == "Resize" and attrs.text("coordinate_transformation_mode", "half_pixel") == "align_corners":
        return _fraction(attrs, operands)
    if operator == "NonZero" and operands[0] is not None and operands[0].ndim == 0:
        return "how many dimensions a number without any has"
    if operator == "GridSample":
        cubic = attrs.text("mode", "linear") in ("cubic", "bicubic")
        if cubic and attrs.text("padding_mode", "zeros") == "border":
            return "what cubic interpolation reads beyond a border"
    return None


def _scaled(attrs: OnnxAttrs, operands: Sequence[Array | None]) -> tuple[Floats, Floats] | None:
    """Scales, and the sizes that they apply to; None where there are none, or they do not fit."""
    data, scales = operands[0], operands[2] if len(operands) > 2 else None
    if data is None or scales is None or not scales.size:
        return None
    axes = attrs.integers("axes") or tuple(range(data.ndim))
    dims = [data.shape[axis] for axis in axes if -data.ndim <= axis < data.ndim]
    if len(dims) != scales.size:
        return None
    return np.asarray(scales, np.float32).reshape(-1), np.array(dims, np.float32)


def _sizes(attrs: OnnxAttrs, operands: Sequence[Array | None]) -> str | None:
    found = _scaled(attrs, operands)
    if found is None:
        return None
    scales, dims = found
    wide = np.floor(scales.astype(np.float64) * dims)
    return None if np.array_equal(wide, np.floor(scales * dims)) else "sizes that are nearly whole"


def _fraction(attrs: OnnxAttrs, operands: Sequence[Array | None]) -> str | None:
    """Sizes are rounded where scales do not give whole ones; whether corners are those of the rounded is disputed."""
    problem = "aligned corners of sizes that had to be rounded"
    if attrs.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        return problem
    found = _scaled(attrs, operands)
    if found is None:
        return None
    whole = found[0].astype(np.float64) * found[1]
    return None if np.array_equal(whole, np.rint(whole)) else problem
