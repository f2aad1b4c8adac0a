"""One rule of simplification at one node, without passes around it."""

from collections.abc import Mapping

import numpy as np

from arenite.formats.onnx import model_registry
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Array
from arenite.ir.model import Model
from arenite.ir.opdef import OpError
from arenite.passes.base import Context, Work
from arenite.passes.onnx.facts import Facts
from arenite.passes.onnx.rules import Rule, Site
from passes.onnx.optimizing import run


def attempt(rule: Rule, model: Model, subject: str, *feeds: Mapping[str, Array], signed_zeros: bool = True) -> str:
    """What a rule says at a node, of the graph itself; what it makes of it computes the same, bit for bit."""
    registry = model_registry(model)
    original = clone_graph(model.graph)
    (node,) = (node for node in model.graph.nodes if node.name == subject)
    work = Work("any", model.graph, Context(registry))
    try:
        outcome = rule.attempt(node, Site(work, Facts(model.graph, registry), signed_zeros))
    except OpError:
        return "ill-formed"
    for feed in feeds:
        for one, other in zip(run(model, original, feed), run(model, model.graph, feed), strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            assert one.tobytes() == other.tobytes()
    return outcome.reason.slug


def ops(model: Model) -> list[str]:
    return [node.op.removeprefix("onnx.") for node in model.graph.nodes]


def counted(*shape: int) -> Array:
    """Elements that are all different."""
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
