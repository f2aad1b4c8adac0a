"""Models with named state: what converters make of stateful layers, small."""

import numpy as np

from arenite._base.dtypes import DType
from arenite.formats.tflite.details import GraphFacts, Subgraph, TfliteDetails
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Array, Graph, Value
from arenite.ir.model import Model
from arenite.ir.types import Quantization, TensorType
from arenite.ops.movement import ConcatenationAttrs
from arenite.ops.state import HANDLE, CallOnceAttrs, VarHandleAttrs

Q = Quantization.per_tensor(0.5, -7)
ROW = TensorType(DType.INT8, (1, 4), Q)


def handle(builder: GraphBuilder, name: str = "ring") -> Value:
    return builder.node("var_handle", [], [HANDLE], VarHandleAttrs("", name), name=f"handle_{name}").result


def assigning(contents: Array, name: str = "ring") -> Graph:
    """A graph that assigns a constant to a state."""
    builder = GraphBuilder("init")
    state = handle(builder, name)
    builder.node("assign_variable", [state, builder.constant("start", contents, Q)], [], name="start")
    return builder.graph


def delay(initial: Array | None = None, type_: TensorType = ROW, *, handles: int = 1) -> Graph:
    """Gives what it was given one invocation before, beside what it is given now."""
    builder = GraphBuilder()
    x = builder.input("x", type_)
    if initial is not None:
        builder.node("call_once", [], [], CallOnceAttrs(1), name="once", regions=[assigning(initial)])
    states = [handle(builder) for _ in range(handles)]
    before = builder.node("read_variable", states[:1], [type_], Attrs(), name="before").result
    both = TensorType(type_.dtype, (*type_.dims[:-1], 2 * type_.dims[-1]), type_.quantization)
    y = builder.node("concatenation", [before, x], [both], ConcatenationAttrs(-1), name="y").result
    builder.node("assign_variable", [states[-1], x], [], name="after")
    return builder.output(y)


def model_of(graph: Graph, *subgraphs: Graph) -> Model:
    others = tuple(Subgraph(clone_graph(other), GraphFacts(other.name)) for other in subgraphs)
    return Model("m", graph, details=TfliteDetails(main=GraphFacts("main"), subgraphs=others))


START = np.array([[9, 8, 7, -6]], np.int8)


def feeds(count: int = 20, type_: TensorType = ROW) -> list[list[Array]]:
    rng = np.random.default_rng(11)
    return [[rng.integers(-100, 100, type_.dims).astype(type_.dtype.numpy)] for _ in range(count)]
