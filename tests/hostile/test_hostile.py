"""Damaged copies through the command line, each in a process with limits: see `hostile.__main__`."""

import mmap
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

import hostile.judge
from arenite._base.errors import AreniteError
from arenite.formats.tflite import import_model
from arenite.formats.tflite.file import TfliteFile
from arenite.formats.tflite.reader import Reader
from arenite.formats.tflite.schema import FILE_IDENTIFIER, tflite_schema
from arenite.ir.model import Model
from hostile import attempts, changes, changes_of_tensors, commands
from hostile.__main__ import check_model
from hostile.commands import command
from hostile.damage import Damaged
from hostile.drafts import Draft, Sketch, written
from hostile.forked import Answer, forked, limit_time
from hostile.further import further_faults
from hostile.judge import judge
from hostile.structure import Restructured
from ops.test_bias_scale import weighted

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.tflite"
ZOO = ROOT.parent / "shared" / "models" / "tflite"

pytestmark = [pytest.mark.wheel, pytest.mark.litert]


def check(path: Path, count: int, kind: str = "bytes") -> None:
    found = check_model(path, range(count), kind=kind)
    assert found["faults"] == {}
    assert 0 < found["compiled"] < count
    assert found["judged"]["accepted"] + found["judged"]["crashed"] == found["compiled"]
    assert found["peak_nbytes"] < commands.MEMORY_NBYTES


def test_damaged_copies_of_the_example() -> None:
    check(DIGITS, 1000 if settings().max_examples > 100 else 60)


def test_copies_of_the_example_that_say_something_else() -> None:
    check(DIGITS, 1000 if settings().max_examples > 100 else 40, "structure")


def test_memory_is_limited_whatever_is_mapped_already() -> None:
    def takes(gigabytes: int) -> Answer:
        try:
            np.ones(gigabytes << 27, np.float64)
        except MemoryError:
            return {"taken": False}
        return {"taken": True}

    with mmap.mmap(-1, 2 << 30):
        check(DIGITS, 20)
        ((_, answer),) = forked(takes, [2], commands.limit_memory)
    assert answer == {"taken": False}


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("name", ["tflm_hello_world_int8", "mltk_fingerprint_signature", "mww_okay_nabu_v2"])
def test_damaged_copies_of_real_models(name: str) -> None:
    check(ZOO / f"{name}.tflite", 300)


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("name", ["coral_keras_lstm_mnist_ptq", "tflm_keyword_scrambled_int8"])
def test_copies_of_real_models_that_say_something_else(name: str) -> None:
    check(ZOO / f"{name}.tflite", 200, "structure")


def test_the_same_number_is_the_same_copy_and_most_damage_is_to_the_structure() -> None:
    file = Damaged("digits", DIGITS.read_bytes())
    copies = [file.copy(number) for number in range(200)]
    assert copies == [Damaged("digits", file.data).copy(number) for number in range(200)]
    cut = [copy for copy in copies if len(copy) < len(file.data)]
    assert len(cut) == 60
    whole = np.array([np.frombuffer(copy, np.uint8) for copy in copies if len(copy) == len(file.data)])
    changed = (whole != np.frombuffer(file.data, np.uint8)).any(axis=0)
    assert changed[file.structure].sum() > changed.sum() / 2


def test_each_change_is_made_and_what_it_makes_is_well_formed() -> None:
    file = Restructured("digits", DIGITS.read_bytes())
    copies = [file.copy(number) for number in range(100)]
    assert copies == [Restructured("digits", file.data).copy(number) for number in range(100)]
    assert len(set(copies)) > 80
    whole = TfliteFile(file.data).model
    assert written(Draft.of(whole)) == written(Draft.of(TfliteFile(written(Draft.of(whole))).model))
    for change in (*changes.CHANGES, *changes_of_tensors.CHANGES):
        made = set()
        for number in range(20):
            sketch = Sketch(Draft.of(whole), random.Random(number))
            change(sketch)
            made.add(written(sketch.model))
        assert len(made) > 3, change
        for data in made:
            Reader(data, tflite_schema(), "TFLite model").root("Model", FILE_IDENTIFIER)


def _further(spoil: Callable[[Path], None]) -> list[str]:
    """What is found where the copy and its bundle are spoilt, by a process that has the time of one copy."""

    def work(_: int) -> Answer:
        with tempfile.TemporaryDirectory() as name:
            model, bundle = Path(name) / "m.tflite", Path(name) / "bundle"
            model.write_bytes(DIGITS.read_bytes())
            assert command("compile", str(model), "-o", str(bundle), "--simulate", "off").status == 0
            spoil(Path(name))
            found = further_faults(DIGITS.read_bytes(), model, bundle, compiler=True)
            assert {path.name for path in Path(name).iterdir()} == {"m.tflite", "bundle"}
            return {"found": found}

    ((_, answer),) = forked(work, [0], lambda: None)
    return list(answer["found"])


@pytest.mark.gcc
@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("bundle/m.c", "#error hostile\n", "the C does not compile"),
        ("bundle/m_helpers.h", "/* /* */\n", "the C does not compile"),
        ("bundle/report.html", "<p hostile='1'>", "a stranger's markup"),
        ("bundle/report.html", "</script><hostile>", "a stranger's markup"),
    ],
)
def test_what_a_name_does_to_the_bundle_is_a_fault(path: str, text: str, expected: str) -> None:
    def spoil(folder: Path) -> None:
        content = (folder / path).read_text(encoding="utf-8")
        (folder / path).write_text(content + text, encoding="utf-8")

    assert any(expected in fault for fault in _further(spoil))


@pytest.mark.gcc
def test_commands_that_do_not_do_what_compile_does_are_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _further(lambda _: None) == []

    def fails(*_: object, **__: object) -> None:
        raise AreniteError("not this one")

    monkeypatch.setattr("arenite.driver.optimize.optimize_file", fails)
    monkeypatch.setattr("arenite.driver.run.run_model", fails)
    found = _further(lambda _: None)
    assert any(fault.startswith("optimize does not do") for fault in found)
    assert any(fault.startswith("run does not do") for fault in found)


def _hangs(_: int) -> Answer:
    limit_time(0.2, 60)
    while True:
        pass


def _waits(_: int) -> Answer:
    limit_time(60, 1)
    time.sleep(60)
    return {}


def _crashes(_: int) -> Answer:
    os.kill(os.getpid(), signal.SIGSEGV)
    return {}


def _leaves(_: int) -> Answer:
    os._exit(3)


@pytest.mark.parametrize(
    ("work", "how"), [(_hangs, "SIGPROF"), (_waits, "SIGALRM"), (_crashes, "SIGSEGV"), (_leaves, "exit 3")]
)
def test_how_a_process_dies_is_told_and_the_others_are_worked_on(work: Callable[[int], Answer], how: str) -> None:
    found = dict(forked(lambda n: work(n) if n == 2 else {"item": n}, [1, 2, 3], lambda: None))
    assert found == {1: {"item": 1}, 2: {"died": how}, 3: {"item": 3}}


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeyError("planted"), "exit 3: error: internal error"),
        (MemoryError(), "out of memory"),
        (SystemExit(7), "exit 7"),
        (SystemExit(1), "not a message for a person"),
    ],
)
def test_bad_ends_are_faults(monkeypatch: pytest.MonkeyPatch, error: BaseException, text: str) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr("arenite.driver.compile.load_model", fails)
    monkeypatch.setattr("arenite.driver.inspect.load_model", fails)
    file = Damaged("digits", DIGITS.read_bytes())
    ((_, answer),) = forked(lambda n: attempts.attempt(file, n), [0], lambda: None)
    assert any(text in fault for fault in answer["faults"]), answer


def test_what_is_left_behind_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def writes(_: Path, folder: Path, *__: object) -> None:
        folder.mkdir()
        (folder.parent / "rest.tmp").write_text("")
        raise SystemExit(1)

    monkeypatch.setattr("arenite.driver.compile.compile_file", writes)
    file = Damaged("digits", DIGITS.read_bytes())
    ((_, answer),) = forked(lambda n: attempts.attempt(file, n), [0], lambda: None)
    assert {"a part of the bundle is written", "rest.tmp is left behind"} <= set(answer["faults"])


def test_the_others_refuse_what_must_be_refused() -> None:
    answer = judge(weighted("FULLY_CONNECTED", "INT8", bias_scale=1.0), run=False)
    assert "scale_diff" in answer["litert"]
    assert "scale_diff" in answer["micro"]
    assert not answer["compared"]


@pytest.mark.parametrize("dtype", ["INT8", "UINT8"])
def test_the_others_compute_what_is_meant(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    good, other = weighted("FULLY_CONNECTED", dtype), weighted("FULLY_CONNECTED", dtype, weight=200)
    answer = judge(good, run=True)
    assert (answer["litert"], answer["differs"], answer["compared"]) == ("", "", True)

    def another(_: bytes, name: str) -> Model:
        return import_model(other, name)

    monkeypatch.setattr(hostile.judge, "import_model", another)
    assert "elements differ" in judge(good, run=True)["differs"]
