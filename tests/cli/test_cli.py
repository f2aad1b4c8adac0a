"""The command line as scripts see it: exit status, stdout, stderr, files."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arenite.driver.load import load_model
from arenite.ir.printer import graph_text

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.tflite"


def arenite(*arguments: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "arenite", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        env={**os.environ, **environment},
        timeout=120,
    )


def test_help_shows_the_commands_that_work() -> None:
    done = arenite("--help")
    assert done.returncode == 0
    for command in ("compile", "run", "inspect", "explain", "targets", "ops", "passes"):
        assert command in done.stdout


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["compil", "x.tflite"], "compile"),
        (["simplify", "x.onnx", "y.onnx"], "use 'arenite optimize MODEL -o OUT'"),
        (["quantize", "x.tflite"], "Arenite does not quantize yet"),
        (["compile", "x.tflite", "--targt", "m4"], "--target"),
        (["compile", str(DIGITS), "--target", "cortex-m5"], "cortex-m55"),
        (["compile", str(DIGITS), "--optimize", "sped"], "speed, flash, ram"),
        (["explain", str(DIGITS), "--node", "convv"], "no node is called 'convv'"),
        (["explain", str(DIGITS), "--pass", "fuse-activation"], "fuse-activations"),
    ],
)
def test_usage_errors_exit_2_and_suggest(arguments: list[str], word: str) -> None:
    done = arenite(*arguments)
    assert done.returncode == 2
    assert word in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("missing.tflite", None, "no such file"),
        ("short.tflite", b"\x1c\x00\x00\x00TFL3", "truncated"),
        ("other.tflite", b"hello world, this is no model at all", "not a TFLite model"),
        ("model.txt", b"x", "suffix"),
    ],
)
@pytest.mark.parametrize("command", ["compile", "inspect", "explain"])
def test_bad_models_exit_1_with_one_message_and_no_output(
    tmp_path: Path, command: str, name: str, content: bytes | None, word: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    before = sorted(tmp_path.iterdir())
    done = arenite(command, path, cwd=tmp_path)
    assert done.returncode == 1
    assert word in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stdout == ""
    assert sorted(tmp_path.iterdir()) == before


def test_compile_writes_the_bundle_and_prints_json(tmp_path: Path) -> None:
    done = arenite("compile", DIGITS, "-o", tmp_path / "out", "--simulate", "off", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    report = json.loads(done.stdout)
    written = json.loads((tmp_path / "out" / "report.json").read_text())
    for row in (*report["passes"], *written["passes"]):
        row.pop("milliseconds")
    assert report == written
    assert sorted(report["files"]) == sorted(p.name for p in (tmp_path / "out").iterdir())
    assert report["simulation"] is None
    assert report["flash"]["code_nbytes"] is None


def test_compile_defaults_to_a_folder_named_after_the_model(tmp_path: Path) -> None:
    done = arenite("compile", DIGITS, "--simulate", "off", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["digits-arenite"]


@pytest.mark.zig
@pytest.mark.unicorn
def test_layers_and_the_invoke_function_add_up_to_the_total(tmp_path: Path) -> None:
    done = arenite("compile", DIGITS, "-o", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    layers = sum(layer["instructions"] for layer in report["layers"])
    assert 0 < report["simulation"]["instructions"] - layers < 200
    trim = json.loads((tmp_path / "out" / "trim.json").read_text())
    code = sum(kernel["nbytes"] for kernel in trim["kernels"]) + sum(trim["padding"].values())
    assert code == report["flash"]["code_nbytes"]
    assert trim["full_build_nbytes"] > report["flash"]["code_nbytes"] / 2


@pytest.mark.parametrize(("option", "word"), [("--ram-limit", "RAM"), ("--flash-limit", "flash")])
def test_limits_that_cannot_be_met_exit_1(tmp_path: Path, option: str, word: str) -> None:
    done = arenite("compile", DIGITS, "-o", tmp_path / "out", "--simulate", "off", option, 100)
    assert done.returncode == 1
    assert word.lower() in done.stderr.lower()
    assert list(tmp_path.iterdir()) == []


def test_run_takes_names_and_sequences(tmp_path: Path) -> None:
    report = json.loads(arenite("inspect", DIGITS, "--json").stdout)
    name = report["inputs"][0]["name"]
    images = np.random.default_rng(0).integers(-128, 128, (3, 1, 8, 8, 1)).astype(np.int8)
    np.savez(tmp_path / "in.npz", **{name: images})  # type: ignore[arg-type]
    done = arenite("run", DIGITS, "--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    with np.load(tmp_path / "out.npz") as archive:
        (key,) = archive.files
        assert archive[key].shape == (3, 1, 10)


def test_run_refuses_misfits_and_writes_nothing(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", wrong=np.zeros(3))
    done = arenite("run", DIGITS, "--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz")
    assert done.returncode == 1
    assert "'wrong' fits no input" in done.stderr
    assert not (tmp_path / "out.npz").exists()


@pytest.mark.parametrize("listing", ["targets", "ops", "passes"])
def test_listings_print_tables_and_json(listing: str) -> None:
    rows = json.loads(arenite(listing, "--json").stdout)
    text = arenite(listing).stdout
    assert len(text.splitlines()) == len(rows) + 1
    for row in rows:
        assert next(iter(row.values())) in text


def test_inspect_ends_with_the_verdict_within_a_screen() -> None:
    done = arenite("inspect", DIGITS)
    assert done.returncode == 0
    assert done.stdout == arenite("inspect", DIGITS, "--no-text").stdout
    assert len(done.stdout.splitlines()) < 12
    assert "  operators  conv2d 4, depthwise_conv2d 1" in done.stdout
    assert done.stdout.endswith("  verdict    can be compiled\n")


def test_inspect_shows_the_graph_on_request() -> None:
    done = arenite("inspect", DIGITS, "--text")
    assert done.returncode == 0
    assert done.stdout == f"{graph_text(load_model(DIGITS).graph)}\n\n{arenite('inspect', DIGITS).stdout}"


def test_explain_tells_the_kernel_of_a_node() -> None:
    kernels = json.loads(arenite("explain", DIGITS, "--json").stdout)["kernels"]
    assert kernels
    node = kernels[0]["origin"][0]
    text = arenite("explain", DIGITS, "--node", node).stdout
    assert kernels[0]["kernel"] in text


def test_without_tools_the_files_are_still_written(tmp_path: Path) -> None:
    """`auto` says what to install, in one line, when no cross compiler is found."""
    hidden = tmp_path / "empty"
    hidden.mkdir()
    code = (
        "import sys, importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n in ('ziglang', 'unicorn') else real(n, *a)\n"
        "from arenite.cli.main import main; main(sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "compile", str(DIGITS), "-o", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": str(hidden)},
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "pip install" in done.stderr
    assert (tmp_path / "out" / "digits.c").exists()


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare to take the network away")
def test_compiling_needs_no_network(tmp_path: Path) -> None:
    probe = subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("this user may not make network namespaces")
    done = subprocess.run(
        [
            "unshare",
            "-n",
            sys.executable,
            "-m",
            "arenite",
            "compile",
            str(DIGITS),
            "-o",
            str(tmp_path / "out"),
            "--simulate",
            "off",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_names_that_are_no_text_are_escaped(tmp_path: Path) -> None:
    """A file system holds any bytes."""
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/n\xff\xc3\xa9t.tflite"))
    shutil.copy(DIGITS, path)
    done = arenite("compile", path, "-o", tmp_path / "out", "--simulate", "off", "--json")
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert json.loads(done.stdout)["model"] == written["model"]
    assert written["model"]["name"] == "n\udcff\u00e9t"
    assert "n\\udcff\u00e9t" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for command in (["inspect"], ["compile", "--simulate", "off", "-o", str(tmp_path / "two")]):
        done = arenite(*command, path)
        assert done.returncode == 0, done.stderr
        assert "n\\udcff" in done.stdout


def test_a_locale_without_the_letters_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "\u540d.tflite"
    shutil.copy(DIGITS, path)
    for arguments in (["inspect", path], ["inspect", path, "--json"]):
        done = arenite(*arguments, PYTHONIOENCODING="latin-1")
        assert done.returncode == 0, done.stderr
        assert done.stdout.isascii()
    assert json.loads(done.stdout)["name"] == path.stem


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a device that takes nothing")
@pytest.mark.parametrize("redirect", [">/dev/full", "| true", ">&-"])
@pytest.mark.parametrize("arguments", ["targets", "--help", f"inspect --json {DIGITS}"])
def test_output_that_nobody_takes(arguments: str, redirect: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m arenite {arguments} {redirect}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if redirect == ">/dev/full":
        assert done.returncode == 1
        assert "No space left" in done.stderr


_ENDED = """
import os, signal, tempfile
from arenite.cli import main as cli

def app(_):
    with tempfile.TemporaryDirectory():
        os.kill(os.getpid(), signal.SIGTERM)

cli.app = app
cli.main([])
"""


def test_who_is_ended_leaves_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", _ENDED], env=environment, capture_output=True, check=False, timeout=60)
    assert done.returncode == 128 + signal.SIGTERM
    assert done.stderr == b""
    assert list(tmp_path.iterdir()) == []
