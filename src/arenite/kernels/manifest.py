"""What is known of each C kernel: its file, symbol, parameter struct and arguments. Plain facts, no arrays, no IR.

A kernel's C signature follows from its facts:

    void <symbol>(const <symbol>_params *params, <arguments in order>);

Inputs, constants: `const T *`; outputs, scratch, state: `T *`. A parameter that the C compiler should fold is a field
of the struct; anything longer than a few words is a constant argument. `KernelInfo` rows live in one module per family,
each ending in a tuple `KERNELS`; `arenite.kernels.manifests()` collects them.
"""

from dataclasses import dataclass
from enum import Enum


class Role(Enum):
    """What an argument is for.

    CONSTANT data lives in flash and is prepared at compile time. STATE is read and written, and kept between
    invocations.
    """

    INPUT = "input"
    CONSTANT = "constant"
    OUTPUT = "output"
    SCRATCH = "scratch"
    STATE = "state"


@dataclass(frozen=True)
class Field:
    """A member of the parameter struct: a scalar, or an array of `length` scalars."""

    name: str
    ctype: str = "int32_t"
    length: int = 1


@dataclass(frozen=True)
class Argument:
    """A pointer argument. An optional one may be a null pointer."""

    name: str
    ctype: str
    role: Role
    optional: bool = False


@dataclass(frozen=True)
class KernelInfo:
    """A kernel in C.

    Attributes:
        symbol: `arenite_conv2d_s8`; the struct is `<symbol>_params`, the header `<symbol>.h` under include/arenite/,
            the generic entry for the host test library `<symbol>_entry` in src/<symbol>.c.
        summary: one sentence.
        fields: of the parameter struct, in order.
        arguments: in order.
        headers: further headers under include/arenite/ that it needs (transitively complete).
        uses_libm: whether it needs math.h (only float conversions may).
    """

    symbol: str
    summary: str
    fields: tuple[Field, ...]
    arguments: tuple[Argument, ...]
    headers: tuple[str, ...] = ("arenite_port.h",)
    uses_libm: bool = False

    @property
    def header(self) -> str:
        return f"{self.symbol}.h"

    @property
    def source(self) -> str:
        return f"{self.symbol}.c"
