"""Whole models: interpreter, arena and C on this computer against TFLite-Micro, byte for byte."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from arenite import kernels as c_kernels
from arenite.codegen import render
from arenite.formats.tflite import import_model
from arenite.interp.interpreter import Interpreter
from arenite.lower import kernels
from arenite.lower.arena import run
from arenite.lower.kernel import Array
from arenite.lower.lower import lower
from arenite.lower.program import BufferRef, Program
from arenite.ops import core_registry
from codegen.host import HostModel
from oracle import run_wheel

pytestmark = [pytest.mark.shared, pytest.mark.wheel, pytest.mark.gcc]


def program_of(data: bytes) -> Program:
    model = import_model(data, "model")
    return lower(model.graph, core_registry(), kernels(), name=model.name)


def feeds_of(program: Program, count: int) -> list[list[Array]]:
    rng = np.random.default_rng(5)
    return [[rng.integers(-128, 128, port.shape).astype(np.int8) for port in program.inputs] for _ in range(count)]


def assert_ladder(data: bytes, program: Program, feeds: Sequence[Sequence[Array]], folder: Path) -> None:
    manifests = {info.symbol: info for info in c_kernels.manifests()}
    files = render(program, manifests, lambda name: (c_kernels.include_dir() / name).read_text(encoding="utf-8"))
    native = HostModel(program, files, folder)
    interpreter = Interpreter(import_model(data, "model").graph, core_registry())
    for feed, wanted in zip(feeds, run_wheel(data, feeds), strict=True):
        rungs = {"interpreter": interpreter.run(feed), "arena": run(program, kernels(), feed), "C": native(feed)}
        for rung, outputs in rungs.items():
            for got, expected in zip(outputs, wanted, strict=True):
                np.testing.assert_array_equal(got, expected, err_msg=rung, strict=True)


@pytest.mark.parametrize("name", ["kws", "ic"])
def test_mlperf_tiny(name: str, shared: Path, tmp_path: Path) -> None:
    data = (shared / f"models/tflite/mlperf_{name}_int8.tflite").read_bytes()
    program = program_of(data)
    assert_ladder(data, program, feeds_of(program, 1), tmp_path)


# Published optima of these networks: bytes of tensors alone, which no plan with one buffer a tensor goes below.
@pytest.mark.parametrize(("name", "nbytes"), [("kws", 16000), ("vww", 55296), ("ad", 768)])
def test_arenas_of_mlperf_tiny_are_as_small_as_their_tensors(name: str, nbytes: int, shared: Path) -> None:
    placement = program_of((shared / f"models/tflite/mlperf_{name}_int8.tflite").read_bytes()).placement
    assert placement.arena_nbytes == nbytes
    assert placement.optimal


def test_an_alias_and_a_late_skip(shared: Path, tmp_path: Path) -> None:
    data = (shared / "cases/cases/t23_memplan_reshape_alias_late_skip/model.tflite").read_bytes()
    program = program_of(data)
    assert_ladder(data, program, feeds_of(program, 3), tmp_path)
    # The input is read by the last step, so it lives as long as the program.
    lifetimes = {buffer.name: (buffer.first, buffer.end) for buffer in program.buffers}
    assert lifetimes[program.inputs[0].name] == (0, len(program.calls))


def test_in_place_hazards(shared: Path, tmp_path: Path) -> None:
    data = (shared / "cases/cases/t24_inplace_hazard_mid_output/model.tflite").read_bytes()
    program = program_of(data)
    assert_ladder(data, program, feeds_of(program, 3), tmp_path)
    places = {port.ref.buffer for port in program.outputs if isinstance(port.ref, BufferRef)}
    assert len(places) == len(program.outputs)
