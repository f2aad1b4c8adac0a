"""What is known of the elements of a value from the node that computes it."""

import numpy as np

from arenite.ir.attrs import Activation
from arenite.ir.graph import Node, Value

_FROM_ZERO = frozenset({"relu", "relu6", "relu_0_to_1"})
_UNMOVED = frozenset({"max_pool2d", "reshape", "squeeze", "expand_dims", "transpose"})


def least_element(value: Value) -> float:
    """A number, as stored, that no element is below; -infinity where nothing is known of floats."""
    node = value.producer
    while node is not None and node.op in _UNMOVED and not _clamps(node):
        source = node.operand(0)
        if source.type.quantization != value.type.quantization:
            break
        value, node = source, source.producer
    if value.is_constant and value.type.nelem:
        return float(np.asarray(value.constant).min())
    if node is not None and (node.op in _FROM_ZERO or _clamps(node)):
        quantization = value.type.quantization
        return 0.0 if quantization is None else float(quantization.zero_points[0])
    return float(value.type.dtype.limits[0]) if value.type.dtype.is_integer else -np.inf


def _clamps(node: Node) -> bool:
    return getattr(node.attrs, "activation", None) in (Activation.RELU, Activation.RELU6)
