"""The benchmark networks and a stateful one on each core, by both compilers: TFLite-Micro's bytes."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import oracle
from arenite.driver.build import build
from arenite.driver.firmware import Firmware, SimulatorEngine
from arenite.driver.firmware_check import check_instructions
from arenite.driver.load import load_model
from arenite.driver.options import CompileOptions
from arenite.ir.model import Model
from arenite.toolchain import firmware_compiler

Feeds = list[list[npt.NDArray[np.generic]]]

ZOO = Path(__file__).resolve().parents[3] / "shared" / "models" / "tflite"
CORES = ("cortex-m0plus", "cortex-m3", "cortex-m7", "cortex-m33")
MODELS = ("mlperf_ad_int8", "mlperf_kws_int8", "mlperf_vww_int8", "mlperf_ic_int8", "mww_okay_nabu_v2")
INVOCATIONS = {"mww_okay_nabu_v2": 20}


@dataclass(frozen=True)
class Case:
    model: Model
    feeds: Feeds
    expected: Feeds


@pytest.fixture(scope="module", params=MODELS)
def case(request: pytest.FixtureRequest) -> Case:
    path = ZOO / f"{request.param}.tflite"
    feeds = oracle.random_feeds(path.read_bytes(), INVOCATIONS.get(request.param, 1), seed=5)
    return Case(load_model(path), feeds, oracle.run_wheel(path.read_bytes(), feeds))


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.wheel
@pytest.mark.litert
@pytest.mark.unicorn
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize(
    "compiler",
    [pytest.param("zig", marks=pytest.mark.zig), pytest.param("arm-none-eabi-gcc", marks=pytest.mark.arm_gcc)],
)
def test_core(case: Case, core: str, compiler: str) -> None:
    built = build(case.model, CompileOptions(target=core), lambda _: None)
    with Firmware.link(built, built.target, firmware_compiler(compiler)) as firmware:
        check_instructions(firmware.elf, built.target)
        engine = SimulatorEngine(firmware)
        for step, (feed, wanted) in enumerate(zip(case.feeds, case.expected, strict=True)):
            for found, reference in zip(engine.invoke(feed), wanted, strict=True):
                np.testing.assert_array_equal(found, reference, f"invocation {step}", strict=True)
