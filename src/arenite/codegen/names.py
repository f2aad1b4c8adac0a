"""How a model's symbols, macros and files are spelled."""

from dataclasses import dataclass
from typing import Literal

Direction = Literal["input", "output"]


@dataclass(frozen=True)
class Names:
    """Everything that carries the model's name; `model` is C-safe."""

    model: str

    @property
    def header(self) -> str:
        return f"{self.model}.h"

    @property
    def source(self) -> str:
        return f"{self.model}.c"

    @property
    def data_header(self) -> str:
        return f"{self.model}_data.h"

    @property
    def data_source(self) -> str:
        return f"{self.model}_data.c"

    @property
    def resolver_header(self) -> str:
        return f"{self.model}_op_resolver.h"

    @property
    def debug_header(self) -> str:
        return f"{self.model}_debug.h"

    @property
    def debug_source(self) -> str:
        return f"{self.model}_debug.c"

    @property
    def debug_log(self) -> str:
        return f"{self.model}_debug_log"

    @property
    def debug_putc(self) -> str:
        return f"{self.model}_debug_putc"

    @property
    def helpers_header(self) -> str:
        return f"{self.model}_helpers.h"

    @property
    def selftest_header(self) -> str:
        return f"{self.model}_selftest.h"

    @property
    def selftest_source(self) -> str:
        return f"{self.model}_selftest.c"

    @property
    def selftest(self) -> str:
        return f"{self.model}_selftest"

    @property
    def kept_header(self) -> str:
        return f"{self.model}_kept.h"

    @property
    def kept_source(self) -> str:
        return f"{self.model}_kept.c"

    @property
    def kept(self) -> str:
        return f"{self.model}_kept"

    def kept_kernel(self, symbol: str) -> str:
        return f"{self.model}_{symbol}"

    @property
    def option(self) -> str:
        """The Kconfig symbol."""
        return f"ARENITE_{self.model}".upper()

    @property
    def library(self) -> str:
        """The CMake target: prefixed, since CMake keeps names like `test` and `install` for itself."""
        return f"arenite_{self.model}"

    @property
    def arena(self) -> str:
        return f"{self.model}_arena"

    @property
    def state(self) -> str:
        return f"{self.model}_state"

    @property
    def started(self) -> str:
        return f"{self.model}_started"

    @property
    def invoke(self) -> str:
        return f"{self.model}_invoke"

    @property
    def reset(self) -> str:
        return f"{self.model}_reset"

    def layer(self, index: int) -> str:
        return f"{self.model}_layer_{index:02d}"

    def port(self, direction: Direction, index: int) -> str:
        return f"{self.model}_{direction}_{index}"

    def expected(self, index: int) -> str:
        return f"{self.model}_expected_{index}"

    def constant(self, name: str) -> str:
        return f"{self.model}_{name}"

    def macro(self, suffix: str) -> str:
        return f"{self.model}_{suffix}".upper()

    def guard(self, file: str) -> str:
        """Macros are upper-cased, guards are not: `net.h` and `Net.h` may both be there."""
        return f"ARENITE_MODEL_{file.replace('.', '_')}"
