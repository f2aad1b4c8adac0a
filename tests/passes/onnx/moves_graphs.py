"""Steps of a made-up graph that hold graphs: control flow, and calls of functions."""

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from passes.onnx.made import DOMAIN, Known, Maker, Moves
from passes.onnx.moves import PLAIN


def branch(m: Maker) -> None:
    wanted = m.floats()
    if wanted is None or m.depth > 1:
        return
    kind = m.rng.randrange(3)
    if kind == 0:
        condition = m.constant(np.bool_(m.rng.random() < 0.5))
    else:
        number = Known("k", np.int64(2)) if kind == 1 else m.constant(np.int64(2))
        found = m.emit("Less", [number, m.constant(np.int64(m.rng.choice([1, 3])))])
        condition = found[0]
    bodies, results = [], []
    for _ in range(2):
        inner = m.body(m.rng.randint(0, 3))
        inner.rng = m.rng
        result = inner.like(wanted)
        bodies.append(inner.graph(m.shared.name("b"), [], [result]))
        results.append(result)
    taken = results[0 if condition.array else 1]
    near = any(result.near for result in results) or wanted.near
    m.add("If", [condition], [taken.array], near=near, then_branch=bodies[0], else_branch=bodies[1])
    m.shared.reached["If, condition constant"] += kind != 1
    m.shared.reached["nested graph in a nested graph"] += m.depth > 0


def loop(m: Maker) -> None:
    """A count that is constant or an input, a condition that is not there, always true, or computed."""
    start = m.floats()
    if start is None or m.depth > 1 or start.array.size > 100:
        return
    trips = m.rng.choice([0, 1, 2, 2, 3, 5, 9])
    known = m.rng.random() < 0.7
    trips = trips if known else 2
    count = m.constant(np.int64(trips)) if known else Known("k", np.int64(2))
    number, going = Known(m.shared.name("i"), np.int64(0)), Known(m.shared.name("t"), np.bool_(True))
    carried = Known(m.shared.name("s"), start.array, near=True)
    inner = m.body(m.rng.randint(0, 3), [number, going, carried])
    inner.rng = m.rng
    if m.rng.random() < 0.5:
        for trip in inner.emit("Cast", [number], to=TensorProto.FLOAT):
            inner.emit("Add", [carried, trip])
    result = inner.like(carried)
    stop = trips
    ending = m.rng.randrange(4)
    if ending == 0:
        stop = min(trips, m.rng.randint(1, 3))
        again = inner.emit("Less", [number, m.constant(np.int64(stop - 1))])[0]
    elif ending == 1:
        again = m.constant(np.bool_(True))
        again = inner.emit("Identity", [again])[0]
    else:
        again = inner.emit("Identity", [going])[0]
    # Without a trip, nothing says which sizes scanned results have.
    scanned = [inner.like(result)] if trips and m.rng.random() < 0.5 else []
    body = inner.graph(m.shared.name("b"), [number, going, carried], [again, result, *scanned])
    # What it gives is not computed here: only shapes matter from now on.
    arrays = [start.array if not trips else result.array]
    arrays += [np.zeros((min(stop, trips), *value.array.shape), np.float32) for value in scanned]
    condition = m.constant(np.bool_(True)) if m.rng.random() < 0.5 else None
    m.add("Loop", [count, condition, start], arrays, near=True, body=body)
    m.shared.reached[f"Loop, {min(trips, 4)} trips" if known else "Loop, trips not known"] += 1
    m.shared.reached["nested graph in a nested graph"] += m.depth > 0


def scan(m: Maker) -> None:
    source = m.floats(2)
    if source is None or m.depth > 1 or not source.array.shape[0]:
        return
    row = Known(m.shared.name("w"), source.array[0], source.near)
    inner = m.body(m.rng.randint(0, 2), [row])
    inner.rng = m.rng
    result = inner.like(row)
    body = inner.graph(m.shared.name("b"), [row], [result])
    m.add("Scan", [source], [np.zeros_like(source.array)], near=True, body=body, num_scan_inputs=1)


def call(m: Maker) -> None:
    """A function of the model, of which there are at most three."""
    a, b = m.floats(exact=True), m.floats(exact=True)
    if a is None or b is None or a.array.shape != b.array.shape or m.depth:
        return
    name = f"F{m.rng.randrange(3)}"
    if name not in m.shared.functions:
        _define(m, name)
    proto = m.shared.functions[name]
    given: dict[str, Any] = {"p": a.array, "q": b.array}
    with np.errstate(all="ignore"):
        for node in proto.node:
            given[node.output[0]] = _FUNCTIONS[node.op_type](*(given[item] for item in node.input if item), node)
    result = np.asarray(given[proto.output[0]], np.float32)
    m.add(name, [a, b], [result], near=False, domain=DOMAIN)


def _number(node: Any) -> Any:
    return numpy_helper.to_array(node.attribute[0].t)


_FUNCTIONS: dict[str, Any] = {
    "Constant": _number,
    "Add": lambda a, b, node: a + b,
    "Mul": lambda a, b, node: a * b,
    "Sub": lambda a, b, node: a - b,
    "Neg": lambda a, node: -a,
    "Relu": lambda a, node: np.maximum(a, 0),
    "Identity": lambda a, node: a,
}


def _define(m: Maker, name: str) -> None:
    nodes, known = [], ["p", "q"]
    for index in range(m.rng.randint(2, 6)):
        op = m.rng.choice(list(_FUNCTIONS))
        out = f"n{index}"
        if op == "Constant":
            array = np.array(m.rng.choice([0.5, 1.0, -2.0]), np.float32)
            nodes.append(helper.make_node(op, [], [out], value=numpy_helper.from_array(array)))
        else:
            inputs = [m.rng.choice(known) for _ in range(2 if op in ("Add", "Mul", "Sub") else 1)]
            nodes.append(helper.make_node(op, inputs, [out]))
        known.append(out)
    nodes.append(helper.make_node("Add", [known[-1], "p"], ["end"]))
    opsets = [helper.make_opsetid("", 18)]
    m.shared.functions[name] = helper.make_function(DOMAIN, name, ["p", "q"], ["end"], nodes, opsets)


MOVES: Moves = (*PLAIN, branch, loop, scan, call)
