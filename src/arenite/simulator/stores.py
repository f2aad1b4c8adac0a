"""Watches where firmware stores: a layer may write what the memory plan gives it, and its stack."""

from collections.abc import Callable, Iterable
from typing import Any

import unicorn
from unicorn import arm_const as reg

from arenite.simulator.predicates import settle_predicates

Range = tuple[int, int]
"""First address and end."""


class StoreCheck:
    """Watches all stores from its making to `close`.

    Args:
        emulator: a Unicorn engine that is not running.
        allowed: where stores may go; a store must lie in one of them as a whole.
        report: is called with pc, address and number of bytes of each store that does not.
    """

    def __init__(self, emulator: Any, allowed: Iterable[Range], report: Callable[[int, int, int], None]) -> None:
        self._emulator, self._report = emulator, report
        self._allowed = _joined(allowed)
        self._hook = emulator.hook_add(unicorn.UC_HOOK_MEM_WRITE, self._store)
        # Code that was translated before has no calls of the hook in it.
        emulator.ctl_flush_tb()

    def close(self) -> None:
        self._emulator.hook_del(self._hook)
        self._emulator.ctl_flush_tb()

    def _store(self, emulator: Any, _access: int, address: int, nbytes: int, _value: int, _user: object) -> None:
        settle_predicates(emulator)
        if not any(begin <= address and address + nbytes <= end for begin, end in self._allowed):
            self._report(emulator.reg_read(reg.UC_ARM_REG_PC), address, nbytes)


def _joined(ranges: Iterable[Range]) -> list[Range]:
    """The same addresses in as few ranges as possible: a store may cross from one buffer into the next."""
    joined: list[Range] = []
    for begin, end in sorted(ranges):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined
