"""Instructions and cycles of a block of code, computed once from its bytes."""

from dataclasses import dataclass
from typing import Any

import capstone
from capstone import arm, arm_const

from arenite.simulator.timing import CoreTiming

_SINGLE_LOADS = frozenset({"ldr", "ldrb", "ldrh", "ldrsb", "ldrsh", "ldrt", "ldrbt", "ldrht", "ldrsbt", "ldrsht"})
_SINGLE_STORES = frozenset({"str", "strb", "strh", "strt", "strbt", "strht"})
_ALL_OPERANDS = frozenset({"push", "pop", "vpush", "vpop"})
_BASE_FIRST = frozenset({"ldm", "ldmdb", "stm", "stmdb", "vldmia", "vldmdb", "vstmia", "vstmdb"})
_INDIRECT = frozenset({"bx", "blx", "bxns", "blxns"})


@dataclass(frozen=True)
class BlockCost:
    """A block's cost.

    Attributes:
        instructions: how many there are, those that a false condition skips included.
        cycles: when the block is left without a taken branch (or cannot be left otherwise).
        taken_cycles: added when its last, conditional branch is taken.
    """

    instructions: int
    cycles: int
    taken_cycles: int


def count_instructions(code: bytes) -> int:
    """Thumb instructions in code without literal pools: 32 bits wide from 0xE800 on (ARMv7-M ARM, A5.1)."""
    count = offset = 0
    while offset + 2 <= len(code):
        offset += 4 if code[offset + 1] >= 0xE8 else 2
        count += 1
    return count


class BlockCosts:
    """Computes costs for one core."""

    def __init__(self, timing: CoreTiming | None) -> None:
        self._timing = timing
        self._disassembler = capstone.Cs(
            capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | capstone.CS_MODE_V8
        )
        self._disassembler.detail = True

    def cost(self, address: int, code: bytes) -> BlockCost:
        """The cost of a block; cycles are 0 for a core without a timing table."""
        instructions = count_instructions(code)
        if self._timing is None:
            return BlockCost(instructions, 0, 0)
        cycles = taken = decoded = 0
        loaded: int | None = None
        for instruction in self._disassembler.disasm(code, address):
            now, taken, loaded = _cycles(self._timing, instruction, loaded)
            cycles += now
            decoded += 1
        # What the disassembler does not know counts one cycle each.
        return BlockCost(instructions, cycles + instructions - decoded, taken)


def _cycles(timing: CoreTiming, instruction: Any, loaded: int | None) -> tuple[int, int, int | None]:
    """(cycles, cycles more if it is a taken conditional branch, register of a single load that the next may follow).

    Args:
        timing: the core.
        instruction: as capstone gives it.
        loaded: the register that a directly preceding single load wrote.
    """
    name: str = instruction.insn_name()
    branch = _branch_cycles(timing, name, instruction)
    if branch is not None:
        conditional = name in ("cbz", "cbnz") or instruction.cc not in (arm.ARM_CC_AL, arm.ARM_CC_INVALID)
        return (1, branch - 1, None) if conditional else (branch, 0, None)
    if name in _SINGLE_LOADS or name in _SINGLE_STORES:
        addresses = [operand.mem for operand in instruction.operands if operand.type == arm.ARM_OP_MEM]
        used = {register for memory in addresses for register in (memory.base, memory.index)}
        follows = loaded is not None and loaded not in used
        if name in _SINGLE_LOADS:
            return (
                (timing.load_pipelined if follows else timing.load),
                0,
                instruction.operands[0].reg,
            )
        if all(memory.index == 0 for memory in addresses):
            return timing.store, 0, None
        saved = timing.load - timing.load_pipelined if follows else 0
        return max(1, timing.store_register - saved), 0, None
    if name in _ALL_OPERANDS or name in _BASE_FIRST:
        return 1 + _registers(instruction, name), 0, None
    if name in ("vldr", "vstr") and instruction.reg_name(instruction.operands[0].reg).startswith("d"):
        return timing.others.get(name, 1) + 1, 0, None
    return timing.others.get(name, 1), 0, None


def _branch_cycles(timing: CoreTiming, name: str, instruction: Any) -> int | None:
    """Cycles of what writes the PC, when taken; None for everything else."""
    if name in ("b", "cbz", "cbnz"):
        return timing.branch
    if name == "bl":
        return timing.call
    if name in _INDIRECT:
        return timing.indirect
    if name in ("tbb", "tbh"):
        return timing.table_branch
    operands = instruction.operands
    if name in _SINGLE_LOADS and operands[0].reg == arm_const.ARM_REG_PC:
        return timing.load_pc
    if name == "pop" or name in _BASE_FIRST:
        pops_pc = any(
            operand.type == arm.ARM_OP_REG and operand.reg == arm_const.ARM_REG_PC for operand in operands
        ) and not name.startswith("stm")
        return 1 + _registers(instruction, name) + timing.pop_pc if pops_pc else None
    if name in ("mov", "add") and operands[0].type == arm.ARM_OP_REG and operands[0].reg == arm_const.ARM_REG_PC:
        return timing.indirect
    return None


def _registers(instruction: Any, name: str) -> int:
    """N of a multiple transfer, in words."""
    operands = instruction.operands if name in _ALL_OPERANDS else instruction.operands[1:]
    return sum(2 if instruction.reg_name(operand.reg).startswith("d") else 1 for operand in operands)
