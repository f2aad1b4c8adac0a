"""Whatever node a file can hold is refused with a sentence, or runs and becomes C calls. Nothing else happens.

Damaged and hostile files reach every op with operands of any rank and dtype: requirements must be tested in an order in
which none trips over what the one before has found.
"""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite._base.errors import AreniteError, ModelError, SelfCheckError
from arenite.interp.interpreter import Interpreter
from arenite.ir.attrs import Attrs, TensorAttr
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph, Value
from arenite.ir.opdef import OpCall, OpDef, OpError
from arenite.ir.types import Quantization, TensorType
from arenite.ir.verifier import verify
from arenite.lower import kernels
from arenite.lower.lower import lower
from arenite.ops import core_registry

REGISTRY = core_registry()
KERNELS = kernels()
DTYPES = (DType.INT8, DType.INT8, DType.FLOAT32, DType.INT32, DType.INT64, DType.INT16, DType.UINT8, DType.BOOL)
NUMBERS = (-(2**31), -5, -1, 0, 1, 1, 2, 3, 4, 2**31 - 1)
LARGEST_NELEM = 10_000


@st.composite
def types(draw: st.DrawFn) -> TensorType:
    shape = draw(st.sampled_from([0, 1, 2, 3, 4, 4, 4, 5, 6]).flatmap(lambda rank: st.tuples(*[_DIMS] * rank)))
    dtype = draw(st.sampled_from(DTYPES))
    if dtype in (DType.FLOAT32, DType.INT64, DType.BOOL) or not draw(st.integers(0, 4)):
        return TensorType(dtype, shape)
    axis = draw(st.sampled_from([None, None, None, *(axis for axis, dim in enumerate(shape) if dim)]))
    count = 1 if axis is None else shape[axis]
    zero = draw(st.sampled_from([0, 0, 1, 127] if dtype is DType.UINT8 else [0, 0, 1, 127, -128]))
    scale = draw(st.sampled_from([0.5, 2.0**-20, *(float(np.float32(x)) for x in (1.2e-38, 1e30, 3.4e38))]))
    return TensorType(dtype, shape, Quantization((scale,) * count, (zero,) * count, axis))


_DIMS = st.sampled_from([0, 1, 1, 2, 3, 4, 5, 8])


def attributes(definition: OpDef) -> st.SearchStrategy[Attrs]:
    """Of the op's own class, with values of its fields' types."""
    return st.one_of(st.builds(definition.attrs), st.builds(definition.attrs), st.just(Attrs()))


st.register_type_strategy(int, st.sampled_from((*NUMBERS, -2, 7)))
st.register_type_strategy(float, st.sampled_from([0.0, 1.0, -1.0, 0.1, 1e30, float("inf"), float("nan")]))
st.register_type_strategy(
    TensorAttr,
    st.builds(
        lambda dtype, nelem: TensorAttr(np.arange(nelem).astype(dtype)),
        st.sampled_from([np.int8, np.uint8, np.float32]),
        st.sampled_from([0, 1, 256, 256]),
    ),
)


@st.composite
def nodes(draw: st.DrawFn, definition: OpDef) -> Graph:
    """A graph of one node with operands that are inputs, constants, state or absent."""
    builder = GraphBuilder()
    count = len(definition.operands) + draw(st.sampled_from([0, 0, 0, -1, 1]))
    operands: list[Value | None] = []
    last = draw(types())
    for index in range(max(0, count)):
        last = last if draw(st.booleans()) else draw(types())
        operands.append(draw(_operand(builder, f"x{index}", last, is_state=index in definition.state)))
    n_results = max(1, len(definition.result_names)) + draw(st.sampled_from([0, 0, 0, 1]))
    results = [draw(st.one_of(st.just(last), types())) for _ in range(n_results)]
    node = builder.node(definition.name, operands, results, draw(attributes(definition)))
    return builder.output(*node.results)


def _operand(builder: GraphBuilder, name: str, type_: TensorType, *, is_state: bool) -> st.SearchStrategy[Value | None]:
    makers: dict[str, Callable[[], st.SearchStrategy[Value | None]]] = {
        "input": lambda: st.builds(lambda: builder.input(name, type_)),
        "state": lambda: st.builds(lambda: builder.variable(name, type_)),
        "constant": lambda: _array(type_).map(lambda a: builder.constant(name, a, type_.quantization)),
        "numbers": lambda: st.lists(st.sampled_from(NUMBERS), max_size=4).map(
            lambda numbers: builder.constant(name, np.array(numbers, np.int32))
        ),
        "absent": st.none,
    }
    kinds = ["state"] if is_state else ["input", "input", "constant", "constant", "numbers", "numbers", "absent"]
    return st.sampled_from(kinds).flatmap(lambda kind: makers[kind]())


def _array(type_: TensorType) -> st.SearchStrategy[np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    limits = type_.dtype.limits if type_.dtype.is_integer else (0, 1)
    values = [number for number in NUMBERS if limits[0] <= number <= limits[1]]
    return st.sampled_from(values).map(lambda number: np.full(type_.dims, number, type_.dtype.numpy))


def with_inferred_results(graph: Graph) -> Graph:
    """The graph with the result types that its node must have; as it is where the op refuses the node."""
    (node,) = graph.nodes
    call, definition = OpCall.of(node), REGISTRY[node.op]
    try:
        if all(constraint.holds(call) is True for constraint in definition.constraints):
            for value, type_ in zip(node.results, definition.infer(call), strict=False):
                value.type = type_
    except OpError:
        pass
    return graph


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_node_is_refused_or_runs(name: str) -> None:
    @given(nodes(REGISTRY[name]))
    @settings(max_examples=max(5, settings().max_examples // 4))
    def judge(graph: Graph) -> None:
        problems = verify(graph, REGISTRY)
        if problems and all("is declared" in problem for problem in problems):
            problems = verify(with_inferred_results(graph), REGISTRY)
        if problems or sum(value.type.nelem for value in graph.values()) > LARGEST_NELEM:
            return
        feeds = [np.zeros(value.type.dims, value.type.dtype.numpy) for value in graph.inputs]
        for attempt in (
            lambda: Interpreter(graph, REGISTRY).run(feeds),
            lambda: lower(graph, REGISTRY, KERNELS, name="net"),
        ):
            try:
                attempt()
            except SelfCheckError:
                raise
            except AreniteError:
                pass

    judge()


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_operands_that_must_be_there_are_missed_wherever_they_stand(name: str) -> None:
    definition, type_ = REGISTRY[name], TensorType(DType.INT8, (2, 2), Quantization.per_tensor(0.5, 0))
    places = [i for i, o in enumerate(definition.operands, 1) if not o.optional and not o.variadic]
    for count in range(max(places, default=0)):
        builder = GraphBuilder()
        given = [builder.input(f"x{index}", type_) for index in range(count)]
        graph = builder.output(*builder.node(name, given, [type_], Attrs()).results)
        (told,) = (problem for problem in verify(graph, REGISTRY) if "operands are missing: " in problem)
        names = [o.name for o in definition.operands[count:] if not o.optional and not o.variadic]
        assert told.endswith(f"operands are missing: {', '.join(names)}")


def test_operands_that_are_computed_are_judged_when_they_are_known() -> None:
    """Where paddings are computed, only running can find that there is no value to pad with."""
    b = GraphBuilder()
    x, paddings = b.input("x", TensorType(DType.INT32, (2,))), b.input("paddings", TensorType(DType.INT32, (1, 2)))
    nothing = b.constant("nothing", np.zeros(0, np.int32))
    graph = b.output(b.node("padv2", [x, paddings, nothing], [TensorType(DType.INT32, (2,))]).result)
    with pytest.raises(ModelError, match="the padding value must be one element"):
        Interpreter(graph, REGISTRY).run([np.zeros(2, np.int32), np.zeros((1, 2), np.int32)])
