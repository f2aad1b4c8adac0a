"""Legalization: graphs of the onnx dialect become graphs of the core dialect, channels last. Rules by family."""

from arenite.passes.legalize.legalize import Legalized, Placement, legalization_rules, legalize
from arenite.passes.legalize.orders import Order

__all__ = ["Legalized", "Order", "Placement", "legalization_rules", "legalize"]
