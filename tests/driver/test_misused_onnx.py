"""Nodes that have operands or results which their operators do not: refused with one message, none ends in a defect."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import helper

import arenite
from arenite._base.errors import ModelError
from arenite.driver.inspect import inspect_model
from arenite.formats.onnx import export_model, import_model, model_registry
from arenite.interp.onnx import OnnxInterpreter
from arenite.ops.onnx.required import unfit_attributes
from cli.in_process import call


def model(*nodes: onnx.NodeProto, opset: int = 17, functions: Sequence[onnx.FunctionProto] = ()) -> arenite.Model:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [2, 3])],
        [helper.make_tensor_value_info("y", 1, None)],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=functions)
    return import_model(proto.SerializeToString(), "m")


def node(op: str, operands: Sequence[str], results: Sequence[str], name: str) -> onnx.NodeProto:
    return helper.make_node(op, operands, results, name=name)


@pytest.mark.parametrize(
    ("operands", "results", "text"),
    [
        ([], ["v"], "operands are missing: X"),
        ([""], ["v"], "operand 'X' is absent"),
        (["x", "x"], ["v"], "takes at most 1 operand"),
        (["x"], ["", "v"], "results, found 2"),
    ],
)
def test_a_node_that_no_schema_allows_is_named(operands: list[str], results: list[str], text: str) -> None:
    broken = model(node("Neg", operands, results, "first"), node("Relu", ["v"], ["y"], "last"))
    with pytest.raises(ModelError, match="node 'first'") as caught:
        arenite.optimize(broken, check=0)
    assert text in str(caught.value)
    assert "last" not in str(caught.value)


def test_all_of_them_are_named_at_once_and_in_nested_graphs() -> None:
    branches = [
        helper.make_graph(
            [node("Relu", [], [name], f"in_{name}")], name, [], [helper.make_tensor_value_info(name, 1, None)]
        )
        for name in ("p", "q")
    ]
    choice = helper.make_node("If", ["c"], ["y"], name="if", then_branch=branches[0], else_branch=branches[1])
    broken = model(node("Cast", [], ["c"], "cast"), choice)
    with pytest.raises(ModelError) as caught:
        arenite.optimize(broken, check=0)
    assert all(name in str(caught.value) for name in ("cast", "in_p", "in_q"))


def lacking() -> arenite.Model:
    """A Concat without an axis, and inside an If that has no else_branch a Cast that does not say to what."""
    cast = node("Cast", ["x"], ["p"], "in_p")
    branch = helper.make_graph([cast], "p", [], [helper.make_tensor_value_info("p", 1, None)])
    concat, choice = node("Concat", ["x"], ["v"], "one"), helper.make_node("If", ["v"], ["y"], "if", then_branch=branch)
    return model(concat, choice)


def interpret(model: arenite.Model) -> None:
    OnnxInterpreter(model.graph, model_registry(model))


LACKING = {
    "node 'one' (Concat): attribute 'axis' is missing, which Concat must have in opset 17",
    "node 'if' (If): attribute 'else_branch' is missing, which If must have in opset 17",
    "node 'in_p' (Cast): attribute 'to' is missing, which Cast must have in opset 17",
}


@pytest.mark.parametrize("act", [partial(arenite.optimize, check=0), partial(arenite.convert, check=0), interpret])
def test_attributes_that_must_be_there_are_named_at_once(act: Callable[[arenite.Model], object]) -> None:
    with pytest.raises(ModelError) as caught:
        act(lacking())
    assert set(caught.value.problems) == LACKING


def test_inspect_tells_which_attributes_are_missing(tmp_path: Path) -> None:
    export_model(lacking(), tmp_path / "m.onnx")
    assert set(inspect_model(tmp_path / "m.onnx").problems) >= LACKING


@pytest.mark.parametrize(("opset", "names"), [(9, ["ends", "starts"]), (10, [])])
def test_which_attributes_must_be_there_depends_on_the_opset(opset: int, names: list[str]) -> None:
    single = model(node("Slice", ["x"], ["y"], "s"), opset=opset)
    assert unfit_attributes(single.graph, model_registry(single)) == [
        f"node 's' (Slice): attribute '{name}' is missing, which Slice must have in opset {opset}" for name in names
    ]


def test_operators_that_are_not_known_have_any_operands() -> None:
    own = helper.make_node("Own", ["x", "", "x"], ["", "v"], domain="own", name="own")
    assert arenite.optimize(model(own, node("Relu", ["v"], ["y"], "last")), check=0).model.graph.outputs


@pytest.mark.parametrize("operands", [["n", "", "x"], ["", "c", "x"], ["", "", "x"]])
def test_a_loop_may_lack_its_count_and_its_condition(operands: list[str]) -> None:
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [node("Neg", ["v"], ["w"], "step"), node("Not", ["b"], ["more"], "last")],
        "body",
        [info("i", 7, []), info("b", 9, []), info("v", 1, [2, 3])],
        [info("more", 9, []), info("w", 1, [2, 3])],
    )
    loop = helper.make_node("Loop", operands, ["y"], name="loop", body=body)
    inputs = [info("x", 1, [2, 3]), info("n", 7, []), info("c", 9, [])]
    graph = helper.make_graph([loop], "g", inputs, [info("y", 1, [2, 3])])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    result = arenite.optimize(import_model(proto.SerializeToString(), "m"), check=0)
    assert [each.op for each in result.model.graph.nodes] == ["onnx.Loop"]


def test_bodies_of_functions_are_looked_at_too() -> None:
    body = [node("Relu", ["a"], ["v"], "fine"), node("Transpose", ["v"], ["", "b"], "broken")]
    function = helper.make_function("own", "F", ["a"], ["b"], body, [helper.make_opsetid("", 17)])
    calling = model(helper.make_node("F", ["x"], ["y"], domain="own", name="call"), functions=[function])
    with pytest.raises(ModelError, match=r"node 'broken' .*found 2"):
        arenite.optimize(calling, check=0)


def test_old_opsets_are_left_alone() -> None:
    """Nothing of theirs is rewritten, and a file without versions has them all."""
    old = model(node("Relu", ["x", "x"], ["v"], "first"), node("Relu", ["v"], ["y"], "last"), opset=6)
    assert len(arenite.optimize(old, check=0).model.graph) == 2


@pytest.mark.parametrize("op", ["Pow", "Add", "Where", "Gather", "Concat", "Reshape", "Slice", "Expand", "Mod", "Tile"])
@pytest.mark.parametrize("count", [0, 1])
def test_looking_at_one_is_no_defect(op: str, count: int, tmp_path: Path) -> None:
    """Its elements would be known, were it whole."""
    shape = node("Shape", ["x"], ["s"], "shape")
    broken = node(op, ["s"][:count], ["v"], "broken")
    path = tmp_path / "m.onnx"
    graph = helper.make_graph(
        [shape, broken, node("Cast", ["v"], ["y"], "last")],
        "g",
        [helper.make_tensor_value_info("x", 1, [2, 3])],
        [helper.make_tensor_value_info("y", 1, None)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    for command in ("inspect", "explain"):
        done = call(command, path)
        assert done.returncode in (0, 1), done.stderr
    assert "broken" in call("inspect", path).stdout


@pytest.mark.parametrize(
    ("op", "attributes", "problem"),
    [
        ("Softmax", {"axis": "1"}, "attribute 'axis' is of type STRING, but is INT in opset 17"),
        ("Softmax", {"axis": [1, 1]}, "attribute 'axis' is of type INTS, but is INT in opset 17"),
        ("LeakyRelu", {"alpha": 1}, "attribute 'alpha' is of type INT, but is FLOAT in opset 17"),
        ("Transpose", {"perm": [0.0, 1.0]}, "attribute 'perm' is of type FLOATS, but is INTS in opset 17"),
        ("Relu", {"body": helper.make_graph([], "b", [], [])}, "attribute 'body' is a graph, which Relu does not have"),
    ],
)
def test_attributes_of_other_types_are_named(op: str, attributes: dict[str, Any], problem: str) -> None:
    broken = model(helper.make_node(op, ["x"], ["y"], name="broken", **attributes))
    registry = model_registry(broken)
    for refuse in (lambda: arenite.optimize(broken, check=0), lambda: OnnxInterpreter(broken.graph, registry)):
        with pytest.raises(ModelError) as caught:
            refuse()
        assert f"node 'broken' ({op}): {problem}" in str(caught.value)


def test_attributes_that_an_operator_does_not_have_do_no_harm() -> None:
    odd = model(helper.make_node("Relu", ["x"], ["y"], name="odd", consumed_inputs=[0, 0]))
    assert unfit_attributes(odd.graph, model_registry(odd)) == []
