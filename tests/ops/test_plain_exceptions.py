"""Where the meaning is knowingly not TFLite-Micro's, or TFLite-Micro has none; and what is refused, in which words."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model
from arenite.ir.attrs import Activation, Attrs, Padding
from arenite.ir.builder import GraphBuilder
from arenite.ir.opdef import OpError
from arenite.ir.types import Quantization, TensorType
from arenite.ops.activation import PROBABILITY_INT8, UNIT_INT16, SoftmaxAttrs
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.movement import ConcatenationAttrs, ReshapeAttrs
from arenite.ops.norm import LOG_PROBABILITY_INT8
from arenite.ops.pool import Pool2dAttrs
from arenite.ops.reduce import ReduceAttrs
from oracle import run_litert
from plain_cases import ALL_CODES, REGISTRY, Plain

AnyArray = npt.NDArray[Any]
Q = Quantization.per_tensor(0.5, 3)
OTHER = Quantization.per_tensor(0.25, 3)
X = np.zeros((1, 4, 4, 2), np.int8)


def plain(op: str, *data: AnyArray, q: tuple[Quantization | None, ...], attrs: Attrs | None = None) -> Plain:
    constants = frozenset(i for i, x in enumerate(data) if x.dtype == np.int32)
    return Plain(op, data, q, DType.INT8, attrs or Attrs(), constants)


@pytest.mark.litert
@pytest.mark.parametrize("scale", [0.011, 0.05, 0.06])
def test_relu6_with_its_own_scale_is_litert_s(scale: float) -> None:
    """TFLM clamps the operand's codes and never looks at the result's scale."""
    source = Quantization.per_tensor(float(np.float32(0.05)), -20)
    case = plain("relu6", ALL_CODES, q=(source, Quantization.per_tensor(float(np.float32(scale)), -100)))
    ((expected,),) = run_litert(export_model(case.model()), [case.feeds])
    np.testing.assert_array_equal(case.evaluate(), expected)


def test_logistic_with_a_foreign_scale_is_rounded_from_double() -> None:
    """TFLM refuses another zero point, and does not look at the scale."""
    for result in (Quantization.per_tensor(0.01, -20), Quantization.per_tensor(0.004, -128)):
        case = plain("logistic", ALL_CODES, q=(Quantization.per_tensor(0.05), result))
        real = 1 / (1 + np.exp(-0.05 * ALL_CODES.astype(np.float64)))
        exact = real / result.scale + result.zero_point
        assert np.abs(case.evaluate() - np.clip(exact, -128, 127)).max() <= 0.5


def test_quantize_saturates() -> None:
    """TFLM converts to int32 first, where these are undefined in C."""
    x = np.array([[np.inf, -np.inf, np.nan, 3e38, -3e38, 1e9, -1e9, 2147483648.0, -2147483904.0]], np.float32)
    for dtype in (DType.INT8, DType.UINT8, DType.INT16):
        low, high = dtype.limits
        for zero_point in (low, 5, high):
            case = Plain("quantize", (x,), (None, Quantization.per_tensor(1e-3, zero_point)), dtype)
            codes = [high, low, zero_point, high, low, high, low, high, low]
            np.testing.assert_array_equal(case.evaluate(), [codes])


def test_quantize_does_not_round_up_just_below_a_half() -> None:
    below = np.nextafter(np.float32(0.5), np.float32(0))
    x = np.array([[below, 0.5, -below, -0.5, 8388609.0]], np.float32)
    case = Plain("quantize", (x,), (None, Quantization.per_tensor(1.0)), DType.INT8)
    np.testing.assert_array_equal(case.evaluate(), [[0, 1, 0, -1, 127]])


def test_softmax_of_more_equal_elements_than_the_wheel_bears() -> None:
    """Each is nearest to 0, and the row's sum does not overflow at the most that is allowed."""
    x = np.full((1, 4095), 127, np.int8)
    case = plain("softmax", x, q=(Quantization.per_tensor(0.1), PROBABILITY_INT8), attrs=SoftmaxAttrs())
    assert case.problems() == []
    np.testing.assert_array_equal(case.evaluate(), np.full_like(x, -128))


POOL = Pool2dAttrs((2, 2), (2, 2))
AXES = np.array([1, 2], np.int32)
PADDINGS = np.array([[0, 0], [1, 1], [0, 0], [0, 0]], np.int32)
REFUSED = {
    "pool scale": (plain("average_pool2d", X, q=(Q, OTHER), attrs=POOL), "scales within 1e-06"),
    "pool unquantized": (plain("max_pool2d", X, q=(None, None), attrs=POOL), "each int8, uint8 and int16 tensor has"),
    "pool activation": (
        plain("max_pool2d", X, q=(Q, Q), attrs=replace(POOL, activation=Activation.TANH)),
        "the fused activation is a clamp: tanh",
    ),
    "add dtypes": (
        plain("add", X, X.astype(np.float32), q=(Q, None, Q), attrs=ArithmeticAttrs()),
        r"\(int8, float32\) -> int8",
    ),
    "per channel": (
        plain("relu", X, q=(Quantization((0.5, 0.25), (0, 0), 3), Q)),
        "one scale and one zero point: operand 0",
    ),
    "softmax scale": (plain("softmax", X, q=(Q, Q), attrs=SoftmaxAttrs()), "an int8 result has scale 1/256"),
    "softmax beta": (
        plain("softmax", X, q=(Q, PROBABILITY_INT8), attrs=SoftmaxAttrs(-1.0)),
        "beta is positive and finite: -1.0",
    ),
    "softmax length": (
        plain("softmax", np.zeros((1, 4096), np.int8), q=(Q, PROBABILITY_INT8), attrs=SoftmaxAttrs()),
        "at most 4095 elements: 4096",
    ),
    "softmax zero point": (
        Plain("softmax", (X.astype(np.int16),), (Q, UNIT_INT16), DType.INT16, SoftmaxAttrs()),
        "an int16 input has zero point 0: int16",
    ),
    "log_softmax of nearly nothing": (
        plain("log_softmax", X, q=(Quantization.per_tensor(1e-45), LOG_PROBABILITY_INT8)),
        r"is at least 2\*\*-26: int8",
    ),
    "hard_swish of much": (
        plain("hard_swish", X, q=(Quantization.per_tensor(3e38), Quantization.per_tensor(3e38))),
        "above 1/128 of the operand's: int8",
    ),
    "uint8 to int8": (
        plain("log_softmax", X.view(np.uint8), q=(Q, LOG_PROBABILITY_INT8)),
        r"or uint8 in the place of int8: .*\(uint8\) -> int8",
    ),
    "uint8 with int8": (
        Plain("minimum", (X.view(np.uint8), X), (Q, Q, Q), DType.UINT8),
        r"or uint8 in the place of int8: .*\(uint8, int8\) -> uint8",
    ),
    "pad scale": (plain("pad", X, PADDINGS, q=(Q, None, OTHER)), "same scale and zero point"),
    "concatenation scale": (
        plain("concatenation", X, X, q=(Q, OTHER, Q), attrs=ConcatenationAttrs(3)),
        "all operands and the result have the same .* operand 1 is int8",
    ),
    "concatenation activation": (
        plain("concatenation", X, q=(Q, Q), attrs=ConcatenationAttrs(3, Activation.RELU)),
        "there is no fused activation: relu",
    ),
    "quantize float": (Plain("quantize", (X,), (None, Q), DType.INT8), "each integer tensor is quantized: int8"),
    "dequantize to int": (Plain("dequantize", (X,), (Q, Q), DType.INT8), r"dtypes must be one of .* \(int8\) -> int8"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_constraints_say_what_was_found(case: str) -> None:
    import re

    node, text = REFUSED[case]
    assert any(re.search(text, problem) for problem in node.problems()), node.problems()


MISFITS = {
    "pool rank": (plain("max_pool2d", X[0], q=(Q, Q), attrs=POOL), r"\[batch, height, width, channels\], found"),
    "pool window": (
        plain("max_pool2d", X, q=(Q, Q), attrs=Pool2dAttrs((5, 5), (1, 1), Padding.VALID)),
        "no window fits",
    ),
    "broadcast": (
        plain("add", X, X[:, :, :3], q=(Q, Q, Q), attrs=ArithmeticAttrs()),
        r"broadcast .* found \[1, 4, 4, 2\] and \[1, 4, 3, 2\]",
    ),
    "axis": (
        plain("mean", X, np.array([4], np.int32), q=(Q, None, Q), attrs=ReduceAttrs()),
        r"axis must be in \[-4, 3\] for 4 dimensions, found 4",
    ),
    "paddings": (plain("pad", X, PADDINGS[:2], q=(Q, None, Q)), "paddings must be 4 pairs"),
    "negative paddings": (plain("pad", X, -PADDINGS, q=(Q, None, Q)), "paddings must be 4 pairs"),
    "concatenation": (
        plain("concatenation", X, X[:, :3], q=(Q, Q, Q), attrs=ConcatenationAttrs(3)),
        "may differ in dimension 3 only",
    ),
    "reshape": (
        plain("reshape", X, np.array([3, -1], np.int32), q=(Q, None, Q), attrs=ReshapeAttrs()),
        "must hold the input's 32 elements",
    ),
    "reshape twice -1": (
        plain("reshape", X, np.array([-1, -1], np.int32), q=(Q, None, Q), attrs=ReshapeAttrs()),
        "must hold the input's 32 elements",
    ),
    "softmax scalar": (
        plain("softmax", np.zeros((), np.int8), q=(Q, PROBABILITY_INT8), attrs=SoftmaxAttrs()),
        "needs a last dimension",
    ),
}


@pytest.mark.parametrize("case", MISFITS)
def test_inference_says_what_does_not_fit(case: str) -> None:
    node, text = MISFITS[case]
    with pytest.raises(OpError, match=text):
        node.graph()


def test_reshape_takes_its_shape_from_operand_attributes_or_result() -> None:
    x = np.arange(12, dtype=np.int8).reshape(3, 4)
    by_operand = plain("reshape", x, np.array([2, -1], np.int32), q=(Q, None, Q), attrs=ReshapeAttrs((12,)))
    by_attributes = plain("reshape", x, q=(Q, Q), attrs=ReshapeAttrs((-1, 6)))
    for case in (by_operand, by_attributes):
        assert case.problems() == []
        np.testing.assert_array_equal(case.evaluate(), x.reshape(2, 6))


def _node(op: str, attrs: Attrs, shape: tuple[int, ...]) -> Any:
    builder = GraphBuilder()
    x = builder.input("x", TensorType(DType.INT8, (2, 6), Q))
    return builder.node(op, [x], [TensorType(DType.INT8, shape, Q)], attrs)


def test_canonical_attributes() -> None:
    reshape, concatenation = REGISTRY["reshape"].canonicalize, REGISTRY["concatenation"].canonicalize
    assert callable(reshape)
    assert callable(concatenation)
    assert reshape(_node("reshape", ReshapeAttrs((-1, 3)), (4, 3))) == ReshapeAttrs((4, 3))
    assert reshape(_node("reshape", ReshapeAttrs((4, 3)), (4, 3))) is None
    assert concatenation(_node("concatenation", ConcatenationAttrs(-1), (2, 6))) == ConcatenationAttrs(1)
    assert concatenation(_node("concatenation", ConcatenationAttrs(1), (2, 6))) is None
