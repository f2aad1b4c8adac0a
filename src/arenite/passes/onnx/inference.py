"""All inference rules, by operator of the default domain."""

from collections.abc import Mapping

from arenite.passes.onnx.facts import Infer


def inferences() -> Mapping[str, Infer]:
    """Rules by operator."""
    from arenite.passes.onnx import infer_elementwise, infer_layers, infer_movement, infer_shapes  # noqa: PLC0415

    modules = (infer_elementwise, infer_layers, infer_movement, infer_shapes)
    return {name: rule for module in modules for name, rule in module.RULES.items()}
