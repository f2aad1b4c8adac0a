"""Memory problems and plans as CSV text, in the public form `id,lower,upper,size[,alignment][,offset]`.

One buffer a line under a header whose columns may come in any order; lifetimes are half-open `[lower, upper)`;
an empty or absent offset leaves the buffer to the planner, any other pins it. A plan is written with every
offset filled in, so reading it back gives a problem that is pinned throughout.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from arenite._base.errors import DataError, ModelError
from arenite._base.files import read_file
from arenite.memory.problem import MAX_BUFFERS, Buffer, Lifetime, Problem, Solution

MAX_FILE_NBYTES = 1 << 24
_REQUIRED = ("id", "lower", "upper", "size")
_OPTIONAL = ("alignment", "offset")
_MAX_NAME = 256
_MAX_DIGITS = 19
_MAX_REPORTED = 20


def read_csv(path: Path, capacity: int | None = None) -> Problem:
    """Read a problem from a file of at most 16 MiB.

    Raises:
        DataError: the file cannot be read, or what `parse_csv` refuses.
    """
    data = read_file(path, limit_nbytes=MAX_FILE_NBYTES)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not CSV: byte {error.start} is not UTF-8 text") from error
    return parse_csv(text, str(path), capacity)


def parse_csv(text: str, source: str, capacity: int | None = None) -> Problem:
    """Parse a problem; `source` names the text in messages.

    Raises:
        DataError: a column is missing, repeated or unknown, a field is no number, or the buffers make no valid
            problem. Names the lines, the first 20 of them.
    """
    rows = _rows(text, source)
    header_line, header = next(rows, (1, []))
    columns = [column.strip() for column in header]
    if problems := list(_header_problems(columns)):
        raise DataError(f"{source}, line {header_line}: {problem}" for problem in problems)
    buffers: list[Buffer] = []
    faults: list[str] = []
    for line, row in rows:
        if len(buffers) == MAX_BUFFERS:
            faults.append(f"{source}, line {line}: more than {MAX_BUFFERS} buffers")
            break
        try:
            buffers.append(_buffer(columns, row))
        except ValueError as error:
            faults.append(f"{source}, line {line}: {error}")
            if len(faults) == _MAX_REPORTED:
                break
    if faults:
        raise DataError(faults)
    try:
        return Problem(tuple(buffers), capacity)
    except ModelError as error:
        raise DataError(f"{source}: {problem}" for problem in error.problems[:_MAX_REPORTED]) from error


def format_csv(problem: Problem, solution: Solution | None = None) -> str:
    """Text of a problem, or with `solution` of its plan: every buffer with its planned offset.

    Columns that would hold nothing but defaults (alignment 1, no offset) are left out.
    """
    offsets = solution.offsets if solution else {b.name: b.offset for b in problem.buffers if b.offset is not None}
    columns = list(_REQUIRED)
    columns += ["alignment"] * any(b.alignment != 1 for b in problem.buffers) + ["offset"] * bool(offsets)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for b in problem.buffers:
        fields = {
            "id": b.name,
            "lower": b.lifetime.first,
            "upper": b.lifetime.end,
            "size": b.nbytes,
            "alignment": b.alignment,
            "offset": offsets.get(b.name, ""),
        }
        writer.writerow([fields[column] for column in columns])
    return out.getvalue()


def _rows(text: str, source: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise DataError(f"{source}, line {reader.line_num}: {error}") from error
        if row is None:
            return
        if row:
            yield reader.line_num, row


def _header_problems(columns: list[str]) -> Iterator[str]:
    known = (*_REQUIRED, *_OPTIONAL)
    for column in dict.fromkeys(columns):
        if column not in known:
            yield f"unknown column {column[:_MAX_NAME]!r}; known are {', '.join(known)}"
        elif columns.count(column) > 1:
            yield f"column {column!r} occurs more than once"
    for column in _REQUIRED:
        if column not in columns:
            yield f"the header lacks column {column!r}"


def _buffer(columns: list[str], row: list[str]) -> Buffer:
    if len(row) != len(columns):
        raise ValueError(f"{len(columns)} fields expected, as in the header, but {len(row)} found")
    fields = {column: value.strip() for column, value in zip(columns, row, strict=True)}
    name = fields["id"]
    if not name or len(name) > _MAX_NAME:
        raise ValueError(f"the id must have 1 to {_MAX_NAME} characters, it has {len(name)}")
    lifetime = Lifetime(_number(fields, "lower"), _number(fields, "upper"))
    if lifetime.first >= lifetime.end:
        raise ValueError(f"lifetime [{lifetime.first}, {lifetime.end}) of buffer {name!r} is empty")
    alignment = _number(fields, "alignment") if fields.get("alignment") else 1
    offset = _number(fields, "offset") if fields.get("offset") else None
    return Buffer(name, _number(fields, "size"), lifetime, alignment, offset)


def _number(fields: dict[str, str], column: str) -> int:
    value = fields[column]
    if not (value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS):
        raise ValueError(f"{column} must be a whole number of at most {_MAX_DIGITS} digits, found {value[:40]!r}")
    return int(value)
