"""Networks of any form compute what they did once scales and shifts are fused."""

from typing import Any

import numpy as np
import onnx
from hypothesis import given
from hypothesis import strategies as st

from arenite.passes.onnx.fuse_affine import FuseAffine
from passes.onnx.fusing import Net, Outcome, rand, reseed

SPEC = FuseAffine()


def per_channel(rank: int, count: int, dtype: Any = np.float32) -> Any:
    return rand(count, *(1,) * (rank - 2), low=0.5, high=2, dtype=dtype)


def conv(n: Net, x: str, **attrs: Any) -> str:
    return n.node("Conv", [x, rand(4, 3, 3, 3), rand(4)], "layer", **attrs)


@st.composite
def networks(draw: st.DrawFn) -> onnx.ModelProto:
    """A layer with operators before and after it, some of which other nodes read too, or whose weights are shared."""
    reseed(draw(st.integers(0, 999)))
    kind = draw(st.sampled_from(["Conv", "ConvTranspose", "Gemm", "MatMul"]))
    # Neither onnxruntime nor onnx.reference has transposed convolutions of doubles in groups.
    dtype = np.float32 if kind == "ConvTranspose" else draw(st.sampled_from([np.float32, np.float64]))
    n = Net(opset=draw(st.sampled_from([11, 13, 17])), dtype=dtype)
    group = draw(st.sampled_from([1, 1, 2, 3])) if kind.startswith("Conv") else 1
    n_in, n_out = group * draw(st.integers(1, 3)), group * draw(st.integers(1, 3))
    spatial = [draw(st.integers(3, 5)) for _ in range(draw(st.integers(1, 2)))]
    outputs: list[str] = []
    sizes = list(spatial)

    def shape_of(channels: int) -> list[int]:
        if kind.startswith("Conv"):
            return [1, channels, *sizes]
        return [*([2] if kind == "MatMul" and len(spatial) == 2 else []), 3, channels]

    def constant(channels: int) -> Any:
        full = shape_of(channels)
        axis = 1 if kind.startswith("Conv") else len(full) - 1
        forms = [(), (1,), tuple(d if a == axis else 1 for a, d in enumerate(full)), tuple(full), (full[-1],)]
        form = draw(st.sampled_from(forms[: 3 if draw(st.integers(0, 3)) else 5]))
        return rand(*form, low=0.5, high=2, dtype=dtype)

    def chain(value: str, channels: int) -> str:
        for _ in range(draw(st.integers(0, 3))):
            operands: list[Any] = [value, constant(channels)]
            op = draw(st.sampled_from(["Add", "Sub", "Mul", "Mul", "Div"]))
            # The reciprocal of what is near 0 shows any rounding.
            if op != "Div" and draw(st.booleans()):
                operands.reverse()
            value = n.node(op, operands)
            if draw(st.integers(0, 7)) == 0:
                outputs.append(value)
        return value

    x = chain(n.input("x", shape_of(n_in)), n_in)
    attrs: dict[str, Any]
    kernel = [draw(st.integers(1, 2)) for _ in spatial]
    if kind == "Conv":
        pads = [draw(st.integers(0, 1)) for _ in range(2 * len(spatial))]
        attrs = {"group": group, "pads": pads}
        for axis, length in enumerate(kernel):
            sizes[axis] += pads[axis] + pads[axis + len(spatial)] - length + 1
        w = n.constant(rand(n_out, n_in // group, *kernel, dtype=dtype))
    elif kind == "ConvTranspose":
        sizes[:] = [size + length - 1 for size, length in zip(sizes, kernel, strict=True)]
        attrs, w = {"group": group}, n.constant(rand(n_in, n_out // group, *kernel, dtype=dtype))
    elif kind == "Gemm":
        attrs = {"alpha": draw(st.sampled_from([1.0, -2.0])), "beta": draw(st.sampled_from([1.0, 0.0, 0.5]))}
        attrs["transB"] = draw(st.integers(0, 1))
        w = n.constant(rand(*((n_out, n_in) if attrs["transB"] else (n_in, n_out)), dtype=dtype))
    else:
        attrs, w = {}, n.constant(rand(n_in, n_out, dtype=dtype))
    bias = [rand(n_out, dtype=dtype)] if kind != "MatMul" and draw(st.booleans()) else []
    layer = n.node(kind, [x, w, *bias], **attrs)
    if draw(st.integers(0, 4)) == 0:
        outputs.append(n.node(kind, [x, w], **attrs))
    y = chain(layer, n_out)
    return n.model(*dict.fromkeys([*outputs, n.node("Identity", [y])]))


@given(networks())
def test_networks_compute_what_they_did(model: onnx.ModelProto) -> None:
    o = Outcome(model, SPEC, tolerance=1e-4)
    assert len(o.model.graph.node) <= len(model.graph.node)
