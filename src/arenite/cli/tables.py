"""Tables on a terminal; plain text when stdout is none."""

from collections.abc import Mapping, Sequence

from arenite.cli.options import say


def print_table(rows: Sequence[Mapping[str, str]]) -> None:
    """Columns are the keys of the first row; each as wide as its longest cell, the last one free to wrap."""
    if not rows:
        return
    columns = list(rows[0])
    widths = {column: max(len(column), *(len(row[column]) for row in rows)) for column in columns[:-1]}

    def line(cells: Mapping[str, str]) -> str:
        return "  ".join([cells[c].ljust(widths[c]) for c in columns[:-1]] + [cells[columns[-1]]]).rstrip()

    say(line({column: column for column in columns}))
    for row in rows:
        say(line(row))
