"""Writes graphs as messages, the nested ones too."""

from collections.abc import Callable
from dataclasses import dataclass

from onnx import GraphProto, NodeProto, SparseTensorProto, TensorProto, TypeProto, ValueInfoProto

from arenite.formats.onnx.details import OnnxDetails, ValueFacts
from arenite.formats.onnx.scopes import Scopes
from arenite.ir.attrs import ForeignAttrs, ProtoAttr
from arenite.ir.graph import Array, Graph, Node, Value
from arenite.ops.onnx.protos import write_node
from arenite.ops.onnx.types import write_type


@dataclass(frozen=True)
class Writing:
    """What all graphs of one model share while they are written.

    Attributes:
        tensor: makes the message of a constant.
    """

    details: OnnxDetails
    scopes: Scopes
    tensor: Callable[[Array, str], TensorProto]


class GraphWriter:
    """Writes one graph."""

    def __init__(self, writing: Writing, graph: Graph) -> None:
        self._writing = writing
        self._scopes = writing.scopes
        self._details = writing.details
        self._graph = graph
        self._facts = writing.scopes.facts(graph)
        self._is_main = writing.scopes.outer(graph) is None
        self._proto: GraphProto = GraphProto.FromString(self._facts.extra)

    def write(self) -> GraphProto:
        proto = self._proto
        proto.name = self._facts.stored_name or self._graph.name
        self._write_inputs()
        self._write_constants()
        for node in self._graph.nodes:
            self._write_node(node)
        self._write_outputs()
        self._write_value_info()
        return proto

    # Values

    def _info(self, value: Value) -> ValueInfoProto:
        """What is declared of a value: as it was, while it has the type that it had."""
        facts = self._facts.values.get(value.name, ValueFacts(value.type))
        info: ValueInfoProto = ValueInfoProto.FromString(facts.extra)
        info.name = self._scopes.name(value)
        if facts.declared and facts.type == value.type:
            info.type.CopyFrom(TypeProto.FromString(facts.declared))
        elif (type_ := write_type(value.type)) is not None:
            info.type.CopyFrom(type_)
        return info

    def _write_inputs(self) -> None:
        if not self._is_main or self._details.ir_version >= 4:
            self._proto.input.extend(self._info(value) for value in self._graph.inputs)
            for value in self._graph.inputs:
                if self._is_main and (array := self._details.defaults.get(value.name)) is not None:
                    self._proto.initializer.append(self._tensor(array, value))
            return
        # Before version 4 every initialiser is an input too.
        constants = {v.name: v for v in self._scopes.held(self._graph) if not self._is_constant_node(v)}
        values = {value.name: value for value in self._graph.inputs} | constants
        order = {name: position for position, name in enumerate(self._facts.input_order)}
        for name in sorted(values, key=lambda name: order.get(name, len(order))):
            self._proto.input.append(self._info(values[name]))

    def _tensor(self, array: Array, value: Value) -> TensorProto:
        proto = self._writing.tensor(array, self._scopes.name(value))
        if extra := self._facts.initializers.get(value.name):
            proto.MergeFrom(TensorProto.FromString(extra))
        return proto

    def _is_constant_node(self, value: Value) -> bool:
        """Whether a constant is written as a node: where initialisers would become inputs, and where it was one."""
        if self._is_main and self._details.ir_version >= 4:
            return False
        return (self._details.ir_version < 4 and not self._is_main) or value.name in self._facts.constant_nodes

    def _write_constants(self) -> None:
        for value in self._scopes.held(self._graph):
            assert value.constant is not None
            tensor = self._tensor(value.constant, value)
            if not self._is_constant_node(value):
                self._proto.initializer.append(tensor)
                continue
            node = self._proto.node.add(op_type="Constant", output=[tensor.name])
            if name := self._facts.constant_nodes.get(value.name, ""):
                node.name = name
            attribute = node.attribute.add(name="value", type=4)
            tensor.ClearField("name")
            attribute.t.CopyFrom(tensor)

    def _write_outputs(self) -> None:
        own = {*self._graph.inputs, *self._scopes.held(self._graph)}
        own.update(value for node in self._graph.nodes for value in node.results)
        for value in self._graph.outputs:
            info = self._info(value)
            if value not in own:
                # A nested graph may not give a value of a graph around it as it is.
                info.name = self._copied(value)
            self._proto.output.append(info)

    def _copied(self, value: Value) -> str:
        copy = f"{self._scopes.name(value)}/{self._graph.name}"
        if all(copy not in node.output for node in self._proto.node):
            self._proto.node.add(op_type="Identity", input=[self._scopes.name(value)], output=[copy])
        return copy

    def _write_value_info(self) -> None:
        ends = {*self._graph.inputs, *self._graph.outputs}
        values = [*self._scopes.held(self._graph), *(v for node in self._graph.nodes for v in node.results)]
        for value in values:
            if value not in ends and value.name in self._facts.declared:
                info = self._info(value)
                # A value that took another one's name may be of no known type, of which there is nothing to declare.
                if info.HasField("type"):
                    self._proto.value_info.append(info)

    # Nodes

    def _write_node(self, node: Node) -> None:
        if self._write_sparse(node):
            return
        proto = write_node(node, self._scopes.name, lambda region: GraphWriter(self._writing, region).write())
        proto.name = node.name
        facts = self._details.nodes.get(node.name)
        if facts is not None and facts.op == node.op:
            proto.MergeFrom(NodeProto.FromString(facts.extra))
            proto.name = facts.stored_name
            if not facts.stored_name:
                proto.ClearField("name")
        self._proto.node.append(proto)

    def _write_sparse(self, node: Node) -> bool:
        """Write a node as the sparse initialiser that it was, if it was one."""
        if len(node.results) != 1 or node.result.name not in self._facts.sparse:
            return False
        value = node.attrs.as_mapping().get("sparse_value") if isinstance(node.attrs, ForeignAttrs) else None
        if not isinstance(value, ProtoAttr):
            return False
        proto = SparseTensorProto.FromString(value.data)
        proto.values.name = self._scopes.name(node.result)
        self._proto.sparse_initializer.append(proto)
        return True
