"""Copies that keep their elements in order become views; all others stay."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite.interp.interpreter import Interpreter
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph
from arenite.ir.opdef import OpCall
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.layout import BlockAttrs, PackAttrs
from arenite.ops.slicing import SplitAttrs, StridedSliceAttrs, UnpackAttrs
from arenite.passes.base import Context
from arenite.passes.straighten import Straighten
from passes.support import ops, verdicts

REGISTRY = core_registry()
Q = Quantization.per_tensor(0.5, 3)


def graph_of(
    op: str, dims: tuple[int, ...], *constants: Any, attrs: Attrs | None = None, data: int = 0, end: bool = True
) -> Graph:
    """relu(op(relu(x))), or op(relu(x)) with the node's result as the output."""
    b = GraphBuilder()
    x = b.input("x", TensorType(DType.INT8, dims, Q))
    first = b.node("relu", [x], [x.type], name="first").result
    operands = [b.constant("c", np.array(value, np.int32)) for value in constants]
    operands.insert(data, first)
    types, values = tuple(v.type for v in operands), tuple(v.constant for v in operands)
    declared = (TensorType(DType.INT8, None, Q),)
    (type_,) = REGISTRY[op].infer(OpCall("n", op, attrs or Attrs(), types, declared, values))
    result = b.node(op, operands, [type_], attrs, name="n").result
    return b.output(b.node("relu", [result], [type_], name="last").result if end else result)


STRIDED = StridedSliceAttrs
CASES = [
    ("transpose", (1, 4, 5, 1), [[3, 1, 0, 2]], None, "reshapes"),
    ("transpose", (1, 4, 4, 2), [[0, 1, 2, 3]], None, "removed"),
    ("transpose", (1, 4, 4, 2), [[0, 2, 1, 3]], None, "moves"),
    ("transpose", (1, 4, 4, 4), [[0, 3, 1, 2]], None, "moves"),
    ("slice", (2, 3), [[0, 0], [-1, 3]], None, "removed"),
    ("slice", (2, 3), [[0, 0], [1, 3]], None, "moves"),
    ("strided_slice", (1, 3), [[0, 0], [1, 3], [1, 1]], STRIDED(shrink_axis_mask=1), "reshapes"),
    ("strided_slice", (1, 3), [[0, 2], [1, -9], [1, -1]], STRIDED(end_mask=2), "moves"),
    ("strided_slice", (3, 1), [[0, 0], [3, -9], [1, -1]], STRIDED(end_mask=2), "removed"),
    ("strided_slice", (3,), [[0, 0], [0, 3], [1, 1]], STRIDED(new_axis_mask=1), "reshapes"),
    ("unpack", (1, 3), [], UnpackAttrs(1, 0), "reshapes"),
    ("pack", (2, 3), [], PackAttrs(1, 1), "reshapes"),
    ("space_to_depth", (1, 2, 2, 3), [], BlockAttrs(1), "removed"),
    ("space_to_depth", (1, 2, 2, 1), [], BlockAttrs(2), "reshapes"),
    ("depth_to_space", (1, 2, 2, 4), [], BlockAttrs(2), "moves"),
    ("tile", (2, 3), [[1, 1]], None, "removed"),
    ("tile", (2, 3), [[1, 2]], None, "moves"),
    ("broadcast_to", (2, 3), [[1, 2, 3]], None, "reshapes"),
    ("broadcast_to", (2, 1), [[2, 3]], None, "moves"),
]


@pytest.mark.parametrize(("op", "dims", "constants", "attrs", "reason"), CASES)
def test_what_becomes_of_a_copy(op: str, dims: Any, constants: Any, attrs: Any, reason: str) -> None:
    graph = graph_of(op, dims, *constants, attrs=attrs)
    x = np.random.default_rng(1).integers(-128, 128, dims).astype(np.int8)
    before = Interpreter(graph, REGISTRY).run([x])
    found = verdicts(Straighten(), graph, REGISTRY)["n"]
    assert found == [f"{'missed' if reason == 'moves' else 'passed'} {reason}"]
    assert (
        ops(graph)
        == {
            "removed": ["relu", "relu"],
            "reshapes": ["relu", "reshape", "relu"],
            "moves": ["relu", op, "relu"],
        }[reason]
    )
    np.testing.assert_array_equal(Interpreter(graph, REGISTRY).run([x]), before)
    assert any("n" in node.origin for node in graph.nodes)


def test_an_output_keeps_its_name() -> None:
    for op, constants in (("transpose", [[1, 0]]), ("tile", [[1, 1]])):
        graph = graph_of(op, (1, 3), *constants, end=False)
        verdicts(Straighten(), graph, REGISTRY)
        assert [value.name for value in graph.outputs] == ["n"]


def test_several_values_and_computed_operands_are_left() -> None:
    b = GraphBuilder()
    x = b.input("x", TensorType(DType.INT8, (4, 2), Q))
    perm = b.input("perm", TensorType(DType.INT32, (2,)))
    axis = b.constant("axis", np.array(0, np.int32))
    half = TensorType(DType.INT8, (2, 2), Q)
    parts = b.node("split", [axis, x], [half, half], SplitAttrs(2), name="split", result_names=("a", "b")).results
    turned = b.node("transpose", [x, perm], [TensorType(DType.INT8, (2, 4), Q)], name="turned").result
    graph = b.output(*parts, turned)
    found = verdicts(Straighten(), graph, REGISTRY)
    (split,) = (node.name for node in graph.nodes if node.op == "split")
    assert found[split] == ["missed several-values"]
    assert found["turned"] == ["missed computed"]


@pytest.mark.parametrize("unknown", ["source", "result"])
@pytest.mark.parametrize("op", ["pack", "transpose"])
def test_what_has_no_known_shape_is_left(op: str, unknown: str) -> None:
    known, some = TensorType(DType.INT8, (1, 3), Q), TensorType(DType.INT8, (1, "n"), Q)
    b = GraphBuilder()
    source = b.node("relu", [b.input("x", known)], [some if unknown == "source" else known], name="source").result
    result = dataclasses.replace(known, shape=(1, 1, 3)) if op == "pack" else known
    result = dataclasses.replace(some, shape=(1, 1, "n")) if unknown == "result" else result
    operands = [source] if op == "pack" else [source, b.constant("perm", np.array([0, 1], np.int32))]
    attrs = PackAttrs(1, 0) if op == "pack" else Attrs()
    graph = b.output(b.node(op, operands, [result], attrs, name="n").result)
    (remark,) = Straighten().run(graph, Context(REGISTRY)).remarks
    assert remark.reason.slug == "unknown-shape"
    assert remark.arguments["value"] == ("source" if unknown == "source" else "n")


def test_an_output_is_no_input() -> None:
    b = GraphBuilder()
    type_ = TensorType(DType.INT8, (1, 3), Q)
    operands = [b.input("x", type_), b.constant("perm", np.array([0, 1], np.int32))]
    graph = b.output(b.node("transpose", operands, [type_], name="n").result)
    assert verdicts(Straighten(), graph, REGISTRY)["n"] == ["passed reshapes"]
    assert ops(graph) == ["reshape"]
