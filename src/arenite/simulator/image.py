"""Firmware as the emulator needs it: what to load where, and which symbol is where."""

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from arenite._base.errors import ToolError

_EXECUTABLE = 4


@dataclass(frozen=True)
class Segment:
    """Bytes and the address at which they are loaded."""

    address: int
    data: bytes


@dataclass(frozen=True)
class Function:
    """A function's name, first address (without the Thumb bit) and size in bytes."""

    name: str
    address: int
    nbytes: int


@dataclass(frozen=True)
class Image:
    """A linked firmware.

    Attributes:
        path: the ELF file.
        segments: what is loaded.
        symbols: addresses by name, functions without the Thumb bit; of file-local symbols with one name, all.
        functions: by address.
        code: first address and end of all executable sections.
    """

    path: Path
    segments: tuple[Segment, ...]
    symbols: dict[str, tuple[int, ...]]
    functions: tuple[Function, ...]
    code: tuple[int, int]
    _starts: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_starts", tuple(function.address for function in self.functions))

    def address(self, name: str) -> int:
        """The address of a symbol, without the Thumb bit.

        Raises:
            ToolError: there is none, or several with this name.
        """
        found = self.symbols.get(name, ())
        if len(found) != 1:
            count = f"{len(found)} symbols" if found else "no symbol"
            raise ToolError(f"{self.path}: the firmware has {count} named {name!r}")
        return found[0]

    def function(self, name: str) -> Function:
        """The function of this name.

        Raises:
            ToolError: there is none, or several with this name.
        """
        address = self.address(name)
        for function in self.functions:
            if function.name == name and function.address == address:
                return function
        raise ToolError(f"{self.path}: {name!r} is not a function")

    def where(self, address: int) -> str:
        """`function+0x12`, or an empty text for an address in no function."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return ""
        function = self.functions[index]
        inside = address < function.address + max(function.nbytes, 2)
        return f"{function.name}+{address - function.address:#x}" if inside else ""


def load_image(path: Path) -> Image:
    """Reads a linked firmware.

    Raises:
        ToolError: the file is no 32-bit ARM ELF, or has no code or no symbols.
    """
    with _opened(path) as file:
        table = file.get_section_by_name(".symtab")
        if file["e_machine"] != "EM_ARM" or table is None:
            raise ToolError(f"{path}: not firmware for ARM with symbols")
        segments = tuple(
            Segment(segment["p_paddr"], segment.data())
            for segment in file.iter_segments()
            if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]
        )
        code = [
            (section["sh_addr"], section["sh_addr"] + section["sh_size"])
            for section in file.iter_sections()
            if section["sh_flags"] & _EXECUTABLE and section["sh_size"]
        ]
        if not code:
            raise ToolError(f"{path}: the firmware holds no code")
        symbols: dict[str, set[int]] = {}
        functions: set[tuple[int, int, str]] = set()
        for entry in table.iter_symbols():
            kind = entry["st_info"]["type"]
            if not entry.name or entry.name.startswith("$") or entry["st_shndx"] == "SHN_UNDEF":
                continue
            if kind not in ("STT_FUNC", "STT_OBJECT", "STT_NOTYPE"):
                continue
            address = entry["st_value"] & ~1 if kind == "STT_FUNC" else entry["st_value"]
            symbols.setdefault(entry.name, set()).add(address)
            if kind == "STT_FUNC":
                functions.add((address, entry["st_size"], entry.name))
    return Image(
        path,
        segments,
        {name: tuple(sorted(addresses)) for name, addresses in symbols.items()},
        tuple(Function(name, address, nbytes) for address, nbytes, name in sorted(functions)),
        (min(begin for begin, _ in code), max(end for _, end in code)),
    )


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Pyelftools is untyped, hence Any; what it raises on a damaged file becomes one error."""
    try:
        with path.open("rb") as stream:
            yield ELFFile(stream)
    except (OSError, ELFError) as error:
        raise ToolError(f"{path}: not a readable ELF file: {error}") from error
