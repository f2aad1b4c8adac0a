"""What onnx graphs must be like before anybody rewrites them."""

from arenite._base.errors import ModelError
from arenite.ir.graph import Graph
from arenite.ir.verifier import misused
from arenite.ops.onnx.dialect import OLDEST_OPSET, OnnxRegistry


def refuse_misuse(graph: Graph, registry: OnnxRegistry) -> None:
    """Refuse nodes with operands or results that their operators do not have; of old opsets, nothing is rewritten.

    Raises:
        ModelError: with each of them.
    """
    if registry.opset("") >= OLDEST_OPSET and (problems := misused(graph, registry)):
        raise ModelError(problems)
