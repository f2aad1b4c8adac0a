"""Nodes that no schema allows: passes that fuse leave them alone, and say nothing of them."""

from collections.abc import Sequence

import numpy as np
import pytest
from onnx import helper

from arenite._base.dtypes import DType
from arenite.formats.onnx import import_model, model_registry
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Node, Value
from arenite.ir.types import TensorType
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.passes.base import Context, Pass
from arenite.passes.onnx import fuse_operands, fuse_quantized
from arenite.passes.onnx.fuse_affine import FuseAffine, FuseBatchNorm
from arenite.passes.onnx.fuse_clamps import MergeClamps
from arenite.passes.onnx.fuse_factors import MergeFactors
from arenite.passes.onnx.fuse_pads import OnnxFusePads
from passes.onnx.fusing import Net

PASSES: tuple[Pass, ...] = (FuseAffine(), FuseBatchNorm(), MergeClamps(), MergeFactors(), OnnxFusePads())
CHAINS = (
    ("MatMul", "Mul", "Neg"),
    ("MatMul", "Add", "Mul"),
    ("MatMul", "Identity", "Mul"),
    ("MatMul", "Transpose", "Neg"),
    ("MatMul", "BatchNormalization"),
    ("Conv", "Mul"),
    ("Mul", "MatMul"),
    ("Add", "MatMul", "Add"),
    ("Neg", "Transpose", "MatMul"),
    ("Neg", "Conv"),
    ("Relu", "Clip"),
    ("Clip", "Relu"),
    ("LeakyRelu", "Relu"),
    ("Identity", "Relu"),
    ("Mul", "Mul"),
    ("Div", "Mul"),
    ("Pad", "Conv"),
    ("Pad", "AveragePool"),
    ("Pad", "MaxPool"),
)
OTHERS = {
    "MatMul": ["w"],
    "Conv": ["k"],
    "Add": ["c"],
    "Mul": ["c"],
    "Div": ["c"],
    "Clip": ["low", "high"],
    "Pad": ["pads"],
    "BatchNormalization": ["c", "c", "c", "c"],
}


def net() -> Net:
    n = Net()
    for name, array in (
        ("w", np.ones((4, 4), np.float32)),
        ("k", np.ones((4, 4, 1, 1), np.float32)),
        ("c", np.full(4, 2, np.float32)),
        ("low", np.float32(-1)),
        ("high", np.float32(1)),
        ("pads", np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)),
    ):
        n.constant(array, name)
    return n


def chain(n: Net, ops: Sequence[str], broken: int, how: str) -> None:
    """Nodes in a row of which one is broken."""
    value = n.input("x", None)
    for place, op in enumerate(ops):
        operands, results = [value, *OTHERS.get(op, [])], ["y" if place == len(ops) - 1 else f"v{place}"]
        if place == broken:
            if how == "no-operands":
                operands = []
            elif how == "absent":
                operands[0] = ""
            elif how == "one-operand":
                operands = operands[:1]
            elif how == "absent-last":
                operands[-1] = ""
            elif how == "more-results":
                results.append(f"more{place}")
            elif how == "other-result":
                results.insert(0, "")
            else:
                operands.extend(["c", "c", "c"])
        node = helper.make_node(op, operands, results, name=f"n{place}")
        if op.endswith("Pool") and how != "no-kernel":
            node.attribute.append(helper.make_attribute("kernel_shape", [2, 2]))
        n.nodes.append(node)
        value = results[-1] if how == "other-result" else results[0]


def test_values_before_quantization_are_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a chain of nodes that read their operand twice takes twice as long with each."""
    followed: list[str] = []

    def watched(node: Node) -> list[Value]:
        followed.append(node.name)
        return list(node.present_operands)

    monkeypatch.setattr(fuse_quantized, "_read_by", watched)
    n = net()
    value = n.input("x", [4])
    for _ in range(8):
        value = n.node("Add", [value, value])
    n.node("QuantizeLinear", [value, np.float32(1), np.int8(0)], "q")
    imported = import_model(n.model("q").SerializeToString(), "net")
    assert len(fuse_quantized.leads_to_quantization(imported.graph)) == 9
    assert len(followed) == 8


@pytest.mark.parametrize(
    ("op", "operands", "results", "affine"),
    [
        ("BatchNormalization", "xcccc", 1, True),
        ("BatchNormalization", "xcccc", 3, True),
        ("BatchNormalization", "xcccc", 0, False),
        ("BatchNormalization", "xccc", 1, False),
        ("BatchNormalization", "xcccc-", 1, False),
        ("Mul", "xc", 1, True),
        ("Mul", "xc", 2, False),
        ("Mul", "x-c", 1, False),
        ("Mul", "xcc", 1, False),
        ("Neg", "x", 1, True),
        ("Pow", "xc", 1, False),
    ],
)
def test_precondition_operators_have_their_operands(op: str, operands: str, results: int, affine: bool) -> None:
    b = GraphBuilder()
    type_ = TensorType(DType.FLOAT32, (4,))
    known = {"x": b.input("x", type_), "c": b.constant("c", np.ones(4, np.float32)), "-": None}
    node = b.node(f"onnx.{op}", [known[each] for each in operands], [type_] * results, OnnxAttrs())
    assert fuse_operands.is_affine(node) is affine
    assert [value.name for value in fuse_operands.data_operands(node)] == ["x"]


def test_dimensions_that_there_are_not_are_not_known() -> None:
    channels = fuse_operands.Channels(4, -1, 2, 2, (3, 4), is_sure=False)
    assert [channels.dim(axis) for axis in (-1, -2, -3)] == [4, 3, None]


@pytest.mark.parametrize(("ops", "spec"), [(("MatMul", "Identity", "Neg"), FuseAffine())], ids=["view"])
def test_other_results_than_the_first_are_not_known(ops: Sequence[str], spec: Pass) -> None:
    n = net()
    chain(n, ops, 1, "other-result")
    graph = helper.make_graph(n.nodes, "g", n.inputs, [helper.make_tensor_value_info("y", 1, None)], n.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    imported = import_model(model.SerializeToString(), "net")
    assert not spec.run(imported.graph, Context(model_registry(imported))).changed


@pytest.mark.parametrize("ops", CHAINS, ids="-".join)
@pytest.mark.parametrize(
    "how",
    [
        "no-operands",
        "absent",
        "one-operand",
        "absent-last",
        "more-results",
        "other-result",
        "more-operands",
        "no-kernel",
    ],
)
def test_passes_leave_broken_nodes_alone(ops: Sequence[str], how: str) -> None:
    for broken in range(len(ops)):
        n = net()
        chain(n, ops, broken, how)
        graph = helper.make_graph(n.nodes, "g", n.inputs, [helper.make_tensor_value_info("y", 1, None)], n.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        for spec in PASSES:
            imported = import_model(model.SerializeToString(), "net")
            result = spec.run(imported.graph, Context(model_registry(imported)))
            assert all("{" not in remark.text for remark in result.remarks)
