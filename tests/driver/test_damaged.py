"""Damaged models through the whole of `compile` and `run`: a clear error or a whole result, and nothing in between."""

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from arenite._base.errors import AreniteError, SelfCheckError
from arenite.driver.compile import compile_file
from arenite.driver.load import load_model
from arenite.driver.options import CompileOptions
from arenite.driver.run import run_model

ROOT = Path(__file__).resolve().parents[2]
ZOO = ROOT.parent / "shared" / "models" / "tflite"
SMALL = ("tflm_hello_world_int8", "mltk_fingerprint_signature", "tflm_micro_speech_int8")
LARGE = ("mlperf_kws_int8", "mww_okay_nabu_v2", "tinymaix_cifar10_int8", "coral_keras_lstm_mnist_ptq")
MODELS = [
    pytest.param(ROOT / "examples" / "digits" / "digits.tflite", id="digits"),
    *(pytest.param(ZOO / f"{name}.tflite", marks=pytest.mark.shared, id=name) for name in SMALL),
    *(pytest.param(ZOO / f"{name}.tflite", marks=(pytest.mark.shared, pytest.mark.slow), id=name) for name in LARGE),
]
WORDS = tuple(bytes.fromhex(word) for word in ("00000000", "ffffffff", "ffffff7f", "00000080", "01000000", "0000c07f"))
STRUCTURE_NBYTES = 4096  # at the ends, where a file has its tables


def truncated(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def changed(data: bytes, rng: random.Random) -> bytes:
    """Some bytes or words replaced, most of them where the structure is."""
    copy = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        near = min(len(data), STRUCTURE_NBYTES)
        place = rng.choice((rng.randrange(near), len(data) - 1 - rng.randrange(near), rng.randrange(len(data))))
        new = rng.choice((bytes([rng.randrange(256)]), bytes([copy[place] ^ 1 << rng.randrange(8)]), rng.choice(WORDS)))
        copy[place : place + len(new)] = new
    return bytes(copy[: len(data)])


def copies(data: bytes, seed: str) -> Iterator[bytes]:
    rng = random.Random(seed)
    for damage in (truncated, changed, changed):
        for _ in range(settings().max_examples * 2 // 3):
            yield damage(data, rng)


def ends_well(action: Callable[[], object]) -> bool:
    """Whether the action succeeds; if not, it says why."""
    try:
        action()
    except SelfCheckError:
        raise
    except AreniteError as error:
        assert all(error.problems)  # noqa: PT017 - many files, not one
        return False
    return True


@pytest.mark.parametrize("path", MODELS)
def test_damaged_copies(path: Path, tmp_path: Path) -> None:
    model, feeds, folder, outputs = (tmp_path / name for name in ("m.tflite", "in.npz", "out", "out.npz"))
    inputs = load_model(path).graph.inputs
    np.savez(feeds, *(np.zeros(value.type.dims, value.type.dtype.numpy) for value in inputs))
    refused = 0
    for damaged in copies(path.read_bytes(), path.name):
        model.write_bytes(damaged)
        options = CompileOptions(simulate="off")
        compiled = ends_well(lambda: compile_file(model, folder, options, lambda _: None))  # noqa: B023
        ran = ends_well(
            lambda: run_model(model, feeds, outputs, engine="interpreter", target="cortex-m4", compiler=None)
        )
        assert (folder.exists(), outputs.exists()) == (compiled, ran)
        assert sorted(p.name for p in tmp_path.iterdir() if p not in (folder, outputs)) == ["in.npz", "m.tflite"]
        refused += not compiled
        shutil.rmtree(folder, ignore_errors=True)
        outputs.unlink(missing_ok=True)
    assert refused > settings().max_examples // 3
