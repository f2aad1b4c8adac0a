"""Reads the log of a debug build (docs/debugging-a-board.md), whatever else is between its lines."""

import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from arenite._base.errors import DataError
from arenite._base.files import read_file

_LIMIT_NBYTES = 2**30
_MARK = b"$ARN "
# What a line holds is bounded, so that a damaged one cannot swallow much of the log.
_LINE = re.compile(rb"\$(ARN ([BSDE]) ([0-9a-f]{8}) ([0-9a-f]{8})((?: [!-)+-~]{1,200}){0,40}))\*([0-9a-f]{8})")
_RECORDS = 2**16
_NBYTES = 2**26


@dataclass
class LoggedRecord:
    """What the log holds of one record.

    Attributes:
        nbytes, crc: as the board says; None when that line is missing.
        pieces: bytes by offset.
    """

    nbytes: int | None = None
    crc: int | None = None
    pieces: dict[int, bytes] = field(default_factory=dict)

    def complete(self) -> bytes | None:
        """All bytes, checked against the board's checksum; None when some are missing or wrong."""
        data = b"".join(self.pieces[offset] for offset in sorted(self.pieces))
        contiguous = sum(len(p) for p in self.pieces.values()) == self.nbytes and self._without_gaps()
        return data if contiguous and zlib.crc32(data) == self.crc else None

    def _without_gaps(self) -> bool:
        end = 0
        for offset in sorted(self.pieces):
            if offset != end:
                return False
            end += len(self.pieces[offset])
        return True


@dataclass
class LoggedRun:
    """One invocation on the board.

    Attributes:
        build: fingerprint of the program.
        number: invocations before it since the start, or since reset.
        words: how the network was compiled, of the line that begins the invocation; None when it is missing.
        ended: the line that ends the invocation is there.
    """

    build: str
    number: int
    words: dict[str, list[str]] | None = None
    records: dict[int, LoggedRecord] = field(default_factory=dict)
    ended: bool = False


@dataclass(frozen=True)
class BoardLog:
    """All invocations in a log, in its order, and how many of its lines are damaged."""

    runs: tuple[LoggedRun, ...]
    damaged: int


def read_board_log(path: Path) -> BoardLog:
    """The invocations in a log.

    Raises:
        DataError: it cannot be read, or has no line of a debug build.
    """
    data = read_file(path, limit_nbytes=_LIMIT_NBYTES)
    runs = _Runs()
    good = sum(_take(runs, line) for line in _good_lines(data))
    marks = data.count(_MARK)
    if not runs.all:
        found = f"{marks} lines, all damaged" if marks else "none"
        raise DataError(
            f"{path}: expected lines of a debug build ('$ARN ...'), found {found}; "
            "build the firmware from 'arenite compile --debug-layers', and log what it writes"
        )
    return BoardLog(tuple(runs.all), marks - good)


@dataclass(frozen=True)
class _Line:
    kind: str
    build: str
    run: int
    fields: tuple[str, ...]


def _good_lines(data: bytes) -> Iterator[_Line]:
    for match in _LINE.finditer(data):
        if zlib.crc32(match[1]) == int(match[6], 16):
            fields = tuple(match[5].decode("ascii").split())
            yield _Line(match[2].decode("ascii"), match[3].decode("ascii"), int(match[4], 16), fields)


class _Runs:
    """Invocations in the log's order, and of each build and number the latest."""

    def __init__(self) -> None:
        self.all: list[LoggedRun] = []
        self.latest: dict[tuple[str, int], LoggedRun] = {}

    def add(self, run: LoggedRun) -> LoggedRun:
        self.all.append(run)
        self.latest[run.build, run.number] = run
        return run


def _take(runs: _Runs, line: _Line) -> bool:
    """Whether a line says what its kind says; it goes to the latest invocation that it can belong to."""
    try:
        if line.kind == "B":
            runs.add(LoggedRun(line.build, line.run, _words(line.fields)))
        elif line.kind == "E":
            _run_of(runs, line, lambda _: True).ended = True
        elif line.kind == "S":
            _take_summary(runs, line)
        else:
            _take_data(runs, line)
    except ValueError:
        return False
    return True


def _words(fields: tuple[str, ...]) -> dict[str, list[str]]:
    words: dict[str, list[str]] = {}
    for word in fields:
        key, _, value = word.partition("=")
        words.setdefault(key, []).append(value)
    return words


def _take_summary(runs: _Runs, line: _Line) -> None:
    index, nbytes, crc = (int(text, 16) for text in line.fields)
    _check(index, nbytes)
    run = _run_of(runs, line, lambda run: _record(run, index).crc in (None, crc))
    record = run.records.setdefault(index, LoggedRecord())
    record.nbytes, record.crc = nbytes, crc


def _take_data(runs: _Runs, line: _Line) -> None:
    index_text, offset_text, data_text = line.fields
    index, offset, data = int(index_text, 16), int(offset_text, 16), bytes.fromhex(data_text)
    _check(index, offset)
    run = _run_of(runs, line, lambda run: _record(run, index).pieces.get(offset, data) == data)
    run.records.setdefault(index, LoggedRecord()).pieces[offset] = data


def _check(index: int, nbytes: int) -> None:
    if index >= _RECORDS or nbytes > _NBYTES:
        raise ValueError("no board has that much")


def _record(run: LoggedRun, index: int) -> LoggedRecord:
    return run.records.get(index, LoggedRecord())


def _run_of(runs: _Runs, line: _Line, fits: Callable[[LoggedRun], bool]) -> LoggedRun:
    """The latest invocation of this build and number; another one where that says otherwise, or there is none."""
    found = runs.latest.get((line.build, line.run))
    return found if found is not None and fits(found) else runs.add(LoggedRun(line.build, line.run))
