"""A board in software: a core, flash and RAM, running one firmware."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import unicorn
from unicorn import arm_const as reg

from arenite._base.errors import ToolError
from arenite.simulator.alignment import AlignmentCheck
from arenite.simulator.cycles import BlockCost, BlockCosts
from arenite.simulator.faults import SimulationFault
from arenite.simulator.image import Function, load_image
from arenite.simulator.profile import NativeProfiler, Profiler, PythonProfiler
from arenite.simulator.stores import Range, StoreCheck
from arenite.simulator.timing import core_timing
from arenite.targets import Target

FLASH_ORIGIN, RAM_ORIGIN, MEMORY_NBYTES = 0x0000_0000, 0x2000_0000, 16 << 20

# The system control space: start-up code writes CPACR there. Reads and writes are stored, and do nothing.
_SYSTEM_ORIGIN, _SYSTEM_NBYTES = 0xE000_E000, 0x1000
_PAINT = b"\xa5"
_ACCESS = {
    unicorn.UC_MEM_READ_UNMAPPED: ("read", "reads"),
    unicorn.UC_MEM_READ_PROT: ("read", "reads"),
    unicorn.UC_MEM_WRITE_UNMAPPED: ("write", "writes"),
    unicorn.UC_MEM_WRITE_PROT: ("write", "writes"),
    unicorn.UC_MEM_FETCH_UNMAPPED: ("fetch", "jumps to"),
    unicorn.UC_MEM_FETCH_PROT: ("fetch", "jumps to"),
}
# QEMU's exception numbers for ARM.
_EXCEPTIONS = {1: "an undefined instruction", 2: "a supervisor call", 4: "a data abort (unaligned access)", 7: "BKPT"}


@dataclass(frozen=True)
class Bucket:
    """What one root used. `cycles` is None for a core without published timing."""

    instructions: int
    cycles: int | None


@dataclass(frozen=True)
class CallResult:
    """One call of a function.

    Attributes:
        value: r0 on return, as an unsigned number of 32 bits.
        instructions: executed, exactly; those that a false condition skipped are included.
        cycles_estimate: from the core's timing table at zero wait states; None for a core without one.
        buckets: by root; the sums are `instructions` and `cycles_estimate`.
        stack_nbytes: high-water mark of the stack, from its top on: the deepest byte that was written with anything
            but the paint.
    """

    value: int
    instructions: int
    cycles_estimate: int | None
    buckets: Mapping[str, Bucket]
    stack_nbytes: int


class Board:
    """Loads a firmware and runs its start-up code; then its functions can be called.

    The memory map is that of the firmware's linker script: flash, read-only, 16 MB at 0; RAM, 16 MB at 0x20000000.
    The firmware defines `Reset_Handler`, `arenite_halt`, `arenite_stack_limit` and `arenite_stack_top`.

    Args:
        elf: the linked firmware.
        target: its core.
        hook_library: `hook.c` built for this computer; without it a Python hook counts the same, far slower.
        strict_alignment: multi-word accesses (LDRD, LDM, ...) at addresses that are no multiple of 4 are faults, as
            they are on all cores. Costs speed. ARMv6-M faults on every unaligned access without this.
        limit_ninstr: a run that executes about this many instructions is stopped (it counts halfwords of code).
        limit_seconds: so is one that takes this long.

    Raises:
        ToolError: the firmware cannot be read, or the emulator lacks the core.
        SimulationFault: start-up did what the hardware forbids.
    """

    def __init__(
        self,
        elf: Path,
        target: Target,
        hook_library: Path | None = None,
        *,
        strict_alignment: bool = False,
        limit_ninstr: int = 20_000_000_000,
        limit_seconds: float = 600.0,
    ) -> None:
        if not target.unicorn_cpu:
            raise ToolError(f"no simulation of {target.name}: {target.cannot_simulate}")
        self.target = target
        self.image = load_image(elf)
        self._limit_ninstr, self._limit_seconds = limit_ninstr, limit_seconds
        self._halt = self.image.address("arenite_halt")
        self._stack = (self.image.address("arenite_stack_limit"), self.image.address("arenite_stack_top"))
        self._fault: SimulationFault | None = None
        self._timing = core_timing(target.core)
        self._costs = BlockCosts(self._timing)
        self._cost_of: dict[tuple[int, int], BlockCost] = {}
        self._emulator = self._powered()
        self._profiler: Profiler = (
            PythonProfiler(self._emulator, self.image.code)
            if hook_library is None
            else NativeProfiler(self._emulator, self.image.code, hook_library)
        )
        self._emulator.hook_add(unicorn.UC_HOOK_MEM_INVALID, self._on_invalid_access)
        self._emulator.hook_add(unicorn.UC_HOOK_INTR, self._on_exception)
        if strict_alignment:
            self._alignment = AlignmentCheck(self._emulator, self._on_unaligned)
        self.reset()

    def reset(self) -> None:
        """Runs the start-up code again: variables have their first values, other RAM keeps what it holds.

        Raises:
            SimulationFault: it did what the hardware forbids.
        """
        self._run(self.image.function("Reset_Handler"), (), ())

    def symbol(self, name: str) -> int:
        """The address of a function (without the Thumb bit) or variable.

        Raises:
            ToolError: there is none, or several with this name.
        """
        return self.image.address(name)

    def read(self, address: int, nbytes: int) -> bytes:
        """Reads memory.

        Raises:
            ToolError: not all of it is flash or RAM.
        """
        try:
            return bytes(self._emulator.mem_read(address, nbytes))
        except unicorn.UcError as error:
            raise ToolError(f"the board has no {nbytes} bytes of memory at {address:#x}") from error

    def write(self, address: int, data: bytes) -> None:
        """Writes RAM.

        Raises:
            ToolError: not all of it is RAM.
        """
        if not RAM_ORIGIN <= address <= address + len(data) <= RAM_ORIGIN + MEMORY_NBYTES:
            raise ToolError(f"the board has no {len(data)} bytes of RAM at {address:#x}")
        self._emulator.mem_write(address, bytes(data))

    def call(
        self, symbol: str, *args: int, roots: Sequence[str] = (), stores: Sequence[Range] | None = None
    ) -> CallResult:
        """Calls a function, on an empty stack, and returns when it returns.

        Every executed block of code is charged to one root: to that in whose function it lies, else to the root whose
        code ran last. So `memcpy`, called by a layer, counts for the layer. `symbol` itself is a root.

        Args:
            symbol: the function.
            args: up to four integers or addresses, modulo 2^32.
            roots: further functions that get a bucket of their own.
            stores: addresses that may be written, the stack aside; None: all RAM. Costs speed.

        Raises:
            ToolError: a symbol is missing or no function.
            SimulationFault: the firmware did what the hardware forbids, or did not return within the limits.
        """
        if len(args) > 4:
            raise ToolError(f"{symbol}: at most four arguments can be given, not {len(args)}")
        names = list(dict.fromkeys((symbol, *roots)))
        functions = [self.image.function(name) for name in names]
        if stores is None:
            return self._run(functions[0], args, functions)
        check = StoreCheck(self._emulator, (self._stack, *stores), self._on_bad_store)
        try:
            return self._run(functions[0], args, functions)
        finally:
            check.close()

    def _powered(self) -> Any:
        # With MCLASS in the mode, unicorn ignores the CPU model and takes the Cortex-M33.
        emulator = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB)
        emulator.ctl_set_cpu_model(getattr(reg, f"UC_CPU_ARM_{self.target.unicorn_cpu}"))
        emulator.mem_map(FLASH_ORIGIN, MEMORY_NBYTES, unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC)
        emulator.mem_map(RAM_ORIGIN, MEMORY_NBYTES, unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE)
        emulator.mem_map(_SYSTEM_ORIGIN, _SYSTEM_NBYTES, unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE)
        for segment in self.image.segments:
            try:
                emulator.mem_write(segment.address, segment.data)
            except unicorn.UcError as error:
                raise ToolError(
                    f"{self.image.path}: {len(segment.data)} bytes at {segment.address:#x} are outside flash and RAM"
                ) from error
        return emulator

    def _run(self, function: Function, args: Sequence[int], roots: Sequence[Function]) -> CallResult:
        emulator = self._emulator
        limit, top = self._stack
        emulator.mem_write(limit, _PAINT * (top - limit))
        emulator.reg_write(reg.UC_ARM_REG_SP, top)
        emulator.reg_write(reg.UC_ARM_REG_LR, self._halt | 1)
        for index, value in enumerate(args):
            emulator.reg_write(reg.UC_ARM_REG_R0 + index, value & 0xFFFF_FFFF)
        self._profiler.start(roots or (function,), 0, self._limit_ninstr)
        self._fault = None
        self._emulate(function.address)
        return self._result([root.name for root in roots or (function,)])

    def _emulate(self, address: int) -> None:
        late, error = self._emulate_in_thread(address)
        pc = self._emulator.reg_read(reg.UC_ARM_REG_PC)
        if self._fault is not None:
            raise self._fault
        status, at = self._profiler.status()
        if status == "outside":
            raise self._faulted(at, "fetch", at, f"jumps to {at:#x}, where there is no code")
        if status == "limit":
            raise self._faulted(at, "limit", at, f"did not return within {self._limit_ninstr} instructions")
        if status == "full":
            raise self._faulted(at, "limit", at, "executes more distinct blocks of code than can be counted")
        if late and pc != self._halt:
            raise self._faulted(pc, "limit", pc, f"did not return within {self._limit_seconds} s")
        if error is not None and not isinstance(error, unicorn.UcError):
            raise error
        if error is not None:
            what = f"cannot execute {self.read(pc, 4).hex(' ')} on {self.target.core}: {error}"
            raise self._faulted(pc, "instruction", pc, what)
        if pc != self._halt:
            raise self._faulted(pc, "exception", pc, "stopped before it returned")

    def _emulate_in_thread(self, address: int) -> tuple[bool, BaseException | None]:
        """(was it stopped for its time, what it raised); this thread counts the time, and can be interrupted."""
        raised: list[BaseException] = []
        done = threading.Event()

        def work() -> None:
            try:
                self._emulator.emu_start(address | 1, self._halt)
            except BaseException as error:
                raised.append(error)
            finally:
                done.set()

        threading.Thread(target=work, daemon=True).start()
        try:
            # An event, since a `join` that is interrupted takes the thread for ended. In slices, since a signal
            # that another thread received does not end a wait.
            deadline = time.monotonic() + self._limit_seconds
            while not done.wait(min(0.2, max(0.0, deadline - time.monotonic()))):
                if time.monotonic() >= deadline:
                    break
            late = not done.is_set()
        finally:
            # Again and again: a stop before the start is forgotten.
            while not done.is_set():
                self._emulator.emu_stop()
                done.wait(0.05)
        return late, raised[0] if raised else None

    def _result(self, names: Sequence[str]) -> CallResult:
        instructions, cycles = [0] * len(names), [0] * len(names)
        for block in self._profiler.counts():
            cost = self._cost(block.address, block.nbytes)
            instructions[block.root] += block.count * cost.instructions
            cycles[block.root] += block.count * cost.cycles + block.taken * cost.taken_cycles
        limit, top = self._stack
        written = np.frombuffer(self._emulator.mem_read(limit, top - limit), np.uint8) != _PAINT[0]
        timed = self._timing is not None
        return CallResult(
            value=self._emulator.reg_read(reg.UC_ARM_REG_R0),
            instructions=sum(instructions),
            cycles_estimate=sum(cycles) if timed else None,
            buckets={
                name: Bucket(instructions[index], cycles[index] if timed else None) for index, name in enumerate(names)
            },
            stack_nbytes=written.size - int(written.argmax()) if written.any() else 0,
        )

    def _cost(self, address: int, nbytes: int) -> BlockCost:
        key = (address, nbytes)
        if key not in self._cost_of:
            self._cost_of[key] = self._costs.cost(address, self.read(address, nbytes))
        return self._cost_of[key]

    def _faulted(self, pc: int, access: str, address: int, what: str) -> SimulationFault:
        function = self.image.where(pc)
        place = f"{function} ({pc:#x})" if function else f"code at {pc:#x}"
        return SimulationFault(f"{place} {what}", function=function, pc=pc, access=access, address=address)

    def _on_invalid_access(
        self, emulator: Any, access: int, address: int, nbytes: int, _value: int, _user: object
    ) -> bool:
        pc = emulator.reg_read(reg.UC_ARM_REG_PC)
        kind, verb = _ACCESS.get(access, ("read", "accesses"))
        if kind == "fetch":
            pc = emulator.reg_read(reg.UC_ARM_REG_LR) & ~1
            what = f"{verb} {address:#x}, where there is no code (the address is where a call would return to)"
        elif FLASH_ORIGIN <= address < FLASH_ORIGIN + MEMORY_NBYTES:
            what = f"{verb} {nbytes} bytes at {address:#x}, which is flash"
        else:
            what = f"{verb} {nbytes} bytes at {address:#x}, where there is no memory"
            below = self._stack[0] - 0x10000 <= address < self._stack[0]
            if below or emulator.reg_read(reg.UC_ARM_REG_SP) < self._stack[0]:
                what += ": the stack overflowed"
        self._fault = self._fault or self._faulted(pc, kind, address, what)
        return False

    def _on_exception(self, emulator: Any, number: int, _user: object) -> None:
        pc = emulator.reg_read(reg.UC_ARM_REG_PC)
        name = _EXCEPTIONS.get(number, f"exception {number}")
        self._fault = self._fault or self._faulted(pc, "exception", pc, f"raises {name}")
        emulator.emu_stop()

    def _on_unaligned(self, pc: int, address: int, text: str) -> None:
        self._fault = self._fault or self._faulted(pc, "alignment", address, f"accesses {address:#x} by {text!r}")
        self._emulator.emu_stop()

    def _on_bad_store(self, pc: int, address: int, nbytes: int) -> None:
        what = f"writes {nbytes} bytes at {address:#x}, which is not its own"
        self._fault = self._fault or self._faulted(pc, "store", address, what)
        self._emulator.emu_stop()
