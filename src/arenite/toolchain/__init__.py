"""Finds C compilers, builds host libraries and firmware.

What reads built files (`arenite.toolchain.elf`, `arenite.toolchain.isa`) needs pyelftools and capstone, and is
imported from its own module.
"""

from arenite.toolchain.compilers import Compiler, find_compilers, firmware_compiler, host_compiler
from arenite.toolchain.host import WARNINGS, build_host_library, cached_host_library

__all__ = [
    "WARNINGS",
    "Compiler",
    "build_host_library",
    "cached_host_library",
    "find_compilers",
    "firmware_compiler",
    "host_compiler",
]
