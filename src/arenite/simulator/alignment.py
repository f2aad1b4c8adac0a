"""Finds unaligned accesses that hardware refuses and the emulator allows."""

from collections.abc import Callable
from typing import Any

import capstone
import unicorn
from unicorn import arm_const as reg

from arenite.simulator.predicates import settle_predicates

# ARMv7-M Architecture Reference Manual, A3.2.1: these fault whatever CCR.UNALIGN_TRP says.
_ALWAYS_ALIGNED = ("ldrd", "strd", "ldm", "stm", "push", "pop", "ldrex", "strex", "vldr", "vstr", "vldm", "vstm")


class AlignmentCheck:
    """Watches all accesses; `report(pc, address, instruction)` is called for the first word of each bad one."""

    def __init__(self, emulator: Any, report: Callable[[int, int, str], None]) -> None:
        self._report = report
        self._disassembler = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS)
        emulator.hook_add(unicorn.UC_HOOK_MEM_READ | unicorn.UC_HOOK_MEM_WRITE, self._access)

    def _access(self, emulator: Any, _access: int, address: int, nbytes: int, _value: int, _user: object) -> None:
        settle_predicates(emulator)
        if address & 3 == 0 or nbytes < 4:
            return
        pc = emulator.reg_read(reg.UC_ARM_REG_PC)
        code = bytes(emulator.mem_read(pc, 4))
        for instruction in self._disassembler.disasm(code, pc, 1):
            if instruction.mnemonic.startswith(_ALWAYS_ALIGNED):
                self._report(pc, address, f"{instruction.mnemonic} {instruction.op_str}")
