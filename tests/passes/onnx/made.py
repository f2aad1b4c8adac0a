"""Made-up onnx graphs: each step is a number, from which all of its choices follow, so that what fails shrinks to few.

Every node is evaluated as soon as it is made, by the numpy kernels: what they refuse is not put into the graph, and
shapes need no arithmetic here.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from arenite.ir.opdef import OpError
from arenite.ops.onnx.attrs import OnnxAttrs, TensorAttr
from arenite.ops.onnx.engine import Engine, onnx_registry

OPSET = 18
MOST_NELEM = 600
DOMAIN = "made.up"

_ENGINE = Engine(onnx_registry({"": OPSET}))
FLOAT, INT, BOOL = np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.bool_)


@dataclass(frozen=True)
class Known:
    """A value of a graph that is being made, and what it holds.

    Attributes:
        near: computed from what passes may compute otherwise, to the last bits: only what is continuous may read it.
    """

    name: str
    array: Any
    near: bool = False


@dataclass
class Shared:
    """What a graph and those nested in it share.

    Attributes:
        reached: what was made, counted.
    """

    moves: "Moves"
    constants: dict[str, Any] = field(default_factory=dict)
    reached: Counter[str] = field(default_factory=Counter)
    functions: dict[str, onnx.FunctionProto] = field(default_factory=dict)
    count: int = 0

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"


class Maker:
    """Makes one graph, step by step; `outer` values are those of the graphs around it."""

    def __init__(self, shared: Shared, values: Sequence[Known], depth: int = 0) -> None:
        self.shared = shared
        self.values = list(values)
        self.nodes: list[onnx.NodeProto] = []
        self.depth = depth
        self.rng = random.Random(0)

    def step(self, number: int, moves: "Moves | None" = None) -> None:
        """One step; it may come to nothing."""
        self.rng = random.Random(number)
        self.rng.choice(moves or self.shared.moves)(self)

    # What moves are made of

    def pick(self, test: Callable[[Known], bool] = lambda value: True) -> Known | None:
        found = [value for value in self.values if test(value)]
        # What came last is read more often, so that graphs grow long.
        return self.rng.choice(found[-6:] if self.rng.random() < 0.6 else found) if found else None

    def number(self, *, exact: bool = False) -> Known | None:
        """A tensor of floats, mostly; of integers, sometimes."""
        kind = INT if self.rng.random() < 0.12 else FLOAT
        return self.pick(lambda value: value.array.dtype == kind and not (exact and value.near))

    def floats(self, rank: int = 0, *, exact: bool = False) -> Known | None:
        return self.pick(
            lambda value: value.array.dtype == FLOAT and value.array.ndim >= rank and not (exact and value.near)
        )

    def constant(self, array: Any) -> Known:
        """A constant, which may be another name for one that is there, or the same one."""
        array = np.asarray(array)
        alike = [
            name
            for name, other in self.shared.constants.items()
            if (other.dtype, other.shape) == (array.dtype, array.shape) and other.tobytes() == array.tobytes()
        ]
        if alike and self.rng.random() < 0.6:
            self.shared.reached["shared constant"] += 1
            return Known(self.rng.choice(alike), array)
        self.shared.reached["equal constants"] += bool(alike)
        name = self.shared.name("c")
        self.shared.constants[name] = array
        return Known(name, array)

    def ints(self, *items: int) -> Known:
        return self.constant(np.array(items, np.int64))

    def emit(
        self, op: str, inputs: Sequence[Known | None], count: int = 1, *, near: bool = False, **attributes: Any
    ) -> list[Known]:
        """A node, unless its operator refuses these operands or it gives too much; its results."""
        fields = {
            key: TensorAttr(numpy_helper.to_array(value)) if isinstance(value, TensorProto) else _plain(value)
            for key, value in attributes.items()
        }
        try:
            with np.errstate(all="ignore"):
                arrays = _ENGINE.evaluate(
                    f"onnx.{op}",
                    OnnxAttrs.of(**fields),
                    [None if value is None else value.array for value in inputs],
                    (True,) * count,
                )
        except OpError:
            return []
        near = near or any(value.near for value in inputs if value is not None)
        if any(array.size > MOST_NELEM or array.ndim > 6 or (near and _is_large(array)) for array in arrays):
            return []
        return self.add(op, inputs, arrays, near=near, **attributes)

    def add(
        self,
        op: str,
        inputs: Sequence[Known | None],
        arrays: Sequence[Any],
        *,
        near: bool,
        domain: str = "",
        **attrs: Any,
    ) -> list[Known]:
        names = [self.shared.name("v") for _ in arrays]
        texts = ["" if value is None else value.name for value in inputs]
        self.nodes.append(helper.make_node(op, texts, names, domain=domain, **attrs))
        found = [Known(name, np.asarray(array), near) for name, array in zip(names, arrays, strict=True)]
        self.values.extend(found)
        reached = self.shared.reached
        reached[op] += 1
        reached[f"rank {found[0].array.ndim}"] += 1
        reached["empty"] += any(value.array.size == 0 for value in found)
        return found

    def body(self, count: int, given: Sequence[Known] = (), moves: "Moves | None" = None) -> "Maker":
        """A graph inside this one after some steps."""
        inner = Maker(self.shared, [*self.values, *given], self.depth + 1)
        seeds = [self.rng.randrange(1 << 30) for _ in range(count)]
        for seed in seeds:
            inner.step(seed, moves)
        return inner

    def like(self, wanted: Known) -> Known:
        """A value that this graph computes itself, of the kind and shape of another one."""
        kind = wanted.array.dtype, wanted.array.shape
        own = {name for node in self.nodes for name in node.output}
        alike = [value for value in self.values if (value.array.dtype, value.array.shape) == kind]
        source = self.rng.choice(alike or [wanted])
        if source.name in own and self.rng.random() < 0.7:
            return source
        ops = ["Neg", "Identity", "Abs"] if wanted.array.dtype != BOOL else ["Not", "Identity"]
        found = self.emit(self.rng.choice(ops), [source])
        return (found or self.add("Identity", [source], [source.array], near=source.near))[0]

    def graph(self, name: str, inputs: Sequence[Known], outputs: Sequence[Known]) -> onnx.GraphProto:
        return helper.make_graph(self.nodes, name, _infos(inputs), _infos(outputs))


def _infos(values: Sequence[Known]) -> list[onnx.ValueInfoProto]:
    """Types and ranks of values, without sizes."""
    return [
        helper.make_tensor_value_info(
            value.name, helper.np_dtype_to_tensor_dtype(value.array.dtype), [None] * value.array.ndim
        )
        for value in values
    ]


Moves = Sequence[Callable[[Maker], None]]


def _is_large(array: Any) -> bool:
    """Whether rounding otherwise could make it infinite, or not."""
    return array.dtype == FLOAT and not bool((np.abs(array) < 1e6).all())


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def made(numbers: Sequence[int], moves: "Moves", *, dynamic: bool) -> "Made":
    """The graph that a list of steps makes.

    Args:
        numbers: one for each step.
        moves: what a step may be.
        dynamic: whether the first dimension of the inputs has a name instead of a size.
    """
    rng = random.Random(sum(numbers))
    feed: dict[str, Any] = {
        "x": np.random.default_rng(rng.randrange(1 << 30)).standard_normal((2, 3, 4)).astype(np.float32),
        "z": np.random.default_rng(rng.randrange(1 << 30)).standard_normal((2, 3, 1, 4)).astype(np.float32),
        "k": np.array(2, np.int64),
    }
    shared = Shared(moves)
    maker = Maker(shared, [Known(name, array) for name, array in feed.items()])
    for number in numbers:
        maker.step(number)
    computed = maker.values[len(feed) :] or maker.emit("Relu", [maker.values[0]])
    maker.rng = rng
    # Many outputs show more; few leave more to fuse.
    count = rng.randrange(3 if rng.random() < 0.5 else 12)
    outputs = list(dict.fromkeys([computed[-1].name, *(rng.choice(computed).name for _ in range(count))]))
    by_name = {value.name: value for value in maker.values}
    graph = maker.graph("made", [], [by_name[name] for name in outputs])
    for name, array in feed.items():
        dims: list[Any] = ["N", *array.shape[1:]] if dynamic and array.ndim else list(array.shape)
        graph.input.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims))
    graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in shared.constants.items())
    opsets = [helper.make_opsetid("", OPSET)]
    if shared.functions:
        opsets.append(helper.make_opsetid(DOMAIN, 1))
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=list(shared.functions.values()))
    shared.reached["dynamic"] += dynamic
    # Nested ones and what functions hold are not counted.
    shared.reached["nodes"] = len(maker.nodes)
    return Made(proto, feed, [by_name[name] for name in outputs], shared.reached)


@dataclass(frozen=True)
class Made:
    """A model, inputs, and what its outputs are on them."""

    proto: onnx.ModelProto
    feed: dict[str, Any]
    outputs: list[Known]
    reached: Counter[str]
