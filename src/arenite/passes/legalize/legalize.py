"""From a graph of the onnx dialect to one of the core dialect, channels last."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from arenite._base.collect import collect
from arenite._base.errors import ModelError
from arenite.ir.graph import Graph, Node, Value
from arenite.ir.opdef import OpError, Registry
from arenite.ir.rewriter import Rewriter
from arenite.ir.types import TensorType
from arenite.ops.onnx.dialect import OLDEST_OPSET, OnnxRegistry
from arenite.ops.onnx.names import split_op
from arenite.passes.legalize.orders import (
    Order,
    as_in_onnx,
    before_transpose,
    channels_last,
    moved,
    moves_nothing,
    without_units,
)
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.reshaping import reshaped_for
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.site import Site, attributes
from arenite.passes.onnx.facts import Facts

_MOST_NAMED = 5
"""How many nodes of one kind a message names."""


@dataclass(frozen=True)
class Placement:
    """In which order the dimensions of an input or output are.

    Attributes:
        name: of the input or output.
        dims: as ONNX has them.
        order: dimension i of the tensor is dimension `order[i]` of ONNX's.
    """

    name: str
    dims: tuple[int, ...]
    order: Order

    @property
    def moved(self) -> tuple[int, ...]:
        """The dimensions of the tensor."""
        return moved(self.dims, self.order)

    @property
    def is_as_in_onnx(self) -> bool:
        return self.order == as_in_onnx(len(self.dims))


@dataclass(frozen=True)
class Legalized:
    """A graph of the core dialect, and how its inputs and outputs lie."""

    graph: Graph
    inputs: tuple[Placement, ...]
    outputs: tuple[Placement, ...]


def legalization_rules() -> Mapping[str, Rule]:
    """The rules by the op of the node that they take."""
    rules = [each for each in collect("arenite.passes.legalize", "RULES") if isinstance(each, Rule)]
    return {f"onnx.{rule.operator}": rule for rule in rules}


def legalize(
    graph: Graph,
    registry: OnnxRegistry,
    core: Registry,
    *,
    keep_layouts: frozenset[str] = frozenset(),
    most_nodes: int | None = None,
) -> Legalized:
    """Say a graph in the core dialect. It is left as it is.

    An input comes in the order that its readers want, an output goes in the order in which it lies; no transpose is
    made for either.

    Args:
        graph: of the onnx dialect, without nested graphs.
        registry: the model's operators.
        core: the ops of the core dialect.
        keep_layouts: names of inputs and outputs whose dimensions stay in the order that ONNX has them in.
        most_nodes: how many nodes the result may have; None: any number.

    Raises:
        ModelError: shapes are not known, or nodes have no counterpart: all of them at once. Or nodes are too many.
    """
    facts, rules = Facts(graph, registry), legalization_rules()
    refused = _Refused()
    for node in graph.nodes:
        if node.op not in rules:
            refused.unknown(node)
    _refuse_unknown_inputs(graph, facts)
    site = Site(facts, core, graph.name, _wishes(graph, facts, rules))
    inputs = _inputs(graph, site, keep_layouts)
    for name in dict.fromkeys(value.name for value in graph.outputs if value not in graph.inputs):
        site.builder.reserve(name)
    failed: set[Value] = set()
    for node in graph.nodes:
        if node.op not in rules or failed.intersection(node.present_operands):
            failed.update(node.results)
            continue
        try:
            site.enter(node)
            _refuse_old(node, registry)
            _refuse_absent(node, registry)
            rules[node.op].apply(site, node)
            _refuse_ungiven(node, site)
            _refuse_many(graph, site, most_nodes)
        except (RefusedError, OpError) as error:
            refused.form(node, str(error))
            failed.update(node.results)
    refused.throw()
    outputs = _outputs(graph, site, keep_layouts)
    _drop_unread(site.builder.graph)
    return Legalized(site.builder.graph, inputs, outputs)


class _Refused:
    """What has no counterpart, by kind."""

    def __init__(self) -> None:
        self._unknown: dict[str, list[str]] = {}
        self._forms: list[str] = []

    def unknown(self, node: Node) -> None:
        self._unknown.setdefault(node.op.removeprefix("onnx."), []).append(node.name)

    def form(self, node: Node, problem: str) -> None:
        self._forms.append(f"node '{node.name}' ({node.op.removeprefix('onnx.')}): {problem}")

    def throw(self) -> None:
        problems = [
            f"operator {operator} has no counterpart in a .tflite that Arenite knows: {_named(names)}"
            for operator, names in self._unknown.items()
        ]
        if problems or self._forms:
            raise ModelError((*problems, *self._forms))


def _refuse_old(node: Node, registry: OnnxRegistry) -> None:
    """Refuse an operator that meant something else before the oldest opset that rules know."""
    domain, _ = split_op(node.op)
    if domain or registry.opset("") >= OLDEST_OPSET:
        return
    old, new = registry.schema(node.op), OnnxRegistry({"": OLDEST_OPSET}).schema(node.op)
    if old is None or new is None or old.since_version != new.since_version:
        raise RefusedError(
            f"the model must be of opset {OLDEST_OPSET} or newer, but is of {registry.opset('')}, where this operator "
            "is another; onnx.version_converter makes it newer"
        )


def _refuse_absent(node: Node, registry: OnnxRegistry) -> None:
    """Refuse a node without an operand that its operator always has, or of an operator that its opset has not."""
    definition = registry.get(node.op)
    if not split_op(node.op)[0] and registry.schema(node.op) is None:
        raise RefusedError(f"opset {registry.opset('')} has no such operator")
    for index, operand in enumerate(() if definition is None else definition.operands):
        if not operand.optional and node.optional_operand(index) is None:
            raise RefusedError(f"operand {index} ('{operand.name}') must be there, but is absent")


def _refuse_ungiven(node: Node, site: Site) -> None:
    """Refuse a node of which somebody reads a result that its rule does not give."""
    for result in node.results:
        if result.is_read and not site.orders(result) and site.constant(result) is None:
            raise RefusedError(f"its result '{result.name}' is read, which has no counterpart")


def _refuse_many(graph: Graph, site: Site, most: int | None) -> None:
    if most is not None and len(site.builder.graph) > most:
        raise ModelError(
            f"the model becomes more than {most} operators, which is more than a .tflite file that Arenite reads can "
            f"have: {len(graph)} nodes are left of it; --outputs NAME keeps a part"
        )


def _named(names: list[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:_MOST_NAMED])
    return f"{'nodes' if names[1:] else 'node'} {shown}" + (
        f" and {len(names) - _MOST_NAMED} more" if names[_MOST_NAMED:] else ""
    )


def _refuse_unknown_inputs(graph: Graph, facts: Facts) -> None:
    problems = []
    for value in graph.inputs:
        if facts.of(value).dims is None:
            known = f"its shape is {list(value.type.shape)}" if value.type.shape is not None else "its rank is unknown"
            dims = ",".join(str(dim) if isinstance(dim, int) else "?" for dim in value.type.shape or ("?",))
            problems.append(
                f"input '{value.name}' must have a known shape, but {known}; say it: --input-shape {value.name}:{dims}"
            )
    if problems:
        raise ModelError(problems)


def _wishes(graph: Graph, facts: Facts, rules: Mapping[str, Rule]) -> Mapping[Value, Order]:
    """The order that the readers of a value want it in, where they want one."""
    wishes: dict[Value, Order] = {}
    for node in reversed(list(graph.nodes)):
        wishes.update(_wished_by(node, facts, rules, wishes))
    return wishes


def _wished_by(
    node: Node, facts: Facts, rules: Mapping[str, Rule], wishes: Mapping[Value, Order]
) -> Iterable[tuple[Value, Order]]:
    rule = rules.get(node.op)
    if rule is None or not node.operands:
        return
    first = node.optional_operand(0)
    result = next((value for value in node.results if value in wishes), node.results[0])
    ends = None if rule.around is None or first is None else rule.around(facts, node)
    if ends is not None:
        yield from _wished_through_view(*ends, facts, wishes)
    elif node.op == "onnx.Transpose" and first is not None and result in wishes:
        perm = attributes(node).integers("perm") or tuple(reversed(range(len(wishes[result]))))
        if sorted(perm) == list(range(len(wishes[result]))):
            yield first, before_transpose(wishes[result], perm)
    elif rule.flow is Flow.PLANE and first is not None:
        rank = facts.of(first).rank
        if rank is not None and rank > 2:
            yield first, channels_last(rank)
    elif rule.flow is Flow.VIEW and first is not None:
        yield from _wished_through_view(first, result, facts, wishes)
    elif rule.flow is Flow.THROUGH and result in wishes:
        for value in node.present_operands:
            if facts.of(value).rank == len(wishes[result]):
                yield value, wishes[result]


def _wished_through_view(
    first: Value, result: Value, facts: Facts, wishes: Mapping[Value, Order]
) -> Iterable[tuple[Value, Order]]:
    before, after = facts.of(first).dims, facts.of(result).dims
    if result in wishes and before is not None and after is not None and math.prod(before) == math.prod(after):
        order = reshaped_for(wishes[result], before, after)
        yield from () if order is None else [(first, order)]


def _inputs(graph: Graph, site: Site, keep_layouts: frozenset[str]) -> tuple[Placement, ...]:
    placements = []
    for value in graph.inputs:
        dims = site.dims(value)
        order = as_in_onnx(len(dims)) if value.name in keep_layouts else site.wishes.get(value, as_in_onnx(len(dims)))
        placements.append(Placement(value.name, dims, order))
        try:
            type_ = TensorType(site.dtype(value), moved(dims, order))
        except RefusedError as error:
            raise ModelError(f"input '{value.name}': {error}") from None
        site.put(value, site.builder.input(value.name, type_), order)
    return tuple(placements)


def _outputs(graph: Graph, site: Site, keep_layouts: frozenset[str]) -> tuple[Placement, ...]:
    placements: dict[Value, Placement] = {}
    taken = set(site.builder.graph.inputs)
    _refuse_unknown_outputs(graph, site)
    for value in graph.outputs:
        try:
            placements[value] = _output(value, graph, site, keep_layouts, taken, is_new=value not in placements)
        except RefusedError as error:
            raise ModelError(f"output '{value.name}': {error}") from None
    return tuple(placements[value] for value in graph.outputs)


def _output(
    value: Value, graph: Graph, site: Site, keep_layouts: frozenset[str], taken: set[Value], *, is_new: bool
) -> Placement:
    order = as_in_onnx(site.rank(value)) if value.name in keep_layouts else _order_of_output(site, value)
    core = site.get(value, order)
    # An input that is given as it comes has its name already, and so has what is given twice.
    if is_new and value not in graph.inputs:
        core = site.copied(core) if core in taken else core
        site.builder.claim(core, value.name)
        site.put(value, core, order)
    taken.add(core)
    site.builder.output(core)
    return Placement(value.name, site.dims(value), order)


def _refuse_unknown_outputs(graph: Graph, site: Site) -> None:
    """Refuse outputs of which no node has asked for their shapes, which are not known."""
    problems = []
    for value in dict.fromkeys(graph.outputs):
        try:
            site.dims(value)
        except RefusedError as error:
            problems.append(f"output '{value.name}': {error}")
    if problems:
        raise ModelError(problems)


def _order_of_output(site: Site, value: Value) -> Order:
    """Channels last where they lie so; a Transpose at the very end is what the user wants."""
    own = as_in_onnx(site.rank(value))
    order = without_units(site.lie(value)[1])
    if value.producer is None:
        return order
    if value.producer.op == "onnx.Transpose":
        return own
    last, dims = channels_last(len(own)) if len(own) > 2 else own, site.dims(value)
    if order == last:
        return order
    return own if moves_nothing(order, own, dims) or not moves_nothing(order, last, dims) else last


def _drop_unread(graph: Graph) -> None:
    """Remove what was made on the way, and nobody reads."""
    rewriter = Rewriter(graph)
    for node in reversed(list(graph.nodes)):
        if not any(value.is_read for value in node.results):
            rewriter.erase(node)
