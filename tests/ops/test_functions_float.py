"""Float meaning of functions, reductions, norms and matrix products, against TFLite-Micro and numpy in double."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model
from arenite.ir.attrs import Attrs
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.matmul import BatchMatmulAttrs
from arenite.ops.rectifiers import LeakyReluAttrs
from arenite.ops.reduce import ReduceAttrs
from oracle import run_litert, run_wheel
from plain_cases import Plain

AnyArray = npt.NDArray[Any]
# Functions of the C library err by less than one unit in the last place; float32 sums run in another order.
TOLERANCE = 2e-6
RNG = np.random.default_rng(5)
X = np.concatenate([np.linspace(-9, 9, 181), RNG.normal(0, 3, 319)]).astype(np.float32).reshape(4, 125)
POSITIVE = np.abs(X) + np.float32(1e-3)
HALVES = (np.arange(-20, 21) / 2).astype(np.float32).reshape(1, -1)
A, B = RNG.normal(0, 3, (2, 3, 1, 5)).astype(np.float32), RNG.normal(0, 3, (3, 4, 1)).astype(np.float32)


def case_of(op: str, *data: AnyArray, attrs: Attrs | None = None, constants: frozenset[int] = frozenset()) -> Plain:
    comparison = op in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    result = DType.BOOL if comparison else DType.FLOAT32
    return Plain(op, data, (None,) * (len(data) + 1), result, attrs or Attrs(), constants)


DOUBLE: dict[str, tuple[AnyArray, Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]]] = {
    "abs": (X, np.abs),
    "neg": (X, np.negative),
    "square": (X, np.square),
    "sqrt": (POSITIVE, np.sqrt),
    "rsqrt": (POSITIVE, lambda x: 1 / np.sqrt(x)),
    "exp": (X, np.exp),
    "log": (POSITIVE, np.log),
    "sin": (X, np.sin),
    "cos": (X, np.cos),
    "floor": (X, np.floor),
    "ceil": (X, np.ceil),
    "round": (HALVES, np.rint),
    "elu": (X, lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x)),
    "hard_swish": (X, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "l2_normalization": (X, lambda x: x / np.sqrt((x**2).sum(axis=-1, keepdims=True))),
    "log_softmax": (X, lambda x: x - np.log(np.exp(x).sum(axis=-1, keepdims=True))),
}


@pytest.mark.parametrize("op", DOUBLE)
def test_by_numpy_in_double(op: str) -> None:
    x, function = DOUBLE[op]
    found = case_of(op, x).evaluate()
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, function(x.astype(np.float64)), rtol=TOLERANCE, atol=TOLERANCE)


_AXES = np.array([1, -1], np.int32)
BOX = RNG.normal(0, 3, (2, 3, 4, 5)).astype(np.float32)
CASES = [
    *(case_of(op, x) for op, (x, _) in DOUBLE.items()),
    case_of("leaky_relu", X, attrs=LeakyReluAttrs(-0.25)),
    case_of("prelu", X, RNG.normal(0, 1, (1, 125)).astype(np.float32)),
    *(case_of(op, A, B) for op in ("minimum", "maximum", "squared_difference")),
    case_of("div", A, B, attrs=ArithmeticAttrs()),
    *(case_of(op, A, np.where(A > 0, A, B)) for op in ("equal", "not_equal", "less", "less_equal")),
    *(case_of(op, A, np.where(A > 0, A, B)) for op in ("greater", "greater_equal")),
    *(
        case_of(
            op, RNG.normal(0, 3, (2, 3, 4, 5)).astype(np.float32), _AXES, attrs=ReduceAttrs(), constants=frozenset({1})
        )
        for op in ("mean", "sum", "reduce_max", "reduce_min")
    ),
    case_of(
        "batch_matmul",
        RNG.normal(0, 1, (2, 3, 4)).astype(np.float32),
        RNG.normal(0, 1, (5, 4)).astype(np.float32),
        attrs=BatchMatmulAttrs(adj_y=True),
    ),
]


@pytest.mark.wheel
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.op)
def test_by_tflite_micro(case: Plain) -> None:
    assert case.problems() == []
    ((expected,),) = run_wheel(export_model(case.model()), [case.feeds], arena_nbytes=1 << 20)
    found = case.evaluate()
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.litert
@pytest.mark.parametrize(
    "case",
    [
        case_of("pow", POSITIVE, RNG.normal(0, 2, POSITIVE.shape).astype(np.float32)),
        case_of("relu_n1_to_1", X),
        case_of("relu_0_to_1", X),
        case_of("exp", X),
        case_of("log", POSITIVE),
    ],
    ids=lambda case: case.op,
)
def test_by_litert(case: Plain) -> None:
    ((expected,),) = run_litert(export_model(case.model()), [case.feeds])
    np.testing.assert_allclose(case.evaluate(), expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.litert
def test_integer_powers_wrap() -> None:
    base = np.array([[3, -3, 0, 2, -1, 7]], np.int32)
    exponent = np.array([[5, 3, 0, 31, 9, 12]], np.int32)
    case = Plain("pow", (base, exponent), (None,) * 3, DType.INT32)
    ((expected,),) = run_litert(export_model(case.model()), [case.feeds])
    np.testing.assert_array_equal(case.evaluate()[:, :3], expected[:, :3])
    np.testing.assert_array_equal(case.evaluate(), [[243, -27, 1, -(2**31), -1, 956385313]])


def test_a_row_of_zeros_has_no_direction() -> None:
    np.testing.assert_array_equal(case_of("l2_normalization", np.zeros((1, 3), np.float32)).evaluate(), [[0, 0, 0]])


def test_log_softmax_does_not_overflow() -> None:
    x = np.array([[1e30, 0, -1e30]], np.float32)
    np.testing.assert_array_equal(case_of("log_softmax", x).evaluate(), np.array([[0, -1e30, -2e30]], np.float32))
