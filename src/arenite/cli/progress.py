"""What is going on, on stderr, and only on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from arenite._base.text import printable


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A function that shows what is being done now."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - slow to import, only for terminals
    from rich.text import Text  # noqa: PLC0415

    with Console(stderr=True).status("starting") as status:
        # Not as a string, in which brackets are markup.
        yield lambda text: status.update(Text(printable(text)))
