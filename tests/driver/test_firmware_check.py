"""Firmware that does what its core or its plan does not allow is caught, and the function is named."""

from dataclasses import replace
from pathlib import Path

import pytest

from arenite import targets
from arenite._base.errors import SelfCheckError
from arenite.driver.build import Build, build
from arenite.driver.extras import Extras
from arenite.driver.firmware import Firmware, SimulatorEngine
from arenite.driver.firmware_check import check_instructions, check_stores
from arenite.driver.load import load_model
from arenite.driver.measure import measure, zero_point_input
from arenite.driver.options import CompileOptions
from arenite.simulator.faults import SimulationFault
from arenite.simulator.image import load_image
from arenite.toolchain import firmware_compiler

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.tflite"
ZOO = ROOT.parent / "shared" / "models" / "tflite"
SMLAD = '__asm__ volatile(".inst.w 0xfb202001" ::: "r0");'  # smlad r0, r0, r1, r2
UNALIGNED = "*(volatile uint32_t *)(void *)(arena + 1) = 1u;"
PAIR = '__asm__ volatile("ldrd r0, r1, [%0]" : : "l"(arena + 2) : "r0", "r1");'

pytestmark = [pytest.mark.zig, pytest.mark.unicorn]


def built(target: str, path: Path = DIGITS) -> Build:
    return build(load_model(path), CompileOptions(target=target), lambda _: None)


def changed(good: Build, old: str, new: str, layer: str = "digits_layer_02") -> Build:
    """A build with another text in a layer's function, where the old one is found first."""
    before, opening, rest = good.files["digits.c"].decode().partition(f"void {layer}(void) {{\n")
    body, closing, after = rest.partition("\n}\n")
    assert old in body + closing
    text = before + opening + (body + closing).replace(old, new, 1) + after
    return replace(good, files={**good.files, "digits.c": text.encode()})


def planted(good: Build, statement: str) -> Build:
    """A build with a statement at the end of a layer, whose pointer to the arena is called `arena`."""
    return changed(good, "\n}\n", f"\n    {statement}\n}}\n")


def simulated(build: Build) -> None:
    with Firmware.link(build, build.target, firmware_compiler()) as firmware:
        SimulatorEngine(firmware).invoke([zero_point_input(port) for port in build.program.inputs])


def run_checked(build: Build, compiler: str = "zig") -> None:
    with Firmware.link(build, build.target, firmware_compiler(compiler)) as firmware:
        check_stores(firmware, [zero_point_input(port) for port in build.program.inputs])


@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m4"])
def test_digits_keeps_to_its_plan(target: str) -> None:
    run_checked(built(target))


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("cortex-m33", "mlperf_kws_int8"),
        ("cortex-m0plus", "mww_okay_nabu_v2"),
        ("cortex-m0plus", "coral_keras_lstm_mnist_ptq"),
    ],
)
def test_real_models_keep_to_their_plans(target: str, name: str) -> None:
    run_checked(built(target, ZOO / f"{name}.tflite"))


def test_a_dsp_instruction_is_found_on_a_core_without() -> None:
    simulated(planted(built("cortex-m4"), SMLAD))
    bad = planted(built("cortex-m0plus"), SMLAD)
    message = r"cortex-m0plus does not have: digits_layer_02\+0x\w+: 'smlad .* needs the DSP"
    with pytest.raises(SelfCheckError, match=message):
        measure(bad, Extras(None, {}, {}, {}, {}), lambda _: None)
    with Firmware.link(bad, bad.target, firmware_compiler()) as firmware:
        with pytest.raises(SelfCheckError, match="digits_layer_02"):
            check_instructions(firmware.elf, targets.get("cortex-m3"))
        check_instructions(firmware.elf, targets.get("cortex-m33"))


def test_an_unaligned_word_is_found_on_a_core_without() -> None:
    simulated(planted(built("cortex-m4"), UNALIGNED))
    with pytest.raises(SimulationFault, match=r"digits_layer_02\+.* \(unaligned access") as caught:
        simulated(planted(built("cortex-m0plus"), UNALIGNED))
    assert caught.value.access == "exception"


def test_an_unaligned_pair_is_found_on_every_core() -> None:
    bad = planted(built("cortex-m4"), PAIR)
    simulated(bad)  # the emulator lets it pass
    with pytest.raises(SimulationFault, match=r"digits_layer_02\+.* by 'ldrd") as caught:
        run_checked(bad)
    assert caught.value.access == "alignment"


@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m4"])
@pytest.mark.parametrize(
    ("layer", "old", "new", "end"),
    [
        # The layer's result is at [1536, 1920) of 2560 bytes; somebody's memory is behind it.
        ("digits_layer_03", "(arena + 1536) /* output */", "(arena + 1537) /* output */", 1920),
        # Behind the arena.
        ("digits_layer_03", "\n}\n", "\n    arena[2560] = 1u;\n}\n", 2560),
        # Scratch of another layer.
        ("digits_layer_05", "\n}\n", "\n    arena[0] = 1u;\n}\n", 0),
    ],
)
def test_a_store_outside_of_the_plan_is_found(target: str, layer: str, old: str, new: str, end: int) -> None:
    good = built(target)
    with Firmware.link(changed(good, old, new, layer), good.target, firmware_compiler()) as firmware:
        arena = load_image(firmware.elf).address("digits_arena")
        with pytest.raises(
            SimulationFault, match=rf"^{layer}\+\w+ .* writes . bytes at .*, which is not its own"
        ) as caught:
            check_stores(firmware, [zero_point_input(port) for port in good.program.inputs])
    assert caught.value.access == "store"
    assert caught.value.address == arena + end
