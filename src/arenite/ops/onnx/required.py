"""Attributes that operators must have."""

from arenite.ir.graph import Graph
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.dialect import OnnxRegistry
from arenite.ops.onnx.names import PREFIX, is_onnx, split_op


def absent_attributes(graph: Graph, registry: OnnxRegistry) -> list[str]:
    """Nodes without an attribute that the operator of their opset must have, a sentence each; in nested graphs too."""
    required: dict[str, list[str]] = {}
    problems = []
    for node in graph.all_nodes:
        if node.op not in required:
            required[node.op] = _required(node.op, registry)
        attrs = node.attrs if isinstance(node.attrs, OnnxAttrs) else OnnxAttrs()
        operator = node.op.removeprefix(PREFIX)
        problems += [
            f"node '{node.name}' ({operator}): attribute '{name}' is missing, which {operator} must have in opset "
            f"{registry.opset(split_op(node.op)[0])}"
            for name in required[node.op]
            if not attrs.has(name)
        ]
    return problems


def _required(op: str, registry: OnnxRegistry) -> list[str]:
    schema = registry.schema(op) if is_onnx(op) else None
    return [] if schema is None else sorted(name for name, each in schema.attributes.items() if each.required)
