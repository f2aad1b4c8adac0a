"""What commands write: never in place of what they read, nor of what is read-only; and what stands in their way."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from arenite.driver.load import load_model
from cli.in_process import Finished, call
from cli.test_cli import DIGITS

TEXT = """<ir_version: 8, opset_import: ["": 17]>
g (float[1, 64] x, float[1] rate) => (float[1, 64] y)
{
    a = Identity (x)
    y = Mul (a, rate)
}"""
LARGE = """<ir_version: 8, opset_import: ["": 17]>
g (float[32, 32] x) => (float[32, 32] y)
{
    a = Identity (x)
    y = MatMul (a, weights)
}"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model of each format, inputs, a value to pin, a memory problem."""
    shutil.copyfile(DIGITS, tmp_path / "m.tflite")
    (tmp_path / "m.onnx").write_bytes(onnx.parser.parse_model(TEXT).SerializeToString())
    np.savez(tmp_path / "in.npz", arr_0=np.zeros((1, 8, 8, 1), np.int8))
    np.savez(tmp_path / "x.npz", x=np.zeros((1, 64), np.float32))
    np.save(tmp_path / "rate.npy", np.ones(1, np.float32))
    (tmp_path / "p.csv").write_text("id,lower,upper,size\na,0,2,10\n")
    (tmp_path / "out.json").write_text("{}")
    for name, target in (
        ("link.tflite", "m.tflite"),
        ("onnx.tflite", "m.onnx"),
        ("m.json", "m.onnx"),
        ("m.html", "m.onnx"),
        ("m.npz", "m.onnx"),
    ):
        (tmp_path / name).symlink_to(target)
    os.link(tmp_path / "m.tflite", tmp_path / "hard.tflite")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def in_folder(folder: Path, line: str, monkeypatch: pytest.MonkeyPatch) -> Finished:
    monkeypatch.chdir(folder)
    return call(*line.split())


COMMANDS = [
    ("optimize m.tflite -o {}", "m.tflite"),
    ("optimize m.tflite -o {}", "link.tflite"),
    ("optimize m.tflite -o {}", "hard.tflite"),
    ("optimize link.tflite -o {}", "m.tflite"),
    ("optimize m.onnx -o {}", "m.onnx"),
    ("optimize m.onnx -o {}", "{folder}/../{folder.name}/m.onnx"),
    ("optimize m.onnx -o out.onnx --explain {}", "m.json"),
    ("optimize m.onnx -o out.onnx --diff {}", "m.html"),
    ("convert m.onnx -o {}", "onnx.tflite"),
    ("convert m.onnx -o out.tflite --explain {}", "m.json"),
    ("run m.tflite --inputs in.npz --outputs {}", "in.npz"),
    ("run m.onnx --inputs x.npz --outputs {}", "m.npz"),
    ("run m.onnx --inputs x.npz --pin rate=rate.npy --outputs {}", "rate.npy"),
    ("plan p.csv -o {}", "p.csv"),
]


@pytest.mark.parametrize(("line", "output"), COMMANDS)
def test_what_is_read_is_never_replaced(folder: Path, line: str, output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, path = contents(folder), output.format(folder=folder)
    done = in_folder(folder, line.format(path), monkeypatch)
    assert done.returncode == 1
    assert done.stderr == f"error: cannot write {path}: it is the file that is read; choose another path\n"
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("optimize m.tflite -o {}", "out.tflite"),
        ("optimize m.onnx -o {}", "out.onnx"),
        ("optimize m.onnx -o out.onnx --explain {}", "out.json"),
        ("optimize m.onnx -o out.onnx --diff {}", "out.html"),
        ("run m.tflite --inputs in.npz --outputs {}", "out.npz"),
        ("plan p.csv -o {}", "out.csv"),
    ],
)
def test_what_is_read_only_is_never_replaced(
    folder: Path, line: str, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / output).write_text("precious")
    (folder / output).chmod(0o444)
    before = contents(folder)
    done = in_folder(folder, line.format(output), monkeypatch)
    assert done.returncode == 1
    assert done.stderr == f"error: cannot write {output}: it is read-only; choose another path\n"
    assert contents(folder) == before
    (folder / output).chmod(0o644)
    assert in_folder(folder, line.format(output), monkeypatch).returncode == 0
    assert (folder / output).read_bytes() != b"precious"


def test_one_file_is_not_written_twice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "out.html").symlink_to("why.json")
    done = in_folder(folder, "optimize m.onnx -o out.onnx --explain why.json --diff out.html", monkeypatch)
    assert done.returncode == 1
    assert done.stderr == "error: cannot write out.html: something else is written there; choose another path\n"
    assert not (folder / "out.onnx").exists()


@pytest.mark.parametrize("data", ["out.onnx.data", "weights.bin"])
def test_the_data_beside_a_model_is_never_replaced(folder: Path, data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = onnx.parser.parse_model(LARGE)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((32, 32), np.float32), "weights"))
    onnx.save(model, folder / "large.onnx", save_as_external_data=True, location=data, size_threshold=0)
    before = contents(folder)
    done = in_folder(folder, "optimize large.onnx -o out.onnx", monkeypatch)
    if data == "weights.bin":
        assert done.returncode == 0, done.stderr
        assert onnx.numpy_helper.to_array(onnx.load(folder / "out.onnx").graph.initializer[0]).sum() == 1024
        (folder / "out.onnx.data").chmod(0o444)
        before = contents(folder)
        done = in_folder(folder, "optimize large.onnx -o out.onnx", monkeypatch)
    assert done.returncode == 1
    assert "out.onnx.data: it is " in done.stderr
    assert contents(folder) == before


def test_a_bundle_replaces_neither_the_model_nor_what_is_read_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever an earlier listing in that folder says."""
    line = "compile m.tflite --simulate off -o ."
    (folder / "report.json").write_text(json.dumps({"files": ["m.tflite", "report.json"]}))
    model = (folder / "m.tflite").read_bytes()
    assert in_folder(folder, line, monkeypatch).returncode == 0
    assert (folder / "m.tflite").read_bytes() == model
    (folder / "m.h").chmod(0o444)
    before = contents(folder)
    done = in_folder(folder, line, monkeypatch)
    assert done.returncode == 1
    assert done.stderr == "error: m.h: it is read-only; choose another folder with -o\n"
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("compile m.tflite -o p.csv", "cannot write p.csv: p.csv is there, and is no folder; choose another folder"),
        ("compile m.tflite -o m.tflite", "cannot write m.tflite: m.tflite is there, and is no folder"),
        ("compile m.tflite -o p.csv/a/b", "cannot write p.csv/a/b: p.csv is there, and is no folder"),
        ("compile m.tflite -o lost", "cannot write lost: lost is a link that leads nowhere"),
        ("compile m.tflite -o lost/a", "cannot write lost/a: lost is a link that leads nowhere"),
        ("optimize m.onnx -o p.csv/a.onnx", "cannot write p.csv/a.onnx: p.csv is there, and is no folder"),
        ("optimize m.onnx -o no/a.onnx", "cannot write no/a.onnx: the folder no does not exist"),
        ("run m.tflite --inputs in.npz --outputs p.csv/a.npz", "p.csv/a.npz: p.csv is there, and is no folder"),
        ("plan p.csv -o lost/out.csv", "cannot write lost/out.csv: lost is a link that leads nowhere"),
        ("plan p.csv -o .", "cannot write .: it is there, and is no file"),
    ],
)
def test_what_stands_in_the_way_is_named(
    folder: Path, line: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "lost").symlink_to("nowhere")
    before = contents(folder)
    done = in_folder(folder, line, monkeypatch)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert contents(folder) == before


def test_outputs_of_a_run_are_npz_or_one_npy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = in_folder(folder, "run m.tflite --inputs in.npz --outputs o.csv", monkeypatch)
    assert done.returncode == 2
    assert "--outputs takes FILE.npz" in done.stderr
    for name in ("o.npz", "o.npy"):
        assert in_folder(folder, f"run m.tflite --inputs in.npz --outputs {name}", monkeypatch).returncode == 0
    (expected,) = np.load(folder / "o.npz").values()
    found = np.load(folder / "o.npy")
    assert isinstance(found, np.ndarray)
    assert np.array_equal(found, expected)
    two = TEXT.replace("(float[1, 64] y)", "(float[1, 64] y, float[1, 64] a)")
    (folder / "two.onnx").write_bytes(onnx.parser.parse_model(two).SerializeToString())
    done = in_folder(folder, "run two.onnx --inputs x.npz --pin rate=2 --outputs two.npy", monkeypatch)
    assert done.returncode == 2
    assert "2 outputs" in done.stderr


def test_reals_for_an_integer_input_are_told_how_to_become_integers(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = np.random.default_rng(0).random((1, 8, 8, 1), np.float32)
    np.savez(folder / "real.npz", arr_0=real)
    done = in_folder(folder, "run m.tflite --inputs real.npz --outputs o.npz", monkeypatch)
    assert done.returncode == 1
    (image,) = load_model(DIGITS).graph.inputs
    assert image.type.quantization is not None
    scale, zero = image.type.quantization.scale, image.type.quantization.zero_point
    assert "got dtype float32" in done.stderr
    assert f"q = round(x / {scale!r}) + {zero}, clamped to -128..127, as int8" in done.stderr
    np.savez(folder / "wide.npz", arr_0=np.zeros((1, 8, 8, 1), np.int64))
    done = in_folder(folder, "run m.tflite --inputs wide.npz --outputs o.npz", monkeypatch)
    assert "array.astype(numpy.int8)" in done.stderr


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [("1K", 1, "1,024"), ("2kib", 1, "2,048"), ("1048576", 0, ""), ("1M", 0, "")],
)
@pytest.mark.parametrize("option", ["--ram-limit", "--flash-limit"])
def test_sizes_have_units(
    folder: Path, option: str, text: str, status: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = in_folder(folder, f"compile m.tflite -o out --simulate off {option} {text}", monkeypatch)
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr


@pytest.mark.parametrize("text", ["64Q", "-1", "1.5M", "64KB", "", "٣"])
@pytest.mark.parametrize(
    "line",
    [
        "compile m.tflite --ram-limit",
        "compile m.tflite --flash-limit",
        "compile m.tflite --fold-max-bytes",
        "optimize m.onnx -o out.onnx --fold-max-bytes",
        "plan p.csv --capacity",
    ],
)
def test_what_is_no_size_is_told_the_units(folder: Path, line: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    done = call(*line.split(), text)
    assert done.returncode == 2
    assert "expected one as in 65536, 64K, 64KiB or 1M (of 1024)" in " ".join(done.stderr.split())


@pytest.mark.parametrize("command", ["compile", "optimize", "plan"])
def test_help_tells_the_units(command: str) -> None:
    assert "65536, 64K, 64KiB, 1M" in " ".join(call(command, "--help").stdout.split())


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("optimize", " optimize -o OUT [OPTIONS] {MODEL}"),
        ("run", " run --inputs IN.npz --outputs OUT.npz [OPTIONS] {MODEL}"),
        ("compile", " compile [OPTIONS] {MODEL}"),
    ],
)
def test_usage_has_what_must_be_given(command: str, usage: str) -> None:
    assert usage in " ".join(call(command, "--help").stdout.split())
