"""`arenite compare`."""

import itertools
import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from arenite.api import compile as compile_model
from arenite.api import load
from arenite.driver.build import build
from arenite.driver.compare import Comparison, cost_of
from arenite.driver.inspect import inspect_model
from arenite.driver.options import CompileOptions
from arenite.formats.tflite import export_model, import_model
from cli.in_process import call
from cli.test_cli import DIGITS, arenite
from convert_cases import net


def with_a_flipped_weight(tmp_path: Path) -> tuple[Path, str]:
    """The digits network with one weight byte of its third weighted layer flipped, and the layer's result."""
    model = import_model(DIGITS.read_bytes(), "digits")
    node = [node for node in model.graph.nodes if node.op in ("conv2d", "depthwise_conv2d")][2]
    weights = node.operand(1)
    assert weights.constant is not None
    damaged = np.array(weights.constant)
    damaged.reshape(-1)[0] ^= 0x40
    weights.constant = damaged
    path = tmp_path / "damaged.tflite"
    path.write_bytes(export_model(model))
    return path, node.results[0].name


def test_a_model_equals_itself() -> None:
    done = arenite("compare", DIGITS, DIGITS, "--fail-above", 0)
    assert done.returncode == 0, done.stderr
    assert "all are equal" in done.stdout


def test_a_flipped_weight_byte_is_found_in_its_layer(tmp_path: Path) -> None:
    path, result = with_a_flipped_weight(tmp_path)
    done = arenite("compare", DIGITS, path, "--json", "--fail-above", 0)
    assert done.returncode == 1
    assert "an output differs by" in done.stderr
    found = json.loads(done.stdout)
    assert found["first_divergent"] == result
    assert found["worst_output_error"] > 0
    assert found["costs"][0]["compiled"] == found["costs"][1]["compiled"]
    assert found["costs"][0]["compiled"]["arena_nbytes"] > 0


def test_inputs_come_from_a_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", arr_0=np.zeros((2, 1, 8, 8, 1), np.int8))
    done = arenite("compare", DIGITS, DIGITS, "--inputs", tmp_path / "in.npz", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["inputs"] == 2


def test_a_folder_is_compared_with_a_folder_alone(tmp_path: Path) -> None:
    for a, b in ((tmp_path, DIGITS), (DIGITS, tmp_path)):
        done = arenite("compare", a, b)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert f"{tmp_path} is a folder, and {DIGITS} is none: give two models, two folders" in done.stderr


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where commands run: a build, damaged models, and what is neither."""
    compile_model(load(DIGITS), simulate="off").write(tmp_path / "build")
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.txt").write_text("mine")
    np.save(tmp_path / "in.npy", np.zeros(2))
    for name in ("bad.tflite", "worse.onnx"):
        (tmp_path / name).write_bytes(b"\x08\x07garbage that is no model")
    shutil.copyfile(DIGITS, tmp_path / "m.tflite")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "beginnings"),
    [
        ("build missing", ["missing: there is no such file or folder"]),
        ("missing build", ["missing: there is no such file or folder"]),
        ("m.tflite missing.tflite", ["missing.tflite: there is no such"]),
        (
            "gone missing --inputs in.npz",
            ["gone: there is no such", "missing: there is no such", "in.npz: there is no"],
        ),
        ("gone gone", ["gone: there is no such"]),
        ("text.txt missing", ["missing: there is no such", "text.txt: not a model"]),
        ("text.txt m.tflite", ["text.txt: not a model"]),
        ("bad.tflite worse.onnx", ["bad.tflite: ", "worse.onnx: "]),
        ("empty empty", ["empty/report.json: "]),
        ("m.tflite text.txt", ["text.txt: expected lines of a debug build"]),
        ("m.tflite in.npy", ["in.npy: not a model, nor a board's log; for outputs, give both models, and --inputs"]),
        ("in.npy m.tflite", ["in.npy: not a model: "]),
    ],
)
def test_each_argument_has_its_own_problem(arguments: str, beginnings: list[str]) -> None:
    done = call("compare", *arguments.split())
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert len(lines) == len(beginnings), lines
    assert all(line.startswith(f"error: {start}") for line, start in zip(lines, beginnings, strict=True)), lines
    assert done.stdout == ""


def test_a_log_before_its_model_is_answered_with_the_command(tmp_path: Path) -> None:
    (log := tmp_path / "board's.log").write_text("$ARN begin")
    done = call("compare", log, DIGITS)
    assert done.returncode == 1
    assert "a board's log comes after its model: arenite compare " in done.stderr
    assert call(*shlex.split(done.stderr.partition(": arenite ")[2])).stderr.startswith(f"error: {log}: ")


@pytest.mark.parametrize("order", [None, (0, 2, 3, 1)])
def test_inputs_of_the_other_model_are_answered_with_the_command(tmp_path: Path, order: tuple[int, ...] | None) -> None:
    onnx_path, file = tmp_path / "net.onnx", tmp_path / "net.tflite"
    onnx.save(net(), onnx_path)
    assert call("convert", onnx_path, "-o", file, "--input-shape", "image:1,3,12,10", "--check", 0).returncode == 0
    image = np.random.default_rng(0).standard_normal((1, 3, 12, 10)).astype(np.float32)
    np.savez(tmp_path / "in.npz", image=image if order is None else image.transpose(order))
    models = (onnx_path, file) if order else (file, onnx_path)
    done = call("compare", *models, "--inputs", tmp_path / "in.npz")
    assert done.returncode == 1
    found = call(*shlex.split(done.stderr.partition(": arenite ")[2]))
    assert found.returncode == 0, found.stderr
    np.savez(tmp_path / "in.npz", image=image[:, :2])
    assert "got shape" in call("compare", *models, "--inputs", tmp_path / "in.npz").stderr


def test_no_invocations_are_no_comparison(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", arr_0=np.zeros((0, 1, 8, 8, 1), np.int8))
    done = call("compare", DIGITS, DIGITS, "--inputs", tmp_path / "in.npz")
    assert done.returncode == 1
    assert "nothing could be compared" in done.stderr
    assert done.stdout == ""


def test_an_output_that_is_not_finite_is_not_called_a_difference_of_inf(tmp_path: Path) -> None:
    for name, op in (("a", "Identity"), ("b", "Log")):
        text = f'<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) {{ y = {op} (x) }}'
        (tmp_path / f"{name}.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())
    np.savez(tmp_path / "in.npz", x=np.zeros(2, np.float32))
    models = tmp_path / "a.onnx", tmp_path / "b.onnx"
    done = call("compare", *models, "--inputs", tmp_path / "in.npz", "--fail-above", 1)
    assert done.returncode == 1
    assert done.stderr == "error: an output has another shape, or numbers that are not finite where the other's are\n"


def figures(text: str, title: str) -> dict[str, list[str]]:
    """The rows below a title, up to the next one."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(title)) + 1
    rows = {}
    for line in itertools.takewhile(lambda line: line.startswith("  "), lines[first:]):
        *_, a, b = line.split()
        rows[line[2:20].strip()] = [a, b]
    return rows


@pytest.mark.shared
def test_all_figures_of_a_part_are_of_one_graph(shared: Path) -> None:
    """Compiling this model removes half of its multiply-accumulates."""
    path = shared / "models" / "tflite" / "mlperf_vww_int8.tflite"
    cost = cost_of(path, load(path))
    text = Comparison(path, path, (cost, cost), (), 0).to_text()
    seen, program = inspect_model(path), build(load(path), CompileOptions(simulate="off"), lambda _: None).program
    assert (cost.nodes, cost.weights_nbytes) == (len(seen.model.graph), seen.weights_nbytes)
    assert cost.macs == seen.macs == 7_489_664
    assert cost.compiled is not None
    assert cost.compiled.macs == sum(call.macs for call in program.calls) < cost.macs
    assert cost.compiled.constants_nbytes == sum(constant.data.nbytes for constant in program.constants)
    in_file, compiled = figures(text, "as it is in the file"), figures(text, "compiled for")
    assert in_file["MACs"] == ["7,489,664"] * 2
    assert compiled["MACs"] == [f"{cost.compiled.macs:,}"] * 2
    assert compiled["layers"] == [str(len(program.calls))] * 2
    assert compiled["arena, bytes"] == [f"{program.placement.arena_nbytes:,}"] * 2
