"""How scales and shifts stand to layers: beside them, or with nodes between that only move elements."""

from dataclasses import dataclass

from arenite._base.remarks import Reason
from arenite.ir.graph import Node, Use, Value
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.passes.onnx.fuse_layers import MATMUL, Layer, is_layer
from arenite.passes.onnx.fuse_operands import data_operands, is_affine

SHARED = Reason(
    "shared-weights", "'{layer}' shares the weights %{value}; copies would take {nbytes} bytes more, {limit} at most"
)

_VIEWS = frozenset(f"onnx.{op}" for op in ("Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity"))
_FARTHEST = 8
"""How many nodes may be between."""


@dataclass(frozen=True)
class Place:
    """A layer near a node.

    Attributes:
        layer: the layer.
        holder: the Add of its bias when it is a MatMul that has one.
        values: those between layer and node, that of the node's side first.
        is_moved: whether nodes between move elements: channels are not where the layer has them.
    """

    layer: Node
    holder: Node | None
    values: tuple[Value, ...]
    is_moved: bool


def layer_above(node: Node) -> Place | None:
    """The layer that gives what a node scales or shifts."""
    for value in data_operands(node):
        values = [value]
        while len(values) <= _FARTHEST and _is_view(values[-1].producer):
            producer = values[-1].producer
            assert producer is not None
            values.append(producer.operand(0))
        is_moved, holder = len(values) > 1, values[-1].producer
        if holder is not None and _holds(holder):
            values.append(data_operands(holder)[0])
        else:
            holder = None
        layer = values[-1].producer
        if layer is not None and is_layer(layer):
            return Place(layer, holder, tuple(values), is_moved)
    return None


def layer_below(node: Node) -> Place | None:
    """The layer that takes what a node gives as its data."""
    values = [node.results[0]]
    for _ in range(_FARTHEST + 1):
        uses = [use for use in values[-1].uses if use.index == 0]
        layer = next((use.node for use in uses if is_layer(use.node)), None)
        if layer is not None:
            return Place(layer, _holder_of(layer), tuple(values), len(values) > 1)
        view = next((use.node for use in uses if _is_view(use.node)), None)
        if view is None:
            return None
        values.append(view.results[0])
    return None


def _is_view(node: Node | None) -> bool:
    return node is not None and node.op in _VIEWS and len(node.results) == 1 and node.optional_operand(0) is not None


def _holds(node: Node) -> bool:
    """Whether a node adds a constant to what a MatMul gives."""
    data = data_operands(node) if node.op == "onnx.Add" and is_affine(node) else ()
    return len(data) == 1 and data[0].producer is not None and data[0].producer.op == MATMUL


def _holder_of(layer: Node) -> Node | None:
    """The Add that gives a MatMul its bias, when nothing else reads the product."""
    use = _only_use(layer.result)
    if use is None or use.node.graph is not layer.graph:
        return None
    return use.node if _holds(use.node) else None


def _only_use(value: Value) -> Use | None:
    return value.uses[0] if len(value.uses) == 1 and not value.output_of else None


def n_versions(layer: Layer) -> int:
    """How many versions of a layer's weights there will be when all that read them take what is beside them.

    Layers that have the same operators beside them will read the same weights again.
    """
    return len({_version(use) for use in layer.weight.uses}) + len(layer.weight.output_of)


def _version(use: Use) -> object:
    node = use.node
    if use.index != 1 or not is_layer(node):
        return "as it is"
    after, before = _only_use(node.result), node.operand(0)
    kinds = (
        _kind(after.node) if after is not None else None,
        _kind(before.producer) if before.producer is not None and _only_use(before) is not None else None,
    )
    assert isinstance(node.attrs, OnnxAttrs)
    return (node.op, node.attrs.get("group"), node.attrs.get("transB"), kinds) if any(kinds) else "as it is"


def _kind(node: Node) -> object:
    """Equal for nodes that scale and shift alike; None for others."""
    if not is_affine(node):
        return None
    return node.op, node.attrs, tuple(value if value.is_constant else None for value in node.present_operands)
