"""Folding of what depends on types alone."""

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph, Value
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.layout import PackAttrs
from arenite.ops.repeat import ShapeAttrs
from arenite.ops.slicing import StridedSliceAttrs
from arenite.passes.fold import Fold
from passes.support import ops, verdicts

REGISTRY = core_registry()
Q = Quantization.per_tensor(0.5, 3)
INT = TensorType(DType.INT32, ())


def sized_by_a_shape(dims: tuple[int | str, ...]) -> Graph:
    """x filled up: fill(pack(shape(x)[0], 2), 7), as exporters write it."""
    b = GraphBuilder()
    x = b.input("x", TensorType(DType.INT8, dims, Q))
    shape = b.node("shape", [x], [TensorType(DType.INT32, (2,))], ShapeAttrs(DType.INT32), name="shape").result
    bounds = [b.constant("c", np.array([i], np.int32)) for i in (0, 1, 1)]
    first = b.node("strided_slice", [shape, *bounds], [INT], StridedSliceAttrs(shrink_axis_mask=1), name="first").result
    two = b.constant("two", np.array(2, np.int32))
    wanted = b.node("pack", [first, two], [TensorType(DType.INT32, (2,))], PackAttrs(2, 0), name="pack").result
    seven = b.constant("seven", np.array(7, np.int8), Q)
    return b.output(_fill(b, wanted, seven), x)


def _fill(b: GraphBuilder, dims: Value, value: Value) -> Value:
    return b.node("fill", [dims, value], [TensorType(DType.INT8, (5, 2), Q)], name="fill").result


def test_a_known_shape_folds_and_what_it_sizes_with_it() -> None:
    graph = sized_by_a_shape((5, 4))
    found = verdicts(Fold(), graph, REGISTRY)
    assert found["shape"] == ["passed known-type"]
    assert [found[name] for name in ("first", "pack", "fill")] == [["passed folded"]] * 3
    assert ops(graph) == []
    (filled, _) = graph.outputs
    assert filled.constant is not None
    np.testing.assert_array_equal(filled.constant, np.full((5, 2), 7, np.int8))


def test_an_unknown_shape_does_not_fold() -> None:
    graph = sized_by_a_shape(("batch", 4))
    found = verdicts(Fold(), graph, REGISTRY)
    assert found["shape"] == ["missed not-constant"]
    assert ops(graph) == ["shape", "strided_slice", "pack", "fill"]
