"""Graphs as plain records, and what became of each node of the model."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from arenite._base.dtypes import DType
from arenite._base.remarks import Remark, RemarkKind
from arenite._base.text import short_name, shortened
from arenite.ir.graph import Graph, Node, Value
from arenite.ir.types import TensorType
from arenite.report.result import GraphsRecord, NodeRecord


def graphs_record(before: Sequence[NodeRecord], after: Sequence[NodeRecord], remarks: Sequence[Remark]) -> GraphsRecord:
    """Both graphs; what became of each node of the first that is not in the second, what changed of each that is."""
    heirs: dict[str, NodeRecord] = {}
    for node in after:
        for origin in node.origin:
            if origin not in heirs or node.name == origin:
                heirs[origin] = node
    # A node is still there as one node of its op: of equal ones that became one, the others went.
    names = {node.name for node in before}
    successors = {heirs[n.name].name: n.name for n in reversed(before) if n.name in heirs and heirs[n.name].op == n.op}
    successors.update((name, name) for name in successors if name in names and heirs[name].name == name)
    said = _Said(remarks)
    told = []
    changes: dict[str, tuple[str, str]] = {}
    for node in before:
        heir = heirs.get(node.name)
        if heir is not None and heir.op == node.op and successors.get(heir.name) == node.name:
            changes[heir.name] = _change(node, heir, (before, after), said)
            told.append(_changed(node, changes[heir.name]))
        else:
            told.append(_fated(node, heir, said.of(node.name) or said.of(node.inside)))
    return GraphsRecord(tuple(told), tuple(_changed(node, changes.get(node.name, ("", ""))) for node in after))


def _changed(node: NodeRecord, change: tuple[str, str]) -> NodeRecord:
    return replace(node, change=change[0], reason=change[1]) if change[0] else node


def _change(
    node: NodeRecord, heir: NodeRecord, graphs: tuple[Sequence[NodeRecord], Sequence[NodeRecord]], said: "_Said"
) -> tuple[str, str]:
    """What passes changed of a node that stays, and the slug of the last reason; both empty for nothing."""
    why = said.about(node.name)
    # The name stands beside it; converters make it hundreds of characters long.
    texts = [f"{r.pass_name}: {shortened(r.text, {node.name: short_name(node.name)})}" for r in why]
    reads = [(graphs[0][i], graphs[1][j]) for i, j in zip(node.inputs, heir.inputs, strict=False)]
    read = next(((old, new) for old, new in reads if _differ(old.shape, new.shape)), None)
    if _differ(node.shape, heir.shape):
        texts.insert(0, f"{node.shape} → {heir.shape}")
    elif read is not None and len(node.inputs) == len(heir.inputs):
        by = said.of(read[0].name)
        texts.insert(0, f"reads {read[0].shape} → {read[1].shape}{f' ({by.pass_name})' if by else ''}")
        why = why or ((by,) if by else ())
    if texts and not why and (cause := said.of(node.name)):
        why = (cause,)
        texts.append(f"{cause.pass_name}: {cause.text}")
    return "; ".join(texts), why[-1].reason.slug if why else ""


def _differ(before: str, after: str) -> bool:
    """Whether two types as `_label` writes them are surely different: what is not known may be the same."""
    (old_dims, old_dtype), (new_dims, new_dtype) = _split(before), _split(after)
    if old_dtype and new_dtype and old_dtype != new_dtype:
        return True
    known = all(dim.isdecimal() for dim in (*old_dims, *new_dims))
    if len(old_dims) != len(new_dims):
        return known and bool(old_dims) and bool(new_dims)
    pairs = zip(old_dims, new_dims, strict=True)
    return any(old.isdecimal() and new.isdecimal() and old != new for old, new in pairs)


def _split(label: str) -> tuple[list[str], str]:
    """Dimensions and dtype of a label."""
    dims, _, dtype = label.rpartition(" ")
    return (dims.split("x") if dims else []), dtype


class _Said:
    """What passes changed, by the nodes that it is about."""

    def __init__(self, remarks: Sequence[Remark]) -> None:
        self._by_subject: dict[str, Remark] = {}
        self._by_origin: dict[str, Remark] = {}
        self._about: dict[str, dict[tuple[str, str], Remark]] = {}
        for remark in remarks:
            if remark.kind is RemarkKind.PASSED:
                self._by_subject[remark.subject] = remark
                self._about.setdefault(remark.subject, {})[remark.pass_name, remark.text] = remark
                for origin in remark.origin:
                    self._by_origin.setdefault(origin, remark)

    def about(self, name: str) -> tuple[Remark, ...]:
        """All whose subject it is, each once."""
        return tuple(self._about.get(name, {}).values())

    def of(self, name: str) -> Remark | None:
        """The last that names it, else the first about a node that stands for it."""
        return self._by_subject.get(name) or self._by_origin.get(name)


def _fated(node: NodeRecord, heir: NodeRecord | None, said: Remark | None) -> NodeRecord:
    why = f"{said.pass_name}: {said.text}" if said is not None else ""
    if heir is None:
        with_holder = f"it was inside '{node.inside}'; " if node.inside and said and said.subject == node.inside else ""
        fate = f"{with_holder}{why}" if why else "no node stands for it"
    else:
        verb = "became" if heir.origin == (node.name,) else "went into"
        fate = f"{verb} {heir.op.removeprefix('onnx.')} '{heir.name}'" + (f"; {why}" if why else "")
    return replace(node, fate=fate, reason=said.reason.slug if said is not None else "")


def node_records(
    graph: Graph, type_of: Callable[[Value], TensorType] = lambda value: value.type
) -> tuple[NodeRecord, ...]:
    """A record for each node in schedule order; those of nested graphs follow the node that holds them."""
    nodes = list(_all_nodes(graph, ""))
    place = {node: index for index, (node, _) in enumerate(nodes)}
    records = []
    for node, holder in nodes:
        sources = [place[v.producer] for v in node.present_operands if v.producer in place]
        label = _label(type_of(node.results[0])) if node.results else ""
        inputs = tuple(dict.fromkeys(sources))
        records.append(NodeRecord(node.name, node.op, label, inputs, node.origin, inside=holder))
    return tuple(records)


def _label(type_: TensorType) -> str:
    """A type in short; sizes that nobody named are question marks."""
    dims = [str(dim) if isinstance(dim, int) or not dim.startswith("?") else "?" for dim in type_.shape or ()]
    dtype = "" if type_.dtype is DType.OPAQUE else str(type_.dtype)
    return f"{'x'.join(dims)} {dtype}".strip()


def _all_nodes(graph: Graph, holder: str) -> Iterator[tuple[Node, str]]:
    """Every node, and the name of the one whose nested graph it is in."""
    for node in graph.nodes:
        yield node, holder
        for region in node.regions:
            yield from _all_nodes(region, node.name)
