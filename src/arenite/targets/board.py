"""Boards from TOML: a core, and how much memory it has."""

import itertools
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from arenite._base.errors import DataError, UsageError
from arenite._base.files import read_file
from arenite.targets.target import Region, Target

# Python's reader takes time that grows with the square of a dotted key's length.
_FILE_LIMIT_NBYTES = 1 << 13
_TEXT_LIMIT = 100
_SIZE_UNITS = {"": 1, "b": 1, "k": 1024, "kb": 1024, "kib": 1024, "m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20}
_DEFAULT_ORIGIN = {"flash": 0x0000_0000, "ram": 0x2000_0000}
_KEYS = ("name", "core", "summary", "flash", "ram")


def load_board(path: Path, get_core: Callable[[str], Target]) -> Target:
    """Reads a board file.

    ```toml
    name = "nucleo-l4r5zi"
    core = "cortex-m4f"
    summary = "optional"
    flash = "2M"                                   # a size, or a table, or a list of tables
    ram = [{ origin = 0x20000000, size = "192K" }, { origin = 0x20040000, size = "384K" }]
    ```

    A size is a whole number of bytes, or text with K or M (1024-based). A size alone starts at 0 for flash and
    at 0x20000000 for RAM.

    Args:
        path: the TOML file, at most 8 KiB.
        get_core: finds a core by its name, and raises UsageError for one that does not exist.

    Raises:
        UsageError: the file cannot be read, or is not such a table; every problem is listed.
    """
    table = _read(path)
    problems = [f"{path}: unknown key {key!r}; known keys: {', '.join(_KEYS)}" for key in table if key not in _KEYS]
    text: dict[str, str] = {}
    for key, default in (("name", path.stem), ("core", None), ("summary", "")):
        value = table.get(key, default)
        if not isinstance(value, str) or not (value or key == "summary"):
            problems.append(f"{path}: {key!r} must be text" + ("" if key in table else "; it is missing"))
        elif key in table and not (value.isprintable() and len(value) <= _TEXT_LIMIT):
            problems.append(f"{path}: {key!r} must be one line of at most {_TEXT_LIMIT} printable characters")
        else:
            text[key] = value
    regions: list[Region] = []
    for kind in ("flash", "ram"):
        if kind not in table:
            problems.append(f'{path}: {kind!r} is missing: give its size, such as {kind} = "256K"')
            continue
        found, faults = _regions(kind, table[kind])
        regions += found
        problems += [f"{path}: {fault}" for fault in faults]
    core: Target | None = None
    if "core" in text:
        try:
            core = get_core(text["core"])
        except UsageError as error:
            problems += [f"{path}: {problem}" for problem in error.problems]
    problems += [f"{path}: {fault}" for fault in _overlaps(regions)]
    if problems or core is None:
        raise UsageError(problems)
    return replace(
        core,
        name=text["name"],
        summary=text["summary"] or f"board with {core.name}",
        regions=tuple(regions),
    )


def _read(path: Path) -> dict[str, object]:
    try:
        data = read_file(path, limit_nbytes=_FILE_LIMIT_NBYTES)
    except DataError as error:
        raise UsageError(error.problems) from None
    try:
        return tomllib.loads(data.decode("utf-8"))
    # What is no UTF-8, no TOML, or a number of thousands of digits is a ValueError.
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not a TOML file: {error}") from error


def _regions(kind: Literal["flash", "ram"], value: object) -> tuple[list[Region], list[str]]:
    entries = value if isinstance(value, list) else [value]
    regions: list[Region] = []
    faults: list[str] = [] if entries else [f"{kind!r} is an empty list"]
    for entry in entries:
        table = entry if isinstance(entry, Mapping) else {"size": entry}
        unknown = sorted(set(table) - {"origin", "size"})
        origin = table.get("origin", _DEFAULT_ORIGIN[kind])
        nbytes = _size(table.get("size"))
        if unknown:
            faults.append(f"{kind!r} has unknown keys {', '.join(unknown)}; known keys: origin, size")
        elif not isinstance(origin, int) or isinstance(origin, bool) or not 0 <= origin < 1 << 32:
            faults.append(f"{kind!r}: origin must be an address below 2^32, not {origin!r}")
        elif nbytes is None or not 0 < nbytes <= (1 << 32) - origin:
            faults.append(f'{kind!r}: size must be a number of bytes or text such as "256K", not {table.get("size")!r}')
        else:
            regions.append(Region(kind, origin, nbytes))
    return regions, faults


def _size(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    text = value.strip().lower().replace("_", "")
    digits = text.rstrip("bikm").rstrip()
    unit = _SIZE_UNITS.get(text[len(digits) :].strip())
    if unit is None or not digits.isascii() or not digits.isdigit() or len(digits) > 10:
        return None
    return int(digits) * unit


def _overlaps(regions: list[Region]) -> list[str]:
    ordered = sorted(regions, key=lambda region: region.origin)
    return [
        f"{first.kind!r} at {first.origin:#x} ({first.nbytes} bytes) overlaps {second.kind!r} at {second.origin:#x}"
        for first, second in itertools.pairwise(ordered)
        if first.origin + first.nbytes > second.origin
    ]
