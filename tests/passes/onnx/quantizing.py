"""Convolutions whose weights are dequantized, and a factor behind them."""

from typing import Any

import numpy as np

from arenite.passes.onnx.fuse_affine import FuseAffine, FuseBatchNorm
from passes.onnx.fusing import Net, Outcome, said

SPEC = FuseAffine()
NORM = FuseBatchNorm()
FACTORS = np.array([0.5, 2, 1.5, 0.75], np.float32)
MIXED = np.array([0.5, -2, 0, 0.75], np.float32)


def stored(*shape: int, dtype: Any = np.int8, low: int = -127, high: int = 128) -> Any:
    count = int(np.prod(shape))
    return (low + np.arange(count) * 37 % (high - low)).reshape(shape).astype(dtype)


def weights(n: Net, q: Any, *steps: Any, **attrs: Any) -> str:
    return n.node("DequantizeLinear", [q, *(steps or (np.float32(0.02),))], "w", **attrs)


def conv(n: Net, w: str, *bias: Any, **attrs: Any) -> str:
    return n.node("Conv", [n.input("x", [1, 3, 6, 6]), w, *bias], "layer", **attrs)


def scaled(n: Net, layer: str, factor: Any) -> str:
    return n.node("Mul", [layer, np.reshape(factor, (-1, 1, 1)).astype(np.float32)], "y")


def after(q: Any, factor: Any, *steps: Any, opset: int = 17, **attrs: Any) -> Outcome:
    """A factor after a Conv of quantized weights."""
    n = Net(opset=opset)
    return Outcome(n.model(scaled(n, conv(n, weights(n, q, *steps, **attrs)), factor)), SPEC)


def verdict(q: Any, factor: Any, *steps: Any, opset: int = 17, **attrs: Any) -> str:
    """Of models that cannot be run."""
    n = Net(opset=opset)
    model = n.model(scaled(n, conv(n, weights(n, q, *steps, **attrs)), factor))
    (found,) = said(SPEC, model, "y")
    return found


def axis(o: Outcome) -> int | None:
    return next((a.i for a in o.model.graph.node[0].attribute if a.name == "axis"), None)
