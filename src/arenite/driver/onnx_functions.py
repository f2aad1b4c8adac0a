"""What optimising does with the functions that an onnx model defines itself."""

from collections.abc import Sequence
from functools import partial

from arenite.driver.onnx_misuse import refuse_misuse
from arenite.formats.onnx.functions import Functions, optimised_bodies
from arenite.ir.graph import Graph
from arenite.ir.model import Model
from arenite.ops.onnx.dialect import OnnxRegistry
from arenite.passes.base import Pass
from arenite.passes.cse import CommonSubexpressions
from arenite.passes.dce import DeadCodeElimination
from arenite.passes.onnx.fold import OnnxFold
from arenite.passes.onnx.inline_functions import InlineFunctions
from arenite.passes.onnx.presets import run_rounds
from arenite.passes.onnx.simplify import OnnxSimplify

_IN_BODIES = (OnnxFold, OnnxSimplify, CommonSubexpressions, DeadCodeElimination)


def with_inlining(passes: Sequence[Pass], model: Model, registry: OnnxRegistry) -> tuple[Pass, ...]:
    """The passes, where the one that writes out calls knows the functions of a model; without any, it is left out."""
    functions = Functions(model)
    sizes = {op: functions.size(op) for op in functions}
    known = InlineFunctions(partial(functions.called, registry=registry), sizes)
    return tuple(
        known if isinstance(each, InlineFunctions) else each
        for each in passes
        if sizes or not isinstance(each, InlineFunctions)
    )


def with_smaller_bodies(model: Model, passes: Sequence[Pass]) -> Model:
    """The model where the bodies of its functions are optimised, by those passes that need not know who calls.

    Raises:
        ModelError: nodes have operands or results that their operators do not.
    """
    inside = [each for each in passes if isinstance(each, _IN_BODIES)]

    def optimise(graph: Graph, registry: OnnxRegistry) -> bool:
        refuse_misuse(graph, registry)
        return any(row.changed for row in run_rounds(graph, inside, registry).rows)

    return optimised_bodies(model, optimise)
