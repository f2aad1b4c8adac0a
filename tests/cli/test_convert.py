"""`arenite convert` as scripts see it: exit status, stdout, stderr, files."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from arenite.formats.tflite import import_model
from cli.in_process import Finished, call
from convert_cases import NET, net

SHAPE = ("--input-shape", "image:1,3,12,10")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "model.onnx"
    target.write_bytes(net().SerializeToString())
    return target


def convert(*arguments: object) -> Finished:
    return call("convert", *arguments)


def ops(path: Path) -> list[str]:
    return [node.op for node in import_model(path.read_bytes(), "m").graph.nodes]


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def test_a_net_is_converted_and_told_about(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    done = convert(path, "-o", out, *SHAPE)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "inputs      image  float32 [1, 3, 12, 10] -> [1, 12, 10, 3]  NHWC"
    assert lines[1] == "outputs     y  float32 [1, 5]"
    assert lines[2] == "            map  float32 [1, 8, 3, 2] -> [1, 3, 2, 8]  NHWC"
    assert "transposes  none" in lines
    assert "pads        none" in lines
    assert lines[-1].startswith(
        f"{out}: outputs equal the original's on 3 made-up inputs of the model's fixed sizes, by"
    )
    assert done.stderr == ""
    assert not {"transpose", "pad", "padv2"}.intersection(ops(out))


def test_the_same_model_gives_the_same_bytes(path: Path, tmp_path: Path) -> None:
    for name in ("a.tflite", "b.tflite"):
        assert convert(path, "-o", tmp_path / name, *SHAPE, "--check", 0).returncode == 0
    assert (tmp_path / "a.tflite").read_bytes() == (tmp_path / "b.tflite").read_bytes()


def test_layouts_are_kept_where_asked_and_the_transposes_say_for_whom(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    done = convert(path, "-o", out, *SHAPE, "--keep-layout", "image", "--keep-layout", "map", "--json")
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert [port["file_dims"] for port in content["inputs"]] == [[1, 3, 12, 10]]
    assert [port["file_dims"] for port in content["outputs"]] == [[1, 5], [1, 8, 3, 2]]
    assert [extra["reason"] for extra in content["transposes"]] == [
        "since 'n_c0' (Conv) needs input 'image' in another order",
        "since output 'map' needs what 'n_map' (Add) computes in another order",
    ]
    assert content["operators"]["transpose"] == ops(out).count("transpose") == 2
    every = convert(path, "-o", out, *SHAPE, "--keep-layouts", "--json")
    assert json.loads(every.stdout)["transposes"] == content["transposes"]


def test_margins_become_pads_where_asked(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    done = convert(path, "-o", out, *SHAPE, "--pad", "operators", "--json")
    assert done.returncode == 0, done.stderr
    (pad,) = json.loads(done.stdout)["pads"]
    assert pad["reason"] == "since 'n_c0' (Conv) pads input 'image' as no operator of a .tflite does"
    assert ops(out).count("pad") == 1


def test_json_has_the_figures_and_is_what_explain_writes(path: Path, tmp_path: Path) -> None:
    out, why = tmp_path / "out.tflite", tmp_path / "why.json"
    done = convert(path, "-o", out, *SHAPE, "--json", "--explain", why)
    content = json.loads(done.stdout)
    assert content == json.loads(why.read_text())
    assert content["before"]["file_nbytes"] == path.stat().st_size
    assert content["after"]["file_nbytes"] == out.stat().st_size
    assert content["after"]["nodes"] == sum(content["operators"].values()) == len(ops(out))
    assert content["comparison"]["inputs"] == 3
    assert content["comparison"]["max_error"] <= 1e-4
    assert {row["name"] for row in content["passes"]} >= {"onnx-fold", "fuse-activations"}
    assert any(remark["pass"] == "fuse-activations" for remark in content["remarks"])
    heirs = {node["name"]: node["tensors"] for node in content["nodes"]}
    assert list(heirs) == [node.name for node in onnx.load(path).graph.node]
    assert heirs["n_c0"] == heirs["n_r0"] == ["r0"]
    assert heirs["n_map"] == ["map"]


def test_open_sizes_are_told_with_the_option_to_type(tmp_path: Path) -> None:
    text = NET.replace("image)", "image, float[N, ?] other)").replace("(image", "(image, other", 0)
    path = tmp_path / "model.onnx"
    path.write_bytes(net(text).SerializeToString())
    done = convert(path, "-o", tmp_path / "out.tflite")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    for words in ("'image' is float32[N, 3, 12, 10]", "--input-shape image:N,3,12,10", "--input-shape 'other:N,?'"):
        assert words in done.stderr
    assert names(tmp_path) == ["model.onnx"]


def test_all_that_has_no_counterpart_is_told_at_once(tmp_path: Path) -> None:
    text = NET.replace("r0 = Relu (c0)", "e = Det (c0)\n d = Erf (c0)\n r0 = Relu (d)").replace("[N,", "[1,")
    path = tmp_path / "model.onnx"
    path.write_bytes(net(text).SerializeToString())
    model = onnx.load(path)
    model.graph.output.append(onnx.helper.make_tensor_value_info("e", 1, None))
    onnx.save(model, path)
    done = convert(path, "-o", tmp_path / "out.tflite")
    assert done.returncode == 1
    assert "n_e" in done.stderr
    assert "Det" in done.stderr
    assert names(tmp_path) == ["model.onnx"]


def test_what_could_be_constant_is_told_when_it_must_be(path: Path, tmp_path: Path) -> None:
    model = onnx.load(path)
    model.graph.input.append(onnx.helper.make_tensor_value_info("w0", 1, [8, 3, 3, 3]))
    onnx.save(model, path)
    done = convert(path, "-o", tmp_path / "out.tflite", *SHAPE)
    assert done.returncode == 1
    assert "node 'n_c0' (Conv)" in done.stderr
    assert "w0; --freeze-defaults makes them constants" in done.stderr
    assert convert(path, "-o", tmp_path / "out.tflite", *SHAPE, "--freeze-defaults").returncode == 0


CHOOSING = """<ir_version: 8, opset_import: ["": 17]>
g (float[1, 4] x, int64 rate, bool[1] loud, int64[2] many) => (float[1, 4] y, float[1, 4] z, float[1, 4] w)
<int64 high = {16000}, int64 one = {1}>
{
    fast = Equal (rate, high)
    both = And (fast, loud)
    [first] y = If (fast) <then_branch = t () => (float[1, 4] a) { a = Relu (x) },
        else_branch = e () => (float[1, 4] b) { b = Neg (x) }>
    [second] z = If (both) <then_branch = t () => (float[1, 4] c) { c = Relu (x) },
        else_branch = e () => (float[1, 4] d) { d = Neg (x) }>
    two = ReduceSum <keepdims: int = 0> (many)
    more = Greater (two, one)
    [third] w = If (more) <then_branch = t () => (float[1, 4] f) { f = Relu (x) },
        else_branch = e () => (float[1, 4] h) { h = Neg (x) }>
}"""


def test_inputs_that_decide_what_runs_are_told_with_the_option(tmp_path: Path) -> None:
    path, out = tmp_path / "model.onnx", tmp_path / "out.tflite"
    onnx.save(onnx.parser.parse_model(CHOOSING), path)
    done = convert(path, "-o", out)
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if "--pin" in line]
    assert said == [
        "error: what first runs is decided by the input 'rate' (int64[]); --pin rate=VALUE makes a constant of it",
        "error: what second runs is decided by the inputs 'rate' (int64[]), 'loud' (bool[1]); --pin rate=VALUE "
        "--pin loud=VALUE makes constants of them",
    ]
    done = convert(path, "-o", out, "--pin", "rate=16000", "--pin", "loud=1", "--pin", "many=[1,2]")
    assert done.returncode == 0, done.stderr


def test_what_was_too_large_to_compute_is_told_with_the_option(tmp_path: Path) -> None:
    path, out = tmp_path / "model.onnx", tmp_path / "out.tflite"
    tiles = "{ eight = Constant <value: tensor = int64[4] {8, 1, 1, 1}> ()\n w = Tile (one, eight)"
    model = net(NET.replace("(image, w0, b0)", "(image, w, b0)").replace("{", tiles, 1))
    weights = np.random.default_rng(0).standard_normal((1, 3, 3, 3)).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "one"))
    onnx.save(model, path)
    done = convert(path, "-o", out, *SHAPE, "--fold-max-bytes", 64)
    assert done.returncode == 1
    found = re.search(r"n_w; (--fold-max-bytes) ([0-9]+) does it", done.stderr)
    assert found is not None, done.stderr
    assert convert(path, "-o", out, *SHAPE, *found.groups()).returncode == 0


USAGE = [
    (["-o", "out.onnx"], "ends in .tflite"),
    ([], "-o OUT.tflite"),
    (["-o", "out.tflite", "--keep-layout", "imag"], "did you mean image"),
    (["-o", "out.tflite", "--pad", "zeros"], "--pad takes taps, operators, not 'zeros'"),
    (["-o", "out.tflite", "--explain", "why.txt"], "FILE.json"),
    (["-o", "out.tflite", "--input-shape", "imag:1,3,12,10"], "did you mean image"),
    (["-o", "out.tflite", "--chek", "3"], "did you mean --check"),
    (["-o", "out.tflite", "more.onnx"], "one argument too many"),
    (["-o", "saved_model", "-kat", "image"], "-kat here: use --keep-layout NAME"),
    (["-o", "out.tflite", "-osd"], "'serving_default'"),
    (["-o", "out.tflite", "-oiqt"], "quantizes nothing"),
    (["-o", "out.tflite", "-ois", "image:1,3,12,10"], "--input-shape NAME:DIMS"),
    (["-o", "out.tflite", "--overwrite_input_shape", "image:1,3,12,10"], "--input-shape NAME:DIMS"),
    (["-o", "out.tflite", "-b", "1"], "--input-shape NAME:DIMS"),
    (["-o", "out.tflite", "--keep_ncw_or_nchw_or_ncdhw_input_names", "image"], "--keep-layout NAME"),
    (["-o", "out.tflite", "--saved_model_path", "x"], "reads .onnx models only"),
    (["-o", "out.tflite", "-cotof"], "--check N"),
    (["-o", "out.tflite", "--inputs-as-nchw", "image"], "--keep-layout NAME"),
]


@pytest.mark.parametrize(("arguments", "hint"), USAGE)
def test_usage_errors_say_what_to_type(
    path: Path, tmp_path: Path, arguments: list[str], hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = convert(path, *arguments)
    assert done.returncode == 2
    assert hint in done.stderr
    assert names(tmp_path) == ["model.onnx"]


def test_options_of_other_tools_are_answered_before_the_model_is_missed(tmp_path: Path) -> None:
    done = convert("-i", tmp_path / "model.onnx", "-o", "saved_model")
    assert done.returncode == 2
    assert "-i here: give the model without an option" in done.stderr


def test_a_tflite_is_sent_to_optimize(tmp_path: Path) -> None:
    done = convert(tmp_path / "m.tflite", "-o", tmp_path / "out.tflite")
    assert done.returncode == 2
    assert f"arenite optimize {tmp_path / 'm.tflite'} -o {tmp_path / 'out.tflite'}" in done.stderr
    done = convert(tmp_path / "m.tflite", "-o", tmp_path / "out.onnx")
    assert done.returncode == 2
    assert f"arenite optimize {tmp_path / 'm.tflite'} -o OUT.tflite" in done.stderr


@pytest.mark.parametrize("data", [b"", b"\x08\x07garbage", b"\x08\x08:\x05\x0a\x03abc"])
def test_a_damaged_file_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    done = convert(path, "-o", tmp_path / "out.tflite")
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "internal error" not in done.stderr
    assert names(tmp_path) == ["model.onnx"]


def test_what_other_commands_make_of_the_result(path: Path, tmp_path: Path) -> None:
    out, small, inputs, outputs = (tmp_path / name for name in ("out.tflite", "small.tflite", "in.npz", "out.npz"))
    assert convert(path, "-o", out, *SHAPE).returncode == 0
    done = call("optimize", out, "-o", small)
    assert done.returncode == 0, done.stderr
    assert "nothing to do" in done.stderr
    image = np.random.default_rng(0).standard_normal((1, 3, 12, 10)).astype(np.float32)
    np.savez(inputs, image=image.transpose(0, 2, 3, 1))
    assert call("run", out, "--inputs", inputs, "--outputs", outputs).returncode == 0
    expected = onnxruntime.InferenceSession(path).run(None, {"image": image})
    with np.load(outputs) as found:
        np.testing.assert_allclose(found["y"], expected[0], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(found["map"].transpose(0, 3, 1, 2), expected[1], rtol=1e-4, atol=1e-4)


def test_a_model_and_what_it_became_are_compared(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    assert convert(path, "-o", out, *SHAPE).returncode == 0
    for pair in ((path, out), (out, path)):
        done = call("compare", *pair, "--json", "--fail-above", 1e-4)
        assert done.returncode == 0, done.stderr
        tensors = {tensor["name"]: tensor for tensor in json.loads(done.stdout)["tensors"]}
        # Values inside lie in other orders, too, and nothing in the file says so.
        assert {"r0", "m", "map", "y"} <= set(tensors)
        assert max(tensor["error"] for tensor in tensors.values()) < 1e-4
        assert [name for name, tensor in tensors.items() if tensor["is_output"]] == ["y", "map"]


def test_compare_finds_where_a_model_and_a_file_part(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    assert convert(path, "-o", out, *SHAPE).returncode == 0
    model = onnx.load(path)
    (bias,) = [tensor for tensor in model.graph.initializer if tensor.name == "b2"]
    bias.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(bias) + 1, "b2"))
    onnx.save(model, path)
    done = call("compare", path, out, "--json", "--fail-above", 1e-4)
    assert done.returncode == 1
    errors = {tensor["name"]: tensor["error"] for tensor in json.loads(done.stdout)["tensors"]}
    assert errors["m"] < 1e-4 < errors["c2"]
    np.savez(tmp_path / "in.npz", image=np.zeros((2, 1, 3, 12, 10), np.float32))
    given = call("compare", path, out, "--json", "--inputs", tmp_path / "in.npz")
    assert json.loads(given.stdout)["inputs"] == 2


def test_inspect_tells_layouts(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    assert convert(path, "-o", out, *SHAPE, "--check", 0).returncode == 0
    told = call("inspect", out).stdout
    assert "image: float32[1, 12, 10, 3], NHWC\n" in told
    assert "y: float32[1, 5]\n" in told
    content = json.loads(call("inspect", out, "--json").stdout)
    assert [port["order"] for port in content["outputs"]] == [[0, 1], [0, 2, 3, 1]]
    assert json.loads(call("inspect", path, "--json").stdout)["inputs"][0]["order"] is None


def test_damaged_layouts_are_refused_where_they_matter(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tflite"
    assert convert(path, "-o", out, *SHAPE, "--check", 0).returncode == 0
    out.write_bytes(out.read_bytes().replace(b'"order":[0,2,3,1]', b'"order":[0,2,3,3]'))
    done = call("compare", path, out)
    assert done.returncode == 1
    assert "'arenite.layouts'" in done.stderr
    assert "'image' among the inputs" in done.stderr
    told = call("inspect", out)
    assert told.returncode == 0
    assert "'arenite.layouts'" in told.stdout
    assert call("compare", out, out).returncode == 0


def test_help_comes_without_what_converting_needs() -> None:
    code = (
        "import sys; from arenite.cli.main import main\n"
        "try: main(['convert', '--help'])\n"
        "except SystemExit: pass\n"
        "print([n for n in ('onnx', 'numpy', 'flatbuffers', 'arenite.driver.convert') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "--keep-layout" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
