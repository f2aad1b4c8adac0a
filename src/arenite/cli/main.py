"""The command line. One module per command; what is heavy is imported when a command runs."""

import io
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from arenite._base.errors import AreniteError, UsageError
from arenite._base.text import printable
from arenite.cli import compare, explain, inspect, listings, plan, run
from arenite.cli import compile as compile_command
from arenite.cli import convert as convert_command
from arenite.cli import optimize as optimize_command
from arenite.cli.foreign import ForeignWordsCommand

INTERNAL_ERROR = 3

_OTHER_COMMANDS = {
    "simplify": "use 'arenite optimize MODEL -o OUT'",
    "slim": "use 'arenite optimize MODEL -o OUT'",
    "quantize": "Arenite does not quantize yet: quantize the network by other tools (full integer quantization, by a "
    "representative dataset), and compile that .tflite",
    "build": "use 'arenite compile MODEL.tflite'",
    "diff": "use 'arenite compare A B', or 'arenite optimize MODEL -o OUT --diff FILE.html'",
}


class _Commands(TyperGroup):
    """Answers those that other tools have."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands and args[0] in _OTHER_COMMANDS:
            raise UsageError(f"there is no command '{args[0]}' here: {_OTHER_COMMANDS[args[0]]}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="arenite",
    cls=_Commands,
    help="Compiles trained neural networks into C99 for microcontrollers, and proves what it did.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("compile")(compile_command.compile_model)
# Whoever forgets -o is told by the command itself, after what is wrong with the rest.
_TAKES_ANY_WORD = {"ignore_unknown_options": True, "allow_extra_args": True}
app.command("optimize", cls=ForeignWordsCommand, options_metavar="-o OUT [OPTIONS]", context_settings=_TAKES_ANY_WORD)(
    optimize_command.optimize
)
app.command(
    "convert", cls=ForeignWordsCommand, options_metavar="-o OUT.tflite [OPTIONS]", context_settings=_TAKES_ANY_WORD
)(convert_command.convert)
app.command("run", options_metavar="--inputs IN.npz --outputs OUT.npz [OPTIONS]")(run.run)
app.command("inspect")(inspect.inspect)
app.command("explain")(explain.explain)
app.command("compare")(compare.compare)
app.command("plan")(plan.plan)
app.command("targets")(listings.targets)
app.command("ops")(listings.ops)
app.command("passes")(listings.passes)


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version  # noqa: PLC0415 - slow to import, rarely wanted

        typer.echo(f"arenite {version('arenite')}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Takes the options that come before a command."""


def _drop_stdout() -> None:
    """What is still to be written would fail again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell(text: str) -> None:
    print(printable(text), file=sys.stderr)


def _end_as_interrupted() -> None:
    """Let a request to end unwind as an interruption does, so that temporary files go."""

    def end(number: int, _: object) -> None:
        sys.exit(128 + number)

    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status: 0, 1 (model, data, limit), 2 (usage) or 3 (our own fault)."""
    _end_as_interrupted()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Names may hold what the terminal's encoding lacks, or bytes that are no text at all.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            app(arguments)
        finally:
            # Here, where a closed pipe or a full disk still has a status to be told by.
            if sys.stdout is not None:
                sys.stdout.flush()
    except AreniteError as error:
        for problem in error.problems:
            _tell(f"error: {problem}")
        sys.exit(error.exit_status)
    except BrokenPipeError:
        _drop_stdout()
        sys.exit(1)
    except OSError as error:
        _drop_stdout()
        where = f": {error.filename}" if error.filename is not None else ""
        _tell(f"error: {error.strerror or error}{where}")
        sys.exit(1)
    except KeyboardInterrupt:
        _tell("interrupted")
        sys.exit(130)
    except MemoryError:
        _tell("error: out of memory; the model or its inputs are too large for this computer")
        sys.exit(1)
    except Exception as error:
        if os.environ.get("ARENITE_TRACEBACK"):
            raise
        _tell(
            f"error: internal error, a defect of arenite: {type(error).__name__}: {error}\n"
            "Please report it with the model; ARENITE_TRACEBACK=1 shows where it happened."
        )
        sys.exit(INTERNAL_ERROR)
