"""The emulated board: exact counts, buckets, stack, and faults with names."""

import signal
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arenite import targets
from arenite._base.errors import ToolError
from arenite.simulator.faults import SimulationFault

pytestmark = [pytest.mark.unicorn, pytest.mark.zig]

Builder = Callable[[str, str], Path]
COMPILERS = [
    pytest.param("zig", marks=pytest.mark.zig),
    pytest.param("arm-none-eabi-gcc", marks=pytest.mark.arm_gcc),
]


def make_board(elf: Path, target: str, hook: Path | None, **options: Any) -> Any:
    from arenite.simulator.board import Board

    return Board(elf, targets.get(target), hook, **options)


@pytest.fixture(scope="module")
def m4(firmware: Builder, hook_library: Path) -> Any:
    return make_board(firmware("cortex-m4", "zig"), "cortex-m4", hook_library)


@pytest.fixture(scope="module")
def m0plus(firmware: Builder, hook_library: Path) -> Any:
    return make_board(firmware("cortex-m0plus", "zig"), "cortex-m0plus", hook_library)


@pytest.mark.parametrize("n", [1, 2, 3, 1000])
def test_a_loop_is_counted_exactly(m4: Any, m0plus: Any, n: int) -> None:
    # movs; n times (adds, subs, bne); mov; bx
    for board, cycles in ((m4, 1 + 3 * n + 2 * (n - 1) + 1 + 3), (m0plus, 1 + 3 * n + (n - 1) + 1 + 2)):
        result = board.call("counted_loop", n)
        assert result.value == n
        assert result.instructions == 3 * n + 3
        assert result.cycles_estimate == cycles
        assert result.buckets["counted_loop"].instructions == 3 * n + 3


@pytest.mark.parametrize(
    ("symbol", "argument", "value", "instructions", "cycles"),
    [
        # cmp, ite, moveq, movne, bx: the slot of the false condition counts
        ("predicated", 0, 11, 5, 1 + 1 + 1 + 1 + 3),
        ("predicated", 1, 22, 5, 1 + 1 + 1 + 1 + 3),
        # cmp, it, bxeq (taken); cmp, it, bxeq (not), movs, bx
        ("early_return", 0, 0, 3, 1 + 1 + 3),
        ("early_return", 9, 7, 5, 1 + 1 + 1 + 1 + 3),
        # push of 4: 5; movs 1; mla 1; udiv at most 12; pop of 4 with the PC: 1 + 4 + 2
        ("saved_registers", 4, 5, 5, 5 + 1 + 1 + 12 + 7),
    ],
)
def test_cortex_m4_by_hand(m4: Any, symbol: str, argument: int, value: int, instructions: int, cycles: int) -> None:
    result = m4.call(symbol, argument)
    assert (result.value, result.instructions, result.cycles_estimate) == (value, instructions, cycles)


def test_a_long_straight_line_is_counted_once(m4: Any) -> None:
    result = m4.call("long_straight_line")
    assert (result.instructions, result.cycles_estimate) == (2001, 2000 + 3)


def test_cortex_m3_and_the_fpu_by_hand(firmware: Builder, hook_library: Path) -> None:
    m3 = make_board(firmware("cortex-m3", "zig"), "cortex-m3", hook_library)
    # As on the Cortex-M4, but MLA takes 2.
    assert m3.call("saved_registers", 4).cycles_estimate == 5 + 1 + 2 + 12 + 7
    m4f = make_board(firmware("cortex-m4f", "zig"), "cortex-m4f", hook_library)
    m4f.write(m4f.symbol("other"), struct.pack("<2f", 2.0, 3.0))
    result = m4f.call("float_arithmetic", m4f.symbol("other"))
    assert result.value == int.from_bytes(struct.pack("<f", (2.0 * 3.0 + 2.0 * 3.0) / 2.0), "little")
    # vldr, vldr, vmul, vfma, vdiv, vmov, bx
    assert (result.instructions, result.cycles_estimate) == (7, 2 + 2 + 1 + 3 + 14 + 1 + 3)


def test_loads_are_pipelined_unless_the_address_depends(m4: Any) -> None:
    there = m4.symbol("other")
    m4.write(there, (there + 4).to_bytes(4, "little") + (77).to_bytes(4, "little"))
    independent = m4.call("two_loads", there)
    assert independent.value == there + 4 + 77
    assert independent.cycles_estimate == 2 + 1 + 1 + 3
    dependent = m4.call("chained_loads", there)
    assert dependent.value == 77
    assert dependent.cycles_estimate == 2 + 2 + 3


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m4"])
def test_both_compilers_build_what_runs(firmware: Builder, hook_library: Path, compiler: str, target: str) -> None:
    board = make_board(firmware(target, compiler), target, hook_library)
    assert board.call("three_args", 10, -4 & 0xFFFF_FFFF, 5).value == 10 + 8 + 15
    assert board.call("initialised").value == 0x12345678
    assert board.call("initialised").value == 0x12345678 + 2
    board.reset()
    assert board.call("initialised").value == 0x12345678


@pytest.mark.parametrize("target", ["cortex-m3", "cortex-m4f", "cortex-m7", "cortex-m33"])
def test_other_cores_run(firmware: Builder, hook_library: Path, target: str) -> None:
    board = make_board(firmware(target, "zig"), target, hook_library)
    result = board.call("counted_loop", 5)
    assert (result.value, result.instructions) == (5, 18)
    assert (result.cycles_estimate is None) == (target in ("cortex-m7", "cortex-m33"))


def test_buckets_add_up_and_helpers_count_for_their_caller(m4: Any) -> None:
    roots = ["layer_copy", "layer_add"]
    total = m4.call("invoke", roots=roots)
    assert set(total.buckets) == {"invoke", *roots}
    assert sum(bucket.instructions for bucket in total.buckets.values()) == total.instructions
    assert sum(bucket.cycles for bucket in total.buckets.values()) == total.cycles_estimate
    # The same functions, alone: memcpy is part of layer_copy, and of nothing else.
    copy, add = m4.call("layer_copy"), m4.call("layer_add")
    assert total.buckets["layer_copy"].instructions == 2 * copy.instructions
    assert total.buckets["layer_copy"].cycles == 2 * copy.cycles_estimate
    assert total.buckets["layer_add"].instructions == add.instructions
    # At least 200 bytes are copied, by at most 4 bytes per instruction.
    with_memcpy = m4.call("layer_copy", roots=["memcpy"])
    assert with_memcpy.buckets["memcpy"].instructions > 50
    assert with_memcpy.instructions == copy.instructions


@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m4"])
def test_the_python_hook_counts_the_same(firmware: Builder, hook_library: Path, target: str) -> None:
    elf = firmware(target, "zig")
    fast, slow = make_board(elf, target, hook_library), make_board(elf, target, None)
    for symbol, args, roots in (
        ("invoke", (), ("layer_copy", "layer_add")),
        ("invoke", (), ("layer_add", "memcpy")),
        ("counted_loop", (123,), ()),
        ("recurse", (20,), ("counted_loop",)),
    ):
        assert fast.call(symbol, *args, roots=roots) == slow.call(symbol, *args, roots=roots)


def test_counts_do_not_depend_on_what_ran_before(firmware: Builder, hook_library: Path) -> None:
    board = make_board(firmware("cortex-m4", "zig"), "cortex-m4", hook_library)
    first = board.call("invoke", roots=["layer_copy", "layer_add"])
    board.call("recurse", 50)
    assert board.call("invoke", roots=["layer_copy", "layer_add"]) == first


def test_stack_high_water_mark(m4: Any) -> None:
    assert m4.call("counted_loop", 3).stack_nbytes == 0
    # Four registers are pushed.
    assert m4.call("saved_registers", 4).stack_nbytes == 16
    # The array begins at most 64 bytes below the top of the frame; its first byte is the deepest one written.
    assert 400 <= m4.call("uses_stack", 400).stack_nbytes <= 464
    shallow, deep = m4.call("recurse", 0).stack_nbytes, m4.call("recurse", 100).stack_nbytes
    # Each call needs the same, in units of 8 bytes (AAPCS 6.2.1.2), and at least for LR and one more register.
    assert (deep - shallow) % 800 == 0
    assert deep - shallow >= 800


@pytest.mark.parametrize("hook", [True, False])
def test_a_bad_store_is_named(firmware: Builder, hook_library: Path, hook: bool) -> None:
    board = make_board(firmware("cortex-m4", "zig"), "cortex-m4", hook_library if hook else None)
    with pytest.raises(SimulationFault, match=r"store_to\+0x.* writes 2 bytes at 0x21000000") as caught:
        board.call("store_to", 0x2100_0000)
    fault = caught.value
    assert (fault.function.split("+")[0], fault.access, fault.address) == ("store_to", "write", 0x2100_0000)
    assert isinstance(fault, ToolError)
    # The board is still usable.
    assert board.call("counted_loop", 4).value == 4


def test_other_bad_accesses_are_named(m4: Any) -> None:
    with pytest.raises(SimulationFault, match=r"store_to\+.* writes 2 bytes at 0x100, which is flash"):
        m4.call("store_to", 0x100)
    with pytest.raises(SimulationFault, match=r"load_from\+.* reads 1 bytes at 0x40000000") as caught:
        m4.call("load_from", 0x4000_0000)
    assert caught.value.access == "read"
    assert m4.symbol("load_from") <= caught.value.pc < m4.symbol("load_from") + 8
    with pytest.raises(SimulationFault, match=r"jump_to\+.* jumps to 0x30000000") as caught:
        m4.call("jump_to", 0x3000_0000)
    assert caught.value.access == "fetch"
    with pytest.raises(SimulationFault, match="jumps to 0x800000, where there is no code"):
        m4.call("jump_to", 0x80_0000)
    with pytest.raises(SimulationFault, match=r"jump_to\+.* jumps to 0x20100000"):
        m4.call("jump_to", 0x2010_0000)


def test_stack_overflow_is_named(m4: Any) -> None:
    with pytest.raises(SimulationFault, match=r"recurse\+.*the stack overflowed"):
        m4.call("recurse", 1_000_000)


@pytest.mark.parametrize("hook", [True, False])
def test_nothing_hangs(firmware: Builder, hook_library: Path, hook: bool) -> None:
    elf, library = firmware("cortex-m4", "zig"), hook_library if hook else None
    board = make_board(elf, "cortex-m4", library, limit_ninstr=100_000)
    with pytest.raises(SimulationFault, match=r"forever\+.* within 100000 instructions") as caught:
        board.call("forever")
    assert caught.value.access == "limit"
    assert board.call("counted_loop", 20_000).value == 20_000
    board = make_board(elf, "cortex-m4", library, limit_seconds=0.2)
    begin = time.monotonic()
    with pytest.raises(SimulationFault, match=r"forever\+.* within 0.2 s"):
        board.call("forever")
    assert time.monotonic() - begin < 10
    assert board.call("counted_loop", 4).value == 4


def test_it_can_be_interrupted(firmware: Builder, hook_library: Path) -> None:
    board = make_board(firmware("cortex-m4", "zig"), "cortex-m4", hook_library)
    timer = threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,))
    # A shell starts what runs in its background so that it ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            board.call("forever")
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert board.call("recurse", 3).value == 4


def test_cortex_m0plus_refuses_what_it_lacks(m0plus: Any, m4: Any) -> None:
    assert m4.call("planted_smlad", 0x0003_0002, 0x0005_0004, 100).value == 3 * 5 + 2 * 4 + 100
    assert m4.call("planted_udiv", 91, 7).value == 13
    with pytest.raises(SimulationFault, match=r"planted_smlad\+0x0 .*"):
        m0plus.call("planted_smlad", 1, 1, 1)
    with pytest.raises(SimulationFault, match=r"planted_udiv\+0x0 .*"):
        m0plus.call("planted_udiv", 91, 7)


def test_unaligned_accesses(firmware: Builder, hook_library: Path, m0plus: Any, m4: Any) -> None:
    there = m4.symbol("other")
    m4.write(there, bytes(range(16)))
    assert m4.call("load_word", there + 1).value == 0x04030201
    with pytest.raises(SimulationFault, match=r"load_word\+0x0 .*unaligned"):
        m0plus.call("load_word", m0plus.symbol("other") + 1)
    # LDRD faults on every core, but not in the emulator.
    m4.call("load_pair", there + 1)
    strict = make_board(firmware("cortex-m4", "zig"), "cortex-m4", hook_library, strict_alignment=True)
    strict.write(there, bytes(range(16)))
    assert strict.call("load_word", there + 1).value == 0x04030201
    assert strict.call("load_pair", there + 4).value == 0x07060504 + 0x0B0A0908
    with pytest.raises(SimulationFault, match=rf"load_pair\+0x0 .* accesses {there + 2:#x} by 'ldrd") as caught:
        strict.call("load_pair", there + 2)
    assert (caught.value.access, caught.value.address) == ("alignment", there + 2)


@pytest.mark.parametrize("argument", [0, 1])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("watched", [False, True])
def test_what_is_watched_runs_as_it_does_otherwise(
    firmware: Builder, hook_library: Path, argument: int, strict: bool, watched: bool
) -> None:
    board = make_board(firmware("cortex-m4", "zig"), "cortex-m4", hook_library, strict_alignment=strict)
    there = board.symbol("other")
    board.write(there, b"\xff" * 8)
    stores = [(there, there + 8)] if watched else None
    result = board.call("conditional_stores", argument, there, stores=stores)
    # cmp, ite, two stores, b; movs, three adds, mov, bx
    assert (result.value, result.instructions) == (4, 11)
    words = [0xFFFFFFFF, 0xFFFFFFFF]
    words[argument] = argument
    assert board.read(there, 8) == struct.pack("<2I", *words)


def test_memory_access_from_outside(m4: Any) -> None:
    there = m4.symbol("arena")
    m4.write(there, b"grains of sand")
    assert m4.read(there, 14) == b"grains of sand"
    for address, nbytes in ((0x1FFF_FFFF, 2), (0x2100_0000, 1), (0, 4)):
        with pytest.raises(ToolError, match=r"no .* bytes of RAM"):
            m4.write(address, bytes(nbytes))
    with pytest.raises(ToolError, match="no 2 bytes of memory at 0x20ffffff"):
        m4.read(0x20FF_FFFF, 2)


def test_wrong_symbols(m4: Any) -> None:
    with pytest.raises(ToolError, match="no symbol named 'layer_07'"):
        m4.call("layer_07")
    with pytest.raises(ToolError, match="no symbol named 'nothing'"):
        m4.call("invoke", roots=["nothing"])
    with pytest.raises(ToolError, match="'arena' is not a function"):
        m4.call("arena")
    with pytest.raises(ToolError, match="at most four arguments"):
        m4.call("three_args", 1, 2, 3, 4, 5)


def test_what_cannot_be_simulated(firmware: Builder, hook_library: Path, tmp_path: Path) -> None:
    elf = firmware("cortex-m4", "zig")
    for name in ("cortex-m55", "riscv32imc", "host"):
        with pytest.raises(ToolError, match=f"no simulation of {name}: "):
            make_board(elf, name, hook_library)
    text = tmp_path / "text.elf"
    text.write_text("not an ELF")
    with pytest.raises(ToolError, match="not a readable ELF file"):
        make_board(text, "cortex-m4", None)
    cut = tmp_path / "cut.elf"
    cut.write_bytes(elf.read_bytes()[:200])
    with pytest.raises(ToolError, match=r"cut\.elf: "):
        make_board(cut, "cortex-m4", None)
    with pytest.raises(ToolError, match="not the emulator's hook library"):
        make_board(elf, "cortex-m4", text)
