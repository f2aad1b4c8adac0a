"""QEMU's boards give the bytes that the emulated core and TFLite-Micro give, on each core; and they take faults."""

from pathlib import Path

import numpy as np
import pytest

import oracle
from arenite import targets
from arenite.driver.build import build
from arenite.driver.firmware import Firmware, SimulatorEngine
from arenite.driver.load import load_model
from arenite.driver.options import CompileOptions
from arenite.toolchain import firmware_compiler
from ladder.qemu import FAULT, MACHINES, loop, run_firmware, run_qemu

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.tflite"
ZOO = ROOT.parent / "shared" / "models" / "tflite"


def _digits_cases() -> list[object]:
    """Every core by both compilers; the two ends of what there is by default."""
    cases: list[object] = []
    for name in MACHINES:
        quick = () if name in ("cortex-m0plus", "cortex-m4") else (pytest.mark.slow,)
        cases.append(pytest.param(name, "zig", marks=(pytest.mark.zig, *quick)))
        cases.append(pytest.param(name, "arm-none-eabi-gcc", marks=(pytest.mark.arm_gcc, pytest.mark.slow)))
    return cases


pytestmark = [pytest.mark.qemu, pytest.mark.unicorn]


def agree(path: Path, target_name: str, compiler_name: str, folder: Path, invocations: int) -> None:
    target, compiler = targets.get(target_name), firmware_compiler(compiler_name)
    data = path.read_bytes()
    built = build(load_model(path), CompileOptions(target=target_name), lambda _: None)
    feeds = oracle.random_feeds(data, invocations)
    wanted = oracle.run_wheel(data, feeds)
    with Firmware.link(built, target, compiler) as firmware:
        engine = SimulatorEngine(firmware)
        simulated = [engine.invoke(feed) for feed in feeds]
    for got in (simulated, run_qemu(built, target, compiler, feeds, folder)):
        for outputs, references in zip(got, wanted, strict=True):
            for output, reference in zip(outputs, references, strict=True):
                np.testing.assert_array_equal(output, reference, strict=True)


@pytest.mark.wheel
@pytest.mark.litert
@pytest.mark.parametrize(("target", "compiler"), _digits_cases())
def test_digits_on_every_core(target: str, compiler: str, tmp_path: Path) -> None:
    agree(DIGITS, target, compiler, tmp_path, 2)


@pytest.mark.wheel
@pytest.mark.litert
@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.zig
@pytest.mark.parametrize("name", ["mlperf_kws_int8", "mww_okay_nabu_v2"])
@pytest.mark.parametrize("target", ["cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33"])
def test_real_models(target: str, name: str, tmp_path: Path) -> None:
    agree(ZOO / f"{name}.tflite", target, "zig", tmp_path, 3)


@pytest.mark.zig
@pytest.mark.parametrize(
    ("target", "code", "faults"),
    [
        # Without UNALIGN_TRP, the cores from ARMv7-M on load unaligned words, but never pairs (A3.2.1).
        ("cortex-m3", "ldr r0, [%0, #1]", False),
        ("cortex-m3", "ldrd r0, r1, [%0]", False),
        ("cortex-m3", "ldrd r0, r1, [%1]", True),
        ("cortex-m7", "ldm %1, {r0, r1}", True),
        ("cortex-m33", "ldrd r0, r1, [%1]", True),
        ("cortex-m0plus", "ldr r0, [%0]", False),
        ("cortex-m0plus", "ldr r0, [%1]", True),
        ("cortex-m0plus", ".inst.w 0xfbb0f0f1", True),  # udiv r0, r0, r1
        ("cortex-m0plus", ".inst.w 0xfb202001", True),  # smlad r0, r0, r1, r2
        ("cortex-m4", ".inst.w 0xfb202001", False),
    ],
)
def test_faults_are_taken(target: str, code: str, faults: bool, tmp_path: Path) -> None:
    operands = '"l"(words), "l"(odd) : "r0", "r1", "memory"'
    assembly = f'__asm__ volatile("{code}" : : {operands});'
    text = "static unsigned words[4];\n" + loop(
        ["const char *const odd = (const char *)words + 2;", assembly, 'qemu_write("end", 3u);']
    )
    status, output = run_firmware(text, [], targets.get(target), firmware_compiler("zig"), b"", tmp_path, 1)
    assert (status, output) == ((FAULT, b"") if faults else (0, b"end"))
