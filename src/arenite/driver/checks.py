"""What must hold before a model is run or compiled: every problem is told, before any work is done."""

from arenite._base.errors import ModelError
from arenite.ir.model import Model
from arenite.ir.opdef import Registry
from arenite.ir.verifier import check, unsupported


def check_runnable(model: Model, registry: Registry) -> None:
    """Refuse a model of the onnx dialect, with operators that are not there, or with nodes that misfit their operators.

    Raises:
        ModelError: all problems of the first of these kinds that has any.
    """
    if model.format == "onnx":
        raise ModelError(
            f"{model.name} is an ONNX model: it can be run by the interpreter, but not compiled; give a .tflite"
        )
    if problems := unsupported(model.graph, registry):
        raise ModelError(problems)
    check(model.graph, registry)
