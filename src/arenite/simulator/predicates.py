"""Undoes what Unicorn's memory hooks do to conditional code."""

from typing import Any

from unicorn import arm_const as reg

# ARMv7-M Architecture Reference Manual, B1.4.2: the state of an IT block in the XPSR.
_IT_BITS = 0x0600_FC00


def settle_predicates(emulator: Any) -> None:
    """To be called by every hook of memory accesses, whatever else it does.

    Before Unicorn calls a hook within an IT block, it puts the block's state into the core's registers, and leaves it
    there; what runs after the block is then skipped as if it were part of it. The rest of the block itself does not
    depend on the registers.
    """
    status = emulator.reg_read(reg.UC_ARM_REG_XPSR)
    if status & _IT_BITS:
        emulator.reg_write(reg.UC_ARM_REG_XPSR, status & ~_IT_BITS)
