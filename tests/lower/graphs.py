"""Random graphs of toy ops, and what they compute."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Array, Graph, Value
from arenite.ir.types import TensorType
from lower.toy import INT8, ScaleAttrs, evaluate, int8

UNARY = ("toy.scale", "toy.reverse", "toy.sum", "toy.view")


@st.composite
def graphs(draw: st.DrawFn, *, without_dead: bool = False) -> Graph:
    """One to three inputs, up to 14 nodes, up to three outputs that may be inputs, constants, views or duplicates."""
    builder = GraphBuilder()
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    values = [builder.input(f"in{i}", int8(size)) for i, size in enumerate(sizes)]
    constant = np.arange(sizes[0], dtype=np.int8)
    values.append(builder.constant("constant", constant))
    for _ in range(draw(st.integers(0, 14))):
        values.append(_add_node(draw, builder, values))
    if without_dead:
        outputs = [value for value in values if not value.uses and not value.is_constant] or values[:1]
    else:
        outputs = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
    return builder.output(*outputs)


def _add_node(draw: st.DrawFn, builder: GraphBuilder, values: Sequence[Value]) -> Value:
    x = draw(st.sampled_from(values))
    op = draw(st.sampled_from((*UNARY, "toy.add", "toy.join")))
    if op in UNARY:
        attrs = ScaleAttrs(draw(st.integers(-3, 3))) if op == "toy.scale" else None
        type_: TensorType = int8(1, x.type.nelem) if op == "toy.view" else x.type
        return builder.node(op, [x], [type_], attrs).result
    y = draw(st.sampled_from([value for value in values if value.type.nelem == x.type.nelem]))
    if op == "toy.join" and x.type.nelem <= 40:
        return builder.node(op, [x, y], [int8(2 * x.type.nelem)]).result
    return builder.node("toy.add", [x, y], [x.type]).result


def run_reference(graph: Graph, inputs: Sequence[Array]) -> list[Array]:
    """Outputs, by the meaning of each op."""
    known: dict[Value, Array] = dict(zip(graph.inputs, inputs, strict=True))
    known.update((value, value.constant) for value in graph.constants() if value.constant is not None)
    for node in graph.nodes:
        operands = [known[value] for value in node.present_operands]
        result = operands[0] if node.op == "toy.view" else evaluate(node.op, node.attrs, operands)
        known[node.result] = result.reshape(node.result.type.dims)
    return [known[value] for value in graph.outputs]


def random_inputs(graph: Graph, seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.integers(-128, 128, value.type.dims).astype(INT8.numpy) for value in graph.inputs]
