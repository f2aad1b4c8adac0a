"""The command line in this process, since starting one for each call takes long."""

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

from arenite.cli.main import main


@dataclass
class Finished:
    returncode: int
    stdout: str
    stderr: str


def call(*arguments: object) -> Finished:
    """What a command says, and how it ends."""
    stdout, stderr = io.StringIO(), io.StringIO()
    status = 0
    with redirect_stdout(stdout), redirect_stderr(stderr):
        try:
            main([*map(str, arguments)])
        except SystemExit as end:
            status = int(end.code or 0)
    return Finished(status, stdout.getvalue(), stderr.getvalue())
