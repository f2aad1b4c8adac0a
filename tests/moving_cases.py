"""Random one-op graphs of the ops that move, choose and sum elements, for tests of their meaning and kernels."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import assume
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph
from arenite.ir.model import Model
from arenite.ir.opdef import OpCall, OpDef
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.layout import BlockAttrs, PackAttrs, SqueezeAttrs
from arenite.ops.repeat import ShapeAttrs
from arenite.ops.slicing import SplitAttrs, StridedSliceAttrs, UnpackAttrs
from arenite.ops.spatial import MirrorPadAttrs, MirrorPadMode

AnyArray = npt.NDArray[Any]
REGISTRY = core_registry()
INT = np.int32
_QUANTIZED = (np.int8, np.int16, np.uint8)


@dataclass(frozen=True)
class Moving:
    """One op with its data.

    Attributes:
        data: an array for each operand.
        constants: indices of the operands that are part of the graph; the others are its inputs.
        quantization: of the operands of the results' dtype, and of the results.
        n_results, result_dtype: how many results there are, all of one dtype; by default that of operand 0.
    """

    op: str
    data: tuple[AnyArray, ...]
    constants: frozenset[int] = frozenset()
    attrs: Attrs = field(default_factory=Attrs)
    quantization: Quantization | None = None
    n_results: int = 1
    result_dtype: DType | None = None
    result_quantization: Quantization | None = None

    @property
    def definition(self) -> OpDef:
        return REGISTRY[self.op]

    @property
    def feeds(self) -> list[AnyArray]:
        return [array for index, array in enumerate(self.data) if index not in self.constants]

    def graph(self) -> Graph:
        builder, dtype = GraphBuilder(), self.result_dtype or DType.of(self.data[0].dtype)
        operands = []
        for index, array in enumerate(self.data):
            quantization = self.quantization if array.dtype in _QUANTIZED else None
            if index in self.constants:
                operands.append(builder.constant(f"constant_{index}", array, quantization))
            else:
                type_ = TensorType(DType.of(array.dtype), array.shape, quantization)
                operands.append(builder.input(f"input_{index}", type_))
        quantization = self.result_quantization or self.quantization if dtype.numpy in _QUANTIZED else None
        declared = (TensorType(dtype, None, quantization),) * self.n_results
        types, constants = tuple(v.type for v in operands), tuple(v.constant for v in operands)
        results = self.definition.infer(OpCall("node", self.op, self.attrs, types, declared, constants))
        node = builder.node(self.op, operands, results, self.attrs, name="node")
        return builder.output(*node.results)

    def model(self) -> Model:
        return Model("case", self.graph())

    def call(self) -> OpCall:
        (node,) = self.graph().nodes
        return OpCall.of(node)

    def problems(self) -> list[str]:
        """What the op's constraints say against it."""
        call = self.call()
        verdicts = [(constraint, constraint.holds(call)) for constraint in self.definition.constraints]
        return [f"{constraint.text}: {verdict}" for constraint, verdict in verdicts if verdict is not True]

    def evaluate(self) -> list[AnyArray]:
        return [np.asarray(result) for result in self.definition.evaluate(self.call(), self.data)]


def quantization_of(draw: st.DrawFn, dtype: DType) -> Quantization | None:
    """One of an int8, uint8 or int16 tensor, the last symmetric; none for other types."""
    scale = draw(st.sampled_from((0.5, 0.0078125, 0.10000000149011612)))
    if dtype is DType.INT8:
        return Quantization.per_tensor(scale, draw(st.sampled_from((0, -128, 127, 3, -5))))
    if dtype is DType.UINT8:
        return Quantization.per_tensor(scale, draw(st.sampled_from((0, 128, 255, 3))))
    return Quantization.per_tensor(scale) if dtype is DType.INT16 else None


def elements(draw: st.DrawFn, shape: tuple[int, ...], dtype: DType) -> AnyArray:
    """Random elements, integers over their whole range."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if dtype is DType.BOOL:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype is DType.FLOAT32:
        return rng.normal(0, 4, shape).astype(np.float32)
    return rng.integers(*dtype.limits, shape, dtype=dtype.numpy, endpoint=True)


def shapes(draw: st.DrawFn, ranks: tuple[int, int], largest: int = 5) -> tuple[int, ...]:
    return tuple(draw(st.lists(st.integers(1, largest), min_size=ranks[0], max_size=ranks[1])))


def ints(*values: int) -> AnyArray:
    return np.array(values, INT)


def either(draw: st.DrawFn, axis: int, rank: int) -> int:
    """An axis, counted from the front or from the back."""
    return axis - rank if draw(st.booleans()) else axis


@st.composite
def slice_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    shape = shapes(draw, (0, 5))
    begin = [draw(st.integers(0, dim - 1)) for dim in shape]
    size = [draw(st.one_of(st.just(-1), st.integers(1, dim - b))) for dim, b in zip(shape, begin, strict=True)]
    data = (elements(draw, shape, dtype), ints(*begin), ints(*size))
    return Moving("slice", data, frozenset({1, 2}), quantization=quantization_of(draw, dtype))


_INDEX = st.integers(-7, 7)


@st.composite
def strided_slice_cases(
    draw: st.DrawFn, dtype: DType, ranks: tuple[int, int] = (1, 4), *, every: bool = False
) -> Moving:
    """Of the masks, ellipses and new axes only for `every`; the wheel does not know those."""
    shape = shapes(draw, ranks)
    rank, masks = len(shape), st.integers(0, 2 ** len(shape) - 1)
    # TFLite-Micro reads as many entries as there are dimensions.
    ellipsis, new = 0, 0
    if every:
        ellipsis = draw(st.sampled_from((0, *(1 << i for i in range(rank)))))
        new = draw(masks) & ~ellipsis & 1
    begin = [draw(_INDEX) for _ in shape]
    end = [draw(_INDEX) for _ in shape]
    strides = [draw(st.sampled_from((1, 1, 2, 3, -1, -2))) for _ in shape]
    shrink = draw(st.one_of(st.just(0), masks)) & ~ellipsis & ~new
    axis = 0
    for i in range(rank):
        about = shape[min(axis, rank - 1)]
        if ellipsis >> i & 1:
            axis += 1 + new.bit_count()
            continue
        if new >> i & 1:
            continue
        if shrink >> i & 1:
            begin[i], strides[i] = draw(st.integers(-about, about - 1)), abs(strides[i])
        axis += 1
    attrs = StridedSliceAttrs(draw(masks), draw(masks), ellipsis, new, shrink)
    data = (elements(draw, shape, dtype), ints(*begin), ints(*end), ints(*strides))
    case = Moving("strided_slice", data, frozenset({1, 2, 3}), attrs, quantization_of(draw, dtype))
    # TFLite-Micro takes a tensor without elements for a dynamic one.
    assume(all(result.type.nelem for result in case.graph().outputs))
    return case


@st.composite
def split_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    shape = list(shapes(draw, (1, 5)))
    axis, count = draw(st.integers(0, len(shape) - 1)), draw(st.integers(1, 4))
    shape[axis] = count * draw(st.integers(1, 3))
    data = (ints(either(draw, axis, len(shape))), elements(draw, tuple(shape), dtype))
    q = quantization_of(draw, dtype)
    return Moving("split", data, frozenset({0}), SplitAttrs(count), q, count, dtype)


@st.composite
def split_v_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    shape = list(shapes(draw, (1, 5)))
    axis = draw(st.integers(0, len(shape) - 1))
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    shape[axis] = sum(sizes)
    data = (elements(draw, tuple(shape), dtype), ints(*sizes), ints(either(draw, axis, len(shape))))
    q = quantization_of(draw, dtype)
    return Moving("split_v", data, frozenset({1, 2}), SplitAttrs(len(sizes)), q, len(sizes), dtype)


@st.composite
def unpack_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    shape = shapes(draw, (1, 5), 4)
    axis = draw(st.integers(0, len(shape) - 1))
    attrs = UnpackAttrs(shape[axis], either(draw, axis, len(shape)))
    data = (elements(draw, shape, dtype),)
    return Moving("unpack", data, attrs=attrs, quantization=quantization_of(draw, dtype), n_results=shape[axis])


@st.composite
def pack_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    shape, count = shapes(draw, (0, 4)), draw(st.integers(1, 4))
    axis = either(draw, draw(st.integers(0, len(shape))), len(shape) + 1)
    data = tuple(elements(draw, shape, dtype) for _ in range(count))
    return Moving("pack", data, attrs=PackAttrs(count, axis), quantization=quantization_of(draw, dtype))


@st.composite
def squeeze_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    shape = tuple(draw(st.lists(st.sampled_from((1, 1, 2, 3)), max_size=6)))
    ones = [axis for axis, dim in enumerate(shape) if dim == 1]
    some = draw(st.lists(st.sampled_from(ones), unique=True)) if ones else []
    attrs = SqueezeAttrs(tuple(either(draw, axis, len(shape)) for axis in some) or None)
    data = (elements(draw, shape, dtype),)
    return Moving("squeeze", data, attrs=attrs, quantization=quantization_of(draw, dtype))


@st.composite
def expand_dims_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    shape = shapes(draw, (0, 4))
    axis = either(draw, draw(st.integers(0, len(shape))), len(shape) + 1)
    data = (elements(draw, shape, dtype), ints(axis))
    return Moving("expand_dims", data, frozenset({1}), quantization=quantization_of(draw, dtype))


@st.composite
def transpose_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    shape = shapes(draw, (1, 5))
    perm = draw(st.permutations(range(len(shape))))
    data = (elements(draw, shape, dtype), ints(*perm))
    return Moving("transpose", data, frozenset({1}), quantization=quantization_of(draw, dtype))


@st.composite
def block_cases(draw: st.DrawFn, op: str, dtype: DType) -> Moving:
    block = draw(st.integers(1, 3))
    batch, height, width, depth = shapes(draw, (4, 4), 3)
    shape = (batch, height * block, width * block, depth)
    if op == "depth_to_space":
        shape = (batch, height, width, depth * block * block)
    data = (elements(draw, shape, dtype),)
    return Moving(op, data, attrs=BlockAttrs(block), quantization=quantization_of(draw, dtype))


@st.composite
def shape_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    data = (elements(draw, shapes(draw, (0, 5)), dtype),)
    q = quantization_of(draw, dtype)
    return Moving("shape", data, attrs=ShapeAttrs(DType.INT32), quantization=q, result_dtype=DType.INT32)


@st.composite
def fill_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    # The wheel cannot be fed a scalar.
    data = (ints(*shapes(draw, (0, 5))), elements(draw, (), dtype))
    return Moving("fill", data, frozenset({0, 1}), quantization=quantization_of(draw, dtype), result_dtype=dtype)


@st.composite
def broadcast_to_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    shape = shapes(draw, (0, 5), 4)
    source = tuple(1 if draw(st.booleans()) else dim for dim in shape)[draw(st.integers(0, len(shape))) :]
    data = (elements(draw, source, dtype), ints(*shape))
    return Moving("broadcast_to", data, frozenset({1}), quantization=quantization_of(draw, dtype))


@st.composite
def tile_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    shape = shapes(draw, (0, 4), 3)
    data = (elements(draw, shape, dtype), ints(*(draw(st.integers(1, 3)) for _ in shape)))
    return Moving("tile", data, frozenset({1}), quantization=quantization_of(draw, dtype))


@st.composite
def mirror_pad_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    shape, mode = shapes(draw, (0, 5)), draw(st.sampled_from(MirrorPadMode))
    most = [dim - (mode is MirrorPadMode.REFLECT) for dim in shape]
    amounts = [[draw(st.integers(0, high)) for _ in range(2)] for high in most]
    data = (elements(draw, shape, dtype), np.array(amounts, INT).reshape(-1, 2))
    return Moving("mirror_pad", data, frozenset({1}), MirrorPadAttrs(mode), quantization_of(draw, dtype))


@st.composite
def space_to_batch_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    rank = draw(st.sampled_from((3, 4, 4)))
    blocks = [draw(st.integers(1, 3)) for _ in range(rank - 2)]
    shape, pairs = [draw(st.integers(1, 2))], []
    for block in blocks:
        size, before = draw(st.integers(1, 5)), draw(st.integers(0, 3))
        shape.append(size)
        pairs.append([before, -(size + before) % block + block * draw(st.integers(0, 1))])
    data = (elements(draw, (*shape, draw(st.integers(1, 3))), dtype), ints(*blocks), np.array(pairs, INT))
    return Moving("space_to_batch_nd", data, frozenset({1, 2}), quantization=quantization_of(draw, dtype))


@st.composite
def batch_to_space_cases(draw: st.DrawFn, dtype: DType) -> Moving:
    rank = draw(st.sampled_from((3, 4, 4)))
    blocks = [draw(st.integers(1, 3)) for _ in range(rank - 2)]
    spatial = [draw(st.integers(1, 4)) for _ in blocks]
    pairs = []
    for block, size in zip(blocks, spatial, strict=True):
        before = draw(st.integers(0, min(3, block * size - 1)))
        pairs.append([before, draw(st.integers(0, min(3, block * size - 1 - before)))])
    batch = draw(st.integers(1, 2)) * int(np.prod(blocks))
    data = (elements(draw, (batch, *spatial, draw(st.integers(1, 3))), dtype), ints(*blocks), np.array(pairs, INT))
    return Moving("batch_to_space_nd", data, frozenset({1, 2}), quantization=quantization_of(draw, dtype))


Cases = Callable[[DType], st.SearchStrategy[Moving]]

MOVERS: Mapping[str, Cases] = {
    "slice": slice_cases,
    "strided_slice": strided_slice_cases,
    "split": split_cases,
    "split_v": split_v_cases,
    "unpack": unpack_cases,
    "pack": pack_cases,
    "squeeze": squeeze_cases,
    "expand_dims": expand_dims_cases,
    "transpose": transpose_cases,
    "space_to_depth": lambda dtype: block_cases("space_to_depth", dtype),
    "depth_to_space": lambda dtype: block_cases("depth_to_space", dtype),
    "shape": shape_cases,
    "fill": fill_cases,
    "broadcast_to": broadcast_to_cases,
    "tile": tile_cases,
    "mirror_pad": mirror_pad_cases,
    "space_to_batch_nd": space_to_batch_cases,
    "batch_to_space_nd": batch_to_space_cases,
}
"""Ops that move elements, of any element type."""
