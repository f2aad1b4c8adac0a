"""Puts nodes in order, producers before their readers; finds cycles and names that nobody defines."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from onnx import AttributeProto, GraphProto, NodeProto

from arenite._base.errors import ModelError

_SHOWN = 8


def checked(name: str | bytes, what: str) -> str:
    """A string of a message, which is bytes when they are not UTF-8.

    Raises:
        ModelError: it is.
    """
    if not isinstance(name, str):
        raise ModelError(f"{what} is not UTF-8 text: {bytes(name[:80])!r}")
    return name


def check_texts(message: Message, what: str) -> None:
    """Look at every string in a message, and in the messages in it.

    Raises:
        ModelError: one is not UTF-8.
    """
    for field, content in message.ListFields():
        if field.type == FieldDescriptor.TYPE_STRING:
            for text in [content] if isinstance(content, (str, bytes)) else content:
                checked(text, f"{what}: a text")
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in [content] if isinstance(content, Message) else content:
                check_texts(inner, what)


@dataclass(frozen=True, eq=False)
class NodeRecord:
    """A node's message, and the names in it.

    Attributes:
        inputs, outputs: empty where absent.
        captured: what its graphs read of the graphs around them.
    """

    proto: NodeProto
    inputs: list[str]
    outputs: list[str]
    captured: tuple[str, ...]

    @staticmethod
    def of(proto: NodeProto, free: Callable[[GraphProto], set[str]]) -> "NodeRecord":
        for text in (proto.name, proto.op_type, proto.domain, *proto.input, *proto.output):
            if type(text) is not str:
                checked(text, "a name in a node")
        names: set[str] = set()
        for graph in graphs_of(proto):
            names |= free(graph)
        return NodeRecord(proto, list(proto.input), list(proto.output), tuple(sorted(names)))

    @property
    def reads(self) -> Iterator[str]:
        yield from filter(None, self.inputs)
        yield from self.captured

    def __str__(self) -> str:
        name = self.proto.name or next(filter(None, self.outputs), "")
        domain = f"{self.proto.domain}::" if self.proto.domain not in ("", "ai.onnx") else ""
        return f"node '{name}' ({domain}{self.proto.op_type})"


def graphs_of(proto: NodeProto) -> Iterator[GraphProto]:
    """The graphs among a node's attributes."""
    for attribute in proto.attribute:
        if attribute.type in (AttributeProto.GRAPH, AttributeProto.UNDEFINED) and attribute.HasField("g"):
            yield attribute.g
        elif attribute.type in (AttributeProto.GRAPHS, AttributeProto.UNDEFINED):
            yield from attribute.graphs


def all_nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """Nodes and those in their graphs."""
    for node in nodes:
        yield node
        for graph in graphs_of(node):
            yield from all_nodes(graph.node)


def free_names(proto: GraphProto) -> set[str]:
    """Names that a graph reads and does not define."""
    defined = {info.name for info in proto.input}
    defined.update(tensor.name for tensor in proto.initializer)
    defined.update(sparse.values.name for sparse in proto.sparse_initializer)
    read = {checked(info.name, "an output's name") for info in proto.output}
    for node in proto.node:
        read.update(checked(name, "a name in a node") for name in node.input)
        defined.update(node.output)
        for graph in graphs_of(node):
            read |= free_names(graph)
    return read - defined - {""}


def ordered(records: list[NodeRecord], is_known: Callable[[str], bool], where: str) -> list[NodeRecord]:
    """The nodes in an order in which they can be computed: as given when that is one.

    Args:
        records: the nodes of one graph.
        is_known: whether a name is an input, a constant, or a value of a graph around this one.
        where: begins messages.

    Raises:
        ModelError: nodes form a cycle, or read what nobody computes.
    """
    producer = {name: index for index, record in enumerate(records) for name in record.outputs if name}
    problems = [
        f"{where}{record} reads '{name}', which is no input, no initialiser, and computed by no node"
        for record in records
        for name in record.reads
        if name not in producer and not is_known(name)
    ]
    if problems:
        raise ModelError(problems)
    needs = [{producer[name] for name in record.reads if name in producer} for record in records]
    if all(not needed or max(needed) < index for index, needed in enumerate(needs)):
        return records
    return [records[index] for index in _sorted(needs, records, where)]


def _sorted(needs: list[set[int]], records: list[NodeRecord], where: str) -> list[int]:
    """Indices, each after those it needs: depth first, so that order is kept where it can be."""
    done: list[int] = []
    state = [0] * len(needs)
    for start in range(len(needs)):
        stack = [start]
        while stack:
            index = stack[-1]
            if state[index] == 0:
                state[index] = 1
                waiting = sorted(needs[index], reverse=True)
                if any(state[other] == 1 for other in waiting):
                    raise ModelError(f"{where}{_cycle_text(needs, index, records)}")
                stack.extend(other for other in waiting if state[other] == 0)
                continue
            if state[index] == 1:
                state[index] = 2
                done.append(index)
            stack.pop()
    return done


def _cycle_text(needs: list[set[int]], start: int, records: list[NodeRecord]) -> str:
    """A shortest cycle through a node that is on one or leads to one."""
    for origin in (start, *sorted(needs[start])):
        came_from: dict[int, int] = {}
        queue = [origin]
        for index in queue:
            if origin in needs[index]:
                path = [index]
                while path[-1] != origin:
                    path.append(came_from[path[-1]])
                names = [str(records[i]) for i in path]
                more = "" if len(names) <= _SHOWN else f" and {len(names) - _SHOWN} more"
                return (
                    f"the nodes form a cycle, each needs the one after it: {', '.join(reversed(names[:_SHOWN]))}{more}"
                )
            for other in sorted(needs[index]):
                if other not in came_from and other != origin:
                    came_from[other] = index
                    queue.append(other)
    return f"the nodes form a cycle at {records[start]}"
