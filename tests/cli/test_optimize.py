"""`arenite optimize` as scripts see it: exit status, stdout, stderr, files."""

import html
import io
import json
import os
import pty
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import arenite
from arenite._base.errors import SelfCheckError
from arenite.cli.main import main
from arenite.driver.optimize import optimize_file
from arenite.driver.optimize_onnx import optimize_onnx
from arenite.driver.optimize_result import OptimizeOptions
from arenite.passes.base import Pass, Work
from arenite.passes.onnx.presets import onnx_passes

TEXT = """<ir_version: 8, opset_import: ["": 17]>
g (float[N, 3, L] image, int64 rate, float[2] spare) => (float[A, B] flat, float[N, 3, L] other) {
    s = Shape (image)
    zero = Constant <value_int: int = 0> ()
    n = Gather (s, zero)
    axes = Constant <value_ints: ints = [0]> ()
    u = Unsqueeze (n, axes)
    rest = Constant <value_ints: ints = [-1]> ()
    t = Concat <axis: int = 0> (u, rest)
    r = Relu (image)
    flat = Reshape (r, t)
    f = Cast <to: int = 1> (rate)
    scaled = Mul (image, f)
    other = Identity (scaled)
}"""


@dataclass
class Finished:
    returncode: int
    stdout: str
    stderr: str


def call(*arguments: object) -> Finished:
    """The command line in this process, since starting one for each call takes long."""
    stdout, stderr = io.StringIO(), io.StringIO()
    status = 0
    with redirect_stdout(stdout), redirect_stderr(stderr):
        try:
            main(["optimize", *map(str, arguments)])
        except SystemExit as end:
            status = int(end.code or 0)
    return Finished(status, stdout.getvalue(), stderr.getvalue())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "model.onnx"
    target.write_bytes(onnx.parser.parse_model(TEXT).SerializeToString())
    return target


def ops(path: Path) -> list[str]:
    return [node.op_type for node in onnx.load(path).graph.node]


def test_a_model_gets_smaller_and_keeps_its_interface(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    done = call(path, "-o", out)
    assert done.returncode == 0, done.stderr
    assert sorted(ops(out)) == ["Cast", "Mul", "Relu", "Reshape"]
    for line in (
        "nodes",
        "weights, bytes",
        "peak activations, bytes",
        "MACs",
        "outputs equal the original's on 3 made-up inputs (image ",
        "by onnxruntime: no difference",
    ):
        assert line in done.stdout
    before, after = onnx.load(path).graph, onnx.load(out).graph
    assert list(before.input) == list(after.input)
    assert [item.name for item in before.output] == [item.name for item in after.output]


def test_json_and_explanation(path: Path, tmp_path: Path) -> None:
    out, why = tmp_path / "out.onnx", tmp_path / "why.json"
    done = call(path, "-o", out, "--json", "--check", 0, "--explain", why)
    content = json.loads(done.stdout)
    assert content["checked"] == "not compared with the original: --check 0"
    assert content["comparison"]["inputs"] == 0
    assert (content["before"]["nodes"], content["after"]["nodes"]) == (9, 4)
    assert content == json.loads(why.read_text())
    identity = [r for r in content["remarks"] if r["reason"] == "no-op"]
    assert identity
    assert set(identity[0]) == {"kind", "pass", "reason", "subject", "text", "origin"}


def test_a_static_shape(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    done = call(path, "-o", out, "--input-shape", "image:2,3,8", "--check", 2)
    assert done.returncode == 0, done.stderr
    (image, *_) = onnx.load(out).graph.input
    assert [d.dim_value for d in image.type.tensor_type.shape.dim] == [2, 3, 8]
    assert "unknown" not in done.stdout


@pytest.mark.parametrize(("value", "left"), [("1", ["Relu", "Reshape"]), ("3", ["Mul", "Relu", "Reshape"])])
def test_pinning_an_input(path: Path, tmp_path: Path, value: str, left: list[str]) -> None:
    out = tmp_path / "out.onnx"
    done = call(path, "-o", out, "--pin", f"rate={value}")
    assert done.returncode == 0, done.stderr
    # Times 1 goes, and with it all of the second output but its name.
    found = [op for op in ops(out) if op != "Identity"]
    assert sorted(found) == left
    assert [item.name for item in onnx.load(out).graph.input] == ["image", "spare"]


def test_pinning_by_a_file(path: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "rate.npy", np.array(5))
    done = call(path, "-o", tmp_path / "out.onnx", "--pin", f"rate={tmp_path / 'rate.npy'}")
    assert done.returncode == 0, done.stderr
    (constant, *_) = [t for t in onnx.load(tmp_path / "out.onnx").graph.initializer if t.data_type == 1]
    assert onnx.numpy_helper.to_array(constant).tolist() == 5.0


def test_keeping_one_output(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.onnx"
    done = call(path, "-o", out, "--outputs", "flat")
    assert done.returncode == 0, done.stderr
    assert sorted(ops(out)) == ["Relu", "Reshape"]
    assert [item.name for item in onnx.load(out).graph.input] == ["image"]
    assert "rate, spare" in done.stderr


USAGE = [
    (["--overwrite-input-shape", "image:1,3,8"], "--input-shape NAME:DIMS"),
    (["--input-shapes", "image:1,3,8"], "--input-shape NAME:DIMS"),
    (["--skip-fuse-bn"], "--no-fold-batch-norm"),
    (["--size-threshold", "1000"], "--fold-max-bytes N"),
    (["--skip_optimization"], "--no-fold-constants"),
    (["--emit-tflite", "x.tflite"], "the format that it reads"),
    (["--static-quantize"], "quantizes nothing"),
    (["--disable_layer_norm"], "standard ones"),
    (["--graph-diff"], "--diff FILE.html"),
    (["--dim_param", "N", "--dim_value", "1"], "--input-shape NAME:DIMS"),
    (["--optimization_style=Fixed"], "for any runtime"),
    (["--chek", "3"], "--check"),
    (["--explain", "scaled"], "--node 'scaled'"),
    (["--diff", "small.onnx"], "FILE.html"),
    (["--input-shape", "imag:1,3,8"], "did you mean image"),
    (["--outputs", "flt"], "did you mean flat"),
    (["--pin", "rat=1"], "did you mean rate"),
    (["--input-shape", "image:1,3,8", "--input-shape", "image:2,3,8"], "twice for 'image'"),
    (["--pin", "rate=1", "--pin", "rate=2"], "twice for 'rate'"),
    (["--pin", "rate"], "NAME=VALUE"),
    (["--pin", "rate=fast"], "no number"),
    (["--input-shape", "image"], "NAME:DIMS"),
    (["--input-shape", "image:1,x"], "NAME:DIMS"),
    (["--pure", "Twice"], "DOMAIN::OP"),
    (["second.onnx"], "one argument too many"),
]


@pytest.mark.parametrize(("arguments", "hint"), USAGE)
def test_usage_errors_say_what_to_type(path: Path, tmp_path: Path, arguments: list[str], hint: str) -> None:
    out = tmp_path / "out.onnx"
    done = call(path, "-o", out, *arguments)
    assert done.returncode == 2
    assert hint in done.stderr
    assert not out.exists()


def test_the_suffix_must_be_the_models(path: Path, tmp_path: Path) -> None:
    done = call(path, "-o", tmp_path / "out.tflite")
    assert done.returncode == 2
    assert "ends in .onnx" in done.stderr
    assert f"arenite convert {path} -o {tmp_path / 'out.tflite'}" in done.stderr


def test_out_must_be_given(path: Path) -> None:
    done = call(path)
    assert done.returncode == 2
    assert "-o OUT" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--input-shape", "image:1,4,8"], ["image", "[1, 4, 8]"]),
        (["--input-shape", "image:1,3"], ["image", "[1, 3]"]),
        (["--pin", "rate=1.5"], ["rate", "1.5"]),
        (["--pin", "image=1"], ["image", "--input-shape"]),
        (["--pin", "spare=[1,2,3]"], ["spare", "[3]"]),
    ],
)
def test_what_does_not_fit_is_refused(path: Path, tmp_path: Path, arguments: list[str], words: list[str]) -> None:
    done = call(path, "-o", tmp_path / "out.onnx", *arguments)
    assert done.returncode == 1
    assert all(word in done.stderr for word in words), done.stderr
    assert sorted(item.name for item in tmp_path.iterdir()) == ["model.onnx"]


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"\x08\x07garbage")
    done = call(tmp_path / "model.onnx", "-o", tmp_path / "out.onnx")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_the_python_surface_leaves_the_model_alone(path: Path, tmp_path: Path) -> None:
    model = arenite.load(path)
    nodes = len(model.graph)
    result = arenite.optimize(model, input_shapes={"image": (1, 3, 4)}, pins={"rate": 1}, check=1)
    assert len(model.graph) == nodes
    assert len(result.model.graph) < nodes
    result.write(tmp_path / "out.onnx")
    assert "Reshape" in ops(tmp_path / "out.onnx")


class Breaks(Pass):
    """Exchanges Relu for Exp."""

    name = "breaks"
    summary = "Does wrong."
    reasons = ()

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            if node.op == "onnx.Relu":
                node.op = "onnx.Exp"
                work.rewriter.changed += 1


def test_a_wrong_result_names_the_pass_and_is_not_written(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**options: Any) -> tuple[Pass, ...]:
        first, *rest = onnx_passes(**options)
        return (first, Breaks(), *rest)

    monkeypatch.setattr("arenite.driver.optimize_onnx.onnx_passes", broken)
    reproducer = tmp_path / "reproducer"
    with pytest.raises(SelfCheckError, match="pass 'breaks'"):
        optimize_onnx(arenite.load(path), OptimizeOptions(), source=path, reproducer=reproducer)
    assert ops(reproducer / "before.onnx").count("Relu") == 1
    assert ops(reproducer / "after.onnx").count("Exp") == 1
    assert json.loads((reproducer / "error.json").read_text())["pass"] == "breaks"
    assert (reproducer / "inputs-0.npz").exists()


DEFAULTS = """<ir_version: 8, opset_import: ["": 17]>
g (float[1, 2, 4, 4] x, float[2] scale, float[2] spare) => (float[1, 2, 4, 4] y)
<float[2] scale = {2, 4}, float[2] bias = {0, 1}, float[2] mean = {1, 1}, float[2] var = {1, 4},
 float[2, 2, 1, 1] weights = {1, 2, 3, 4}>
{
    c = Conv (x, weights)
    y = BatchNormalization (c, scale, bias, mean, var)
}"""


def test_default_values_stay_inputs_unless_asked_otherwise(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(DEFAULTS)
    path, out = tmp_path / "model.onnx", tmp_path / "out.onnx"
    path.write_bytes(model.SerializeToString())
    faithful = call(path, "-o", out)
    assert faithful.returncode == 0, faithful.stderr
    assert ops(out) == ["Conv", "BatchNormalization"]
    assert "input 'scale' has a default value" in faithful.stderr
    assert "--freeze-defaults" in faithful.stderr
    frozen = call(path, "-o", out, "--freeze-defaults")
    assert frozen.returncode == 0, frozen.stderr
    assert ops(out) == ["Conv"]
    assert [item.name for item in onnx.load(out).graph.input] == ["x", "spare"]
    assert "became constants: scale" in frozen.stderr
    assert "outputs equal the original's on 3 made-up inputs of the model's fixed sizes" in frozen.stdout


def test_progress_is_told_and_a_pipe_hears_nothing(path: Path, tmp_path: Path) -> None:
    told: list[str] = []
    optimize_file(path, tmp_path / "out.onnx", OptimizeOptions(), step=told.append)
    assert told[0] == "reading the model"
    assert "round 1: onnx-fold, 9 nodes left, 10 %" in told
    assert any(line.startswith("comparing with the original: input 2 of 3, by onnxruntime") for line in told)
    done = subprocess.run(
        [sys.executable, "-m", "arenite", "optimize", str(path), "-o", str(tmp_path / "out.onnx"), "--check", "0"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert "round" not in done.stdout


def test_a_terminal_shows_progress_on_stderr_alone(path: Path, tmp_path: Path) -> None:
    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "arenite", "optimize", str(path), "-o", str(tmp_path / "out.onnx"), "--check", "0"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=end, text=True, check=True)
    os.close(end)
    os.set_blocking(terminal, False)
    shown = os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    assert "reading the model" in shown or "nodes left" in shown
    assert "nodes left" not in done.stdout
    assert done.stdout.endswith("not compared with the original: --check 0\n")


@pytest.mark.shared
def test_a_tflite_with_nothing_to_do_is_copied(shared: Path, tmp_path: Path) -> None:
    source, out = shared / "models" / "tflite" / "mlperf_kws_int8.tflite", tmp_path / "out.tflite"
    done = call(source, "-o", out)
    assert done.returncode == 0, done.stderr
    assert "nothing to do" in done.stderr
    assert out.read_bytes() == source.read_bytes()


@pytest.mark.shared
def test_a_tflite_takes_no_options_of_onnx(shared: Path, tmp_path: Path) -> None:
    source = shared / "models" / "tflite" / "mlperf_kws_int8.tflite"
    done = call(source, "-o", tmp_path / "out.tflite", "--input-shape", "x:1")
    assert done.returncode == 2


def test_unoptimised_imports_stay_away() -> None:
    """What --check 0 does not need is not loaded: it would cost more than the work."""
    code = (
        "import sys, arenite.driver.optimize, arenite.driver.optimize_onnx\n"
        "print([m for m in ('onnxruntime', 'onnx.reference', 'arenite.lower', 'arenite.codegen', 'jinja2') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_picture_of_both_graphs(path: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "out.onnx", tmp_path / "diff.html"
    done = call(path, "-o", out, "--diff", page)
    assert done.returncode == 0, done.stderr
    text = html.unescape(page.read_text(encoding="utf-8"))
    assert "the model, 9 nodes" in text
    assert "after the passes, 4 nodes" in text
    assert "outputs equal the original's on 3 made-up inputs" in text
    # Sizes that the file does not tell are inferred.
    assert "Relu Nx3xL float32" in text
    assert "went into Mul" in text


@pytest.mark.shared
def test_a_picture_of_a_tflite(shared: Path, tmp_path: Path) -> None:
    source = shared / "models" / "tflite" / "nxp_yolo_face_detect.tflite"
    page = tmp_path / "diff.html"
    done = call(source, "-o", tmp_path / "out.tflite", "--check", 0, "--diff", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert "the model, 57 nodes" in text
    assert "after the passes, 55 nodes" in text
    assert text.count('class="fused"') == 2


def test_what_was_inside_a_branch_went_with_it(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[2] x) => (float[2] y) <bool c = {1}> {
        [choice] z = If (c) <then_branch = t () => (float[2] o) { [kept] o = Exp (x) },
                            else_branch = e () => (float[2] p) { [dropped] p = Sin (x) }>
        y = Relu (z)
    }"""
    (tmp_path / "model.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())
    done = call(tmp_path / "model.onnx", "-o", tmp_path / "out.onnx", "--diff", tmp_path / "diff.html")
    assert done.returncode == 0, done.stderr
    page = html.unescape((tmp_path / "diff.html").read_text(encoding="utf-8"))
    assert "it was inside 'choice'; inline-branches: the condition of choice is True" in page
    assert "Sin 2 float32 (nested)" in page


def test_a_picture_that_cannot_be_written(path: Path, tmp_path: Path) -> None:
    done = call(path, "-o", tmp_path / "out.onnx", "--check", 0, "--diff", tmp_path / "nowhere" / "diff.html")
    assert done.returncode == 1
    assert "nowhere" in done.stderr
    assert not (tmp_path / "out.onnx").exists()


def test_signed_zeros_are_ignored_when_asked(tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[3] x) => (float[3] y) <float k = {0}> {'
    model = onnx.parser.parse_model(text + " a = Add (x, k)  y = Relu (a) }")
    path, out = tmp_path / "model.onnx", tmp_path / "out.onnx"
    path.write_bytes(model.SerializeToString())
    assert call(path, "-o", out).returncode == 0
    assert ops(out) == ["Add", "Relu"]
    assert call(path, "-o", out, "--ignore-signed-zeros").returncode == 0
    assert ops(out) == ["Relu"]


def test_operators_of_old_opsets_are_not_taken_for_newer_ones(tmp_path: Path) -> None:
    # Before opset 7, `axis` says where the smaller operand goes: [3] along dimension 0 of [3, 1], not beside it.
    text = """<ir_version: 3, opset_import: ["": 6]> g (float[3, 1] x, float[3] k) => (float[3, 1] y, int64[2] s) {
        a = Add <axis: int = 0, broadcast: int = 1> (x, k)
        b = Add <axis: int = 0, broadcast: int = 1> (x, k)
        d = Dropout (a)
        y = Mul (d, b)
        s = Shape (a)
        e = Exp (y)
    }"""
    path, out = tmp_path / "model.onnx", tmp_path / "out.onnx"
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    done = call(path, "-o", out)
    assert done.returncode == 0, done.stderr
    assert ops(out) == ["Add", "Dropout", "Mul", "Shape"]
    assert "opset 6 is older than 7: only" in done.stderr


CUSTOM = """<ir_version: 8, opset_import: ["": 17, "own": 1]>
g (float[2] x) => (float[2] y) { a = own.Twice (x)  b = Relu (a)  y = own.Thrice (b) }"""


@pytest.mark.parametrize(
    ("pure", "said"),
    [
        (
            "own::Twise",
            "--pure own::Twise: no node of the model has this operator; did you mean own::Twice, own::Thrice?",
        ),
        ("away::Quux", "--pure away::Quux: no node of the model has this operator\n"),
        ("own::Twice", None),
    ],
)
def test_an_operator_that_is_said_to_be_pure_and_not_there(tmp_path: Path, pure: str, said: str | None) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(CUSTOM).SerializeToString())
    done = call(path, "--pure", pure, "--check", "0", "-o", tmp_path / "out.onnx")
    assert done.returncode == 0
    assert (said in done.stdout + done.stderr) if said else "--pure" not in done.stdout + done.stderr
