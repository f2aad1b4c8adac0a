"""Costs of single blocks, from their bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.simulator.cycles import BlockCost, BlockCosts, count_instructions
from arenite.simulator.timing import CORTEX_M0, CORTEX_M0PLUS, CORTEX_M3, CORTEX_M4, core_timing

pytestmark = pytest.mark.unicorn

TIMINGS = (CORTEX_M0, CORTEX_M0PLUS, CORTEX_M3, CORTEX_M4)


def halfwords(*values: int) -> bytes:
    return b"".join(value.to_bytes(2, "little") for value in values)


# Encodings: ARMv7-M Architecture Reference Manual, A7.7.
BNE = 0xD1FE  # bne .
B = 0xE7FE  # b .
BX_LR = 0x4770
BL = (0xF000, 0xF800)
CBZ = 0xB100  # cbz r0, .
LDR = 0x6808  # ldr r0, [r1]
LDR_OTHER = 0x6811  # ldr r1, [r2]
LDR_CHAINED = 0x6802  # ldr r2, [r0]
STR = 0x6018  # str r0, [r3]
STR_REGISTER = 0x5098  # str r0, [r3, r2]
PUSH = 0xB51F  # push {r0-r4, lr}
POP = 0xBC1F  # pop {r0-r4}
POP_PC = 0xBD1F  # pop {r0-r4, pc}
LDM = 0xC80E  # ldm r0!, {r1-r3}
TBB = (0xE8D0, 0xF001)  # tbb [r0, r1]
MUL = 0x4348


@pytest.mark.parametrize(
    ("code", "m0", "m0plus", "m4"),
    [
        # (cycles when the last branch is not taken, cycles more when it is)
        ((BNE,), (1, 2), (1, 1), (1, 2)),
        ((B,), (3, 0), (2, 0), (3, 0)),
        ((BX_LR,), (3, 0), (2, 0), (3, 0)),
        (BL, (4, 0), (3, 0), (3, 0)),
        ((CBZ,), None, None, (1, 2)),
        ((LDR,), (2, 0), (2, 0), (2, 0)),
        ((LDR, LDR_OTHER), (4, 0), (4, 0), (3, 0)),
        ((LDR, LDR_CHAINED), (4, 0), (4, 0), (4, 0)),
        ((LDR, MUL, LDR_OTHER), (5, 0), (5, 0), (5, 0)),
        ((STR,), (2, 0), (2, 0), (1, 0)),
        ((STR_REGISTER,), (2, 0), (2, 0), (2, 0)),
        ((LDR, STR_REGISTER), (4, 0), (4, 0), (3, 0)),
        ((STR_REGISTER, LDR), (4, 0), (4, 0), (4, 0)),
        ((PUSH,), (7, 0), (7, 0), (7, 0)),
        ((POP,), (6, 0), (6, 0), (6, 0)),
        ((POP_PC,), (10, 0), (9, 0), (9, 0)),
        ((LDM,), (4, 0), (4, 0), (4, 0)),
        (TBB, None, None, (4, 0)),
        ((MUL,), (1, 0), (1, 0), (1, 0)),
    ],
)
def test_the_manuals_tables(
    code: tuple[int, ...], m0: tuple[int, int] | None, m0plus: tuple[int, int] | None, m4: tuple[int, int]
) -> None:
    wide = sum(value >= 0xE800 for value in code[::2]) if len(code) == 2 else 0
    for timing, expected in ((CORTEX_M0, m0), (CORTEX_M0PLUS, m0plus), (CORTEX_M4, m4)):
        if expected is not None:
            cost = BlockCosts(timing).cost(0x100, halfwords(*code))
            assert cost == BlockCost(len(code) - wide, *expected)


def test_what_arm_does_not_publish_has_no_cycles() -> None:
    for core in ("cortex-m7", "cortex-m33", "cortex-m55", "cortex-m85", "host"):
        assert core_timing(core) is None
    assert BlockCosts(None).cost(0, halfwords(LDR, BX_LR)) == BlockCost(2, 0, 0)


@given(st.lists(st.integers(0, 0xFFFF), max_size=40), st.sampled_from(TIMINGS))
def test_any_bytes_have_a_cost(values: list[int], timing: object) -> None:
    code = halfwords(*values)
    cost = BlockCosts(timing).cost(0x100, code)  # type: ignore[arg-type]
    assert cost.instructions == count_instructions(code)
    assert cost.cycles >= cost.instructions
    assert cost.taken_cycles >= 0
