"""Random one-op graphs of every op without weights, for tests of their meaning and kernels."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs, Padding
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph
from arenite.ir.model import Model
from arenite.ir.opdef import OpCall, OpDef
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.activation import PROBABILITY_INT8, TANH_INT8, SoftmaxAttrs
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.movement import ConcatenationAttrs
from arenite.ops.pool import Pool2dAttrs
from arenite.ops.reduce import ReduceAttrs
from weighted_cases import ACTIVATIONS, float32, int8_arrays, scales, zero_points

AnyArray = npt.NDArray[Any]
REGISTRY = core_registry()


@dataclass(frozen=True)
class Plain:
    """One op with its data.

    Attributes:
        data: an array for each operand.
        quantizations: of each operand, then of the result; None where it is not quantized.
        result_dtype: of the result.
        constants: indices of the operands that are part of the graph; the others are its inputs.
    """

    op: str
    data: tuple[AnyArray, ...]
    quantizations: tuple[Quantization | None, ...]
    result_dtype: DType
    attrs: Attrs = field(default_factory=Attrs)
    constants: frozenset[int] = frozenset()

    @property
    def definition(self) -> OpDef:
        return REGISTRY[self.op]

    @property
    def feeds(self) -> list[AnyArray]:
        return [array for index, array in enumerate(self.data) if index not in self.constants]

    def graph(self) -> Graph:
        builder = GraphBuilder()
        operands = [
            builder.constant(f"constant_{index}", array, quantization)
            if index in self.constants
            else builder.input(f"input_{index}", TensorType(DType.of(array.dtype), array.shape, quantization))
            for index, (array, quantization) in enumerate(zip(self.data, self.quantizations, strict=False))
        ]
        types = tuple(value.type for value in operands)
        declared = (TensorType(self.result_dtype, None, self.quantizations[-1]),)
        constants = tuple(value.constant for value in operands)
        (result,) = self.definition.infer(OpCall("node", self.op, self.attrs, types, declared, constants))
        return builder.output(builder.node(self.op, operands, (result,), self.attrs, name="node").result)

    def model(self) -> Model:
        return Model("case", self.graph())

    def call(self) -> OpCall:
        (node,) = self.graph().nodes
        return OpCall.of(node)

    def problems(self) -> list[str]:
        """What the op's constraints say against it."""
        call = self.call()
        verdicts = [(constraint, constraint.holds(call)) for constraint in self.definition.constraints]
        return [f"{constraint.text}: {verdict}" for constraint, verdict in verdicts if verdict is not True]

    def evaluate(self) -> AnyArray:
        (result,) = self.definition.evaluate(self.call(), self.data)
        return np.asarray(result)


ALL_CODES: AnyArray = np.arange(-128, 128, dtype=np.int8).reshape(1, 256)


@st.composite
def quantizations(draw: st.DrawFn, exponents: tuple[int, int] = (-8, 0)) -> Quantization:
    return Quantization.per_tensor(draw(scales(exponents)), draw(zero_points()))


def near(scale: float) -> st.SearchStrategy[Quantization]:
    """Quantizations whose scale is about `scale`, or now and then far from it."""
    factor = st.one_of(st.sampled_from((1.0, 0.5, 2.0)), st.floats(0.3, 3.0), st.floats(0.01, 100.0))
    return st.builds(lambda f, z: Quantization.per_tensor(float32(scale * f), z), factor, zero_points())


def _int8(name: str, data: tuple[AnyArray, ...], *qs: Quantization | None, **more: Any) -> Plain:
    return Plain(name, data, qs, DType.INT8, **more)


@st.composite
def pool_cases(draw: st.DrawFn, op: str) -> Plain:
    taps, stride = (draw(st.tuples(st.integers(1, 5), st.integers(1, 5))) for _ in range(2))
    # A file has no average pool with explicit padding, which does not count.
    margins = st.tuples(*(st.tuples(*[st.integers(0, n - 1)] * 2) for n in taps))
    rules = st.sampled_from(Padding)
    padding = draw(st.one_of(rules, margins) if op == "max_pool2d" else rules)
    lows = taps if padding is Padding.VALID else (1, 1)
    if isinstance(padding, tuple):
        lows = tuple(max(1, n - sum(pair)) for n, pair in zip(taps, padding, strict=True))
    size = tuple(draw(st.integers(low, max(low, 9))) for low in lows)
    x = int8_arrays(draw, (draw(st.sampled_from((1, 1, 2))), *size, draw(st.integers(1, 11))))
    attrs = Pool2dAttrs(taps, stride, padding, draw(st.sampled_from(ACTIVATIONS)))
    q = draw(quantizations())
    return _int8(op, (x,), q, q, attrs=attrs)


@st.composite
def mean_cases(draw: st.DrawFn, ranks: tuple[int, int] = (1, 5)) -> Plain:
    rank = draw(st.integers(*ranks))
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=rank, max_size=rank)))
    x = int8_arrays(draw, shape)
    chosen = draw(st.sampled_from(("spatial", "any")))
    axes: tuple[int, ...]
    if chosen == "spatial" and rank == 4:
        axes = draw(st.sampled_from(((1, 2), (2, 1), (-2, 1), (-3, -2))))
    else:
        axes = tuple(draw(st.lists(st.integers(-rank, rank - 1), min_size=1, max_size=rank)))
    q = draw(quantizations())
    attrs = ReduceAttrs(draw(st.booleans()))
    return _int8("mean", (x, np.array(axes, np.int32)), q, None, draw(near(q.scale)), attrs=attrs, constants=_SECOND)


_SECOND = frozenset({1})


@st.composite
def broadcast_shapes(draw: st.DrawFn, largest_rank: int = 4) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=largest_rank)))
    if draw(st.booleans()):
        return shape, shape
    first, second = (tuple(1 if draw(st.booleans()) else dim for dim in shape) for _ in range(2))
    short = second[draw(st.integers(0, len(shape) - 1)) :]
    pair = ((first, second), (first, short), (shape, short), (short, shape))
    return draw(st.sampled_from(pair))


@st.composite
def arithmetic_cases(draw: st.DrawFn, op: str) -> Plain:
    first, second = draw(broadcast_shapes())
    a, b = int8_arrays(draw, first), int8_arrays(draw, second)
    qa = draw(quantizations())
    qb = draw(near(qa.scale))
    reach = qa.scale * qb.scale * 64 if op == "mul" else max(qa.scale, qb.scale)
    attrs = ArithmeticAttrs(draw(st.sampled_from(ACTIVATIONS)))
    constants = draw(st.sampled_from((frozenset[int](), frozenset({1}))))
    return _int8(op, (a, b), qa, qb, draw(near(reach)), attrs=attrs, constants=constants)


@st.composite
def unary_cases(draw: st.DrawFn, op: str) -> Plain:
    """All codes, of some quantization."""
    q = draw(quantizations((-12, 4)))
    prescribed = {"logistic": PROBABILITY_INT8, "tanh": TANH_INT8}
    if op in prescribed:
        return _int8(op, (ALL_CODES,), q, prescribed[op])
    return _int8(op, (ALL_CODES,), q, draw(near(q.scale)))


@st.composite
def softmax_cases(draw: st.DrawFn, result: Quantization = PROBABILITY_INT8, dtype: DType = DType.INT8) -> Plain:
    # More than 511 equal elements make TFLM shift by more than 31, which aborts in the wheel.
    depth = draw(st.sampled_from((1, 2, 3, 10, 97, 511)))
    leading = draw(st.lists(st.integers(1, 3), max_size=3))
    x = int8_arrays(draw, (*leading, depth))
    attrs = SoftmaxAttrs(float32(draw(st.sampled_from((1.0, 1.0, 0.5, 3.0)))))
    return Plain("softmax", (x,), (draw(quantizations((-12, 4))), result), dtype, attrs)


@st.composite
def pad_cases(draw: st.DrawFn, op: str = "pad", ranks: tuple[int, int] = (1, 4)) -> Plain:
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=ranks[0], max_size=ranks[1])))
    amounts = [(0, 0) if draw(st.booleans()) else draw(st.tuples(*[st.integers(0, 3)] * 2)) for _ in shape]
    q = draw(quantizations())
    paddings = np.array(amounts, np.int32)
    x = int8_arrays(draw, shape)
    if op == "padv2":
        value = np.array([draw(st.integers(-128, 127))], np.int8)
        return _int8(op, (x, paddings, value), q, None, q, q, constants=frozenset({1, 2}))
    return _int8(op, (x, paddings), q, None, q, constants=_SECOND)


@st.composite
def concatenation_cases(draw: st.DrawFn) -> Plain:
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    axis = draw(st.integers(0, len(shape) - 1))
    along = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    data = tuple(int8_arrays(draw, (*shape[:axis], size, *shape[axis + 1 :])) for size in along)
    attrs = ConcatenationAttrs(draw(st.sampled_from((axis, axis - len(shape)))))
    return _int8("concatenation", data, *([draw(quantizations())] * (len(data) + 1)), attrs=attrs)


def codes_of(dtype: DType, seed: int = 0) -> AnyArray:
    """All codes of an 8-bit type; 256 of a wider one, with its limits (of 32 bits: as many as 28 bits hold)."""
    low, high = dtype.limits
    if dtype.itemsize == 1:
        return np.arange(low, high + 1).astype(dtype.numpy).reshape(1, 256)
    if dtype.itemsize == 4:
        low, high = -(2**27), 2**27
    inner = np.random.default_rng(seed).integers(low, high, 254)
    return np.concatenate([[low], inner, [high]]).astype(dtype.numpy).reshape(1, 256)


@st.composite
def requantize_cases(draw: st.DrawFn, source: DType, result: DType) -> Plain:
    qs: list[Quantization] = []
    scale = draw(scales())
    for dtype in (source, result):
        low, high = (max(dtype.limits[0], -32768), min(dtype.limits[1], 32767))
        factor = draw(st.one_of(st.sampled_from((1.0, 0.5)), st.floats(0.005, 200.0))) if qs else 1.0
        zero_point = draw(st.one_of(st.sampled_from((low, high)), st.integers(low, high)))
        qs.append(Quantization.per_tensor(float32(scale * factor), zero_point))
    return Plain("quantize", (codes_of(source, draw(st.integers(0, 99))),), tuple(qs), result)


@st.composite
def quantize_cases(draw: st.DrawFn, result: DType = DType.INT8) -> Plain:
    """Floats at and next to the halves between codes, and beyond the range."""
    scale, limits = draw(scales()), result.limits
    zero_point = draw(st.one_of(st.sampled_from(limits), st.integers(*limits)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    halves = np.float32(scale) * (rng.integers(-700, 700, (1, 256)) * 0.5).astype(np.float32)
    x = halves.astype(np.float32)
    beside = np.nextafter(x, rng.choice(np.array([-1e9, 1e9], np.float32), x.shape))
    x = np.where(rng.random(x.shape) < 0.4, beside, x).astype(np.float32)
    return Plain("quantize", (x,), (None, Quantization.per_tensor(scale, zero_point)), result)


@st.composite
def dequantize_cases(draw: st.DrawFn, source: DType) -> Plain:
    zero_point = draw(st.one_of(st.sampled_from(source.limits), st.integers(*source.limits)))
    q = Quantization.per_tensor(draw(scales((-20, 10))), zero_point)
    return Plain("dequantize", (codes_of(source, draw(st.integers(0, 99))),), (q, None), DType.FLOAT32)


INT8_CASES: Mapping[str, st.SearchStrategy[Plain]] = {
    "average_pool2d": pool_cases("average_pool2d"),
    "max_pool2d": pool_cases("max_pool2d"),
    "mean": mean_cases(),
    "add": arithmetic_cases("add"),
    "sub": arithmetic_cases("sub"),
    "mul": arithmetic_cases("mul"),
    "relu": unary_cases("relu"),
    "tanh": unary_cases("tanh"),
    "logistic": unary_cases("logistic"),
    "softmax": softmax_cases(),
    "pad": pad_cases(),
    "padv2": pad_cases("padv2"),
    "concatenation": concatenation_cases(),
    "quantize": requantize_cases(DType.INT8, DType.INT8),
    "quantize_float32": quantize_cases(),
    "quantize_uint8": requantize_cases(DType.UINT8, DType.INT8),
    "quantize_to_uint8": requantize_cases(DType.INT8, DType.UINT8),
    "dequantize": dequantize_cases(DType.INT8),
    "dequantize_uint8": dequantize_cases(DType.UINT8),
}
"""For each kind of node: cases that the wheel runs too."""
