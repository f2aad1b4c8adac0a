"""LSTM, GRU and RNN: their steps one behind the other, where a sequence is short enough for that."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from arenite.ir.graph import Node, Value
from arenite.ops.dense import FullyConnectedAttrs
from arenite.ops.layout import PackAttrs
from arenite.ops.slicing import SplitAttrs, UnpackAttrs
from arenite.passes.legalize.formulas import say
from arenite.passes.legalize.orders import Order
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Rule
from arenite.passes.legalize.rules_dense import connected
from arenite.passes.legalize.site import Site, attributes

LONGEST = 64
"""Most steps that are written one behind the other."""

_OPS = {"sigmoid": "logistic", "tanh": "tanh", "relu": "relu"}
_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}

Floats = npt.NDArray[np.float32]
State = tuple[Value | None, ...]
"""What one step hands to the next; None: zeros, before the first."""


class _Cell:
    """One direction of a layer: its weights, of which steps share the constants.

    Attributes:
        ops: of the activations.
        size: how many units there are.
    """

    def __init__(self, site: Site, ops: Sequence[str], again: Floats, biases: Floats) -> None:
        self._site, self.ops, self._again, self._biases = site, ops, again, biases
        self.size = again.shape[1]
        self._stored: dict[tuple[int, int, bool], tuple[Value, Value | None]] = {}

    def again(self, x: Value, first: int, last: int, *, bias: bool = False) -> Value:
        """What the step before adds to the gates from `first` to before `last`, perhaps with biases of its own."""
        key = (first, last, bias)
        if key not in self._stored:
            rows = slice(first * self.size, last * self.size)
            weights = self._site.const("again", np.ascontiguousarray(self._again[rows]))
            biases = self._site.const("bias", np.ascontiguousarray(self._biases[rows])) if bias else None
            self._stored[key] = weights, biases
        return say_connected(self._site, x, *self._stored[key])

    def divided(self, gates: Value, *counts: int) -> tuple[Value, ...]:
        """Gates, along the last dimension, in groups of so many."""
        site, attrs, axis = self._site, SplitAttrs(len(counts)), np.array(gates.type.rank - 1, np.int32)
        if len(set(counts)) == 1:
            operands = [site.const("axis", axis), gates]
            return site.emit("split", operands, attrs, dtype=gates.type.dtype, n_results=len(counts))
        sizes = site.ints("sizes", [count * self.size for count in counts])
        return site.emit("split_v", [gates, sizes, site.const("axis", axis)], attrs, n_results=len(counts))


def say_connected(site: Site, x: Value, weights: Value, bias: Value | None) -> Value:
    (result,) = site.emit("fully_connected", [x, weights, bias], FullyConnectedAttrs())
    return result


Step = Callable[[Site, _Cell, Sequence[Value], State], State]
"""From what the input adds to the gates, and a state, to the next state, whose first part is the result."""


def _step_rnn(site: Site, cell: _Cell, given: Sequence[Value], state: State) -> State:
    (gates,), (before,) = given, state
    if before is not None:
        gates = say(site, "add", gates, cell.again(before, 0, 1))
    return (say(site, cell.ops[0], gates),)


def _step_lstm(site: Site, cell: _Cell, given: Sequence[Value], state: State) -> State:
    """Gates are input, output, forget, content: c = f c + i act(content), h = o act(c)."""
    (gates,), (before, kept) = given, state
    if before is not None:
        gates = say(site, "add", gates, cell.again(before, 0, 4))
    opened, content = cell.divided(gates, 3, 1)
    i, o, f = cell.divided(say(site, cell.ops[0], opened), 1, 1, 1)
    new = say(site, "mul", i, say(site, cell.ops[1], content))
    if kept is not None:
        new = say(site, "add", say(site, "mul", f, kept), new)
    return say(site, "mul", o, say(site, cell.ops[2], new)), new


def _step_gru(site: Site, cell: _Cell, given: Sequence[Value], state: State, *, linear: bool) -> State:
    """Gates are update z, reset r, content n: h = n + z (h - n), n = act(x + R (r h) + b), or act(x + r (R h + b))."""
    (opened, content), (before,) = given, state
    if before is None:
        before = site.const("zeros", np.zeros(content.type.dims, np.float32))
    z, r = cell.divided(say(site, cell.ops[0], say(site, "add", opened, cell.again(before, 0, 2))), 1, 1)
    if linear:
        added = say(site, "mul", r, cell.again(before, 2, 3, bias=True))
    else:
        added = cell.again(say(site, "mul", r, before), 2, 3, bias=True)
    new = say(site, cell.ops[1], say(site, "add", content, added))
    return (say(site, "add", new, say(site, "mul", z, say(site, "sub", before, new))),)


@dataclass(frozen=True)
class _Kind:
    """One of the operators.

    Attributes:
        gates: how many.
        activations: those that it has unless its attribute says others.
        n_states: parts of its state.
        apart: how many gates, in groups, a step takes from the input; taken apart for all steps at once.
    """

    gates: int
    activations: tuple[str, ...]
    n_states: int
    apart: tuple[int, ...]


_KINDS = {
    "RNN": _Kind(1, ("Tanh",), 1, (1,)),
    "GRU": _Kind(3, ("Sigmoid", "Tanh"), 1, (2, 1)),
    "LSTM": _Kind(4, ("Sigmoid", "Tanh", "Tanh"), 2, (4,)),
}


def _recurrent(operator: str) -> Callable[[Site, Node], None]:
    kind = _KINDS[operator]

    def apply(site: Site, node: Node) -> None:
        attrs = attributes(node)
        data, swapped = node.operand(0), bool(attrs.integer("layout", 0))
        if site.rank(data) != 3:
            raise RefusedError(f"the input must have three dimensions, but has {list(site.dims(data))}")
        core = site.get(data, (1, 0, 2) if swapped else (0, 1, 2))
        direction = attrs.text("direction", "forward")
        if direction not in _DIRECTIONS:
            raise RefusedError(f"direction must be one of {', '.join(_DIRECTIONS)}, but is '{direction}'")
        _refuse_forms(site, node, *core.type.dims[:2])
        if site.dims(node.operand(1))[:1] != (len(_DIRECTIONS[direction]),):
            raise RefusedError(f"the weights W must be for {direction}, but are {list(site.dims(node.operand(1)))}")
        results, lasts = [], []
        for index, backwards in enumerate(_DIRECTIONS[direction]):
            given, state = _run(site, node, kind, core, (index, backwards))
            results.append(_stacked(site, given, 0))
            lasts.append(state)
        _give(site, node, 0, _stacked(site, results, 1), (1, 2, 0, 3) if swapped else (0, 1, 2, 3))
        for part in range(kind.n_states):
            found = [state[part] for state in lasts]
            stacked = _stacked(site, [each for each in found if each is not None], 0)
            _give(site, node, part + 1, stacked, (1, 0, 2) if swapped else (0, 1, 2))

    return apply


def _run(site: Site, node: Node, kind: _Kind, core: Value, direction: tuple[int, bool]) -> tuple[list[Value], State]:
    """The results of all steps in one direction, in the sequence of the input, and the last state."""
    index, backwards = direction
    weights, again = (_of_direction(site, node, place, index) for place in (1, 2))
    if weights.ndim != 2 or again.shape != (weights.shape[0], weights.shape[0] // kind.gates):
        raise RefusedError(f"weights {list(weights.shape)} and {list(again.shape)} do not fit {kind.gates} gates")
    size = again.shape[1]
    if attributes(node).integer("hidden_size", size) != size:
        raise RefusedError(f"hidden_size is {attributes(node).integer('hidden_size')}, but the weights are for {size}")
    biases: Floats = np.zeros((2, len(weights)), np.float32)
    if node.optional_operand(3) is not None:
        biases = _of_direction(site, node, 3, index)
        if biases.size != 2 * len(weights):
            raise RefusedError(f"the bias B must have {2 * len(weights)} elements, but has {biases.size}")
        biases = biases.reshape(2, -1)
    cell = _Cell(site, _activations(node, kind, index), again, biases[1])
    # Biases of the step before are added beforehand, but for a GRU's content, which takes its own later.
    early = biases[0] + (biases[1] if kind.gates != 3 else np.concatenate([biases[1, : 2 * size], np.zeros(size)]))
    added = connected(site, core, weights, early.astype(np.float32))
    groups = cell.divided(added, *kind.apart) if kind.apart[1:] else (added,)
    terms = list(zip(*(_taken_apart(site, group) for group in groups), strict=True))
    step = _step_of(kind, linear=bool(attributes(node).integer("linear_before_reset", 0)))
    shape = (core.type.dims[1], size)
    state = tuple(_initial(site, node, 5 + part, index, shape) for part in range(kind.n_states))
    given: list[Value] = []
    for term in reversed(terms) if backwards else terms:
        state = step(site, cell, term, state)
        assert state[0] is not None
        given.append(state[0])
    return given[::-1] if backwards else given, state


def _step_of(kind: _Kind, *, linear: bool) -> Step:
    if kind.gates == 3:
        return partial(_step_gru, linear=linear)
    return _step_rnn if kind.gates == 1 else _step_lstm


def _refuse_forms(site: Site, node: Node, steps: int, batch: int) -> None:
    attrs = attributes(node)
    if not 1 <= steps <= LONGEST:
        raise RefusedError(
            f"a sequence must have 1 to {LONGEST} steps, which are written one behind the other, but has {steps}; give "
            "the model one step (--input-shape), with its states as inputs and outputs"
        )
    if attrs.get("clip") is not None or attrs.integer("input_forget", 0):
        raise RefusedError("clip and input_forget have no counterpart")
    if node.optional_operand(4) is not None:
        lengths = site.integers(node, 4, "sequence_lens")
        if lengths != (steps,) * batch:
            raise RefusedError(f"sequence_lens must be {steps} for each of the batch, but is {list(lengths or ())}")
    if node.optional_operand(7) is not None and np.any(site.required_constant(node, 7, "the peepholes P")):
        raise RefusedError("peepholes have no counterpart")


def _activations(node: Node, kind: _Kind, index: int) -> tuple[str, ...]:
    """The ops of one direction's activations."""
    count = len(kind.activations)
    named = attributes(node).texts("activations")
    names = kind.activations if named is None else named[index * count : (index + 1) * count]
    unknown = [name for name in names if name.lower() not in _OPS]
    if unknown or len(names) != count:
        raise RefusedError(f"activations must be {count} of Sigmoid, Tanh and Relu, but are {', '.join(named or ())}")
    return tuple(_OPS[name.lower()] for name in names)


def _of_direction(site: Site, node: Node, place: int, index: int) -> Floats:
    role = {1: "the weights W", 2: "the weights R", 3: "the bias B"}[place]
    array = site.required_constant(node, place, role)
    if array.dtype != np.float32 or array.ndim != (2 if place == 3 else 3) or len(array) <= index:
        raise RefusedError(f"{role} must be float32 for each direction, but is {array.dtype} {list(array.shape)}")
    return np.asarray(array[index], np.float32)


def _initial(site: Site, node: Node, place: int, index: int, shape: tuple[int, int]) -> Value | None:
    """A part of the state before the first step, (batch, units)."""
    value = node.optional_operand(place)
    array = site.constant(value)
    if value is None or (array is not None and not np.any(array)):
        return None
    if site.rank(value) != 3:
        raise RefusedError(f"'{value.name}' must have three dimensions, but has {list(site.dims(value))}")
    core = site.get(value, (1, 0, 2) if attributes(node).integer("layout", 0) else (0, 1, 2))
    if core.type.dims[0] <= index or core.type.dims[1:] != shape:
        raise RefusedError(f"'{value.name}' must be {list(shape)} for each direction, but is {list(site.dims(value))}")
    return _taken_apart(site, core)[index]


def _taken_apart(site: Site, core: Value) -> tuple[Value, ...]:
    """A value along its first dimension."""
    count, *dims = core.type.dims
    if count == 1:
        return (site.reshaped(core, dims),)
    return site.emit("unpack", [core], UnpackAttrs(count, 0), n_results=count)


def _stacked(site: Site, values: Sequence[Value], axis: int) -> Value:
    """Values side by side along a new dimension."""
    if len(values) == 1:
        dims = values[0].type.dims
        return site.reshaped(values[0], (*dims[:axis], 1, *dims[axis:]))
    return say(site, "pack", *values, attrs=PackAttrs(len(values), axis))


def _give(site: Site, node: Node, index: int, core: Value, order: Order) -> None:
    if index < len(node.results) and node.results[index].is_read:
        site.put(node.results[index], core, order)


RULES = tuple(
    Rule(operator, _recurrent(operator), says=f"{says}, for up to {LONGEST} steps")
    for operator, says in (
        ("RNN", "`fully_connected`, `add` and its activation"),
        ("GRU", "two `fully_connected` and the gates' arithmetic"),
        ("LSTM", "`fully_connected` and the gates' arithmetic"),
    )
)
