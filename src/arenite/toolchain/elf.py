"""Sizes from a linked ELF: by section and by symbol, never from the file's length."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from arenite._base.errors import ToolError

_UNWIND = ".ARM.ex"
_NOT_THE_MODELS = (".vectors", ".startup", ".stack")


@dataclass(frozen=True)
class SectionSizes:
    """Bytes of a firmware by what they are; start-up code, vectors, the stack and unwind tables are left out.

    Attributes:
        text_nbytes: code with its literal pools and padding, compiler helpers included.
        rodata_nbytes: constants in flash.
        data_nbytes: initialised variables: as many bytes of RAM as of flash.
        bss_nbytes: zeroed variables, RAM only.
    """

    text_nbytes: int
    rodata_nbytes: int
    data_nbytes: int
    bss_nbytes: int


@dataclass(frozen=True)
class Symbol:
    """A function or variable. `address` is without the Thumb bit; `section` is its section's name."""

    name: str
    kind: Literal["function", "object"]
    address: int
    nbytes: int
    section: str


@dataclass(frozen=True)
class CodeRun:
    """Consecutive instructions, literal pools excluded."""

    address: int
    data: bytes


def section_sizes(elf: Path) -> SectionSizes:
    """Bytes by section.

    Raises:
        ToolError: the file is no ELF.
    """
    totals = {"text": 0, "rodata": 0, "data": 0, "bss": 0}
    with _opened(elf) as file:
        for section in file.iter_sections():
            flags = section["sh_flags"]
            if not flags & 2 or section.name in _NOT_THE_MODELS or section.name.startswith(_UNWIND):
                continue
            kind = "text" if flags & 4 else "rodata" if section.name.startswith(".rodata") else "data"
            if section["sh_type"] == "SHT_NOBITS" and kind == "data":
                kind = "bss"
            totals[kind] += section["sh_size"]
    return SectionSizes(totals["text"], totals["rodata"], totals["data"], totals["bss"])


def symbols(elf: Path) -> tuple[Symbol, ...]:
    """All functions and variables, by address and then by name.

    Raises:
        ToolError: the file is no ELF, or has no symbols.
    """
    found = []
    with _opened(elf) as file:
        for entry in _symbol_table(elf, file).iter_symbols():
            kind = {"STT_FUNC": "function", "STT_OBJECT": "object"}.get(entry["st_info"]["type"])
            index = entry["st_shndx"]
            if kind is None or not isinstance(index, int):
                continue
            address = entry["st_value"] & ~1 if kind == "function" else entry["st_value"]
            section = file.get_section(index).name
            found.append(
                Symbol(entry.name, "function" if kind == "function" else "object", address, entry["st_size"], section)
            )
    return tuple(sorted(found, key=lambda symbol: (symbol.address, symbol.name)))


def symbol_sizes(elf: Path) -> dict[str, int]:
    """Bytes by symbol name; file-local symbols that share a name are added up.

    Raises:
        ToolError: the file is no ELF, or has no symbols.
    """
    sizes: dict[str, int] = {}
    for symbol in symbols(elf):
        sizes[symbol.name] = sizes.get(symbol.name, 0) + symbol.nbytes
    return sizes


def code_runs(elf: Path) -> tuple[CodeRun, ...]:
    """All Thumb instructions of the firmware, start-up included, in runs that literal pools interrupt.

    The boundaries are the mapping symbols `$t` and `$d` (ELF for the Arm Architecture, 5.5.5).

    Raises:
        ToolError: the file is no ELF, or has no symbols.
    """
    runs: list[CodeRun] = []
    with _opened(elf) as file:
        marks: dict[int, list[tuple[int, str]]] = {}
        for entry in _symbol_table(elf, file).iter_symbols():
            if entry.name[:2] in ("$t", "$d", "$a") and isinstance(entry["st_shndx"], int):
                marks.setdefault(entry["st_shndx"], []).append((entry["st_value"], entry.name[1]))
        for index, section in enumerate(file.iter_sections()):
            if not section["sh_flags"] & 4 or section["sh_type"] == "SHT_NOBITS":
                continue
            base, data = section["sh_addr"], section.data()
            here = sorted(marks.get(index, []))
            ends = [address for address, _ in here[1:]] + [base + len(data)]
            for (address, what), end in zip(here, ends, strict=True):
                if what == "t" and end > address:
                    runs.append(CodeRun(address, data[address - base : end - base]))
    return tuple(runs)


@contextmanager
def _opened(elf: Path) -> Iterator[Any]:
    """Pyelftools is untyped, hence Any; what it raises on a damaged file becomes one error."""
    try:
        with elf.open("rb") as stream:
            yield ELFFile(stream)
    except (OSError, ELFError) as error:
        raise ToolError(f"{elf}: not a readable ELF file: {error}") from error


def _symbol_table(elf: Path, file: Any) -> Any:
    table = file.get_section_by_name(".symtab")
    if table is None:
        raise ToolError(f"{elf}: the ELF file has no symbols: it was stripped")
    return table
