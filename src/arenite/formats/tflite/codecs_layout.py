"""Operators that cut, arrange and repeat tensors. Versions: LiteRT's table of operator versions."""

from arenite._base.dtypes import DType
from arenite.formats.tflite.codec import Codec, by_dtype, choice, integers, same
from arenite.ir.attrs import Attrs
from arenite.ir.opdef import OpCall
from arenite.ops.layout import BlockAttrs, PackAttrs, SqueezeAttrs
from arenite.ops.repeat import ShapeAttrs
from arenite.ops.slicing import SplitAttrs, StridedSliceAttrs, UnpackAttrs


def _rank(call: OpCall, index: int = 0) -> int:
    return call.operand(index).rank if call.operand(index).is_static else 0


def _slice_version(call: OpCall) -> int:
    if call.operand(0).dtype is DType.UINT32:
        return 6
    if _rank(call) > 4:
        return 5
    return {DType.INT16: 4, DType.INT8: 2}.get(call.operand(0).dtype, 1)


def _strided_slice_version(call: OpCall) -> int:
    attrs, data = call.attrs, call.operand(0)
    assert isinstance(attrs, StridedSliceAttrs)
    if attrs.offset:
        return 8
    if data.dtype is DType.UINT32:
        return 7
    if attrs.ellipsis_mask or attrs.new_axis_mask:
        return 6
    if _rank(call) > 4:
        return 4
    return {DType.BOOL: 3, DType.INT8: 2}.get(data.dtype, 1)


def _transpose_version(call: OpCall) -> int:
    rank, dtype = _rank(call), call.operand(0).dtype
    if rank > 5:
        return 6
    if dtype is DType.INT16:
        return 5
    if rank > 4:
        return 4
    return {DType.BOOL: 3, DType.INT8: 2}.get(dtype, 1)


def _broadcast_version(call: OpCall) -> int:
    return 3 if call.operand(0).dtype in (DType.INT8, DType.INT16) else 2


CODECS = (
    Codec("SLICE", "slice", Attrs, "SliceOptions", (), 6, _slice_version),
    Codec(
        "STRIDED_SLICE",
        "strided_slice",
        StridedSliceAttrs,
        "StridedSliceOptions",
        tuple(
            same(name)
            for name in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask", "offset")
        ),
        8,
        _strided_slice_version,
    ),
    Codec(
        "SPLIT", "split", SplitAttrs, "SplitOptions", (same("num_splits"),), 4, by_dtype(1, int8=2, int32=3, int16=4)
    ),
    Codec("SPLIT_V", "split_v", SplitAttrs, "SplitVOptions", (same("num_splits"),), 2, by_dtype(int8=2)),
    Codec(
        "UNPACK",
        "unpack",
        UnpackAttrs,
        "UnpackOptions",
        (same("num"), same("axis")),
        4,
        by_dtype(int8=2, uint8=2, bool=3, int16=4),
    ),
    Codec(
        "PACK",
        "pack",
        PackAttrs,
        "PackOptions",
        (same("values_count"), same("axis")),
        4,
        by_dtype(int8=2, int16=3, uint32=4),
    ),
    Codec(
        "SQUEEZE", "squeeze", SqueezeAttrs, "SqueezeOptions", (integers("squeeze_dims", "squeeze_dims"),), 2, by_dtype()
    ),
    Codec("EXPAND_DIMS", "expand_dims", Attrs, "ExpandDimsOptions", (), 1, by_dtype()),
    Codec("TRANSPOSE", "transpose", Attrs, "TransposeOptions", (), 7, _transpose_version),
    Codec(
        "SPACE_TO_DEPTH",
        "space_to_depth",
        BlockAttrs,
        "SpaceToDepthOptions",
        (same("block_size"),),
        2,
        by_dtype(int8=2),
    ),
    Codec(
        "DEPTH_TO_SPACE",
        "depth_to_space",
        BlockAttrs,
        "DepthToSpaceOptions",
        (same("block_size"),),
        2,
        by_dtype(int8=2),
    ),
    Codec("SHAPE", "shape", ShapeAttrs, "ShapeOptions", (choice("out_type", "out_type", DType),), 1, by_dtype()),
    Codec("FILL", "fill", Attrs, "FillOptions", (), 4, by_dtype(1, int8=3, int16=3, bool=2, float16=4)),
    Codec("BROADCAST_TO", "broadcast_to", Attrs, "BroadcastToOptions", (), 3, _broadcast_version),
    Codec("TILE", "tile", Attrs, "TileOptions", (), 3, by_dtype(int8=3)),
)
