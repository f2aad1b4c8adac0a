"""Runs compilers: without a shell, with a time limit, and with their own words in the error."""

import os
import subprocess
from collections.abc import Sequence

from arenite._base.errors import ToolError
from arenite.toolchain.cache import cache_dir

_TIME_LIMIT_SECONDS = 300.0
_MESSAGE_LINES = 12
_MESSAGE_COLUMNS = 300


def run_tool(command: Sequence[str], *, what: str, time_limit: float = _TIME_LIMIT_SECONDS) -> str:
    """Runs a program and returns its standard output.

    Args:
        command: program and arguments; no shell is involved.
        what: what is being done, for the error message: "compiling the kernels with gcc".
        time_limit: seconds after which the program is stopped.

    Raises:
        ToolError: it cannot be started, takes too long, or fails; the message holds its first lines.
    """
    try:
        done = subprocess.run(
            list(command),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=time_limit,
            check=False,
            stdin=subprocess.DEVNULL,
            env=_environment(),
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"{what}: stopped after {time_limit:.0f} s") from error
    except OSError as error:
        raise ToolError(f"{what}: {command[0]} cannot be started: {error.strerror}") from error
    if done.returncode != 0:
        said = _first_lines(done.stderr or done.stdout)
        raise ToolError(f"{what}: {command[0]} failed with status {done.returncode}\n{said}")
    return done.stdout


def _environment() -> dict[str, str]:
    """English messages; zig keeps its built run-time library in our cache, where it can surely write."""
    environment = dict(os.environ)
    environment["LC_ALL"] = "C"
    environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(cache_dir() / "zig"))
    environment.setdefault("ZIG_LOCAL_CACHE_DIR", environment["ZIG_GLOBAL_CACHE_DIR"])
    return environment


def _first_lines(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    shown = [f"  {line[:_MESSAGE_COLUMNS]}" for line in lines[:_MESSAGE_LINES]]
    if len(lines) > _MESSAGE_LINES:
        shown.append(f"  ... and {len(lines) - _MESSAGE_LINES} more lines")
    return "\n".join(shown)
