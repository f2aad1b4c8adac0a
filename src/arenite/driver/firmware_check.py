"""What emulators and linkers let pass: instructions that the core lacks, accesses and stores that are not allowed."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from arenite._base.errors import SelfCheckError
from arenite.driver.build import Build
from arenite.driver.firmware import Array, Firmware, hook_library
from arenite.kernels.manifest import Role
from arenite.lower.program import BufferRef, KernelCall, StateRef
from arenite.simulator.board import Board
from arenite.simulator.stores import Range
from arenite.targets import Target
from arenite.toolchain.isa import isa_violations

_MAX_NAMED = 5
_WRITTEN = (Role.OUTPUT, Role.SCRATCH, Role.STATE)


def check_instructions(elf: Path, target: Target) -> None:
    """Refuse firmware with instructions that its core does not have.

    Raises:
        SelfCheckError: naming the functions.
        ToolError: the file is no firmware.
    """
    found = isa_violations(elf, target)
    if not found:
        return
    listed = [f"{each.location}: '{each.text}' needs {each.needs}" for each in found[:_MAX_NAMED]]
    more = [f"and {len(found) - _MAX_NAMED} more"] if len(found) > _MAX_NAMED else []
    raise SelfCheckError(
        f"the firmware holds instructions that {target.name} does not have: {'; '.join(listed + more)}"
    )


def check_stores(firmware: Firmware, inputs: Sequence[Array]) -> None:
    """One invocation, layer by layer, on a core that is stricter than the emulator and than the hardware.

    Each layer may write the results, the scratch and the state that the program gives it, and its stack. Accesses that
    any core refuses for their alignment are refused.

    Args:
        firmware: as linked.
        inputs: an array for each input.

    Raises:
        SimulationFault: an access that is not allowed; it names the function.
    """
    build = firmware.build
    names, program = build.names, build.program
    board = Board(firmware.elf, firmware.target, hook_library(), strict_alignment=True)
    board.call(names.reset)
    for index, array in enumerate(inputs):
        board.write(board.call(names.port("input", index)).value, np.ascontiguousarray(array).tobytes())
    for index, call in enumerate(program.calls):
        board.call(names.layer(index), stores=list(_stores(build, board, call)))


def _stores(build: Build, board: Board, call: KernelCall) -> Iterator[Range]:
    program = build.program
    roles = {argument.name: argument.role for argument in build.tools.kernels.get(call.op, call.variant).info.arguments}
    states = {state.name: state.offset for state in program.states}
    for name, ref in call.arguments.items():
        if roles[name] not in _WRITTEN:
            continue
        if isinstance(ref, BufferRef):
            begin = board.symbol(build.names.arena) + program.placement.offsets[ref.buffer] + ref.offset_nbytes
            yield begin, begin + ref.nbytes
        elif isinstance(ref, StateRef):
            begin = board.symbol(build.names.state) + states[ref.state] + ref.offset_nbytes
            yield begin, begin + ref.nbytes
