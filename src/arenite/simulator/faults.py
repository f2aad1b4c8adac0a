"""What can go wrong while firmware runs."""

from arenite._base.errors import ToolError


class SimulationFault(ToolError):  # noqa: N818 (a fault of the firmware, as hardware calls it)
    """The firmware did what the hardware forbids, or did not end.

    Attributes:
        function: where, as `function+0x12`; empty when it is in no function.
        pc: address of the instruction.
        access: "read", "write", "fetch", "instruction", "alignment", "exception", "limit", or "store" for one
            that was not allowed.
        address: the address that was accessed; `pc` where there is no other.
    """

    def __init__(self, message: str, *, function: str, pc: int, access: str, address: int) -> None:
        super().__init__(message)
        self.function = function
        self.pc = pc
        self.access = access
        self.address = address
