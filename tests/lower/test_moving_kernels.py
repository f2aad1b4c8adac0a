"""How ops that move elements become calls: loops that merge, copies that are cut, tables, refusals."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite._base.errors import ModelError
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph
from arenite.ir.rewriter import Rewriter
from arenite.ir.types import Quantization, TensorType
from arenite.ir.verifier import check
from arenite.lower import arena, kernels
from arenite.lower.kernel import OperandRef, Prepared, PreparedConstant
from arenite.lower.loops import Loop, nest_of
from arenite.lower.lower import lower
from arenite.ops.layout import BlockAttrs, PackAttrs
from arenite.ops.movement import ConcatenationAttrs, ReshapeAttrs
from arenite.ops.slicing import SplitAttrs, StridedSliceAttrs, UnpackAttrs
from arenite.ops.spatial import MirrorPadAttrs
from choosing_cases import CHOOSERS
from moving_cases import MOVERS, REGISTRY, Moving, ints
from ops.test_moving_exceptions import moving

KERNELS = kernels()
Q = Quantization.per_tensor(0.5, 3)
X = np.arange(48, dtype=np.int8).reshape(1, 4, 6, 2)
SCALAR = np.array(7, np.int8)


def prepared(case: Moving, variant: str) -> tuple[Prepared, ...]:
    return KERNELS.get(case.op, variant).prepare(case.call())


@pytest.mark.parametrize(
    ("case", "sizes", "row"),
    [
        (moving("slice", X, [0, 1, 0, 0], [1, 2, 6, 2]), (1, 1, 1, 1, 1), 24),
        (moving("slice", X, [0, 1, 2, 0], [1, 2, 3, 2]), (1, 1, 1, 1, 2), 6),
        (moving("slice", X, [0, 1, 2, 1], [1, 2, 3, 1]), (1, 1, 1, 2, 3), 1),
        (moving("transpose", X, [0, 3, 1, 2]), (1, 1, 1, 2, 24), 1),
        (moving("transpose", X, [0, 2, 1, 3]), (1, 1, 1, 6, 4), 2),
        (moving("transpose", X, [1, 0, 2, 3]), (1, 1, 1, 1, 1), 48),
        (moving("space_to_depth", X, attrs=BlockAttrs(2)), (1, 1, 2, 3, 2), 4),
        (moving("tile", X, [1, 1, 1, 3]), (1, 1, 1, 24, 3), 2),
        (moving("broadcast_to", X[:, :1, :1], [5, 4, 6, 2]), (1, 1, 1, 1, 120), 2),
        (moving("fill", [3, 5, 7], X[0, 0, 0, :1].reshape(())), (1, 1, 1, 1, 105), 1),
        (moving("pack", X, attrs=PackAttrs(1, 0)), (1, 1, 1, 1, 1), 48),
    ],
)
def test_loops_merge(case: Moving, sizes: tuple[int, ...], row: int) -> None:
    (call,) = prepared(case, "copy")
    assert (call.params["sizes"], call.params["row_nbytes"]) == (sizes, row)


def test_backwards_copies_start_at_the_end() -> None:
    case = moving("strided_slice", X, [0, -1], [0, -9], [1, -2], attrs=StridedSliceAttrs(1, 1))
    (call,) = prepared(case, "copy")
    assert call.params["input_start"] == 36
    assert (call.params["sizes"], call.params["input_strides"]) == ((1, 1, 1, 1, 2), (0, 0, 0, 0, -24))


@pytest.mark.parametrize(
    "case",
    [
        moving("slice", SCALAR, [], []),
        moving("padv2", SCALAR, np.zeros((0, 2), np.int32), X[0, 0, 0, :1]),
        moving("strided_slice", X, [0] * 4, [1] * 4, [1] * 4, attrs=StridedSliceAttrs(shrink_axis_mask=15)),
        moving("unpack", X[0, 0, 0, :1], attrs=UnpackAttrs(1, 0)),
    ],
    ids=lambda case: case.op,
)
def test_a_scalar_is_copied_from_and_to_its_own_place(case: Moving) -> None:
    for variant in ("copy", "fill"):
        if any(kernel.variant == variant for kernel in KERNELS.of_op(case.op)):
            for call in prepared(case, variant):
                assert (call.params["input_start"], call.params["output_start"]) == (0, 0)
    run_in_arena(case)


def test_copies_with_too_many_loops_are_cut() -> None:
    x = np.arange(2**6, dtype=np.int8).reshape((2,) * 6)
    reversed_ = moving("transpose", x, [5, 4, 3, 2, 1, 0])
    assert [call.params["input_start"] for call in prepared(reversed_, "copy")] == [0, 1]
    tiled = moving("tile", np.arange(24, dtype=np.int8).reshape(2, 3, 2, 2), [2, 3, 2, 2])
    calls = prepared(tiled, "copy")
    assert len(calls) == 4
    run_in_arena(tiled)
    run_in_arena(reversed_)


def test_copies_of_very_many_loops_are_refused() -> None:
    x = np.zeros((3,) * 9, np.int8)
    with pytest.raises(ModelError, match=r"at most 16 calls, after merging .*81 calls of 5 loops each"):
        lower(moving("transpose", x, list(reversed(range(9)))).graph(), REGISTRY, KERNELS, name="m")


def test_nests() -> None:
    x = np.zeros((2, 3, 4), np.int16)
    assert nest_of([x, x], 2).loops == ()
    assert nest_of([x, x], 2).row_nbytes == 48
    swapped = x.transpose(2, 0, 1)
    assert nest_of([swapped, np.zeros((4, 2, 3), np.int16)], 2).loops == (Loop(4, (2, 12)), Loop(6, (8, 2)))
    held = np.broadcast_to(np.zeros((2, 1, 1), np.int16), x.shape)
    assert nest_of([held, x], 2, held=(True, False)).loops == (Loop(2, (2, 24)),)


def test_tables_of_mirrored_images_are_as_short_as_their_sides() -> None:
    paddings = [[0, 0], [1, 1], [2, 2], [0, 0]]
    (call,) = prepared(moving("mirror_pad", np.repeat(X, 3, 0), paddings, attrs=MirrorPadAttrs()), "table")
    places = call.arguments["places"]
    assert isinstance(places, PreparedConstant)
    assert call.params == {"outer": 3, "outer_nbytes": 48, "rows": 6, "columns": 10, "cell_nbytes": 2}
    assert places.data.tolist() == [16, 4, 16, 28, 40, 28, *(x - 4 for x in (4, 2, 0, 2, 4, 6, 8, 10, 8, 6))]


def test_split_reads_its_operand_and_writes_each_result_once() -> None:
    calls = prepared(moving("split", 2, X, attrs=SplitAttrs(3), n_results=3), "copy")
    assert [call.arguments["input"] for call in calls] == [OperandRef(1)] * 3
    assert [call.params["input_start"] for call in calls] == [0, 4, 8]


def run_in_arena(case: Moving) -> None:
    graph = case.graph()
    check(graph, REGISTRY)
    outputs = arena.run(lower(graph, REGISTRY, KERNELS, name="m"), KERNELS, case.feeds)
    for found, wanted in zip(outputs, case.evaluate(), strict=True):
        np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize("op", [*MOVERS, *CHOOSERS])
@given(data=st.data())
def test_in_the_poisoned_arena(op: str, data: st.DataObject) -> None:
    cases = {**MOVERS, **CHOOSERS}[op]
    run_in_arena(data.draw(cases(data.draw(st.sampled_from((DType.INT8, DType.FLOAT32))))))


def computed(op: str, *constants: np.ndarray[Any, Any], shape: tuple[int, ...], attrs: Attrs | None = None) -> Graph:
    """The op on X, with all other operands as inputs of the graph."""
    builder = GraphBuilder()
    x = builder.input("x", TensorType(DType.INT8, X.shape, Q))
    others = [builder.input(f"i{i}", TensorType(DType.INT32, c.shape)) for i, c in enumerate(constants)]
    return builder.output(builder.node(op, [x, *others], [TensorType(DType.INT8, shape, Q)], attrs, name="n").result)


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (computed("slice", ints(0, 0, 0, 0), ints(1, 1, 1, 1), shape=(1, 1, 1, 1)), "the network computes begin, size"),
        (
            computed("strided_slice", ints(0), ints(1), ints(1), shape=(1, 4, 6, 2), attrs=StridedSliceAttrs()),
            r"constant: begin \(operand 1\), end \(operand 2\), strides \(operand 3\)",
        ),
        (computed("transpose", ints(0, 1, 2, 3), shape=(1, 4, 6, 2)), r"constant: perm \(operand 1\)"),
        (computed("tile", ints(1, 1, 1, 1), shape=(1, 4, 6, 2)), r"constant: multiples \(operand 1\)"),
        (
            computed("mirror_pad", np.zeros((4, 2), np.int32), shape=(1, 4, 6, 2), attrs=MirrorPadAttrs()),
            r"constant: paddings \(operand 1\)",
        ),
        (
            computed("space_to_batch_nd", ints(1, 1), np.zeros((2, 2), np.int32), shape=(1, 4, 6, 2)),
            r"constant: block_shape \(operand 1\), paddings \(operand 2\)",
        ),
        (
            computed("resize_bilinear", ints(4, 6), shape=(1, 4, 6, 2), attrs=REGISTRY["resize_bilinear"].attrs()),
            r"constant: size \(operand 1\)",
        ),
        (computed("cumsum", ints(1), shape=X.shape, attrs=REGISTRY["cumsum"].attrs()), r"constant: axis \(operand 1\)"),
    ],
)
def test_computed_loops_are_refused_with_the_operands_names(graph: Graph, text: str) -> None:
    check(graph, REGISTRY)
    with pytest.raises(ModelError, match=text):
        lower(graph, REGISTRY, KERNELS, name="m")


def test_results_that_nobody_reads_take_no_room_later() -> None:
    builder = GraphBuilder()
    x = builder.input("x", TensorType(DType.INT8, (3, 4), Q))
    row = TensorType(DType.INT8, (4,), Q)
    parts = builder.node("unpack", [x], [row] * 3, UnpackAttrs(3, 0), name="u").results
    program = lower(builder.output(parts[1]), REGISTRY, KERNELS, name="m")
    spans = {b.name: (b.first, b.end) for b in program.buffers}
    assert spans[parts[0].name] == (0, 1)
    assert spans[parts[1].name] == (1, 3)
    (found,) = arena.run(program, KERNELS, [X.reshape(-1)[:12].reshape(3, 4)])
    np.testing.assert_array_equal(found, [4, 5, 6, 7])


def with_views_of_constants(case: Moving) -> Graph:
    """The case's graph, what it would be given being views of constants that nobody has folded."""
    graph = case.graph()
    rewriter, (node, *_) = Rewriter(graph), graph.nodes
    for value, array in zip(graph.inputs, case.feeds, strict=True):
        dims = value.type.dims
        operands = [rewriter.constant("given", array, value.type), rewriter.constant("shape", np.array(dims, np.int32))]
        view = rewriter.insert(
            node, "reshape", operands, [value.type], ReshapeAttrs(dims), name="view", origin=node.origin
        )
        for use in value.uses:
            rewriter.set_operand(use.node, use.index, view.result)
    graph.inputs = []
    return graph


@pytest.mark.parametrize("op", ["concatenation", "pack", "split", "transpose", "gather", "select_v2"])
@given(data=st.data())
def test_views_of_constants_of_any_type_are_moved(op: str, data: st.DataObject) -> None:
    cases = {**MOVERS, **CHOOSERS, "concatenation": concatenations}[op]
    case = data.draw(cases(data.draw(st.sampled_from((DType.INT8, DType.INT16, DType.INT32, DType.FLOAT32)))))
    outputs = arena.run(lower(with_views_of_constants(case), REGISTRY, KERNELS, name="m"), KERNELS, [])
    for found, wanted in zip(outputs, case.evaluate(), strict=True):
        np.testing.assert_array_equal(found, wanted, strict=True)


def concatenations(dtype: DType) -> st.SearchStrategy[Moving]:
    arrays = st.lists(st.integers(1, 4).map(lambda n: np.arange(2 * n).reshape(2, n).astype(dtype.numpy)), min_size=2)
    quantization = Q if dtype.is_integer and dtype.itemsize < 4 else None
    return arrays.map(
        lambda found: Moving("concatenation", tuple(found), attrs=ConcatenationAttrs(1), quantization=quantization)
    )
