"""`arenite explain`: what the passes and the kernel choice did to each node, and why."""

from typing import Annotated

import typer

from arenite._base.errors import UsageError
from arenite.cli.options import (
    InputShapeOption,
    JsonOption,
    ModelArgument,
    PinOption,
    TargetOption,
    parse_pin,
    parse_shape,
    print_json,
    say,
)


def explain(
    model: ModelArgument,
    node: Annotated[
        str | None, typer.Option("--node", metavar="NAME", help="Only this node: any piece of its name.")
    ] = None,
    pass_name: Annotated[str | None, typer.Option("--pass", metavar="NAME", help="Only this pass.")] = None,
    target: TargetOption = "cortex-m4",
    input_shape: InputShapeOption = None,
    pin: PinOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Every verdict, names in full.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Tell what happened to each node and why."""
    if model.suffix.lower() == ".onnx":
        from arenite.driver.explain_onnx import explain_onnx_file  # noqa: PLC0415 - heavy

        shapes, pins = dict(map(parse_shape, input_shape or ())), dict(map(parse_pin, pin or ()))
        said = explain_onnx_file(model, node=node, pass_name=pass_name, input_shapes=shapes, pins=pins)
        if as_json:
            print_json(said.to_json())
        else:
            say(said.to_text(whole=everything))
        return
    if input_shape or pin:
        raise UsageError("--input-shape and --pin are for .onnx models; this one is a .tflite")
    from arenite.driver.explain import explain_model  # noqa: PLC0415 - heavy

    found = explain_model(model, node=node, pass_name=pass_name, target=target)
    if as_json:
        print_json(found.to_json())
    else:
        say(found.to_text(whole=everything))
