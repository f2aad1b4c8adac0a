"""`arenite targets`, `arenite ops`, `arenite passes`: what there is."""

from arenite.cli.options import JsonOption, print_json


def targets(as_json: JsonOption = False) -> None:
    """List the cores that can be compiled for and simulated."""
    from arenite.driver.listings import list_targets  # noqa: PLC0415 - heavy

    _show(list_targets(), as_json)


def ops(as_json: JsonOption = False) -> None:
    """List the operators, what they require, and their kernels."""
    from arenite.driver.listings import list_ops  # noqa: PLC0415 - heavy

    _show(list_ops(), as_json)


def passes(as_json: JsonOption = False) -> None:
    """List the passes in their order, and what they may say."""
    from arenite.driver.listings import list_passes  # noqa: PLC0415 - heavy

    _show(list_passes(), as_json)


def _show(rows: list[dict[str, str]], as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    from arenite.cli.tables import print_table  # noqa: PLC0415

    print_table(rows)
