"""Commands of Arenite in this process, under limits of memory and time, and what is wrong with how they end."""

import contextlib
import io
import resource
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer.main

from arenite.cli import main as cli
from hostile.forked import limit_time

MEMORY_NBYTES = 1 << 30
CPU_SECONDS, WALL_SECONDS = 10.0, 60
"""The clock on the wall is for waiting; a computer that does other things too makes it run fast."""


@dataclass(frozen=True)
class Ended:
    """What a command left behind."""

    status: int
    out: str
    err: str


def command(*arguments: str) -> Ended:
    """The command line, in this process."""
    out, err = io.StringIO(), io.StringIO()
    status: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), patch.object(cli, "app", _commands()):
        try:
            cli.main(arguments)
        except SystemExit as end:
            status = end.code
    assert isinstance(status, int | None), status
    return Ended(status or 0, out.getvalue(), err.getvalue())


@cache
def _commands() -> Any:
    """The commands, which a process makes once, and which would be made for each file here."""
    return typer.main.get_command(cli.app)


def limit() -> None:
    """What follows has so much time from now on."""
    limit_time(CPU_SECONDS, WALL_SECONDS)


def limit_memory() -> None:
    """The process cannot have more than this besides what it has mapped already: emulators reserve a gigabyte."""
    mapped = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY_NBYTES, mapped + MEMORY_NBYTES))


def faults_of_message(ended: Ended) -> list[str]:
    """A refusal is an exit status of 1 and an error that names a problem, on stderr alone."""
    faults = []
    if ended.status not in (0, 1):
        faults.append(f"exit {ended.status}: {ended.err}")
    if "Traceback" in ended.err or "out of memory" in ended.err:
        faults.append(ended.err)
    if ended.status == 1:
        text = ended.err.removeprefix("error: ")
        if text == ended.err or not text.strip() or not text.replace("\n", "").isprintable():
            faults.append(f"not a message for a person: {ended.err!r}")
        if ended.out:
            faults.append(f"a refusal prints results: {ended.out[:200]!r}")
    return faults


def forget_peak() -> None:
    """Memory is measured from here on."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_nbytes() -> int:
    """The most memory that the process had since."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) << 10
