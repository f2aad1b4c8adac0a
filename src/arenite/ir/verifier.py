"""Checks graphs: structure, and each node against its op. All problems are found, not the first."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from arenite._base.errors import ModelError
from arenite.ir.graph import Graph, Node, Use, Value
from arenite.ir.opdef import OpCall, OpDef, OpError, Registry, Trait
from arenite.ir.types import Dim, Quantization, TensorType

MAX_NBYTES = 2**31 - 1
"""The largest tensor: offsets and sizes are int32 on the device."""

_SHOWN = 5
_LEAST_FLOAT32, _LARGEST_FLOAT32 = 2.0**-149, (2 - 2.0**-23) * 2.0**127


def check(graph: Graph, registry: Registry, *, allow_unknown: bool = False) -> None:
    """Raises what `verify` finds.

    Raises:
        ModelError: with every problem.
    """
    if problems := verify(graph, registry, allow_unknown=allow_unknown):
        raise ModelError(problems)


def verify(graph: Graph, registry: Registry, *, allow_unknown: bool = False) -> list[str]:
    """Everything that is wrong with a graph, a sentence each.

    Args:
        graph: may be broken in any way that the classes of `ir.graph` can hold.
        registry: the ops that there are.
        allow_unknown: whether nodes of other ops are let through unseen.
    """
    problems = structure_problems(graph)
    missing = None if allow_unknown else unsupported(graph, registry)
    if missing is not None:
        problems.append(missing)
    # Other dialects never reach a device.
    limit_nbytes = MAX_NBYTES if registry.dialect == "core" else 2**63
    unsound: set[Value] = set()
    for value in _all_values(graph):
        found = [f"%{value.name}: {text}" for text in _value_problems(value, limit_nbytes)]
        problems.extend(found)
        unsound.update([value] if found else [])
    for node in graph.all_nodes:
        # What ops say of types relies on types that can be.
        if node.op in registry and unsound.isdisjoint((*node.present_operands, *node.results)):
            problems.extend(f"node '{node.name}' ({node.op}): {text}" for text in _op_problems(node, registry[node.op]))
    return problems


def misused(graph: Graph, registry: Registry) -> list[str]:
    """Nodes with fewer or more operands or results than their ops have, a sentence each; in nested graphs too."""
    return [
        f"node '{node.name}' ({node.op}): {text}"
        for node in graph.all_nodes
        if node.op in registry
        for text in operand_problems(node, registry[node.op])
    ]


def unsupported(graph: Graph, registry: Registry, *, listing: bool = True) -> str | None:
    """One message about every node whose op the registry lacks: which ops, where, where to see what there is.

    None when there is no such node.

    Args:
        graph: the graph, nested ones included.
        registry: the ops that there are.
        listing: whether to name the nearest, and the command that lists all.
    """
    where: dict[str, list[str]] = {}
    for node in graph.all_nodes:
        if node.op not in registry:
            where.setdefault(node.op, []).append(node.name)
    if not where:
        return None
    lines = [f"{_count(len(where), 'operator')} in this model {'is' if len(where) == 1 else 'are'} not supported:"]
    for op, names in where.items():
        near = registry.nearest(op.rpartition(".")[2].lower()) if listing else []
        hint = f" (the nearest that is: {', '.join(near)})" if near else ""
        lines.append(f"  {op}, at {_count(len(names), 'node')}: {_shortened(names)}{hint}")
    if listing:
        lines.append(f"  {_count(len(list(registry)), 'operator')} can be had: see 'arenite ops'")
    return "\n".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _shortened(names: list[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


# Walks, nested graphs included


def _all_values(graph: Graph) -> dict[Value, None]:
    found = dict.fromkeys(graph.values())
    for node in graph.nodes:
        for region in node.regions:
            found.update(_all_values(region))
    return found


# Structure


def structure_problems(graph: Graph) -> list[str]:
    """What is wrong with a graph whatever its ops mean: order, names, producers, uses."""
    problems = list(_order_problems(graph, frozenset()))
    problems.extend(_use_problems(graph))
    return problems


def _order_problems(graph: Graph, outer: frozenset[Value]) -> Iterator[str]:
    later = set(chain.from_iterable(node.results for node in graph.nodes))
    defined = set(outer)
    for value in graph.inputs:
        if value in defined or value.is_constant:
            yield f"graph input %{value.name} is {'a constant' if value.is_constant else 'listed twice'}"
        defined.add(value)
    for node in graph.nodes:
        who = f"node '{node.name}' ({node.op})"
        for value in node.present_operands:
            yield from _definition_problems(f"{who} reads", value, defined, later)
        for region in node.regions:
            yield from _order_problems(region, frozenset(defined))
        for value in node.results:
            if value in defined or value.is_constant:
                yield f"{who} computes %{value.name}, which has its value already"
            defined.add(value)
    for value in graph.outputs:
        yield from _definition_problems(f"graph '{graph.name}' gives", value, defined, later)
    if sum(1 for _ in graph.nodes) != len(graph):
        yield f"graph '{graph.name}' counts {len(graph)} nodes and holds {sum(1 for _ in graph.nodes)}"
    values = [value for value in graph.values() if value not in outer]
    yield from _repeated("value", (f"%{value.name}" for value in values))
    yield from _repeated("node", (f"'{node.name}'" for node in graph.nodes))


def _definition_problems(who: str, value: Value, defined: set[Value], later: set[Value]) -> Iterator[str]:
    if value in defined or value.is_constant or value.is_variable:
        return
    if value in later:
        yield f"{who} %{value.name}, which is computed only after it: the nodes are out of order or form a cycle"
    else:
        yield f"{who} %{value.name}, which is no graph input, constant or variable, and which no node computes"


def _repeated(noun: str, names: Iterable[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{count} {noun}s are called {name}"


def _use_problems(graph: Graph) -> Iterator[str]:
    uses: dict[Value, set[Use]] = {value: set() for value in _all_values(graph)}
    producers: dict[Value, Node] = {}
    for node in graph.all_nodes:
        for index, value in enumerate(node.operands):
            if value is not None:
                uses[value].add(Use(node, index))
        producers.update((value, node) for value in node.results)
    for value, expected in uses.items():
        if set(value.uses) != expected:
            yield f"%{value.name} records {_readers(value.uses)}, but is read by {_readers(expected)}"
        if value.producer is not producers.get(value):
            yield f"%{value.name} records producer {value.producer}, but is computed by {producers.get(value)}"


def _readers(uses: Iterable[Use]) -> str:
    return ", ".join(sorted(f"'{use.node.name}' operand {use.index}" for use in uses)) or "nobody"


# Values


def _value_problems(value: Value, limit_nbytes: int) -> Iterator[str]:
    type_ = value.type
    if type_.shape is not None and any(isinstance(dim, int) and dim < 0 for dim in type_.shape):
        yield f"a dimension is negative in {type_}"
    elif type_.is_static and type_.nbytes > limit_nbytes:
        yield f"{type_.dtype}{list(type_.dims)} takes {type_.nbytes} bytes; at most {limit_nbytes} are possible"
    if value.constant is not None:
        declared = type_.dtype.numpy, type_.shape
        if (value.constant.dtype, value.constant.shape) != declared:
            yield f"its contents are {value.constant.dtype}{list(value.constant.shape)}, its type is {type_}"
    if type_.quantization is not None:
        yield from _quantization_problems(type_, type_.quantization)


def _quantization_problems(type_: TensorType, q: Quantization) -> Iterator[str]:
    if len(q.scales) != len(q.zero_points):
        yield f"quantization has {len(q.scales)} scales and {len(q.zero_points)} zero points"
    bad = [scale for scale in q.scales if not _LEAST_FLOAT32 <= scale <= _LARGEST_FLOAT32]
    if bad:
        yield f"a scale must be finite and greater than 0, found {bad[0]} ({_count(len(bad), 'such scale')})"
    if type_.dtype.is_integer:
        low, high = type_.dtype.limits
        outside = [z for z in q.zero_points if not low <= z <= high]
        if outside:
            yield f"a zero point of {type_.dtype} must be in [{low}, {high}], found {outside[0]}"
    if q.axis is None:
        if len(q.scales) != 1:
            yield f"per-tensor quantization has one scale, found {len(q.scales)}"
        return
    if type_.shape is None:
        return
    if not 0 <= q.axis < len(type_.shape):
        yield f"quantized dimension {q.axis} of a tensor with {len(type_.shape)} dimensions"
        return
    channels = type_.shape[q.axis]
    if isinstance(channels, int) and channels != len(q.scales):
        yield f"dimension {q.axis} has {channels} channels, its quantization has {_count(len(q.scales), 'scale')}"


# Nodes against their ops


def _op_problems(node: Node, definition: OpDef) -> Iterator[str]:
    structural = list(chain(operand_problems(node, definition), _attrs_problems(node, definition)))
    yield from structural
    if structural:
        return
    call = OpCall.of(node)
    for constraint in definition.constraints:
        try:
            found = constraint.holds(call)
        except OpError as error:
            found = str(error)
        if found is not True:
            # Later constraints and `infer` may rely on earlier ones.
            yield f"{constraint.text}{f'; {found}' if isinstance(found, str) and found else ''}"
            return
    try:
        inferred = definition.infer(call)
    except OpError as error:
        yield str(error)
        return
    for value, expected in zip(node.results, inferred, strict=True):
        if value.type.dtype is not expected.dtype or not _shapes_agree(value.type.shape, expected.shape):
            yield f"its result %{value.name} is declared {_plain(value.type)}, but must be {_plain(expected)}"


def operand_problems(node: Node, definition: OpDef) -> Iterator[str]:
    """What is wrong with how many operands and results a node has."""
    expected, found = definition.operands, node.operands
    variadic = bool(expected) and expected[-1].variadic
    # By place: operands that must be there may stand behind such that need not.
    missing = [operand.name for operand in expected[len(found) :] if not operand.optional and not operand.variadic]
    if len(found) > len(expected) and not variadic:
        names = ", ".join(operand.name for operand in expected)
        yield f"takes at most {_count(len(expected), 'operand')} ({names}), found {len(found)}"
    if missing:
        yield f"operands are missing: {', '.join(missing)}"
    for operand, value in zip(expected, found, strict=False):
        if value is None and not operand.optional:
            yield f"operand '{operand.name}' is absent, but is needed"
    if variadic and not found[len(expected) - 1 :] and not expected[-1].optional:
        yield f"needs at least one value for '{expected[-1].name}'"
    if variadic and not expected[-1].optional and any(value is None for value in found[len(expected) :]):
        yield f"a value of '{expected[-1].name}' is absent"
    given, named = len(node.results), len(definition.result_names)
    if definition.n_results is not None:
        fewest, most = definition.n_results
        if not fewest <= given <= most:
            yield f"gives between {fewest} and {most} results, found {given}"
    elif given < named if definition.variadic_results else given != named:
        names = ", ".join(definition.result_names)
        least = "at least " if definition.variadic_results else ""
        yield f"gives {least}{_count(named, 'result')} ({names}), found {given}"


def _attrs_problems(node: Node, definition: OpDef) -> Iterator[str]:
    if definition.has(Trait.ONCE):
        if len(node.regions) != 1:
            yield f"runs one region, found {len(node.regions)}: there is no such subgraph, or it is run by another's"
        elif node.regions[0].inputs:
            yield f"runs a region that takes nothing, found one with {_count(len(node.regions[0].inputs), 'input')}"
        else:
            # What it reads of the graph around it is not there yet when it runs.
            for problem in _order_problems(node.regions[0], frozenset()):
                yield f"runs a region on its own, in which {problem}"
    if type(node.attrs) is not definition.attrs:
        yield f"attributes must be {definition.attrs.__name__}, found {type(node.attrs).__name__}"


def _shapes_agree(one: tuple[Dim, ...] | None, other: tuple[Dim, ...] | None) -> bool:
    """Whether two shapes can be the same; an unknown rank or symbolic dimension agrees with all."""
    if one is None or other is None:
        return True
    if len(one) != len(other):
        return False
    return all(a == b or isinstance(a, str) or isinstance(b, str) for a, b in zip(one, other, strict=True))


def _plain(type_: TensorType) -> str:
    return str(TensorType(type_.dtype, type_.shape))
