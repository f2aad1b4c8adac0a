"""One damaged file through `arenite compile` and `arenite inspect`, under limits of memory and time."""

import contextlib
import io
import json
import resource
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer.main

from arenite.cli import main as cli
from hostile.damage import Damaged
from hostile.forked import Answer, limit_time

MEMORY_NBYTES = 1 << 30
CPU_SECONDS, WALL_SECONDS = 10.0, 60
"""The clock on the wall is for waiting; a computer that does other things too makes it run fast."""

_INSPECT_EVERY = 10
_YES = "can be compiled\n"


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


def limit_memory() -> None:
    """The process cannot have more than this besides what it has mapped already: emulators reserve a gigabyte."""
    mapped = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY_NBYTES, mapped + MEMORY_NBYTES))


def attempt(file: Damaged, number: int) -> Answer:
    """Whether a copy was compiled, what is wrong with how it ended, and the most memory that it took.

    Of a copy that was compiled, one in ten is inspected too: `inspect` compiles, and shall say that it can.
    """
    limit_time(CPU_SECONDS, WALL_SECONDS)
    _forget_peak()
    with tempfile.TemporaryDirectory(prefix="damaged-") as name:
        folder = Path(name)
        model, bundle = folder / "m.tflite", folder / "bundle"
        model.write_bytes(file.copy(number))
        compiled = command("compile", str(model), "-o", str(bundle), "--simulate", "off")
        faults = _faults(compiled, bundle)
        if compiled.status or number // 10 % _INSPECT_EVERY == 0:
            shutil.rmtree(bundle, ignore_errors=True)
            seen = command("inspect", str(model))
            faults += _message_faults(seen)
            if (compiled.status == 0) != (seen.status == 0 and seen.out.endswith(_YES)):
                faults.append(f"inspect and compile do not agree: {compiled.err}{seen.err}{seen.out[-200:]}")
        shutil.rmtree(bundle, ignore_errors=True)
        faults += [f"{path.name} is left behind" for path in folder.iterdir() if path != model]
    return {
        "compiled": compiled.status == 0,
        "message": compiled.err.replace(name, "")[:500],
        "faults": faults,
        "peak_nbytes": _peak_nbytes(),
    }


def _faults(ended: Ended, bundle: Path) -> list[str]:
    faults = _message_faults(ended)
    if ended.status:
        return faults + (["a part of the bundle is written"] if bundle.exists() else [])
    listed = json.loads((bundle / "report.json").read_text(encoding="utf-8"))["files"]
    there = sorted(path.name for path in bundle.iterdir())
    return faults + ([] if listed == there else [f"{there} are written, {listed} are listed"])


def _message_faults(ended: Ended) -> list[str]:
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


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak_nbytes() -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) << 10
