"""Attributes that operators must have, and of which types."""

from collections.abc import Iterator, Mapping

from arenite.ir.attrs import AttrValue, RegionRef
from arenite.ir.graph import Graph, Node
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.dialect import OnnxRegistry
from arenite.ops.onnx.names import PREFIX, is_onnx, split_op
from arenite.ops.onnx.protos import value_kind


def unfit_attributes(graph: Graph, registry: OnnxRegistry) -> list[str]:
    """Attributes that nodes lack, or that are of another type than the operator of their opset has; also in graphs.

    An attribute that the operator does not have is left alone unless it is a graph, which nobody would run.
    """
    kinds: dict[str, _Kinds | None] = {}
    problems = []
    for node in graph.all_nodes:
        if node.op not in kinds:
            kinds[node.op] = _kinds(node.op, registry)
        known = kinds[node.op]
        if known is None:
            continue
        operator, opset = node.op.removeprefix(PREFIX), registry.opset(split_op(node.op)[0])
        problems += [
            f"node '{node.name}' ({operator}): {text} in opset {opset}" for text in _unfit(node, operator, known)
        ]
    return problems


_Kinds = Mapping[str, tuple[str, bool]]
"""Type of each attribute that an operator has, and whether it must be there."""


def _kinds(op: str, registry: OnnxRegistry) -> _Kinds | None:
    schema = registry.schema(op) if is_onnx(op) else None
    if schema is None:
        return None
    return {
        name: (str(each.type).rpartition(".")[2], each.required) for name, each in sorted(schema.attributes.items())
    }


def _unfit(node: Node, operator: str, kinds: _Kinds) -> Iterator[str]:
    attrs = node.attrs if isinstance(node.attrs, OnnxAttrs) else OnnxAttrs()
    for name, (_, required) in kinds.items():
        if required and not attrs.has(name):
            yield f"attribute '{name}' is missing, which {operator} must have"
    for name, value in attrs.fields:
        if name in kinds and not _fits(value, kinds[name][0]):
            yield f"attribute '{name}' is of type {value_kind(value)}, but is {kinds[name][0]}"
        elif name not in kinds and isinstance(value, RegionRef):
            yield f"attribute '{name}' is a graph, which {operator} does not have"


def _fits(value: AttrValue, kind: str) -> bool:
    """Whether a value is of a type; a list of none is of every type of lists."""
    return value_kind(value) == kind or (value == () and kind.endswith("S"))
