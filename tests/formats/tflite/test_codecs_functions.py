"""Options and versions of functions, comparisons, reductions and norms, with LiteRT's object API as the judge."""

from typing import Any

import pytest

from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model, import_model
from arenite.ir.attrs import Activation, Attrs, ForeignAttrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.model import Model
from arenite.ir.types import Quantization, TensorType
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.matmul import BatchMatmulAttrs
from arenite.ops.rectifiers import LeakyReluAttrs
from arenite.ops.reduce import ReduceAttrs

F = TensorType(DType.FLOAT32, (1, 2, 2, 1))
S8 = TensorType(DType.INT8, (1, 2, 2, 1), Quantization.per_tensor(0.5, 0))
S16 = TensorType(DType.INT16, (1, 2, 2, 1), Quantization.per_tensor(0.5, 0))
TRUTH = TensorType(DType.BOOL, (1, 2, 2, 1))
LONG, FLAT = TensorType(DType.FLOAT32, (1, 1, 2, 2, 1)), TensorType(DType.FLOAT32, (2, 1))
AXES = TensorType(DType.INT32, (1,))


def model_of(op: str, attrs: Attrs, operands: list[TensorType], result: TensorType) -> Model:
    builder = GraphBuilder()
    values = [builder.input(f"x{i}", type_) for i, type_ in enumerate(operands)]
    return Model("m", builder.output(builder.node(op, values, [result], attrs, name="y").result))


def written(model: Model) -> Any:
    from ai_edge_litert import schema_py_generated as litert

    return litert.ModelT.InitFromPackedBuf(export_model(model), 0)


@pytest.mark.litert
@pytest.mark.parametrize(
    ("op", "attrs", "operands", "expected"),
    [
        ("leaky_relu", LeakyReluAttrs(0.25), [F], {"alpha": 0.25}),
        ("div", ArithmeticAttrs(Activation.RELU6), [F, F], {"fusedActivationFunction": 3}),
        ("sum", ReduceAttrs(True), [F, AXES], {"keepDims": True}),
        ("reduce_max", ReduceAttrs(True), [F, AXES], {"keepDims": True}),
        ("reduce_min", ReduceAttrs(False), [F, AXES], {"keepDims": False}),
        ("batch_matmul", BatchMatmulAttrs(True, False), [F, F], {"adjX": True, "adjY": False}),
        ("batch_matmul", BatchMatmulAttrs(False, True), [F, F], {"adjX": False, "adjY": True}),
        ("l2_normalization", Attrs(), [F], {"fusedActivationFunction": 0}),
    ],
)
def test_options(op: str, attrs: Attrs, operands: list[TensorType], expected: dict[str, Any]) -> None:
    model = model_of(op, attrs, operands, F)
    (operator,) = written(model).subgraphs[0].operators
    assert {name: getattr(operator.builtinOptions, name) for name in expected} == expected
    (node,) = import_model(export_model(model), "m").graph.nodes
    assert (node.op, node.attrs) == (op, attrs)


@pytest.mark.litert
@pytest.mark.parametrize(
    ("op", "attrs", "operands", "result", "version"),
    [
        # What each version brought: the table in LiteRT's op_version.cc.
        ("abs", Attrs(), [F], F, 1),
        ("abs", Attrs(), [S8], S8, 2),
        ("abs", Attrs(), [S16], S16, 3),
        ("rsqrt", Attrs(), [S16], S16, 3),
        ("exp", Attrs(), [S8], S8, 2),
        ("leaky_relu", LeakyReluAttrs(), [S8], S8, 1),
        ("leaky_relu", LeakyReluAttrs(), [S16], S16, 2),
        ("div", ArithmeticAttrs(), [F, F], F, 1),
        ("div", ArithmeticAttrs(), [LONG, FLAT], LONG, 2),
        ("minimum", Attrs(), [S8, S8], S8, 2),
        ("minimum", Attrs(), [LONG, FLAT], LONG, 3),
        ("maximum", Attrs(), [LONG, LONG], LONG, 1),
        ("maximum", Attrs(), [S16, S16], S16, 4),
        ("squared_difference", Attrs(), [S8, S8], S8, 2),
        ("equal", Attrs(), [S8, S8], TRUTH, 2),
        ("less", Attrs(), [F, F], TRUTH, 1),
        ("sum", ReduceAttrs(), [S8, AXES], S8, 2),
        ("reduce_max", ReduceAttrs(), [S8, AXES], S8, 2),
        ("log_softmax", Attrs(), [S8], S8, 2),
        ("l2_normalization", Attrs(), [S8], S8, 2),
        ("batch_matmul", BatchMatmulAttrs(), [S8, S8], S8, 2),
        ("batch_matmul", BatchMatmulAttrs(), [S16, S16], S16, 3),
    ],
)
def test_the_least_version_that_has_it(
    op: str, attrs: Attrs, operands: list[TensorType], result: TensorType, version: int
) -> None:
    (code,) = written(model_of(op, attrs, operands, result)).operatorCodes
    assert code.version == version


@pytest.mark.litert
def test_a_normalization_with_an_activation_stays_foreign() -> None:
    import flatbuffers

    model = written(model_of("l2_normalization", Attrs(), [F], F))
    model.subgraphs[0].operators[0].builtinOptions.fusedActivationFunction = 1
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    (node,) = import_model(bytes(builder.Output()), "m").graph.nodes
    assert node.op == "tflite.L2_NORMALIZATION"
    assert isinstance(node.attrs, ForeignAttrs)
