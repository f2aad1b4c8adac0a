"""What else a user can ask for when something has no counterpart: more constants."""

from collections.abc import Iterator, Sequence
from shlex import quote

from arenite._base.dtypes import DType
from arenite._base.text import first_of
from arenite.driver.optimize_result import OptimizeResult
from arenite.ir.graph import Graph, Node, Value
from arenite.ir.model import Model
from arenite.passes.fold import TOO_LARGE

_MOST_NAMED = 5
"""How many values a sentence names."""

_DECIDED = {"onnx.If": 1, "onnx.Loop": 2}
"""How many operands, the first ones, say what a node runs."""


def hints(optimized: OptimizeResult, model: Model) -> Iterator[str]:
    """What to ask for, a sentence each.

    Args:
        optimized: what was said of the model's nodes before they were refused.
        model: of the onnx dialect, as it was refused.
    """
    if defaults := with_defaults(model):
        names = listed(defaults)
        yield f"inputs with default values, which callers may replace: {names}; --freeze-defaults makes them constants"
    yield from _pins(model.graph)
    left = {each.subject: each.arguments for each in optimized.remarks if each.reason is TOO_LARGE}
    present = {node.name for node in model.graph.nodes}
    if large := [name for name in left if name in present]:
        nbytes = max(int(str(left[name]["gained"])) for name in large)
        names = listed(large)
        yield f"what could be computed now takes up to {nbytes} bytes each: {names}; --fold-max-bytes {nbytes} does it"


def with_defaults(model: Model) -> list[str]:
    """Names of inputs that have default values."""
    defaults = getattr(model.details, "defaults", {})
    return [value.name for value in model.graph.inputs if value.name in defaults]


def listed(names: Sequence[str]) -> str:
    """The first of several names."""
    return first_of(names, _MOST_NAMED)


def _pins(graph: Graph) -> Iterator[str]:
    """Which inputs say what Ifs and Loops run, where all that do are single integers or bools."""
    decided: dict[tuple[Value, ...], list[Node]] = {}
    for node in graph.nodes:
        deciders = _deciders(node, graph)
        if deciders and all(_is_a_choice(value) for value in deciders):
            decided.setdefault(deciders, []).append(node)
    for deciders, nodes in decided.items():
        inputs = listed([f"'{value.name}' ({value.type})" for value in deciders])
        pins = " ".join(f"--pin {quote(f'{value.name}=VALUE')}" for value in deciders)
        noun, made = ("inputs", "constants of them") if deciders[1:] else ("input", "a constant of it")
        names = listed([node.name for node in nodes])
        yield f"what {names} runs is decided by the {noun} {inputs}; {pins} makes {made}"


def _deciders(node: Node, graph: Graph) -> tuple[Value, ...]:
    """The inputs of a graph that say what a node runs, in the graph's order."""
    pending = [value for value in node.operands[: _DECIDED.get(node.op, 0)] if value is not None]
    seen: set[Value] = set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if value.producer is not None:
            pending += value.producer.present_operands
            inside = (inner for region in value.producer.regions for inner in region.all_nodes)
            pending += (each for inner in inside for each in inner.present_operands)
    return tuple(value for value in graph.inputs if value in seen)


def _is_a_choice(value: Value) -> bool:
    type_ = value.type
    return (type_.dtype.is_integer or type_.dtype is DType.BOOL) and type_.shape is not None and set(type_.shape) <= {1}
