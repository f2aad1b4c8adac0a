"""Functions that a model defines itself: written out, or optimised where they stay."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import arenite
from arenite.driver.onnx_functions import with_inlining
from arenite.driver.optimize import optimize_loaded
from arenite.driver.optimize_result import OptimizeOptions, OptimizeResult
from arenite.formats.onnx import export_model, import_model, model_registry
from arenite.interp.onnx import OnnxInterpreter
from arenite.ir.graph import Array
from arenite.ops.onnx.engine import whole_model
from passes.onnx.optimizing import reals

HEADER = '<ir_version: 8, opset_import: ["": 17, "own": 1]>\n'
BODY_HEADER = '\n<domain: "own", opset_import: ["": 17]>\n'


def proto_of(graph: str, *functions: str, opsets: str = '"": 17') -> onnx.ModelProto:
    header = HEADER.replace('"": 17', opsets)
    bodies = "".join(BODY_HEADER.replace('"": 17', '"": 17, "own": 1') + text for text in functions)
    return onnx.parser.parse_model(header + graph + bodies)


def optimised(proto: onnx.ModelProto, *feeds: Mapping[str, Array]) -> tuple[OptimizeResult, onnx.ModelProto]:
    """The result, as a file; compared with the original by onnxruntime on the feeds."""
    model = import_model(proto.SerializeToString(), "test")
    result = optimize_loaded(model, OptimizeOptions(check=0))
    data = export_model(result.model)
    again = optimize_loaded(import_model(data, "test"), OptimizeOptions(check=0))
    assert export_model(again.model) == data
    if feeds:
        onnx.checker.check_model(onnx.load_from_string(data))
    for feed in feeds:
        before, after = (whole_model(each)(feed) for each in (proto.SerializeToString(), data))
        for one, other in zip(before, after, strict=True):
            assert one.tobytes() == other.tobytes()
    return result, onnx.load_from_string(data)


def ops(nodes: Any) -> list[str]:
    return [node.op_type for node in nodes]


def reasons(result: OptimizeResult, subject: str) -> set[str]:
    return {remark.reason.slug for remark in result.remarks if remark.subject == subject}


F = "f (a, b) => (c) { n = Neg (a)  c = Sub (b, n) }"
X = {"x": reals(3), "z": reals(3, seed=1)}


def test_a_function_that_is_called_once_is_written_out() -> None:
    text = "g (float[3] x, float[3] z) => (float[3] y) { m = Exp (x)  n = own.f (m, z)  y = Relu (n) }"
    result, written = optimised(proto_of(text, F), X)
    assert ops(written.graph.node) == ["Exp", "Neg", "Sub", "Relu"]
    assert not written.functions
    assert (result.before.nodes, result.after.nodes) == (5, 4)
    assert reasons(result, "n") >= {"written-out"}
    assert any("function" in note for note in result.notes)


BIG = (
    "f (a) => (j) { b = Exp (a)  k = Exp (a)  c = Add (b, k)  d = Identity (c)  e = Constant <value = float {2}> ()"
    " h = Neg (e)  i = Mul (d, h)  l = Sin (i)  m = Cos (l)  n = Sin (m)  p = Cos (a)"
    " q = Cos (n)  r = Sin (q)  s = Cos (r)  t = Sin (s)  j = Tanh (t) }"
)


def test_one_that_is_called_often_stays_with_a_smaller_body() -> None:
    text = "g (float[3] x, float[3] z) => (float[3] y) { a = own.f (x)  b = own.f (z)  y = Add (a, b) }"
    result, written = optimised(proto_of(text, BIG), X)
    assert ops(written.graph.node) == ["f", "f", "Add"]
    (function,) = written.functions
    # The sum of two equal ones, without the Identity, what is computed beforehand, and what nobody reads.
    assert ops(function.node) == ["Constant", "Exp", "Add", "Mul", *["Sin", "Cos"] * 3, "Sin", "Tanh"]
    assert (result.before.nodes, result.after.nodes) == (18, 14)
    assert "called-often" in reasons(result, "a")


def test_attributes_of_a_call_stand_where_the_body_refers_to_them() -> None:
    function = """f <alpha, beta: float = 0.5> (a) => (c) {
        b = Elu <alpha: float = @alpha> (a)
        c = LeakyRelu <alpha: float = @beta> (b)
    }"""
    text = """g (float[3] x, float[3] z) => (float[3] y) {
        a = own.f <alpha = 3.0> (x)
        y = own.f <alpha = 1.5, beta = 0.1> (a)
    }"""
    _, written = optimised(proto_of(text, function), X)
    found = [(node.op_type, round(node.attribute[0].f, 6)) for node in written.graph.node]
    assert found == [("Elu", 3.0), ("LeakyRelu", 0.5), ("Elu", 1.5), ("LeakyRelu", 0.1)]
    assert not written.functions


def test_functions_that_call_functions_and_hold_graphs() -> None:
    inner = "h (a) => (c) { c = Neg (a) }"
    outer = """f (a, k) => (c) {
        d = own.h (a)
        c = If (k) <
            then_branch = t () => (p) { m = Exp (d)  p = own.h (m) },
            else_branch = e () => (q) { q = Sub (d, a) }
        >
    }"""
    text = "g (float[3] x, bool k) => (float[3] m) { m = own.f (x, k) }"
    feeds = [{"x": reals(3), "k": np.array(flag)} for flag in (True, False)]
    _, written = optimised(proto_of(text, inner, outer), *feeds)
    assert ops(written.graph.node) == ["Neg", "If"]
    assert not written.functions


def test_names_of_a_body_meet_no_others() -> None:
    text = """g (float[3] x, float[3] z) => (float[3] c) <float[3] n = {1, 2, 3}> {
        k = own.f (x, n)
        a = Mul (k, n)
        b = own.f (a, z)
        c = Mul (b, n)
    }"""
    function = "f (a, b) => (c) { n = Constant <value_floats = [4.0, 5.0, 6.0]> ()  c = Sub (b, n) }"
    _, written = optimised(proto_of(text, function), X)
    assert ops(written.graph.node) == ["Sub", "Mul"]


def test_inputs_that_are_left_out() -> None:
    function = "f (a, low, high) => (c) { c = Clip (a, low, high) }"
    text = "g (float[3] x, float[3] z) => (float[3] y) <float s = {0.25}> { y = own.f (x, , s) }"
    _, written = optimised(proto_of(text, function), X)
    (node,) = written.graph.node
    assert node.op_type in ("Clip", "Min")


def test_an_operator_that_means_another_thing_there_stays_in_its_function() -> None:
    # Before opset 13, Softmax made two dimensions of all.
    text = "g (float[2, 3, 4] x) => (float[2, 3, 4] y) { m = Exp (x)  y = own.f (m) }"
    proto = proto_of(text, "f (a) => (c) { c = Softmax <axis: int = 1> (a) }")
    proto.functions[0].opset_import[0].version = 12
    result, written = optimised(proto)
    assert ops(written.graph.node) == ["Exp", "f"]
    assert "kept-call" in reasons(result, "y")


def test_an_output_that_is_an_input_of_the_function() -> None:
    function = "f (a, b) => (b, a) { d = Neg (a) }"
    text = "g (float[3] x, float[3] z) => (float[3] y, float[3] w) { y, w = own.f (x, z) }"
    _, written = optimised(proto_of(text, function))
    assert [(node.op_type, *node.input, *node.output) for node in written.graph.node] == [
        ("Identity", "z", "y"),
        ("Identity", "x", "w"),
    ]


def test_random_numbers_of_two_calls_are_not_one() -> None:
    function = "f (a) => (c) { r = RandomNormalLike (a)  c = Add (a, r) }"
    text = "g (float[3] x) => (float[3] y) { a = own.f (x)  b = own.f (x)  y = Sub (a, b) }"
    _, written = optimised(proto_of(text, function))
    assert ops(written.graph.node).count("RandomNormalLike") == 2


@pytest.mark.parametrize("flags", [(), ("inline-functions",)])
def test_it_can_be_left_out(flags: tuple[str, ...]) -> None:
    text = "g (float[3] x, float[3] z) => (float[3] y) { y = own.f (x, z) }"
    model = import_model(proto_of(text, F).SerializeToString(), "test")
    result = arenite.optimize(model, without=flags, check=0)
    assert [node.op for node in result.model.graph.nodes] == (["onnx.own::f"] if flags else ["onnx.Neg", "onnx.Sub"])


def test_the_interpreter_agrees() -> None:
    text = "g (float[3] x, float[3] z) => (float[3] y) { a = own.f (x)  b = own.f (z)  y = Add (a, b) }"
    model = import_model(proto_of(text, BIG).SerializeToString(), "test")
    expected = OnnxInterpreter(model.graph, model_registry(model)).run(X)
    result = optimize_loaded(model, OptimizeOptions(check=3))
    found = OnnxInterpreter(result.model.graph, model_registry(result.model)).run(X)
    assert found[0].tobytes() == expected[0].tobytes()
    assert [each.name for each in with_inlining((), model, model_registry(model))] == []


@pytest.mark.parametrize("domain", ["", "ai.onnx"])
def test_a_function_with_the_name_of_an_operator_is_not_what_runs(domain: str) -> None:
    text = "g (float[3] x, float[3] z) => (float[3] y) { m = Relu (x)  n = own.f (m)  y = Sub (n, k) }"
    outer = "f (a) => (c) { b = Relu (a)  c = Exp (b) }"
    proto = proto_of(text.replace("(n, k)", "(n, z)"), "Relu (a) => (b) { c = Identity (a)  b = Neg (c) }", outer)
    proto.functions[0].domain = domain
    result, written = optimised(proto, X)
    # The clamp of a clamp goes as always, which it may only because no call means the function.
    assert ops(written.graph.node) == ["Relu", "Exp", "Sub"]
    assert ops(written.functions[0].node) == ["Identity", "Neg"]
    assert reasons(result, "m") >= {"kept-call"}
    assert "written-out" not in reasons(result, "m")


def test_the_interpreter_runs_the_operator_and_not_the_function_of_its_name() -> None:
    text = "g (float[3] x) => (float[3] y) { y = Relu (x) }"
    proto = proto_of(text, "Relu (a) => (b) { b = Neg (a) }")
    proto.functions[0].domain = ""
    model = import_model(proto.SerializeToString(), "test")
    feed = {"x": np.array([-1, 2, 3], np.float32)}
    (found,) = OnnxInterpreter(model.graph, model_registry(model)).run(feed)
    (expected,) = whole_model(proto.SerializeToString())(feed)
    assert found.tolist() == expected.tolist() == [0, 2, 3]


def test_constants_are_folded_by_the_operator_and_not_by_the_function_of_its_name() -> None:
    text = "g (float[3] x) => (float[3] y) { k = Constant <value_floats: floats = [-1.0, 2.0, 3.0]> ()"
    proto = proto_of(text + "  r = Relu (k)  y = Add (x, r) }", "Relu (a) => (b) { b = Neg (a) }")
    proto.functions[0].domain = ""
    _, written = optimised(proto, {"x": X["x"]})
    assert ops(written.graph.node) == ["Add"]
