"""`arenite explain`: what the passes and the kernel choice did to each node, and why."""

from typing import Annotated

import typer

from arenite.cli.options import JsonOption, TargetOption, TfliteArgument, print_json


def explain(
    model: TfliteArgument,
    node: Annotated[str | None, typer.Option("--node", metavar="NAME", help="Only this node of the model.")] = None,
    pass_name: Annotated[str | None, typer.Option("--pass", metavar="NAME", help="Only this pass.")] = None,
    target: TargetOption = "cortex-m4",
    as_json: JsonOption = False,
) -> None:
    """Tell what happened to each node and why."""
    from arenite.driver.explain import explain_model  # noqa: PLC0415 - heavy

    found = explain_model(model, node=node, pass_name=pass_name, target=target)
    if as_json:
        print_json(found.to_json())
    else:
        typer.echo(found.to_text())
