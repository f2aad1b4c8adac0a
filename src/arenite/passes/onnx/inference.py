"""All inference rules, by operator; those of other domains as `domain::Operator`."""

from collections.abc import Mapping

from arenite.passes.onnx import (
    infer_domains,
    infer_einsum,
    infer_elementwise,
    infer_layers,
    infer_movement,
    infer_shapes,
)
from arenite.passes.onnx.fact import Infer


def inferences() -> Mapping[str, Infer]:
    """Rules by operator."""
    modules = (infer_domains, infer_einsum, infer_elementwise, infer_layers, infer_movement, infer_shapes)
    return {name: rule for module in modules for name, rule in module.RULES.items()}
