"""A factor of channels goes into the scales of weights that are dequantized, and into what is stored."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from passes.onnx.fusing import Net, Outcome, rand
from passes.onnx.quantizing import FACTORS, MIXED, NORM, SPEC, after, axis, conv, scaled, stored, weights

# What fuses


def test_a_normalization_goes_into_scales_and_bias() -> None:
    n = Net()
    q = stored(4, 3, 3, 3)
    layer = conv(n, weights(n, q), rand(4))
    o = Outcome(n.model(n.norm(layer, 4, "y")), NORM)
    assert o.of("y") == "passed fused-after"
    assert o.ops == ["DequantizeLinear", "Conv"]
    assert o.weight(0, 0).tobytes() == q.tobytes()
    assert o.weight(0, 1).shape == (4,)
    assert axis(o) == 0
    assert o.weights_nbytes == q.nbytes + 4 * (4 + 4)


@pytest.mark.parametrize("opset", [10, 13, 17, 21, 23])
def test_a_factor_of_all_keeps_the_form_of_a_scale(opset: int) -> None:
    for scale in (np.float32(0.02), np.array([0.02], np.float32)):
        o = after(stored(4, 3, 3, 3), 3, scale, np.int8(5) if scale.ndim == 0 else np.array([5], np.int8), opset=opset)
        assert o.ops == ["DequantizeLinear", "Conv"]
        assert o.weight(0, 1) == np.float32(0.06)
        assert o.weight(0, 1).shape == scale.shape
        assert axis(o) is None


def test_factors_that_are_all_the_same_are_one() -> None:
    o = after(stored(4, 3, 3, 3), np.full(4, 2), opset=11)
    assert o.of("y") == "passed fused-after"
    assert o.weight(0, 1).shape == ()


@pytest.mark.parametrize("zero", [None, np.int8(0), np.int8(-3)])
def test_one_scale_becomes_one_for_each_channel(zero: Any) -> None:
    o = after(stored(4, 3, 3, 3), FACTORS, np.float32(0.02), *([] if zero is None else [zero]), opset=13)
    assert np.array_equal(o.weight(0, 1), (np.float32(0.02).astype(float) * FACTORS).astype(np.float32))
    if zero is not None:
        assert np.array_equal(o.weight(0, 2), np.full(4, zero))
    else:
        assert len(o.model.graph.node[0].input) == 2


@pytest.mark.parametrize("at", [0, -4])
def test_scales_of_channels_stay_where_they_are(at: int) -> None:
    scales = rand(4, low=0.01, high=0.1)
    o = after(stored(4, 3, 3, 3), FACTORS, scales, axis=at)
    assert o.of("y") == "passed fused-after"
    assert axis(o) == at
    assert o.ops == ["DequantizeLinear", "Conv"]


@pytest.mark.parametrize(("group", "kind"), [(1, "ConvTranspose"), (3, "ConvTranspose"), (3, "Conv")])
def test_layers_in_groups(group: int, kind: str) -> None:
    """Depthwise layers have one scale for each channel too."""
    n = Net()
    shape = (3, 1, 3, 3) if group == 3 else (3, 4, 3, 3)
    n_out = 3 if group == 3 else 4
    w = weights(n, stored(*shape))
    layer = n.node(kind, [n.input("x", [1, 3, 6, 6]), w], group=group)
    o = Outcome(n.model(scaled(n, layer, FACTORS[:n_out])), SPEC)
    assert o.ops == ["DequantizeLinear", kind]
    # 1 is what it is when nothing is said.
    assert axis(o) == (0 if group == 3 else None)


@pytest.mark.parametrize("moves", [1, 2, 3])
def test_weights_that_are_transposed(moves: int) -> None:
    n = Net()
    w = weights(n, stored(*((5, 4) if moves % 2 else (4, 5))))
    for number in range(moves):
        w = n.node("Transpose", [w], f"t{number}", **({"perm": [1, 0]} if number else {}))
    y = n.node("Mul", [n.node("MatMul", [n.input("x", [2, 3, 4]), w], "m"), rand(5, low=0.5, high=2)], "y")
    o = Outcome(n.model(y), SPEC)
    assert o.ops == ["DequantizeLinear", *["Transpose"] * moves, "MatMul"]
    assert o.weight(0, 1).shape == (5,)
    assert axis(o) == (0 if moves % 2 else None)


@pytest.mark.parametrize(("shape", "perm", "at"), [((2, 3, 3, 4), [3, 2, 0, 1], 3), ((3, 4, 2, 3), [1, 0, 2, 3], None)])
def test_weights_whose_channels_were_elsewhere(shape: tuple[int, ...], perm: list[int], at: int | None) -> None:
    n = Net()
    w = n.node("Transpose", [weights(n, stored(*shape))], "t", perm=perm)
    o = Outcome(n.model(scaled(n, conv(n, w), MIXED)), SPEC)
    assert o.ops == ["DequantizeLinear", "Transpose", "Conv"]
    assert axis(o) == at


@pytest.mark.parametrize("trans_b", [0, 1])
def test_a_gemm_and_its_bias(trans_b: int) -> None:
    n = Net()
    w = weights(n, stored(*((5, 4) if trans_b else (4, 5))))
    g = n.node("Gemm", [n.input("x", [3, 4]), w, rand(5)], "g", transB=trans_b, alpha=-2.0, beta=0.5)
    o = Outcome(n.model(n.norm(g, 5, "y")), NORM)
    assert o.ops == ["DequantizeLinear", "Gemm"]


def test_a_product_and_a_normalization_become_a_gemm() -> None:
    n = Net()
    m = n.node("MatMul", [n.input("x", [3, 4]), weights(n, stored(4, 5))], "m")
    assert Outcome(n.model(n.norm(m, 5, "y")), NORM).ops == ["DequantizeLinear", "Gemm"]


@pytest.mark.parametrize("block", [2, 3])
@pytest.mark.parametrize("at", [0, -2])
@pytest.mark.parametrize("has_zero", [False, True])
def test_blocks_along_the_other_dimension(block: int, at: int, has_zero: bool) -> None:
    n = Net(opset=21, ir_version=10)
    scales = rand(-(-4 // block), 5, low=0.01, high=0.02)
    w = weights(n, stored(4, 5), scales, *([np.full(scales.shape, 3, np.int8)] * has_zero), axis=at, block_size=block)
    m = n.node("MatMul", [n.input("x", [3, 4]), w], "m")
    o = Outcome(n.model(n.node("Mul", [m, np.array([1, -2, 0, 0.5, 3], np.float32)], "y")), SPEC)
    assert o.ops == ["DequantizeLinear", "MatMul"]
    assert o.weight(0, 1).shape == scales.shape


def test_weights_that_are_computed_and_dequantized() -> None:
    n = Net()
    q = n.input("q", [4, 3, 3, 3], np.int8)
    o = Outcome(n.model(scaled(n, conv(n, weights(n, q)), FACTORS)), SPEC)
    assert o.ops == ["DequantizeLinear", "Conv"]


def test_one_factor_before_a_layer() -> None:
    n = Net()
    m = n.node("Mul", [n.input("x", [1, 3, 6, 6]), np.float32(-2)], "m")
    o = Outcome(n.model(n.node("Conv", [m, weights(n, stored(4, 3, 3, 3))], "y")), SPEC)
    assert o.of("m") == "passed fused-before"
    assert o.ops == ["DequantizeLinear", "Conv"]


def test_a_bias_of_integers_becomes_reals() -> None:
    for dtype in (np.int8, np.int32):
        n = Net()
        b = n.node("DequantizeLinear", [np.arange(4, dtype=dtype), rand(4, low=0.1, high=1)], "b", axis=0)
        o = Outcome(n.model(n.norm(conv(n, weights(n, stored(4, 3, 3, 3)), b), 4, "y")), NORM)
        assert o.of("y") == "passed fused-after"
        assert o.weight(2, 2).dtype == np.float32


@pytest.mark.parametrize("by", ["DequantizeLinear", "Abs", "nothing"])
def test_a_bias_that_is_computed_stays(by: str) -> None:
    n = Net()
    if by == "DequantizeLinear":
        b = n.node(by, [n.input("b32", [4], np.int32), np.float32(0.1)], "b")
    else:
        b = n.node(by, [rand(4)], "b") if by == "Abs" else n.input("b", [4])
    o = Outcome(n.model(n.norm(conv(n, weights(n, stored(4, 3, 3, 3)), b), 4, "y")), NORM)
    assert o.of("y") == "missed computed-bias"


def test_scales_of_narrow_floats() -> None:
    n = Net(opset=19, ir_version=9, dtype=np.float16)
    w = weights(n, stored(4, 5), np.float16(0.02))
    m = n.node("MatMul", [n.input("x", [3, 4]), w], "m")
    o = Outcome(n.model(n.node("Mul", [m, rand(5, dtype=np.float16)], "y")), SPEC, tolerance=1e-2)
    assert o.ops == ["DequantizeLinear", "MatMul"]


# Signs


def test_negative_factors_negate_what_is_stored_and_0_makes_it_0() -> None:
    q = stored(4, 3, 3, 3)
    o = after(q, MIXED)
    found = o.weight(0, 0)
    assert np.array_equal(found[0], q[0])
    assert np.array_equal(found[1], -q[1])
    assert not np.any(found[2])
    assert np.all(o.weight(0, 1) > 0)
    assert len(o.model.graph.node[0].input) == 2


def test_one_factor_of_0() -> None:
    o = after(stored(4, 3, 3, 3), 0, np.float32(0.02), np.int8(7))
    assert np.array_equal(o.weight(0, 0), np.full((4, 3, 3, 3), 7))
    assert o.weight(0, 1) == np.float32(0.02)


@pytest.mark.parametrize("opset", [13, 17])
def test_what_has_no_opposite_stays_where_zero_points_are_0(opset: int) -> None:
    q = stored(4, 3, 3, 3)
    q[1, 0, 0, 0] = -128
    assert after(q, MIXED, opset=opset).of("y") == "missed not-negated"
    assert after(q, MIXED, np.float32(0.1), np.int8(0), opset=opset).of("y") == "missed not-negated"
    assert after(q, FACTORS, opset=opset).of("y") == "passed fused-after"
    assert after(q, MIXED[[1, 0, 2, 3]], opset=opset).of("y") == "passed fused-after"


@pytest.mark.parametrize(
    ("dtype", "zero", "low", "high"),
    [(np.int8, 9, -128, 128), (np.uint8, 128, 0, 256), (np.uint8, 0, 0, 256), (np.uint8, None, 0, 256)],
)
def test_what_has_no_opposite_is_mirrored_with_its_zero_point(
    dtype: Any, zero: int | None, low: int, high: int
) -> None:
    q = stored(4, 3, 4, 4, dtype=dtype, low=low, high=high)
    q[1, 0, 0, :2] = low, high - 1
    n = Net()
    steps = [np.float32(0.02)] if zero is None else [np.float32(0.02), np.array(zero, dtype)]
    o = Outcome(n.model(scaled(n, conv(n, weights(n, q, *steps)), MIXED)), SPEC)
    assert o.of("y") == "passed fused-after"
    zeros = np.full(4, zero or 0)
    zeros[1] = low + high - 1 - zeros[1]
    assert np.array_equal(o.weight(0, 2), zeros)


def test_opposites_that_there_are_keep_the_zero_point() -> None:
    q = stored(4, 3, 3, 3, dtype=np.uint8, low=120, high=136)
    o = after(q, MIXED, np.float32(0.02), np.uint8(128))
    assert np.array_equal(o.weight(0, 2), np.full(4, 128))
    assert np.array_equal(o.weight(0, 0)[1], 256 - q[1].astype(int))


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4])
def test_integers_of_4_bits(dtype: Any) -> None:
    low = -7 if dtype is ml_dtypes.int4 else 0
    n = Net(opset=21, ir_version=10)
    w = weights(n, stored(4, 5, dtype=dtype, low=low, high=low + 15), np.float32(0.1))
    m = n.node("MatMul", [n.input("x", [3, 4]), w], "m")
    o = Outcome(n.model(n.node("Mul", [m, np.array([1, -2, 0, 0.5, 3], np.float32)], "y")), SPEC)
    assert o.ops == ["DequantizeLinear", "MatMul"]
    assert o.weight(0, 0).dtype == dtype


@pytest.mark.parametrize("factor", [MIXED, np.array([0.5, 2, 0, 1])])
def test_what_is_computed_takes_positive_factors_only(factor: Any) -> None:
    n = Net()
    q = n.input("q", [4, 3, 3, 3], np.int8)
    o = Outcome(n.model(scaled(n, conv(n, weights(n, q)), factor)), SPEC)
    assert o.of("y") == "missed stored-computed"
