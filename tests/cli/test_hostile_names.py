"""Names come from strangers: whatever they hold, what is printed commands no terminal."""

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import helper

from cli.in_process import call

ESCAPE, OVERRIDE = "\x1b[2J", "\u202e"
DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.tflite"


def hostile(path: Path, op: str = "Relu", domain: str = "") -> Path:
    info = helper.make_tensor_value_info
    nodes = [
        helper.make_node(op, [f"x{ESCAPE}"], [f"v{ESCAPE}"], name=f"n{ESCAPE}", domain=domain),
        helper.make_node("Identity", [f"v{ESCAPE}"], [f"y{OVERRIDE}"], name=f"last{OVERRIDE}"),
    ]
    ports = [info(f"x{ESCAPE}", 1, [f"N{ESCAPE}", 2])], [info(f"y{OVERRIDE}", 1, None)]
    opsets = [helper.make_opsetid("", 17), *([helper.make_opsetid(domain, 1)] if domain else [])]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", *ports), opset_imports=opsets, ir_version=8), path)
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ["inspect"],
        ["inspect", "--text"],
        ["explain"],
        ["explain", "--node", "n"],
        ["explain", "--node", "nothing"],
        ["optimize", "-o", "out.onnx"],
        ["convert", "-o", "out.tflite"],
        ["compile", "-o", "out"],
        ["run", "--inputs", "none.npz", "--outputs", "out.npz"],
        ["compare", str(DIGITS)],
    ],
)
@pytest.mark.parametrize("domain", ["", f"own{ESCAPE}"])
def test_a_terminal_gets_no_commands(
    arguments: list[str], domain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = hostile(tmp_path / f"m{ESCAPE}.onnx", "Own" if domain else "Relu", domain)
    done = call(arguments[0], model, *arguments[1:])
    assert done.returncode in (0, 1, 2)
    told = (done.stdout + done.stderr).replace("\n", "")
    assert told
    assert told.isprintable()


def test_problems_and_notes_are_escaped_and_nothing_else_is(tmp_path: Path) -> None:
    done = call("inspect", tmp_path / f"caf\u00e9 {ESCAPE}\t.onnx")
    assert done.stderr == f"error: {tmp_path}/caf\u00e9 \\x1b[2J\t.onnx: there is no such file\n"


def test_a_name_is_no_markup_on_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a[bold].tflite"
    shutil.copy(DIGITS, path)
    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "arenite", "compile", str(path), "-o", str(tmp_path / "out"), "--simulate", "off"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=end, check=False)
    os.close(end)
    shown = os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    assert done.returncode == 0, shown
    assert "a[bold].tflite" in shown
