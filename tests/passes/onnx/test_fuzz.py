"""Made-up graphs: original and optimised agree, whatever is put together."""

from typing import Any

import numpy as np
import onnx
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from arenite.formats.onnx import import_model
from passes.onnx.optimizing import optimized

SHAPE = [2, 3, 4]


class Maker:
    """Builds a graph step by step; every value is float32, of a shape that is known here."""

    def __init__(self, draw: Any, *, dynamic: bool) -> None:
        self.draw = draw
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, np.ndarray[Any, Any]] = {}
        self.values: list[tuple[str, tuple[int, ...]]] = [("x", tuple(SHAPE))]
        self.dynamic = dynamic

    def constant(self, array: Any, name: str = "c") -> str:
        key = f"{name}{len(self.constants)}"
        self.constants[key] = np.asarray(array)
        return key

    def node(self, op: str, inputs: list[str], shape: tuple[int, ...], **attributes: Any) -> None:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        self.values.append((name, shape))

    def hidden(self, op: str, inputs: list[str], **attributes: Any) -> str:
        name = f"h{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def pick(self) -> tuple[str, tuple[int, ...]]:
        return self.draw(st.sampled_from(self.values))  # type: ignore[no-any-return]

    def step(self) -> None:
        getattr(self, self.draw(st.sampled_from(STEPS)))()

    def unary(self) -> None:
        x, shape = self.pick()
        self.node(self.draw(st.sampled_from(["Relu", "Neg", "Identity", "Abs", "Dropout", "Sin"])), [x], shape)

    def binary(self) -> None:
        x, shape = self.pick()
        same = [name for name, other in self.values if other == shape]
        self.node(
            self.draw(st.sampled_from(["Add", "Sub", "Mul", "Max"])), [x, self.draw(st.sampled_from(same))], shape
        )

    def with_constant(self) -> None:
        x, shape = self.pick()
        number = self.draw(st.sampled_from([0.0, -0.0, 1.0, 2.5, -1.0]))
        own = self.draw(st.sampled_from([(), (1,), shape]))
        constant = self.constant(np.full(own, number, np.float32))
        op = self.draw(st.sampled_from(["Add", "Sub", "Mul", "Div", "Pow"]))
        operands = [x, constant] if self.draw(st.booleans()) or op in ("Div", "Pow") else [constant, x]
        self.node(op, operands, shape)

    def constants_only(self) -> None:
        a = self.constant(np.arange(4, dtype=np.float32))
        b = self.hidden(self.draw(st.sampled_from(["Exp", "Neg", "Sqrt", "Log"])), [a])
        x, shape = self.pick()
        if shape and shape[-1] == 4:
            self.node("Add", [x, b], shape)

    def transpose(self) -> None:
        x, shape = self.pick()
        perm = self.draw(st.permutations(range(len(shape))))
        self.node("Transpose", [x], tuple(shape[axis] for axis in perm), perm=list(perm))

    def reshape(self) -> None:
        x, shape = self.pick()
        total = int(np.prod(shape))
        sizes = [d for d in (1, 2, 3, 4, 6, 8, 12, 24) if total % d == 0]
        first = self.draw(st.sampled_from(sizes))
        target = (first, total // first) if self.draw(st.booleans()) else (1, first, total // first)
        if self.draw(st.booleans()):
            given = self.constant(np.array([*target[:-1], -1], np.int64), "s")
        else:
            given = self.hidden("Concat", [self.constant(np.array([d], np.int64), "s") for d in target], axis=0)
        self.node("Reshape", [x, given], target)

    def squeeze(self) -> None:
        x, shape = self.pick()
        ones = [axis for axis, dim in enumerate(shape) if dim == 1]
        if ones:
            axis = self.draw(st.sampled_from(ones))
            axes = self.constant(np.array([axis], np.int64), "a")
            self.node("Squeeze", [x, axes], shape[:axis] + shape[axis + 1 :])

    def unsqueeze(self) -> None:
        x, shape = self.pick()
        if len(shape) < 5:
            axis = self.draw(st.integers(0, len(shape)))
            axes = self.constant(np.array([axis], np.int64), "a")
            self.node("Unsqueeze", [x, axes], (*shape[:axis], 1, *shape[axis:]))

    def slice(self) -> None:
        x, shape = self.pick()
        if not shape:
            return
        axis = self.draw(st.integers(0, len(shape) - 1))
        start, end = self.draw(st.integers(-5, 5)), self.draw(st.integers(-5, 9))
        step = self.draw(st.sampled_from([1, 1, 2, -1]))
        window = (slice(None),) * axis + (_python_slice(start, end, step, shape[axis]),)
        result = np.empty(shape)[window].shape
        if 0 not in result:
            lists = [self.constant(np.array([item], np.int64), "b") for item in (start, end, axis, step)]
            self.node("Slice", [x, *lists], result)

    def pad(self) -> None:
        x, shape = self.pick()
        pads = [self.draw(st.sampled_from([0, 0, 0, 1])) for _ in range(2 * len(shape))]
        result = tuple(d + a + b for d, a, b in zip(shape, pads, pads[len(shape) :], strict=False))
        if len(shape) and int(np.prod(result)) < 500:
            self.node("Pad", [x, self.constant(np.array(pads, np.int64), "p")], result)

    def concat(self) -> None:
        x, shape = self.pick()
        if shape and int(np.prod(shape)) < 200:
            count = self.draw(st.integers(1, 2))
            axis = self.draw(st.integers(0, len(shape) - 1))
            result = (*shape[:axis], shape[axis] * count, *shape[axis + 1 :])
            self.node("Concat", [x] * count, result, axis=axis)

    def shape_chain(self) -> None:
        x, shape = self.pick()
        if len(shape) < 2:
            return
        sizes = self.hidden("Shape", [x])
        first = self.hidden("Gather", [sizes, self.constant(np.array([0], np.int64), "i")])
        target = self.hidden("Concat", [first, self.constant(np.array([-1], np.int64), "i")], axis=0)
        self.node("Reshape", [x, target], (shape[0], int(np.prod(shape[1:]))))

    def expand(self) -> None:
        x, shape = self.pick()
        y, other = self.pick()
        try:
            result = np.broadcast_shapes(shape, other)
        except ValueError:
            return
        if int(np.prod(result)) < 500:
            self.node("Expand", [x, self.hidden("Shape", [y])], result)

    def branch(self) -> None:
        x, shape = self.pick()
        condition = self.constant(np.array(self.draw(st.booleans())), "k")
        tag = len(self.nodes)
        bodies = []
        for index, op in enumerate(("Neg", "Relu")):
            output = helper.make_tensor_value_info(f"o{tag}_{index}", TensorProto.FLOAT, [None] * len(shape))
            inner = helper.make_node(op, [x], [f"o{tag}_{index}"])
            bodies.append(helper.make_graph([inner], f"b{tag}_{index}", [], [output]))
        self.node("If", [condition], shape, then_branch=bodies[0], else_branch=bodies[1])


def _python_slice(start: int, end: int, step: int, dim: int) -> slice:
    """ONNX's bounds in Python's words: only an end before the first element differs."""
    return slice(start, None if step < 0 and end < -dim else end, step)


STEPS = [
    name
    for name in vars(Maker)
    if not name.startswith("_") and name not in ("constant", "node", "hidden", "pick", "step")
]


@st.composite
def models(draw: Any) -> tuple[bytes, bool]:
    dynamic = draw(st.booleans())
    maker = Maker(draw, dynamic=dynamic)
    for _ in range(draw(st.integers(5, 24))):
        maker.step()
    known = [name for name, _ in maker.values[1:]] or ["x"]
    names = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True))
    ranks = {name: len(shape) for name, shape in maker.values} | {"y": len(SHAPE)}
    nodes = maker.nodes
    if names == ["x"]:
        nodes, names = [helper.make_node("Relu", ["x"], ["y"])], ["y"]
    first = "N" if dynamic else SHAPE[0]
    graph = helper.make_graph(
        nodes,
        "fuzz",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [first, *SHAPE[1:]])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * ranks[name]) for name in names],
        [numpy_helper.from_array(array, name) for name, array in maker.constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString(), dynamic


@given(models())
def test_original_and_optimised_agree(made: tuple[bytes, bool]) -> None:
    data, _ = made
    rng = np.random.default_rng(0)
    special = np.resize(np.array([0.0, -0.0, np.inf, np.nan, -1.5, 3e38], np.float32), SHAPE)
    plain = rng.standard_normal(SHAPE).astype(np.float32)
    optimized(import_model(data, "fuzz"), {"x": plain}, {"x": special})
