"""What onnx graphs must be like before anybody rewrites them."""

from arenite._base.errors import ModelError
from arenite.ir.graph import Graph
from arenite.ir.verifier import misused
from arenite.ops.onnx.dialect import OLDEST_OPSET, OnnxRegistry
from arenite.ops.onnx.required import unfit_attributes


def refuse_misuse(graph: Graph, registry: OnnxRegistry) -> None:
    """Refuse nodes with operands or results that operators do not have, or without attributes that they must have.

    Of old opsets, nothing is rewritten.

    Raises:
        ModelError: with each of them.
    """
    if registry.opset("") < OLDEST_OPSET:
        return
    if problems := [*misused(graph, registry), *unfit_attributes(graph, registry)]:
        raise ModelError(problems)
