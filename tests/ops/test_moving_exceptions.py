"""What the ops that move, choose and sum refuse, in which words; operands that the network computes; attributes."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.opdef import OpCall, OpError
from arenite.ir.types import Quantization, TensorType
from arenite.ops.cast import CastAttrs
from arenite.ops.choice import ArgAttrs
from arenite.ops.gather import GatherAttrs
from arenite.ops.layout import BlockAttrs, PackAttrs, SqueezeAttrs
from arenite.ops.repeat import ShapeAttrs
from arenite.ops.resize import ResizeAttrs
from arenite.ops.slicing import SplitAttrs, StridedSliceAttrs, UnpackAttrs
from arenite.ops.spatial import MirrorPadAttrs, MirrorPadMode
from moving_cases import REGISTRY, Moving, ints

Q = Quantization.per_tensor(0.5, 3)
X = np.zeros((1, 4, 6, 2), np.int8)


def moving(op: str, *data: Any, attrs: Attrs | None = None, constant: Sequence[int] = (), **more: Any) -> Moving:
    arrays = tuple(x if isinstance(x, np.ndarray) else np.array(x, np.int32) for x in data)
    constants = frozenset(i for i, x in enumerate(arrays) if x.dtype == np.int32 or i in constant)
    given: dict[str, Any] = {"quantization": Q, "result_dtype": DType.INT8, **more}
    return Moving(op, arrays, constants, attrs or Attrs(), **given)


MISFITS = {
    "slice": (
        moving("slice", X, [0, 0, 5, 0], [1, 1, 2, 1]),
        "dimension 2 has 6 elements, of which begin 5 and size 2",
    ),
    "slice count": (moving("slice", X, [0, 0], [1, 1]), r"begin \(operand 1\) must have 4 elements, found 2"),
    "stride": (moving("strided_slice", X, [0], [1], [0], attrs=StridedSliceAttrs()), "strides must not be 0"),
    "entries": (
        moving("strided_slice", X, [0] * 5, [1] * 5, [1] * 5, attrs=StridedSliceAttrs()),
        "about 5 dimensions, found an operand with 4",
    ),
    "shrink": (
        moving("strided_slice", X, [-2], [1], [1], attrs=StridedSliceAttrs(shrink_axis_mask=1)),
        "takes one element of 1, found index -2",
    ),
    "ellipses": (
        moving("strided_slice", X, [0, 0], [1, 1], [1, 1], attrs=StridedSliceAttrs(ellipsis_mask=3)),
        "one ellipsis, found 2",
    ),
    "split": (moving("split", 1, X, attrs=SplitAttrs(3), n_results=3), "must divide into 3 equal parts, found 4"),
    "splits": (moving("split", 1, X, attrs=SplitAttrs(4), n_results=2), "num_splits is 4, found 2 results"),
    "split_v": (
        moving("split_v", X, [1, 2], 1, attrs=SplitAttrs(2), n_results=2),
        r"make up the 4 elements of dimension 1 .* found \[1, 2\]",
    ),
    "unpack": (moving("unpack", X, attrs=UnpackAttrs(3, 1), n_results=3), "for each of the 4 elements of dimension 1"),
    "pack": (moving("pack", X, X[:, :2], attrs=PackAttrs(2, 0)), "must have the same shape"),
    "pack count": (moving("pack", X, attrs=PackAttrs(2, 0)), "values_count is 2, found 1"),
    "squeeze": (moving("squeeze", X, attrs=SqueezeAttrs((1,))), r"must be 1, found \[1\] of \[1, 4, 6, 2\]"),
    "expand": (moving("expand_dims", X, 6), r"axis must be in \[-5, 4\]"),
    "perm": (moving("transpose", X, [0, 1, 1, 2]), "each of 4 dimensions once"),
    "perm type": (
        moving("transpose", X, np.arange(4), constant=(1,)),
        r"perm \(operand 1\) must be int32, found int64",
    ),
    "multiples type": (
        moving("tile", X, np.ones(4, np.int8), constant=(1,)),
        r"multiples \(operand 1\) must be int32 or int64, found int8",
    ),
    "perm shape": (moving("transpose", X[0, 0, 0], 0), r"perm \(operand 1\) must be a list, found the shape \[\]"),
    "axis shape": (moving("expand_dims", X, [[0]]), r"axis \(operand 1\) must be one number, found the shape \[1, 1\]"),
    "two types": (
        moving("slice", X, [0] * 4, np.ones(4, np.int64), constant=(1, 2)),
        "begin and size must have the same dtype",
    ),
    "depth": (moving("depth_to_space", X, attrs=BlockAttrs(2)), "divide by block_size 2 squared, found 2"),
    "space": (moving("space_to_depth", X, attrs=BlockAttrs(4)), "divide by block_size 4, found 4x6"),
    "block": (moving("space_to_depth", X, attrs=BlockAttrs(0)), "block_size must be at least 1"),
    "block rank": (moving("space_to_depth", X[0], attrs=BlockAttrs(1)), r"\[batch, height, width, channels\]"),
    "fill": (moving("fill", [-1], X[0, 0, 0, :1].reshape(())), r"must not be negative, found \[-1\]"),
    "fill value": (moving("fill", [2], X[0, 0, 0, :1]), "the value must have no dimensions"),
    "fill size": (moving("fill", [1 << 20] * 3, X[0, 0, 0, :1].reshape(())), "at most 2147483647 are possible"),
    "fill rank": (moving("fill", [1] * 33, X[0, 0, 0, :1].reshape(())), "at most 32 dimensions, found 33"),
    "fill nothing": (
        moving("fill", [0, 1 << 20, 1 << 20], X[0, 0, 0, :1].reshape(())),
        "at most 2147483647 are possible",
    ),
    "rank": (moving("tile", X.reshape((1,) * 60 + X.shape), [1] * 64), "at most 32 dimensions, found 64"),
    "new axes": (
        moving("strided_slice", X, [0] * 40, [1] * 40, [1] * 40, attrs=StridedSliceAttrs(new_axis_mask=2**40 - 1)),
        "at most 32 new axes, found 40",
    ),
    "broadcast": (moving("broadcast_to", X, [4, 6, 2]), "does not broadcast to"),
    "tile": (moving("tile", X, [1, 1, -1, 1]), "multiples must not be negative"),
    "tile size": (moving("tile", X, [1 << 30] * 4), "at most 2147483647 are possible"),
    "mirror": (
        moving("mirror_pad", X, [[0, 0], [4, 0], [0, 0], [0, 0]], attrs=MirrorPadAttrs()),
        "dimension 1 has 4 elements, of which reflect can mirror at most 3",
    ),
    "symmetric": (
        moving("mirror_pad", X, [[0, 0], [5, 0], [0, 0], [0, 0]], attrs=MirrorPadAttrs(MirrorPadMode.SYMMETRIC)),
        "symmetric can mirror at most 4",
    ),
    "pairs": (moving("mirror_pad", X, [[0, -1]] * 4, attrs=MirrorPadAttrs()), "4 pairs"),
    "padding value": (moving("padv2", X, [[0, 0]] * 4, X[0, 0, 0]), "must be one element"),
    "to batch": (moving("space_to_batch_nd", X, [3, 2], [[0, 0], [0, 0]]), r"block \[3, 2\], found \[4, 6\]"),
    "to batch rank": (moving("space_to_batch_nd", X[0, 0], [1], [[0, 0]]), "the input must be"),
    "to space": (moving("batch_to_space_nd", X, [2, 2], [[0, 0], [0, 0]]), "the batch must divide by"),
    "crops": (moving("batch_to_space_nd", X, [1, 1], [[3, 2], [0, 0]]), "take more than there is"),
    "gather": (moving("gather", X, [4, -1, 0], attrs=GatherAttrs(1)), r"in \[0, \[4\]\), found \[4\] \(2 are wrong\)"),
    "gather batch": (moving("gather", X, [0], attrs=GatherAttrs(1, 2)), "batch_dims must be at most the axis"),
    "gather alike": (moving("gather", X, [[0], [0]], attrs=GatherAttrs(1, 1)), "the first 1 dimensions must be alike"),
    "gather_nd": (moving("gather_nd", X, [[0] * 5]), "between 1 and the input's 4 dimensions"),
    "gather_nd range": (moving("gather_nd", X, [[0, 4]]), r"found \[0, 4\]"),
    "size": (moving("resize_bilinear", X, [0, 1], attrs=ResizeAttrs()), "at least 1"),
    "huge": (moving("resize_nearest_neighbor", X, [1 << 20, 1 << 20], attrs=ResizeAttrs()), "at most 2147483647"),
    "select": (moving("select_v2", X[..., 0] == 0, X, X), "shapes must broadcast"),
    "arg": (
        moving("arg_max", X[:, :0], 1, attrs=ArgAttrs(DType.INT32), result_dtype=DType.INT32),
        "no elements to choose from",
    ),
    "add_n": (moving("add_n", X, X[:, :1]), "must have the same shape"),
    "cumsum": (moving("cumsum", X, 4), "axis must be in"),
}


@pytest.mark.parametrize("case", MISFITS)
def test_inference_says_what_does_not_fit(case: str) -> None:
    node, text = MISFITS[case]
    with pytest.raises(OpError, match=text):
        node.graph()


OTHER = Quantization.per_tensor(0.25, 3)
REFUSED = {
    "scale": (
        moving("transpose", X, [0, 1, 2, 3], result_quantization=OTHER),
        "have the same dtype, scale and zero point",
    ),
    "split": (
        moving("split", 1, X, attrs=SplitAttrs(2), n_results=2, result_quantization=OTHER),
        "operand 1 and the results have the same",
    ),
    "pack": (moving("pack", X, attrs=PackAttrs(1), result_quantization=OTHER), "all operands and the result"),
    "shape": (moving("shape", X, attrs=ShapeAttrs(), result_dtype=DType.INT8), "the result is int32 or int64"),
    "indices": (moving("gather", X, X[0, 0, 0], attrs=GatherAttrs()), "the indices are int16, int32 or int64"),
    "resize": (
        moving("resize_bilinear", X, [2, 2], attrs=ResizeAttrs(align_corners=True, half_pixel_centers=True)),
        "at most one of align_corners and half_pixel_centers",
    ),
    "interpolate": (
        moving("resize_bilinear", X.astype(np.bool_), [2, 2], attrs=ResizeAttrs(), result_dtype=DType.BOOL),
        "the input is int8, uint8, int16 or float32",
    ),
    "condition": (moving("select_v2", X, X, X), "the condition is bool"),
    "arg": (moving("arg_max", X, 1, attrs=ArgAttrs()), "the result is int32 or int64"),
    "cast": (moving("cast", X, attrs=CastAttrs(), result_dtype=DType.INT4), "of integers from 8 bits on"),
    "sum of one": (moving("add_n", X), "there are at least two values: found one"),
    "sum": (moving("add_n", *2 * [X.astype(np.int16)], result_dtype=DType.INT16), "both int8, float32, int32 or int64"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_constraints_say_what_was_found(case: str) -> None:
    node, text = REFUSED[case]
    assert any(re.search(text, problem) for problem in node.problems()), node.problems()


def test_scales_of_sums_may_be_so_far_apart() -> None:
    near = moving("add_n", X, X, result_quantization=Quantization.per_tensor(0.5 / 2**18))
    far = moving("add_n", X, X, result_quantization=Quantization.per_tensor(0.5 / 2**19))
    assert near.problems() == []
    with pytest.raises(OpError, match=r"at most 2\*\*19 of the result's"):
        far.problems()


@pytest.mark.parametrize(
    ("op", "data", "attrs"),
    [
        ("slice", (X, ints(0, 1, 0, 0), ints(1, 2, 3, 2)), Attrs()),
        ("strided_slice", (X, ints(0), ints(1), ints(1)), StridedSliceAttrs()),
        ("expand_dims", (X, ints(2)), Attrs()),
        ("transpose", (X, ints(3, 1, 0, 2)), Attrs()),
        ("fill", (ints(3, 2), X[0, 0, 0, 0]), Attrs()),
        ("broadcast_to", (X[:, :1], ints(1, 4, 6, 2)), Attrs()),
        ("tile", (X, ints(1, 2, 1, 3)), Attrs()),
        ("mirror_pad", (X, np.array([[0, 0], [1, 0], [0, 2], [0, 0]], np.int32)), MirrorPadAttrs()),
        ("padv2", (X, np.array([[0, 0], [1, 0], [0, 2], [0, 0]], np.int32), X[0, 0, 0, :1]), Attrs()),
        ("space_to_batch_nd", (X, ints(2, 3), np.zeros((2, 2), np.int32)), Attrs()),
        ("batch_to_space_nd", (X, ints(1, 1), np.array([[1, 0], [0, 2]], np.int32)), Attrs()),
        ("resize_bilinear", (X, ints(3, 9)), ResizeAttrs()),
        ("cumsum", (X, ints(1)), REGISTRY["cumsum"].attrs()),
    ],
)
def test_operands_may_be_computed_where_the_result_s_shape_is_known(op: str, data: Any, attrs: Attrs) -> None:
    rng = np.random.default_rng(5)
    arrays = tuple(rng.integers(-9, 9, x.shape).astype(x.dtype) if x.dtype == np.int8 else x for x in data)
    fixed = frozenset(i for i, x in enumerate(arrays) if x.dtype == np.int32)
    known = Moving(op, arrays, fixed, attrs, Q, result_dtype=DType.INT8)
    definition, call = known.definition, known.call()
    computed = OpCall("node", op, attrs, call.operands, call.results)
    assert definition.infer(computed) == call.results
    np.testing.assert_array_equal(definition.evaluate(computed, arrays), known.evaluate())
    vague = OpCall("node", op, attrs, call.operands, (TensorType(DType.INT8, None, Q),))
    with pytest.raises(OpError, match="must be constant, or the shapes of the results known"):
        definition.infer(vague)


def test_a_computed_shape_that_is_not_the_declared_one_is_refused() -> None:
    call = moving("tile", X, [1, 2, 1, 1]).call()
    computed = OpCall("node", "tile", Attrs(), call.operands, call.results)
    with pytest.raises(OpError, match=r"declared int8\[1, 8, 6, 2\] .* but has the shape \[1, 4, 6, 2\]"):
        REGISTRY["tile"].evaluate(computed, (X, ints(1, 1, 1, 1)))


def test_canonical_attributes() -> None:
    for case, expected in (
        (moving("squeeze", X[:, :1], attrs=SqueezeAttrs()), SqueezeAttrs((0, 1))),
        (moving("squeeze", X[:, :1], attrs=SqueezeAttrs((-3,))), SqueezeAttrs((1,))),
        (moving("squeeze", X[:, :1], attrs=SqueezeAttrs((0, 1))), None),
        (moving("pack", X, attrs=PackAttrs(1, -1)), PackAttrs(1, 4)),
        (moving("gather", X, [0], attrs=GatherAttrs(-1)), GatherAttrs(3)),
        (moving("gather", X, [[0, 1]], attrs=GatherAttrs(1, -1)), GatherAttrs(1, 1)),
        (moving("gather", X, [0], attrs=GatherAttrs(1)), None),
        (moving("cast", X, attrs=CastAttrs(), result_dtype=DType.INT32), CastAttrs(DType.INT8, DType.INT32)),
        (moving("shape", X, attrs=ShapeAttrs(), result_dtype=DType.INT64), ShapeAttrs(DType.INT64)),
        (moving("arg_min", X, 1, attrs=ArgAttrs(), result_dtype=DType.INT32), ArgAttrs(DType.INT32)),
    ):
        (node,) = case.graph().nodes
        facet = case.definition.canonicalize
        assert callable(facet)
        assert facet(node) == expected
