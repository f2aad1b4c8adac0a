"""What folding onnx graphs depends on: each precondition has a test that fails when it is taken away."""

from typing import Any

import numpy as np
import pytest
from onnx import helper

from arenite.formats.onnx import import_model, model_registry
from arenite.ir.graph import Value
from arenite.ir.model import Model
from arenite.passes.base import Context, Work
from arenite.passes.onnx import fold
from arenite.passes.onnx.fact import Fact, of_array
from arenite.passes.onnx.facts import Facts
from arenite.passes.onnx.fold import OnnxFold
from passes.onnx.fusing import Net
from passes.onnx.optimizing import model_of, optimized, reals

FOLD = (OnnxFold(),)
SQUARE = "g (float[8, 8] x) => (float[8, 8] y) <int64[2] times = {8, 1}> { t = Tile (row, times)  y = READER }"
ROW = {"row": reals(1, 8)}


def model(net: Net, *outputs: str) -> Model:
    """A model whose inner shapes nobody declares."""
    proto = net.model(*outputs)
    del proto.graph.value_info[:]
    return import_model(proto.SerializeToString(), "net")


def bare(net: Net, *outputs: str) -> Model:
    """A model of whose shapes only an output's [2] is declared; it may have what no schema allows."""
    infos = [helper.make_tensor_value_info(name, 1, [2]) for name in outputs]
    proto = helper.make_graph(net.nodes, "g", net.inputs, infos, net.constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("qa.test", 1)]
    return import_model(helper.make_model(proto, opset_imports=opsets).SerializeToString(), "net")


def reasons(of: Model, spec: OnnxFold | None = None) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for remark in (spec or OnnxFold()).run(of.graph, Context(model_registry(of))).remarks:
        found.setdefault(remark.subject, []).append(remark.reason.slug)
    return found


def test_operands_that_are_absent_are_no_obstacle() -> None:
    n = Net()
    c = n.node("Clip", [np.arange(4, dtype=np.float32), None, np.float32(2)], "c")
    found = optimized(model(n, n.node("Add", [n.input("x", [4]), c])), {"x": reals(4)}, passes=FOLD)
    assert found.reasons("n_c") == ["folded"]
    assert found.ops == ["Add"]


@pytest.mark.parametrize("known", [True, False])
def test_precondition_what_runs_graphs_is_not_computed(known: bool) -> None:
    text = """g (bool given, float[2] x) => (float[2] y) <bool yes = {1}, float[2] a = {1, 2}> {
        y = If (FLAG) <
            then_branch = t () => (float[2] p) { p = Neg (a) },
            else_branch = e () => (float[2] q) { q = Neg (x) }
        >
    }"""
    feeds = {"given": np.array(True), "x": reals(2)}
    found = optimized(model_of(text.replace("FLAG", "yes" if known else "given")), feeds, passes=FOLD)
    assert found.reasons("y")[0] == ("nested-graphs" if known else "not-constant")
    assert found.reasons("p")[0] == "folded"


def test_precondition_operands_are_constant() -> None:
    n = Net()
    y = n.node("Neg", [n.input("x", [2])], "y")
    assert reasons(model(n, y)) == {"n_y": ["not-constant"]}


def split_of_shape() -> Model:
    """The first and the last third of a shape; the middle has no name."""
    n = Net()
    s = n.node("Shape", [n.input("x", [2, 3, 4, 5, 6, 7])], "s")
    n.nodes.append(helper.make_node("Split", [s], ["a", "", "b"], name="split"))
    ends = [n.node("Cast", [v], f"y{v}", to=1) for v in ("a", "b")]
    return model(n, *ends)


def test_results_without_names_need_not_be_known() -> None:
    assert reasons(split_of_shape())["split"] == ["needless"]


def test_precondition_every_result_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    class Knowing(Facts):
        """Knows what is in one half."""

        def of(self, value: Value) -> Fact:
            return of_array(np.array([2, 2])) if value.name == "one" else super().of(value)

    monkeypatch.setattr(fold, "Facts", Knowing)
    n = Net()
    n.nodes.append(helper.make_node("Split", [n.input("x", [4])], ["one", "other"], name="split"))
    assert reasons(model(n, "one", "other"))["split"] == ["not-constant"]


@pytest.mark.parametrize("results", [[""], []])
def test_a_node_without_results_is_no_known_one(results: list[str]) -> None:
    n = Net()
    n.nodes.append(helper.make_node("Neg", [n.input("x", [2])], results, name="nothing"))
    assert reasons(bare(n, n.node("Neg", ["x"], "y")))["nothing"] == ["not-constant"]


def test_precondition_there_are_operands() -> None:
    """Even of what its users call pure."""
    n = Net()
    n.nodes.append(helper.make_node("Source", [], ["s"], domain="qa.test", name="source"))
    of = bare(n, n.node("Add", [n.input("x", [2]), "s"], "y"))
    remarks = OnnxFold().run(of.graph, Context(model_registry(of, pure=["onnx.qa.test::Source"]))).remarks
    assert [r.reason.slug for r in remarks if r.subject == "source"] == ["no-operands"]


@pytest.mark.parametrize("dtype", [np.int32, np.int8])
def test_biases_become_reals_and_weights_stay_quantized(dtype: Any) -> None:
    n = Net()
    d = n.node("DequantizeLinear", [np.arange(4, dtype=dtype), np.float32(0.5)], "d")
    y = n.node("Add", [n.input("x", [4]), d], "y")
    assert reasons(model(n, y))["n_d"] == ["folded" if dtype is np.int32 else "keeps-quantized"]


@pytest.mark.parametrize("also", ["nobody", "another", "output"])
def test_only_what_nobody_else_needs_is_freed(also: str) -> None:
    n = Net()
    c = n.constant(np.arange(8, dtype=np.float32), "c")
    d = n.node("Neg", [c], "d")
    outputs = [n.node("MatMul", [n.input("x", [4, 8]), d])]
    if also != "nobody":
        outputs.append(n.node("MatMul", ["x", c]) if also == "another" else c)
    found = reasons(model(n, *outputs), OnnxFold(0))["n_d"]
    assert found == ["folded" if also == "nobody" else "too-large"]


def test_huge_results_are_computed_only_element_by_element() -> None:
    """2^40 bytes that would exist."""
    n = Net()
    c = n.node("ConstantOfShape", [np.array([1 << 19, 1 << 19], np.int64)], "c")
    n.node("Concat", [c, c], "d", axis=0)
    s = n.node("Gather", [n.node("Softmax", ["d"], "e"), np.array(0, np.int64)], "s")
    assert reasons(model(n, n.node("Add", [n.input("x", [1]), s])))["n_d"] == ["too-large"]


def test_a_limit_that_is_given_holds_for_splats_too() -> None:
    n = Net()
    c = n.node("ConstantOfShape", [np.array([16, 16], np.int64)], "c")
    y = n.node("MatMul", [n.input("x", [4, 16]), c], "y")
    assert reasons(model(n, y), OnnxFold(1 << 20))["n_c"] == ["folded"]
    assert reasons(model(n, y))["n_c"] == ["too-large"]


def test_what_grows_a_little_folds() -> None:
    text = SQUARE.replace("READER", "MatMul (t, x)")
    found = optimized(model_of(text, constants=ROW), {"x": reals(8, 8)}, passes=FOLD)
    assert found.reasons("t") == ["folded"]


def test_outputs_are_not_left_to_their_readers() -> None:
    text = SQUARE.replace("READER", "Add (t, x)").replace("(float[8, 8] y)", "(float[8, 8] y, float[8, 8] t)")
    found = optimized(model_of(text, constants=ROW), {"x": reals(8, 8)}, passes=FOLD)
    assert found.constants["t"].shape == (8, 8)


@pytest.mark.parametrize(
    "reader", ["MatMul (t, x)", "PRelu (t, x)", "Sub (x, Relu_of_t)", "Concat <axis: int = 0> (t, x)"]
)
def test_only_what_repeats_its_operand_is_left_to_repeat_it(reader: str) -> None:
    text = SQUARE.replace("READER", reader.replace("Relu_of_t", "t"))
    if reader.startswith("Concat"):
        text = text.replace("(float[8, 8] y)", "(float[16, 8] y)")
    found = optimized(model_of(text, constants=ROW), {"x": reals(8, 8)}, passes=FOLD)
    (constant,) = (array for name, array in found.constants.items() if name == "t")
    assert constant.shape == ((1, 8) if reader.startswith("Sub") else (8, 8))


def test_readers_may_have_operands_that_are_absent() -> None:
    n = Net()
    t = n.node("Tile", [ROW["row"], np.array([8, 1], np.int64)], "t")
    y = n.node("Clip", [t, None, n.input("m", [])], "y")
    assert reasons(model(n, y))["n_t"] == ["folded"]


def test_what_is_read_twice_is_not_left_to_repeat_itself() -> None:
    text = SQUARE.replace("y = READER", "u = Where (c, t, t)  y = Add (u, x)").replace(
        "(float[8, 8] x)", "(bool c, float[8, 8] x)"
    )
    feeds = {"c": np.array(True), "x": reals(8, 8)}
    found = optimized(model_of(text, constants=ROW), feeds, passes=FOLD)
    assert found.constants["t"].shape == (8, 8)


def test_what_gives_the_result_its_shape_is_not_left_to_repeat() -> None:
    text = SQUARE.replace("READER", "Add (t, x)").replace("(float[8, 8] x)", "(float[1, 8] x)")
    found = optimized(model_of(text, constants=ROW), {"x": reals(1, 8)}, passes=FOLD)
    assert found.constants["t"].shape == (8, 8)


@pytest.mark.parametrize("reader", ["Add", "custom", "declared", "misfit", "Clip"])
def test_what_readers_have_beside_must_be_known(reader: str) -> None:
    n = Net()
    t = n.node("Tile", [ROW["row"], np.array([8, 1], np.int64)], "t")
    if reader == "custom":
        n.nodes.append(helper.make_node("Own", [t, n.input("x", [8, 8])], ["y"], domain="qa.test", name="n_y"))
        proto = helper.make_graph(n.nodes, "g", n.inputs, [helper.make_tensor_value_info("y", 1, [8, 8])], n.constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("qa.test", 1)]
        of = import_model(helper.make_model(proto, opset_imports=opsets).SerializeToString(), "net")
    else:
        op = "Clip" if reader == "Clip" else "Add"
        y = n.node(op, [t, n.input("x", [3, 3] if reader == "misfit" else None)], "y")
        proto = n.model(y)
        if reader == "declared":
            proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, [8, 8]))
        of = import_model(proto.SerializeToString(), "net")
    assert reasons(of)["n_t"] == ["folded"]
    (constant,) = (v.constant for v in of.graph.constants() if v.name == "t")
    assert constant is not None
    assert constant.shape == (8, 8)


def cones(of: Model) -> dict[str, list[str]]:
    """For each node, those that would go with it."""
    registry = model_registry(of)
    folding = fold._Folding(Work("onnx-fold", of.graph, Context(registry)), None)
    folding._look(folding._work)
    return {node.name: sorted(each.name for each in folding._cone(node)) for node in of.graph.nodes}


def test_what_goes_with_a_node_serves_nothing_else_and_can_be_computed() -> None:
    n = Net()
    x = n.input("x", [2])
    c = n.constant(np.ones(2, np.float32))
    a = n.node("Neg", [c], "a")
    b = n.node("Add", [a, a], "b")
    n.node("Mul", [b, c], "d")
    e = n.node("Exp", [c], "e")
    n.node("Neg", [e], "f")
    n.node("Sin", [e], "g")
    h = n.node("Cos", [c], "h")
    n.node("Neg", [h], "i")
    k = n.node("Neg", [x], "k")
    n.node("Shape", [k], "l")
    cast = n.node("Cast", ["l"], "m", to=1)
    found = cones(model(n, "d", "f", "g", h, "i", cast))
    assert found["n_d"] == ["n_a", "n_b", "n_d"]
    assert found["n_f"] == ["n_f"]
    assert found["n_i"] == ["n_i"]
    assert found["n_m"] == ["n_l", "n_m"]


def test_nodes_that_are_read_often_are_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    n = Net()
    value = n.constant(np.ones(2, np.float32))
    for _ in range(6):
        value = n.node("Add", [value, value])
    of = model(n, n.node("Add", [value, n.input("x", [2])]))
    registry: Any = model_registry(of)
    folding = fold._Folding(Work("onnx-fold", of.graph, Context(registry)), None)
    folding._look(folding._work)
    asked: list[object] = []

    class Watched(dict[Any, Any]):
        def __getitem__(self, node: object) -> Any:
            asked.append(node)
            return super().__getitem__(node)

    folding._verdicts = Watched(folding._verdicts)
    assert len(folding._cone(list(of.graph.nodes)[5])) == 6
    assert len(asked) == 5
