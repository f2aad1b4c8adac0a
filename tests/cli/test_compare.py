"""`arenite compare`."""

import json
from pathlib import Path

import numpy as np

from arenite.formats.tflite import export_model, import_model
from cli.test_cli import DIGITS, arenite


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
    assert found["costs"][0]["arena_nbytes"] == found["costs"][1]["arena_nbytes"] > 0


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
