"""Firmware and boards for the simulator's tests, built once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from arenite import targets
from arenite.simulator import hook_source
from arenite.toolchain import cached_host_library, find_compilers

SOURCE = Path(__file__).with_name("firmware.c")
COMMON = (
    *("counted_loop", "three_args", "initialised", "uses_stack", "recurse", "store_to", "load_from", "load_word"),
    *("jump_to", "forever", "planted_smlad", "planted_udiv", "invoke", "layer_copy", "layer_add", "arena", "other"),
)
V7 = (
    *("predicated", "early_return", "two_loads", "chained_loads", "saved_registers", "load_pair"),
    *("conditional_stores", "long_straight_line"),
)

Builder = Callable[[str, str], Path]


@pytest.fixture(scope="session")
def hook_library() -> Path:
    """The block counter in C."""
    return cached_host_library("arenite-hook", [hook_source()])


@pytest.fixture(scope="session")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """Builds the test firmware for (target name, compiler name), once each."""
    from arenite.toolchain.cross import build_firmware

    folder = tmp_path_factory.mktemp("firmware")

    def build(target_name: str, compiler_name: str) -> Path:
        elf = folder / f"{target_name}-{compiler_name}.elf"
        if not elf.exists():
            target = targets.get(target_name)
            compiler = next(found for found in find_compilers() if found.name == compiler_name)
            keep: tuple[str, ...] = COMMON if target.isa == "armv6-m" else COMMON + V7
            keep += ("float_arithmetic",) if "fpu" in target.features else ()
            build_firmware([SOURCE], [], target, elf, compiler=compiler, keep_symbols=keep)
        return elf

    return build
