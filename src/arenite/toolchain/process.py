"""Runs compilers: without a shell, with a time limit, and with their own words in the error."""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from arenite._base.errors import ToolError
from arenite.toolchain.cache import cache_dir

_TIME_LIMIT_SECONDS = 300.0
_MESSAGE_LINES = 12
_MESSAGE_COLUMNS = 300


def run_tool(
    command: Sequence[str], *, what: str, scratch: Path | None = None, time_limit: float = _TIME_LIMIT_SECONDS
) -> str:
    """Runs a program and returns its standard output.

    Args:
        command: program and arguments; no shell is involved.
        what: what is being done, for the error message: "compiling the kernels with gcc".
        scratch: a folder that the caller deletes; zig keeps its objects there, which would pile up in its cache.
        time_limit: seconds after which the program and what it started are stopped.

    Raises:
        ToolError: it cannot be started, takes too long, or fails; the message holds its first lines.
    """
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=_environment(scratch),
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(f"{what}: {command[0]} cannot be started: {error.strerror}") from error
    with process:
        try:
            output, errors = process.communicate(timeout=time_limit)
        except subprocess.TimeoutExpired as error:
            raise ToolError(f"{what}: stopped after {time_limit:.0f} s") from error
        finally:
            if process.returncode is None:
                _kill(process)
    if process.returncode != 0:
        said = _first_lines(errors or output)
        raise ToolError(f"{what}: {command[0]} failed with status {process.returncode}\n{said}")
    return output


def _kill(process: subprocess.Popen[str]) -> None:
    """Ends a program that runs, and its children: a compiler's passes would keep its pipes open."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _environment(scratch: Path | None) -> dict[str, str]:
    """English messages; zig keeps its built run-time library in our cache, where it can surely write."""
    environment = dict(os.environ)
    environment["LC_ALL"] = "C"
    environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(cache_dir() / "zig"))
    objects = environment["ZIG_GLOBAL_CACHE_DIR"] if scratch is None else str(scratch / "zig")
    environment.setdefault("ZIG_LOCAL_CACHE_DIR", objects)
    return environment


def _first_lines(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    shown = [f"  {line[:_MESSAGE_COLUMNS]}" for line in lines[:_MESSAGE_LINES]]
    if len(lines) > _MESSAGE_LINES:
        shown.append(f"  ... and {len(lines) - _MESSAGE_LINES} more lines")
    return "\n".join(shown)
