"""The functions that a model defines itself: their bodies as graphs, and back."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto

from arenite._base.errors import ModelError
from arenite.formats.onnx.details import OnnxDetails
from arenite.formats.onnx.external import ExternalFiles
from arenite.formats.onnx.reader import GraphReader, Reading
from arenite.formats.onnx.scopes import Scopes
from arenite.formats.onnx.writer import GraphWriter, Writing
from arenite.ir.graph import Graph, Node
from arenite.ir.model import Model
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.dialect import OnnxRegistry, is_standard
from arenite.ops.onnx.engine import onnx_registry
from arenite.ops.onnx.names import op_name
from arenite.ops.onnx.protos import write_attr
from arenite.ops.onnx.tensors import write_tensor

_BODY_IR_VERSION = 8


class Functions:
    """The functions of one model, by op name."""

    def __init__(self, model: Model) -> None:
        details = model.details if isinstance(model.details, OnnxDetails) else OnnxDetails()
        self._opsets = dict(details.opsets)
        protos = ModelProto.FromString(details.header).functions
        self._protos = {op_name(proto.domain, proto.name): proto for proto in protos}
        # Which of several overloads a call means, its name alone does not say.
        self._overloaded = {op_name(proto.domain, proto.name) for proto in protos if getattr(proto, "overload", "")}

    def __iter__(self) -> Iterator[str]:
        return iter(self._protos)

    def called_ops(self) -> set[str]:
        """The operators in the bodies."""
        return {op_name(node.domain, node.op_type) for proto in self._protos.values() for node in _nodes(proto.node)}

    def size(self, op: str) -> int:
        """How many nodes the body has, Constant not counted; 0 where it takes no call's place."""
        if is_standard(op):
            return 0
        return sum(node.op_type != "Constant" for node in self._protos[op].node)

    def registry(self, op: str) -> OnnxRegistry:
        """The operators of a function's own opsets."""
        opsets = {opset.domain: opset.version for opset in self._protos[op].opset_import}
        return onnx_registry(opsets or self._opsets, functions=tuple(self._protos.values()))

    def called(self, node: Node, registry: OnnxRegistry) -> Graph | str:
        """What a call computes, as a graph that reads nothing but its inputs; or why it cannot stand in the model.

        Args:
            node: the call; its attributes stand where the body refers to them.
            registry: of the model.
        """
        proto = self._protos[node.op]
        if is_standard(node.op):
            return "runtimes run ONNX's own operator of that name"
        if node.op in self._overloaded:
            return "it has overloads"
        if (problem := self._other_meaning(proto, registry)) is not None:
            return problem
        attrs = node.attrs if isinstance(node.attrs, OnnxAttrs) else OnnxAttrs()
        if node.regions:
            return "a graph is handed to it"
        given = {default.name: default for default in proto.attribute_proto}
        given |= {name: write_attr(name, value, _no_region) for name, value in attrs.fields}
        return self._graph(proto, given)

    def body(self, op: str) -> Graph | None:
        """The body as a graph; None when it depends on the attributes of calls, or runtimes may not run it."""
        proto = self._protos[op]
        depends = any(attribute.ref_attr_name for attribute in _attributes(proto.node))
        found = None if depends or op in self._overloaded or is_standard(op) else self._graph(proto, {})
        return None if isinstance(found, str) else found

    def _other_meaning(self, proto: FunctionProto, registry: OnnxRegistry) -> str | None:
        """How an operator means another thing in the body's opsets than in the model's; None when all mean the same."""
        own = self.registry(op_name(proto.domain, proto.name))
        for node in _nodes(proto.node):
            op = op_name(node.domain, node.op_type)
            if op in self._protos and not is_standard(op):
                continue
            here, there = registry.schema(op), own.schema(op)
            same = here is not None and there is not None and here.since_version == there.since_version
            if not same and own.opset(node.domain) != registry.opset(node.domain):
                versions = f"{own.opset(node.domain)}, and not of {registry.opset(node.domain)} as in the model"
                return f"its {node.op_type} is of opset {versions}"
        return None

    def _graph(self, proto: FunctionProto, given: Mapping[str, AttributeProto]) -> Graph | str:
        if len({*proto.input}) < len(proto.input):
            return "two of its inputs have one name"
        graph = GraphProto(name=proto.name, node=_with_attributes(proto.node, given))
        graph.input.extend(ValueInfoProto(name=name) for name in proto.input)
        graph.output.extend(ValueInfoProto(name=name) for name in proto.output)
        try:
            found = GraphReader(Reading(ExternalFiles(None), _BODY_IR_VERSION), graph).read()
        except ModelError as error:
            return error.problems[0]
        for node in found.all_nodes:
            for region in node.regions:
                # What the file says of graphs, it says by their names.
                region.name = f"{proto.name}.{region.name}"
        return found


def with_bodies(model: Model, bodies: Mapping[str, Graph]) -> Model:
    """The model where functions, by op name, have other bodies, with the same inputs and outputs."""
    details = model.details
    assert isinstance(details, OnnxDetails)
    header = ModelProto.FromString(details.header)
    for proto in header.functions:
        graph = bodies.get(op_name(proto.domain, proto.name))
        if graph is not None:
            nodes = _written(graph)
            del proto.node[:]
            proto.node.extend(nodes)
            del proto.value_info[:]
    return replace(model, details=replace(details, header=header.SerializeToString(deterministic=True)))


def without_unused(model: Model) -> tuple[Model, tuple[str, ...]]:
    """The model without the functions that nothing calls, and the names of these."""
    details = model.details
    assert isinstance(details, OnnxDetails)
    if not details.functions:
        return model, ()
    header = ModelProto.FromString(details.header)
    protos = {op_name(proto.domain, proto.name): proto for proto in header.functions}
    live: set[str] = set()
    pending = [node.op for node in model.graph.all_nodes if node.op in protos]
    while pending:
        op = pending.pop()
        if op in protos and op not in live:
            live.add(op)
            pending.extend(op_name(node.domain, node.op_type) for node in _nodes(protos[op].node))
    kept = [proto for proto in header.functions if op_name(proto.domain, proto.name) in live]
    gone = tuple(proto.name for op, proto in protos.items() if op not in live)
    if not gone:
        return model, ()
    header.ClearField("functions")
    header.functions.extend(kept)
    changed = replace(
        details,
        header=header.SerializeToString(deterministic=True),
        functions=tuple(dict.fromkeys((proto.domain, proto.name) for proto in kept)),
    )
    return replace(model, details=changed), gone


def _written(graph: Graph) -> list[NodeProto]:
    """The nodes of a body, its constants among them."""
    details = OnnxDetails(ir_version=_BODY_IR_VERSION)
    writing = Writing(details, Scopes(graph, details), write_tensor)
    proto = GraphWriter(writing, graph).write()
    constants = []
    for tensor in proto.initializer:
        node = NodeProto(op_type="Constant", output=[tensor.name])
        attribute = node.attribute.add(name="value", type=AttributeProto.TENSOR)
        tensor.ClearField("name")
        attribute.t.CopyFrom(tensor)
        constants.append(node)
    return [*constants, *proto.node]


def _no_region(index: int) -> GraphProto:
    raise ValueError("graphs are not handed to functions")


def _with_attributes(nodes: Iterable[NodeProto], given: Mapping[str, AttributeProto]) -> list[NodeProto]:
    """Copies of nodes where what refers to an attribute of the call has its value, or is not there."""
    found = []
    for node in nodes:
        copy = NodeProto()
        copy.CopyFrom(node)
        del copy.attribute[:]
        for attribute in node.attribute:
            if not attribute.ref_attr_name:
                own = copy.attribute.add()
                own.CopyFrom(attribute)
                for graph in (*([own.g] if own.HasField("g") else []), *own.graphs):
                    inner = _with_attributes(graph.node, given)
                    del graph.node[:]
                    graph.node.extend(inner)
            elif attribute.ref_attr_name in given:
                own = copy.attribute.add()
                own.CopyFrom(given[attribute.ref_attr_name])
                own.name = attribute.name
        found.append(copy)
    return found


def _nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _nodes(graph.node)


def _attributes(nodes: Iterable[NodeProto]) -> Iterator[AttributeProto]:
    for node in _nodes(nodes):
        yield from node.attribute


Optimise = Callable[[Graph, OnnxRegistry], bool]


def optimised_bodies(model: Model, optimise: Optimise) -> Model:
    """The model where the bodies of its functions went through `optimise`, which says whether it changed one."""
    functions = Functions(model)
    changed = {}
    for op in functions:
        graph = functions.body(op)
        if graph is not None and optimise(graph, functions.registry(op)):
            changed[op] = graph
    return with_bodies(model, changed) if changed else model
