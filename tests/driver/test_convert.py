"""Conversion to .tflite: what other runtimes compute from the file, and what becomes of a conversion gone wrong."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import arenite
import oracle
from arenite._base.errors import ModelError, SelfCheckError, UsageError
from arenite.driver import convert as driver
from arenite.driver.convert import convert_file
from arenite.driver.convert_result import ConvertOptions
from arenite.driver.onnx_references import References, references_of
from arenite.driver.optimize_result import OptimizeOptions
from arenite.formats.tflite import TfliteDetails, export_model, import_model, read_layouts
from arenite.interp.execute import execute
from arenite.passes.base import Pass, Work
from arenite.passes.legalize import legalize
from convert_cases import NET, net

SHAPES = {"image": (1, 3, 12, 10)}
STATIC = ConvertOptions(OptimizeOptions(input_shapes=SHAPES))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "model.onnx"
    target.write_bytes(net().SerializeToString())
    return target


def image(n: int = 1, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal((n, 3, 12, 10)).astype(np.float32)


@pytest.mark.litert
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("pad", ["taps", "operators"])
@pytest.mark.parametrize("n", [1, 2])
def test_litert_computes_what_onnxruntime_does(path: Path, keep: bool, pad: Any, n: int) -> None:
    model = arenite.load(path)
    result = arenite.convert(model, input_shapes={"image": (n, 3, 12, 10)}, keep_layouts=keep, pad=pad)
    layouts = read_layouts(result.model)
    assert layouts is not None
    (taken,) = (each.into_file(image(n)) for each in layouts.inputs)
    (found,) = oracle.run_litert(result.data, [[taken]])
    expected = onnxruntime.InferenceSession(path).run(None, {"image": image(n)})
    for each, one, other in zip(layouts.outputs, expected, found, strict=True):
        np.testing.assert_allclose(np.asarray(each.out_of_file(other), np.float32), one, rtol=1e-4, atol=1e-4)
    assert taken.shape == ((n, 3, 12, 10) if keep else (n, 12, 10, 3))


def test_what_would_have_too_many_operators_is_refused_before_it_is_optimised(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "_MOST_NODES", 3)
    monkeypatch.setattr(driver, "core_passes", lambda options: pytest.fail("the passes are asked for"))
    with pytest.raises(ModelError, match=r"more than 3 operators, .* nodes are left of it; --outputs NAME keeps"):
        driver.convert_loaded(arenite.load(path), STATIC)


@pytest.mark.parametrize("side", [128, 4])
def test_only_in_long_sums_the_numpy_reference_is_asked_who_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, side: int
) -> None:
    text = f"(float[1, 2, {side}, {side}] x) => (float[1, 2, 1, 1] y) {{ y = GlobalAveragePool (x) }}"
    (path := tmp_path / "m.onnx").write_bytes(
        onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> g {text}').SerializeToString()
    )

    def losing(*arguments: Any) -> References:
        found = references_of(*arguments)
        return replace(
            found, pairs=tuple((feed, [np.multiply(y, np.float32(1.0003)) for y in out]) for feed, out in found.pairs)
        )

    monkeypatch.setattr("arenite.driver.convert_check.references_of", losing)
    monkeypatch.chdir(tmp_path)
    if side == 4:
        with pytest.raises(SelfCheckError, match=r"output 'y' is off by 0\.000"):
            arenite.convert(arenite.load(path))
        return
    checked = arenite.convert(arenite.load(path)).checked
    assert (checked.inputs, checked.max_error < 1e-6) == (3, True)
    assert checked.engine.startswith("the numpy reference (onnxruntime loses 3.0e-04 in long sums) and")


def test_what_the_numpy_reference_does_not_confirm_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "(float[1, 2, 128, 128] x) => (float[1, 2, 1, 1] y) { y = GlobalAveragePool (x) }"
    (path := tmp_path / "m.onnx").write_bytes(
        onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> g {text}').SerializeToString()
    )

    def wrong(*arguments: Any) -> Any:
        return tuple(np.multiply(result, np.float32(1.0003)) for result in execute(*arguments))

    monkeypatch.setattr("arenite.interp.interpreter.execute", wrong)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SelfCheckError, match=r"output 'y' is off by 0\.000"):
        arenite.convert(arenite.load(path))


ODD = [
    "(float x) => (float y) { y = Relu (x) }",
    "(float[1, 3, 4] x) => (float[1, 3, 4] y, float[1, 3, 4] z) { y = Identity (x) z = Relu (x) }",
    "(float[2, 3] x, float[2] w) => (float[2, 3] y, int64[2] z) { y = Relu (x) z = Constant <value_ints = [1, 2]> ()}",
    "(bool[2] x) => (bool[2] y) { y = Not (x) }",
]


@pytest.mark.wheel
@pytest.mark.litert
@pytest.mark.parametrize(
    "text", [NET.replace("[N,", "[1,"), *(f'<ir_version: 8, opset_import: ["": 17]> g {t}' for t in ODD)]
)
def test_tflite_micro_computes_what_litert_does(path: Path, text: str) -> None:
    path.write_bytes(net(text).SerializeToString())
    result = arenite.convert(arenite.load(path))
    assert result.checked.inputs == 3
    feeds = oracle.random_feeds(result.data)
    for one, other in zip(oracle.run_wheel(result.data, feeds), oracle.run_litert(result.data, feeds), strict=True):
        for first, second in zip(one, other, strict=True):
            np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-5)


@pytest.mark.litert
def test_the_signature_has_the_names_of_the_onnx_model(path: Path) -> None:
    from ai_edge_litert.interpreter import Interpreter

    result = arenite.convert(arenite.load(path), input_shapes=SHAPES, check=0)
    runner = Interpreter(model_content=result.data).get_signature_runner("serving_default")
    found = runner(image=image().transpose(0, 2, 3, 1))
    expected = onnxruntime.InferenceSession(path).run(None, {"image": image()})
    np.testing.assert_allclose(found["y"], expected[0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found["map"].transpose(0, 3, 1, 2), expected[1], rtol=1e-4, atol=1e-4)


def test_python_leaves_the_model_alone_and_checks_words(path: Path, tmp_path: Path) -> None:
    model = arenite.load(path)
    nodes = len(model.graph)
    result = arenite.convert(model, input_shapes=SHAPES, check=1, keep_layouts=["map"])
    assert len(model.graph) == nodes
    assert result.checked.inputs == 1
    assert [port.layout.letters for port in (*result.inputs, *result.outputs)] == ["NHWC", "", ""]
    result.write(str(tmp_path / "out.tflite"))
    assert (tmp_path / "out.tflite").read_bytes() == result.data
    with pytest.raises(UsageError, match="pad: expected taps or operators, found 'no'"):
        arenite.convert(model, pad="no")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"is a \.tflite already"):
        arenite.convert(result.model)


def test_outputs_pins_and_defaults(path: Path) -> None:
    model = net(NET.replace("f = Flatten (p)", "f0 = Flatten (p)\n f = Mul (f0, scale)"))
    model.graph.input.append(onnx.helper.make_tensor_value_info("scale", 1, [8]))
    model.graph.input.append(onnx.helper.make_tensor_value_info("spare", 1, [2]))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.arange(8, dtype=np.float32), "scale"))
    onnx.save(model, path)
    loaded = arenite.load(path)
    one = arenite.convert(loaded, input_shapes=SHAPES, outputs=["map"], check=1)
    assert [port.name for port in one.inputs] == ["image"]
    assert [port.name for port in one.outputs] == ["map"]
    assert one.checked.inputs == 1
    frozen = arenite.convert(loaded, input_shapes=SHAPES, freeze_defaults=True, pins={"spare": [1, 2]}, check=1)
    assert [port.name for port in frozen.inputs] == ["image"]
    given = arenite.convert(loaded, input_shapes=SHAPES, check=1)
    assert [port.name for port in given.inputs] == ["image", "scale", "spare"]
    assert "a .tflite file has no default values: callers must give scale" in given.notes


@pytest.mark.parametrize(("node", "tolerance"), [("r1 = Clip (q0)", 1e-2), ("r1 = Clip (c1)", 1e-4)])
def test_who_rounds_may_round_otherwise(path: Path, node: str, tolerance: float) -> None:
    rounded = "q = QuantizeLinear (c1, step, zero)\n q0 = DequantizeLinear (q, step, zero)"
    text = NET.replace("r1 = Clip (c1, low, high)", f"{rounded if 'q0' in node else ''} {node}")
    model = net(text)
    for name, array in (("step", np.float32(0.1)), ("zero", np.int8(3))):
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array), name))
    onnx.save(model, path)
    assert arenite.convert(arenite.load(path), input_shapes=SHAPES).checked.tolerance == tolerance


def test_progress_is_told(path: Path, tmp_path: Path) -> None:
    told: list[str] = []
    convert_file(path, tmp_path / "out.tflite", STATIC, step=told.append)
    assert told[0] == "reading the model"
    assert "converting" in told
    assert "comparing with the original: input 3, by arenite's interpreter" in told
    assert told[-1] == "writing the result"


@pytest.mark.parametrize(
    ("factor", "why"),
    [(1e12, "rounding decides: inputs and weights that differ by 1e-06"), (1e31, "overflow in one order")],
)
def test_chaos_is_no_fault_and_is_told(path: Path, factor: float, why: str) -> None:
    text = NET.replace("map = Add (c2, m)", "sum = Add (c2, m)\n large = Mul (sum, factor)\n map = Sin (large)")
    model = net(text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.float32(factor) * np.ones((), np.float32), "factor"))
    onnx.save(model, path)
    checked = arenite.convert(arenite.load(path), input_shapes=SHAPES).checked
    assert checked.inputs < 3
    assert why in checked.problem


# A conversion gone wrong


def fails(path: Path, tmp_path: Path) -> str:
    """What a conversion says that goes wrong and writes nothing but a reproducer."""
    with pytest.raises(SelfCheckError) as caught:
        convert_file(path, tmp_path / "out.tflite", STATIC)
    assert {item.name for item in tmp_path.iterdir()} == {"model.onnx", "out.tflite.reproducer"}
    return str(caught.value)


def test_a_wrong_rule_is_found_by_the_first_value_to_differ(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*arguments: Any, **options: Any) -> Any:
        legalized = legalize(*arguments, **options)
        (node,) = [node for node in legalized.graph.nodes if node.op == "max_pool2d"]
        node.op = "average_pool2d"
        return legalized

    monkeypatch.setattr(driver, "legalize", wrong)
    message = fails(path, tmp_path)
    assert message.startswith("the conversion changed what the model computes: output ")
    assert "the first value to differ is 'm' of 'm' (average_pool2d, from 'n_m'), it is off by" in message
    folder = tmp_path / "out.tflite.reproducer"
    assert str(folder) in message
    assert {"before.onnx", "after.tflite", "inputs-0.npz", "error.json"} <= {p.name for p in folder.iterdir()}
    content = json.loads((folder / "error.json").read_text())
    assert content["inputs"] == ["image"]
    # The file in there does what is said of it.
    assert "average_pool2d" in [
        node.op for node in import_model((folder / "after.tflite").read_bytes(), "m").graph.nodes
    ]


class Breaks(Pass):
    """Takes a maximum for an average."""

    name = "breaks"
    summary = "Does wrong."
    reasons = ()

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            if node.op == "max_pool2d":
                node.op = "average_pool2d"
                work.rewriter.changed += 1


def test_a_wrong_pass_is_named(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = driver.core_passes
    monkeypatch.setattr(driver, "core_passes", lambda options: [*right(options), Breaks()])
    assert "pass 'breaks'" in fails(path, tmp_path)
    assert (tmp_path / "out.tflite.reproducer" / "before.ir").exists()


class BreaksOnnx(Pass):
    """Exchanges Relu for Exp."""

    name = "breaks-onnx"
    summary = "Does wrong."
    reasons = ()

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            if node.op == "onnx.Relu":
                node.op = "onnx.Abs"
                work.rewriter.changed += 1


def test_a_wrong_pass_on_the_onnx_graph_is_named(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from arenite.driver import optimize_onnx
    from arenite.passes.onnx.presets import onnx_passes

    def broken(**options: Any) -> Sequence[Pass]:
        return (BreaksOnnx(), *onnx_passes(**options))

    monkeypatch.setattr(optimize_onnx, "onnx_passes", broken)
    assert "pass 'breaks-onnx' changed what the model computes" in fails(path, tmp_path)


def test_a_file_that_says_something_else_is_noticed(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(model: Any) -> bytes:
        weights = next(v for v in model.graph.constants() if v.type.shape == (5, 8))
        held = weights.constant
        weights.constant = np.zeros((5, 8), np.float32)
        data = export_model(model)
        weights.constant = held
        return data

    monkeypatch.setattr(driver, "export_model", wrong)
    assert "writing the file, or reading it back, changed what the model computes: output 'y'" in fails(path, tmp_path)


def test_layouts_of_the_wrong_order_are_noticed(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*arguments: Any, **options: Any) -> Any:
        legalized = legalize(*arguments, **options)
        first, second = legalized.outputs
        return replace(legalized, outputs=(first, replace(second, order=(0, 3, 2, 1), dims=(1, 8, 2, 3))))

    monkeypatch.setattr(driver, "legalize", wrong)
    assert "output 'map' was float32[1, 8, 3, 2] and is float32[1, 8, 2, 3]" in fails(path, tmp_path)


def test_what_has_no_counterpart_is_refused(path: Path) -> None:
    text = NET.replace("r0 = Relu (c0)", "u = RandomNormalLike (c0)\n r0 = Add (c0, u)")
    path.write_bytes(net(text).SerializeToString())
    with pytest.raises(ModelError, match="RandomNormalLike"):
        arenite.convert(arenite.load(path), input_shapes=SHAPES)


def test_a_bias_that_does_not_fit_is_refused(path: Path) -> None:
    model = net()
    (bias,) = [tensor for tensor in model.graph.initializer if tensor.name == "b3"]
    bias.CopyFrom(onnx.numpy_helper.from_array(np.zeros(3, np.float32), "b3"))
    onnx.save(model, path)
    with pytest.raises(ModelError, match=r"node 'n_y' \(Gemm\): C must .* but is \[3\]"):
        arenite.convert(arenite.load(path), input_shapes=SHAPES)


def test_metadata_stays_when_the_file_is_optimised(path: Path, tmp_path: Path) -> None:
    out, again = tmp_path / "out.tflite", tmp_path / "again.tflite"
    result = convert_file(path, out, STATIC)
    assert isinstance(result.model.details, TfliteDetails)
    arenite.optimize(arenite.load(out), check=0).write(again)
    assert read_layouts(arenite.load(again)) == read_layouts(result.model) is not None


FLAT = "c = Conv <pads: ints = [1, 1, 1, 1]> (x, w) f = Flatten (c)"
AROUND_PRODUCTS = {
    "a vector": f"{FLAT} m = Mul (f, v) r = Relu (m) a = Add (r, v) y = MatMul (a, p)",
    "images side by side": f"{FLAT} q = MaxPool <kernel_shape: ints = [1, 1]> (c) s = Sigmoid (q) g = Flatten (s)"
    "b = Concat <axis: int = 1> (f, g) y = MatMul (b, pp)",
    "a decoder": f"{FLAT} d = MatMul (f, p) e = Relu (d) h = Reshape (e, shape) y = Conv (h, w)",
}


@pytest.mark.parametrize("name", AROUND_PRODUCTS)
def test_no_transpose_is_left_around_matrix_products(tmp_path: Path, name: str) -> None:
    text = f"g (float[1, 2, 4, 3] x) => (y) {{ {AROUND_PRODUCTS[name]} }}"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}')
    rng = np.random.default_rng(0)
    constants = {"w": (2, 2, 3, 3), "v": (24,), "p": (24, 24), "pp": (48, 24)}
    for key, dims in constants.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(rng.normal(size=dims).astype(np.float32), key))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([-1, 2, 4, 3]), "shape"))
    (path := tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    result = arenite.convert(arenite.load(path))
    assert result.transposes == ()
    assert result.checked.inputs == 3


@pytest.mark.parametrize(
    "body",
    [
        "a = Add (x, three) k = Clip (a, zero, six) m = Mul (x, k) y = Div (m, six)",
        "k = HardSigmoid <alpha: float = 0.16666667> (x) y = Mul (x, k)",
    ],
)
def test_hard_swish_that_is_written_out(tmp_path: Path, body: str) -> None:
    text = f"g (float[1, 2, 4, 3] x) => (y) <float three = {{3}}, float zero = {{0}}, float six = {{6}}> {{ {body} }}"
    (path := tmp_path / "m.onnx").write_bytes(
        onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}').SerializeToString()
    )
    assert arenite.convert(arenite.load(path)).operators == (("hard_swish", 1),)
