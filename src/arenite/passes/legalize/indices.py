"""Indices of the ONNX model, which may count from the end, as the core dialect takes them: from 0 on."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array, Value
from arenite.ops.cast import CastAttrs
from arenite.passes.legalize.orders import as_in_onnx
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.site import Site

_GIVE_PLACES = frozenset({"onnx.ArgMax", "onnx.ArgMin", "onnx.Shape", "onnx.Size"})
_KEEP = frozenset(
    f"onnx.{operator}" for operator in ("Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose")
)
"""Operators whose results hold the elements of their first operands."""


def is_natural(value: Value) -> bool:
    """Whether no element of a value is ever negative, as far as the operators before it tell."""
    while value.producer is not None and value.producer.op in _KEEP and value.producer.present_operands:
        value = value.producer.operand(0)
    if value.constant is not None:
        return value.constant.dtype.kind in "iu" and not (np.asarray(value.constant, np.int64) < 0).any()
    producer = value.producer
    return producer is not None and producer.op in _GIVE_PLACES


def from_front(array: Array, limits: Sequence[int], role: str = "indices") -> npt.NDArray[np.int64]:
    """Constant indices, counted from the front; the last dimension goes over `limits`, if there are several.

    Raises:
        RefusedError: one is out of range, or they are no integers.
    """
    if array.dtype.kind not in "iu":
        raise RefusedError(f"{role} must be integers, but are {array.dtype}")
    found = np.asarray(array, np.int64)
    limit = np.array(limits[0] if len(limits) == 1 else limits, np.int64)
    if ((found < -limit) | (found >= limit)).any():
        allowed = f"{(-limit).tolist()} to {(limit - 1).tolist()}"
        raise RefusedError(f"{role} must be from {allowed}, but are from {found.min()} to {found.max()}")
    return np.where(found < 0, found + limit, found)


def laid_from_front(site: Site, indices: Value, limits: Sequence[int]) -> Value:
    """Computed indices as ONNX has them, counted from the front.

    Args:
        site: where.
        indices: of the ONNX model.
        limits: how many elements there are; the last dimension of the indices goes over them, if there are several.

    Raises:
        RefusedError: they are no integers.
    """
    core = site.get(indices, as_in_onnx(site.rank(indices)))
    if core.type.dtype not in (DType.INT32, DType.INT64):
        raise RefusedError(f"indices must be int32 or int64, but are {core.type.dtype}")
    if is_natural(indices):
        return core
    if core.type.dtype is DType.INT64:
        # There is no sum of 64 bits.
        (core,) = site.emit("cast", [core], CastAttrs(DType.INT64, DType.INT32), dtype=DType.INT32)
    zero = site.const("zero", np.zeros((), np.int32))
    limit = site.const("limit", np.array(limits[0] if len(limits) == 1 else limits, np.int32))
    (from_end,) = site.emit("less", [core, zero], Attrs(), dtype=DType.BOOL)
    (moved,) = site.emit("add", [core, limit])
    (found,) = site.emit("select_v2", [from_end, moved, core], dtype=DType.INT32)
    return found
