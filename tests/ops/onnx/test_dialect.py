"""Definitions of operators, taken from ONNX's schemas; what may be computed beforehand."""

import numpy as np
import pytest
from onnx import defs, helper

from arenite.formats.onnx import model_registry
from arenite.ir.opdef import OpError, Trait
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.dialect import OnnxRegistry, pure_name, with_fold
from arenite.ops.onnx.engine import onnx_registry
from arenite.ops.onnx.names import op_name, split_op
from formats.onnx.support import imported, model_of, newest
from formats.onnx.test_importer import conditional

node = helper.make_node


def why(nodes: list[object], **constants: np.ndarray) -> str | None:
    """Why the last node of a model is impure."""
    model = imported(model_of(nodes, {"x": [2]}, ["y"], constants))  # type: ignore[arg-type]
    return model_registry(model).why_impure(list(model.graph.nodes)[-1])


def test_every_standard_operator_has_a_definition() -> None:
    registry = OnnxRegistry({"": newest(), "ai.onnx.ml": 5})
    names = {s.name for s in defs.get_all_schemas() if s.domain == "" and not s.deprecated}
    missing = [name for name in names if op_name("", name) not in registry]
    released = [name for name in missing if defs.get_schema(name, newest(), "").since_version <= newest()]
    assert released == []
    assert "onnx.Relu" in registry
    assert "onnx.NoSuch" not in registry
    assert "onnx.ai.onnx.ml::Scaler" in registry
    assert "conv2d" not in registry


def test_definitions_are_those_of_the_models_opset() -> None:
    old, new = OnnxRegistry({"": 9}), OnnxRegistry({"": 13})
    assert [operand.name for operand in old["onnx.Slice"].operands] == ["data"]
    assert [operand.name for operand in new["onnx.Slice"].operands] == ["data", "starts", "ends", "axes", "steps"]
    assert [operand.optional for operand in new["onnx.Slice"].operands] == [False, False, False, True, True]
    assert new["onnx.Concat"].operands[-1].variadic
    assert "onnx.GridSample" not in old


@pytest.mark.parametrize(
    ("op", "traits"),
    [
        ("Add", {Trait.PURE, Trait.DETERMINISTIC, Trait.ELEMENTWISE, Trait.COMMUTATIVE}),
        ("Reshape", {Trait.PURE, Trait.DETERMINISTIC, Trait.VIEW}),
        ("RandomNormal", {Trait.PURE}),
        ("Bernoulli", {Trait.PURE}),
        ("Dropout", {Trait.PURE}),
        ("If", {Trait.PURE}),
    ],
)
def test_traits(op: str, traits: set[Trait]) -> None:
    assert OnnxRegistry({"": 17})[f"onnx.{op}"].traits == traits


@pytest.mark.parametrize("opset", [-1, 0, 2**31, 2**62])
def test_absurd_opsets(opset: int) -> None:
    assert ("onnx.Relu" in OnnxRegistry({"": opset})) is True
    assert "onnx.NoSuch" not in OnnxRegistry({"": opset})


def test_dropout_before_training_mode_does_nothing_at_random() -> None:
    assert OnnxRegistry({"": 10})["onnx.Dropout"].is_foldable


def test_what_is_impure_and_why() -> None:
    assert why([node("Relu", ["x"], ["y"])]) is None
    assert why([node("RandomNormalLike", ["x"], ["y"])]) == "its results are random"
    assert "not known" in (why([node("Op", ["x"], ["y"], domain="a.b")]) or "")
    assert why([node("Dropout", ["x"], ["y"])]) is None
    ratio, on, off = np.array(0.5, np.float32), np.array(True), np.array(False)
    assert why([node("Dropout", ["x", "r", "t"], ["y"])], r=ratio, t=off) is None
    assert "at random" in (why([node("Dropout", ["x", "r", "t"], ["y"])], r=ratio, t=on) or "")


def test_a_node_with_graphs_is_as_they_are() -> None:
    proto = conditional()
    assert why_last(proto) is None
    then = next(a.g for a in proto.graph.node[-1].attribute if a.name == "then_branch")
    then.node[0].op_type = "RandomNormalLike"
    assert "random" in (why_last(proto) or "")


def why_last(proto: object) -> str | None:
    model = imported(proto)  # type: ignore[arg-type]
    return model_registry(model).why_impure(list(model.graph.nodes)[-1])


def test_functions_of_the_model_are_as_their_bodies() -> None:
    opsets = [helper.make_opsetid("", 17)]
    proto = model_of([node("F", ["x"], ["a"], domain="d"), node("G", ["a"], ["y"], domain="d")], {"x": [2]}, ["y"])
    proto.functions.append(helper.make_function("d", "F", ["p"], ["q"], [node("Relu", ["p"], ["q"])], opsets))
    body = [node("RandomNormalLike", ["p"], ["q"])]
    proto.functions.append(helper.make_function("d", "G", ["p"], ["q"], body, opsets))
    model = imported(proto)
    registry = model_registry(model)
    first, second = model.graph.nodes
    assert registry.why_impure(first) is None
    assert registry.why_impure(second) is not None


def test_custom_operators_are_pure_when_somebody_says_so() -> None:
    (op,) = imported(model_of([node("Op", ["x"], ["y"], domain="a.b")], {"x": [2]}, ["y"])).graph.nodes
    assert onnx_registry({"": 17}, pure=[pure_name("a.b::Op")]).why_impure(op) is None
    folding = with_fold(onnx_registry({"": 17}), "onnx.a.b::Op", lambda call, operands: (np.array([7.0]),))
    assert folding.why_impure(op) is None
    fold = folding["onnx.a.b::Op"].fold
    assert fold is not None
    with pytest.raises(OpError):
        pure_name("Op")


def test_names() -> None:
    assert op_name("ai.onnx", "Conv") == op_name("", "Conv") == "onnx.Conv"
    assert split_op(op_name("a.b", "C")) == ("a.b", "C")
    with pytest.raises(ValueError, match="conv2d"):
        split_op("conv2d")


def test_attributes_are_read_by_their_types() -> None:
    attrs = OnnxAttrs.of(axis=1, alpha=0.5, mode="x", axes=(1, 2))
    assert attrs.with_value("axis", 2).integer("axis") == 2
    assert not attrs.without("axis").has("axis")
    assert attrs.integer("none", 3) == 3
    for read in (
        lambda: attrs.integer("alpha"),
        lambda: attrs.integer("none"),
        lambda: attrs.number("axis"),
        lambda: attrs.text("axis"),
        lambda: attrs.integers("mode"),
        lambda: attrs.numbers("axes"),
        lambda: attrs.tensor("axis"),
        lambda: attrs.region("axis"),
    ):
        with pytest.raises(OpError, match="attribute"):
            read()
