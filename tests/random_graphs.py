"""Random graphs rich in views, joins, cuts and state: several states, read and written in any order, some started once.

Of operators and types only what TFLite-Micro runs, so that it judges each of them.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Array, Graph, Value
from arenite.ir.model import Model
from arenite.ir.opdef import OpCall
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.layout import PackAttrs
from arenite.ops.movement import ConcatenationAttrs, ReshapeAttrs
from arenite.ops.slicing import SplitAttrs, StridedSliceAttrs, UnpackAttrs
from arenite.ops.state import HANDLE, CallOnceAttrs, VarHandleAttrs
from arenite.ops.svdf import SvdfAttrs
from named_state import model_of

REGISTRY = core_registry()
INT8 = (Quantization.per_tensor(0.5, -7), Quantization.per_tensor(0.25, 11))
TYPES: tuple[tuple[DType, Quantization | None], ...] = (
    *((DType.INT8, each) for each in INT8),
    (DType.INT16, Quantization.per_tensor(2.0**-10)),
    (DType.INT32, None),
    (DType.FLOAT32, None),
    (DType.BOOL, None),
)
SHAPES = ((4,), (1, 4), (2, 2), (1, 6), (2, 3), (1, 2, 2), (1, 1))
MOST_NELEM = 60
_STATE_Q, _WEIGHTS_Q = Quantization.per_tensor(0.5), Quantization.per_tensor(0.25)


def array_of(seed: int, type_: TensorType) -> Array:
    """Made-up contents of a type, over its range; int32 stays far from it."""
    rng = np.random.default_rng(seed)
    if type_.dtype is DType.BOOL:
        return rng.integers(0, 2, type_.dims).astype(np.bool_)
    if type_.dtype.is_float:
        return rng.normal(0, 2, type_.dims).astype(np.float32)
    low, high = type_.dtype.limits if type_.dtype.itemsize < 4 else (-(10**6), 10**6)
    return rng.integers(low, high, type_.dims, endpoint=True).astype(type_.dtype.numpy)


def feeds_of(graph: Graph, count: int) -> list[list[Array]]:
    """Inputs for some invocations."""
    return [[array_of(97 * step + place, v.type) for place, v in enumerate(graph.inputs)] for step in range(count)]


class Drawing:
    """A graph while it is drawn.

    Attributes:
        values: what may be read, in the order in which it came to be.
        states: what each named state holds.
        variables: states that operators change where they lie.
    """

    def __init__(self, draw: st.DrawFn, name: str = "main") -> None:
        self.draw = draw
        self.builder = GraphBuilder(name)
        self.values: list[Value] = []
        self.states: dict[tuple[str, str], TensorType] = {}
        self.variables: list[Value] = []
        self._handles: dict[tuple[str, str], Value] = {}

    def pick(self, fits: Callable[[Value], bool] = lambda value: True) -> Value | None:
        """A value that fits, a late one more often than not."""
        found = [value for value in self.values if fits(value)]
        late = found[-3:] if self.draw(st.booleans()) else found
        return self.draw(st.sampled_from(late)) if late else None

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def ints(self, *values: int) -> Value:
        return self.builder.constant("ints", np.array(values, np.int32))

    def constant(self, type_: TensorType) -> Value:
        return self.builder.constant("given", array_of(self.number(0, 99), type_), type_.quantization)

    def emit(
        self, op: str, operands: Sequence[Value], attrs: Attrs, like: TensorType, n_results: int = 1
    ) -> tuple[Value, ...]:
        """A node whose results have the dtype and quantization of `like`, and the shapes that the op says."""
        types, constants = tuple(v.type for v in operands), tuple(v.constant for v in operands)
        declared = (TensorType(like.dtype, None, like.quantization),) * n_results
        results = REGISTRY[op].infer(OpCall("node", op, attrs, types, declared, constants))
        made = self.builder.node(op, operands, results, attrs, name=op).results
        self.values += made
        return made

    def handle(self, key: tuple[str, str]) -> Value:
        """One that is there, or another one of the same state."""
        if key not in self._handles or self.draw(st.booleans()):
            node = self.builder.node("var_handle", [], [HANDLE], VarHandleAttrs(*key), name="handle")
            self._handles[key] = node.result
        return self._handles[key]

    def assign(self, key: tuple[str, str]) -> None:
        type_ = self.states[key]
        value = self.pick(lambda v: v.type == type_ and not v.is_variable) or self.constant(type_)
        self.builder.node("assign_variable", [self.handle(key), value], [], name="assign")

    def read(self, key: tuple[str, str]) -> Value:
        node = self.builder.node("read_variable", [self.handle(key)], [self.states[key]], name="read")
        self.values.append(node.result)
        return node.result


def _reshape(d: Drawing, x: Value) -> None:
    dims = d.draw(st.sampled_from([*(s for s in SHAPES if math.prod(s) == x.type.nelem), (x.type.nelem,)]))
    d.emit("reshape", [x, d.ints(*dims)], ReshapeAttrs(dims), x.type)


def _join(d: Drawing, x: Value) -> None:
    axis = d.number(0, x.type.rank - 1)

    def fits(v: Value) -> bool:
        alike = (v.type.dtype, v.type.quantization, v.type.rank) == (x.type.dtype, x.type.quantization, x.type.rank)
        pairs = enumerate(zip(v.type.dims, x.type.dims, strict=alike))
        return alike and all(i == axis or a == b for i, (a, b) in pairs)

    others = [d.pick(fits) or x for _ in range(d.number(0, 2))]
    operands = d.draw(st.permutations([x, *others]))
    if sum(v.type.nelem for v in operands) <= MOST_NELEM:
        d.emit("concatenation", operands, ConcatenationAttrs(axis), x.type)


def _slice(d: Drawing, x: Value) -> None:
    begins = [d.number(0, dim - 1) for dim in x.type.dims]
    ends = [d.number(begin + 1, dim) for begin, dim in zip(begins, x.type.dims, strict=True)]
    steps = [d.draw(st.sampled_from((1, 1, 2))) for _ in begins]
    d.emit("strided_slice", [x, d.ints(*begins), d.ints(*ends), d.ints(*steps)], StridedSliceAttrs(), x.type)


def _split(d: Drawing, x: Value) -> None:
    if x.type.dtype is DType.BOOL:
        return
    axis = d.number(0, x.type.rank - 1)
    count = d.draw(st.sampled_from([n for n in (1, 2, 3) if x.type.dims[axis] % n == 0]))
    place = d.builder.constant("axis", np.array(axis, np.int32))
    d.emit("split", [place, x], SplitAttrs(count), x.type, count)


def _pack(d: Drawing, x: Value) -> None:
    if x.type.dtype is not DType.BOOL and x.type.rank < 4:
        operands = [x, *(d.pick(lambda v: v.type == x.type) or x for _ in range(d.number(0, 1)))]
        d.emit("pack", operands, PackAttrs(len(operands), d.number(0, x.type.rank)), x.type)


def _unpack(d: Drawing, x: Value) -> None:
    axis = d.number(0, x.type.rank - 1)
    if x.type.dtype is not DType.BOOL and x.type.rank > 1 and x.type.dims[axis] <= 3:
        d.emit("unpack", [x], UnpackAttrs(x.type.dims[axis], axis), x.type, x.type.dims[axis])


def _transpose(d: Drawing, x: Value) -> None:
    if x.type.dtype in (DType.INT8, DType.INT16, DType.FLOAT32):
        d.emit("transpose", [x, d.ints(*d.draw(st.permutations(range(x.type.rank))))], Attrs(), x.type)


def _pad(d: Drawing, x: Value) -> None:
    if x.type.dtype is not DType.BOOL and x.type.nelem <= MOST_NELEM // 2:
        amounts = np.array([[d.number(0, 1), 0] for _ in x.type.dims], np.int32)
        d.emit("pad", [x, d.builder.constant("amounts", amounts)], Attrs(), x.type)


def _add(d: Drawing, x: Value) -> None:
    if x.type.dtype is DType.INT8:
        other = d.pick(lambda v: (v.type.dtype, v.type.dims) == (DType.INT8, x.type.dims)) or x
        like = TensorType(DType.INT8, None, d.draw(st.sampled_from(INT8)))
        d.emit("add", [x, other], ArithmeticAttrs(), like)


def _relu(d: Drawing, x: Value) -> None:
    if x.type.dtype is DType.INT8:
        d.emit("relu", [x], Attrs(), x.type)


def _svdf(d: Drawing, _: Value) -> None:
    """Changes a variable that another one may have changed, too, and that anybody may read where it lies."""
    x = d.pick(lambda v: v.type.dtype is DType.INT8 and v.type.rank == 2 and v.type.dims[0] == 1)
    if x is None:
        return
    filters, memory = d.number(1, 3), d.number(1, 3)
    type_ = TensorType(DType.INT8, (1, filters * memory), _STATE_Q)
    there = [each for each in d.variables if each.type == type_]
    if not there or d.draw(st.booleans()):
        d.variables.append(d.builder.variable("state", type_))
        there = d.variables[-1:]
        d.values += there
    tables = [
        d.builder.constant("weights", array_of(seed, TensorType(DType.INT8, (filters, columns))) // 8, _WEIGHTS_Q)
        for seed, columns in enumerate((x.type.dims[1], memory))
    ]
    bias = d.builder.constant("bias", np.arange(filters, dtype=np.int32), Quantization.per_tensor(0.125))
    operands = [x, *tables, bias, d.draw(st.sampled_from(there))]
    result = TensorType(DType.INT8, (1, filters), INT8[0])
    d.values.append(d.builder.node("svdf", operands, [result], SvdfAttrs(), name="svdf").result)


def _shift(d: Drawing, key: tuple[str, str]) -> None:
    """A ring: the last values of a state and what is new."""
    before = d.read(key)
    new = d.pick(lambda v: v.type == before.type and not v.is_variable)
    assert new is not None, "what was read is there"
    axis, dims = d.number(0, before.type.rank - 1), before.type.dims
    (both,) = d.emit("concatenation", [before, new], ConcatenationAttrs(axis), before.type)
    begins = [dim if i == axis else 0 for i, dim in enumerate(dims)]
    operands = [both, d.ints(*begins), d.ints(*both.type.dims), d.ints(*[1] * len(dims))]
    (kept,) = d.emit("strided_slice", operands, StridedSliceAttrs(), before.type)
    d.builder.node("assign_variable", [d.handle(key), kept], [], name="assign")


STEPS = (_reshape, _reshape, _join, _join, _slice, _split, _pack, _unpack, _transpose, _pad, _add, _relu)


def _type(draw: st.DrawFn) -> TensorType:
    dtype, quantization = draw(st.sampled_from(TYPES))
    return TensorType(dtype, draw(st.sampled_from(SHAPES)), quantization)


def _step(d: Drawing, steps: Sequence[Callable[[Drawing, Value], None]]) -> None:
    # A value without dimensions has nothing that could be cut.
    if (x := d.pick(lambda v: v.type.rank > 0)) is not None:
        d.draw(st.sampled_from(steps))(d, x)


def _starting(draw: st.DrawFn, states: dict[tuple[str, str], TensorType]) -> Graph:
    """What runs once: it computes from constants, and assigns."""
    d = Drawing(draw, "init")
    d.states = states
    d.values += [d.constant(type_) for type_ in states.values()]
    for _ in range(d.number(0, 2)):
        _step(d, STEPS)
    for key in states:
        d.assign(key)
    return d.builder.graph


def _outputs(d: Drawing) -> list[Value]:
    """Some values; most graphs give something that is computed."""
    computed = [value for value in d.values if value.producer is not None]
    others = [value for value in d.values if not value.is_variable]
    source = st.sampled_from(computed or others)
    return d.draw(st.lists(st.one_of(source, source, st.sampled_from(others)), min_size=1, max_size=4, unique=True))


@st.composite
def models(draw: st.DrawFn, *, stateful: bool) -> Model:
    """A model of one to three inputs and up to 14 nodes, and some that belong to its states."""
    d = Drawing(draw)
    row = TensorType(DType.INT8, draw(st.sampled_from(((1, 4), (1, 6), (2, 3)))), INT8[0])
    types = [row, *(_type(draw) for _ in range(d.number(0, 2)))]
    d.values += [d.builder.input(f"x_{i}", type_) for i, type_ in enumerate(types)]
    subgraphs = []
    if stateful:
        for i in range(d.number(1, 3)):
            like = d.pick()
            assert like is not None, "there is an input"
            d.states["box" if draw(st.booleans()) else "", f"ring_{i}"] = like.type
        started = {key: type_ for key, type_ in d.states.items() if draw(st.booleans())}
        if started:
            subgraphs.append(_starting(draw, started))
            region = clone_graph(subgraphs[0])
            d.builder.node("call_once", [], [], CallOnceAttrs(1), name="once", regions=[region])
    accesses = (Drawing.read, Drawing.assign, _shift)
    for _ in range(d.number(1, 14)):
        if stateful and draw(st.booleans()):
            draw(st.sampled_from(accesses))(d, draw(st.sampled_from(list(d.states))))
        else:
            _step(d, (*STEPS, _svdf, _svdf) if stateful else STEPS)
    for key in d.states:
        # TFLite-Micro has no memory for what nobody assigns.
        d.assign(key)
    return model_of(d.builder.output(*_outputs(d)), *subgraphs)
