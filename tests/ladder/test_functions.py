"""A network with every integer kernel of functions, reductions, norms and matrix products, through every level."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from arenite._base.dtypes import DType
from arenite.ir.attrs import Activation, Attrs, Padding
from arenite.ir.builder import GraphBuilder
from arenite.ir.model import Model
from arenite.ir.opdef import OpCall
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.activation import SoftmaxAttrs
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.matmul import BatchMatmulAttrs
from arenite.ops.norm import LOG_PROBABILITY_INT8, UNIT_INT8
from arenite.ops.pool import Pool2dAttrs
from arenite.ops.rectifiers import LeakyReluAttrs
from arenite.ops.reduce import ReduceAttrs
from ladder.rungs import Rungs

AnyArray = npt.NDArray[Any]
REGISTRY = core_registry()
S8, S16, S32, S64 = DType.INT8, DType.INT16, DType.INT32, DType.INT64
F32, TRUTH = DType.FLOAT32, DType.BOOL


def q(scale: float, zero_point: int = 0) -> Quantization:
    return Quantization.per_tensor(float(np.float32(scale)), zero_point)


BYTE, OTHER, WIDE, UNIT = q(0.05, -7), q(0.08, 21), q(0.0004), q(1 / 32768)
DIVISOR, QUOTIENT = q(0.001, -128), q(0.6, 3)


@dataclass(frozen=True)
class Entry:
    """A node: shapes, dtypes and quantizations of its operands (None for axes), then of its result."""

    op: str
    operands: tuple[tuple[tuple[int, ...], DType, Quantization | None], ...]
    result: tuple[DType, Quantization | None]
    attrs: Attrs = field(default_factory=Attrs)
    axes: tuple[int, ...] | None = None


def _one(op: str, dtype: DType, source: Quantization, result: Quantization, attrs: Attrs | None = None) -> Entry:
    return Entry(op, (((2, 3, 4, 5), dtype, source),), (dtype, result), attrs or Attrs())


def _two(
    op: str, a: tuple[DType, Quantization | None], b: tuple[DType, Quantization | None], *result: Any, **more: Any
) -> Entry:
    return Entry(op, (((2, 3, 1, 5), *a), ((3, 4, 1), *b)), (result[0], result[1]), **more)


def _like(op: str, dtype: DType, *quantizations: Quantization | None, **more: Any) -> Entry:
    a, b, result = quantizations or (None, None, None)
    return _two(op, (dtype, a), (dtype, b), dtype, result, **more)


def _over(op: str, dtype: DType, source: Quantization, result: Quantization, *axes: int) -> Entry:
    return Entry(op, (((2, 3, 4, 5), dtype, source),), (dtype, result), ReduceAttrs(True), axes)


PLAIN, RELU6 = ArithmeticAttrs(), ArithmeticAttrs(Activation.RELU6)
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
ENTRIES: tuple[Entry, ...] = (
    _one("abs", S8, BYTE, OTHER),
    _one("elu", S8, BYTE, OTHER),
    _one("hard_swish", S8, BYTE, OTHER),
    _one("leaky_relu", S8, BYTE, OTHER, LeakyReluAttrs(0.3)),
    _one("rsqrt", S8, DIVISOR, q(0.3, -128)),
    *(_one(op, S16, WIDE, q(0.0003)) for op in ("abs", "relu")),
    _one("relu6", S16, WIDE, WIDE),
    _one("leaky_relu", S16, WIDE, q(0.0003), LeakyReluAttrs(0.3)),
    *(_one(op, S16, WIDE, UNIT) for op in ("logistic", "tanh")),
    _one("softmax", S16, WIDE, UNIT, SoftmaxAttrs()),
    *(_one(op, S16, WIDE, WIDE, Pool2dAttrs((2, 3), (1, 2), Padding.SAME)) for op in ("average_pool2d", "max_pool2d")),
    Entry("dequantize", (((3, 5), S16, WIDE),), (F32, None)),
    Entry("quantize", (((3, 5), F32, None),), (S16, WIDE)),
    _like("minimum", S8, BYTE, BYTE, BYTE),
    _like("maximum", S16, WIDE, WIDE, WIDE),
    _like("minimum", S32),
    _like("maximum", S64),
    _like("squared_difference", S8, BYTE, OTHER, q(1.5, -128)),
    _like("squared_difference", S16, WIDE, WIDE, q(0.02)),
    _like("div", S8, q(0.05), DIVISOR, QUOTIENT, attrs=RELU6),
    *(_like(op, S16, WIDE, q(0.0007), q(0.001), attrs=RELU6) for op in ("add", "sub")),
    _like("mul", S16, WIDE, q(0.0007), q(0.01), attrs=PLAIN),
    *(_like(op, S32, attrs=PLAIN) for op in ("add", "mul")),
    _like("sub", S32, attrs=RELU6),
    _like("squared_difference", S32),
    _two("prelu", (S8, BYTE), (S8, OTHER), S8, OTHER),
    *(_two(op, (S8, BYTE), (S8, OTHER), TRUTH, None) for op in COMPARISONS),
    _two("less", (S32, None), (S32, None), TRUTH, None),
    _two("greater_equal", (S64, None), (S64, None), TRUTH, None),
    _two("equal", (TRUTH, None), (TRUTH, None), TRUTH, None),
    *(_two(op, (TRUTH, None), (TRUTH, None), TRUTH, None) for op in ("logical_and", "logical_or")),
    Entry("logical_not", (((7,), TRUTH, None),), (TRUTH, None)),
    _over("sum", S8, BYTE, q(0.4, 9), 1, 3),
    _over("sum", S16, WIDE, q(0.004), -1),
    _over("mean", S16, WIDE, WIDE, 0, 2),
    _over("reduce_max", S8, BYTE, BYTE, 2),
    _over("reduce_min", S8, BYTE, BYTE, 0, 1),
    _one("l2_normalization", S8, BYTE, UNIT_INT8),
    _one("log_softmax", S8, BYTE, LOG_PROBABILITY_INT8),
    Entry(
        "batch_matmul", (((2, 3, 4), S8, BYTE), ((1, 5, 4), S8, OTHER)), (S8, q(0.3, 5)), BatchMatmulAttrs(adj_y=True)
    ),
    Entry("batch_matmul", (((2, 4, 3), S16, WIDE), ((4, 5), S16, WIDE)), (S16, q(0.02)), BatchMatmulAttrs(adj_x=True)),
)


def _spread(op: str, shape: tuple[int, ...], dtype: DType) -> tuple[tuple[int, ...], DType]:
    # prelu's alpha broadcasts to its input, not the other way.
    return ((2, 3, 4, 5) if op == "prelu" and shape == (2, 3, 1, 5) else shape), dtype


def network() -> Model:
    builder, outputs = GraphBuilder(), []
    for index, entry in enumerate(ENTRIES):
        values = []
        for place, (shape, dtype, quantization) in enumerate(entry.operands):
            type_ = TensorType(dtype, _spread(entry.op, shape, dtype)[0], quantization)
            values.append(builder.input(f"{entry.op}_{index}_{place}", type_))
        if entry.axes is not None:
            values.append(builder.constant(f"axes_{index}", np.array(entry.axes, np.int32)))
        declared = (TensorType(entry.result[0], None, entry.result[1]),)
        types, constants = tuple(v.type for v in values), tuple(v.constant for v in values)
        results = REGISTRY[entry.op].infer(OpCall("n", entry.op, entry.attrs, types, declared, constants))
        outputs.append(builder.node(entry.op, values, results, entry.attrs, name=f"{entry.op}_{index}").result)
    return Model("functions", builder.output(*outputs))


def _feed(model: Model, seed: int) -> list[AnyArray]:
    rng, feed = np.random.default_rng(seed), []
    for value in model.graph.inputs:
        dtype, dims = value.type.dtype, value.type.dims
        if dtype is TRUTH:
            array = rng.integers(0, 2, dims).astype(np.bool_)
        elif dtype is F32:
            array = rng.normal(0, 5, dims).astype(np.float32)
        else:
            low, high = dtype.limits if dtype.itemsize < 4 else (-1000, 1000)
            # The divisor's zero point is the lowest code.
            low += value.type.quantization == DIVISOR
            array = rng.integers(low, high, dims, endpoint=True).astype(dtype.numpy)
        feed.append(array)
    return feed


@pytest.fixture(scope="module")
def case() -> Rungs:
    model = network()
    feeds = [_feed(model, seed) for seed in range(3)]
    return Rungs.of(model, feeds, [f"{entry.op} {entry.operands}" for entry in ENTRIES])


pytestmark = pytest.mark.wheel


def test_interpreter(case: Rungs) -> None:
    case.check_interpreter()


def test_poisoned_arena_without_passes(case: Rungs) -> None:
    case.check_arena(passes=False)


@pytest.mark.gcc
def test_host_c(case: Rungs) -> None:
    case.check_host_c()


@pytest.mark.unicorn
@pytest.mark.parametrize(
    ("compiler", "target"),
    [
        pytest.param("zig", "cortex-m0plus", marks=pytest.mark.zig),
        pytest.param("zig", "cortex-m4", marks=pytest.mark.zig),
        pytest.param("arm-none-eabi-gcc", "cortex-m0plus", marks=pytest.mark.arm_gcc),
        pytest.param("arm-none-eabi-gcc", "cortex-m33", marks=pytest.mark.arm_gcc),
    ],
)
def test_simulated(case: Rungs, compiler: str, target: str) -> None:
    case.check_simulated(compiler, target)
