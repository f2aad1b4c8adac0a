"""Operators that gather, resize, choose, convert and sum. Versions: LiteRT's table of operator versions."""

from arenite._base.dtypes import DType
from arenite.formats.tflite.codec import Codec, MinVersion, by_dtype, choice, same
from arenite.ir.attrs import Attrs
from arenite.ir.opdef import OpCall
from arenite.ops.cast import CastAttrs
from arenite.ops.choice import ArgAttrs
from arenite.ops.gather import GatherAttrs
from arenite.ops.resize import ResizeAttrs
from arenite.ops.spatial import MirrorPadAttrs, MirrorPadMode
from arenite.ops.sums import CumsumAttrs


def _block_version(call: OpCall) -> int:
    data = call.operand(0)
    if data.dtype is DType.INT16:
        return 4
    if data.is_static and data.rank != 4:
        return 3
    return 2 if data.dtype is DType.INT8 else 1


def _gather_version(call: OpCall) -> int:
    assert isinstance(call.attrs, GatherAttrs)
    if call.operand(0).dtype is DType.INT4:
        return 7
    if call.operand(1).dtype is DType.INT16:
        return 6
    if call.attrs.batch_dims:
        return 5
    return {DType.INT16: 4, DType.BOOL: 3, DType.INT8: 2}.get(call.operand(0).dtype, 1)


def _gather_nd_version(call: OpCall) -> int:
    if call.operand(0).dtype is DType.BOOL:
        return 5
    if call.operand(1).dtype is DType.INT16:
        return 4
    return 3 if call.operand(0).dtype is DType.INT16 else 1


def _resize_version(newer: tuple[str, ...]) -> MinVersion:
    def version(call: OpCall) -> int:
        dtype = call.operand(0).dtype
        if dtype is DType.INT16:
            return 4
        if any(getattr(call.attrs, name) for name in newer):
            return 3
        return 2 if dtype is DType.INT8 else 1

    return version


_CAST_VERSIONS: tuple[tuple[int, tuple[DType, ...]], ...] = (
    (7, (DType.BFLOAT16,)),
    (6, (DType.INT4,)),
    (5, (DType.FLOAT64, DType.FLOAT16)),
    (4, (DType.UINT16,)),
    (3, (DType.INT8,)),
    (2, (DType.UINT32,)),
)


def _cast_version(call: OpCall) -> int:
    types = {call.operand(0).dtype, call.results[0].dtype}
    return next((version for version, dtypes in _CAST_VERSIONS if types & set(dtypes)), 1)


_RESIZING = (same("align_corners"), same("half_pixel_centers"))
_OUTPUT_TYPE = (choice("output_type", "output_type", DType),)

CODECS = (
    Codec(
        "MIRROR_PAD",
        "mirror_pad",
        MirrorPadAttrs,
        "MirrorPadOptions",
        (choice("mode", "mode", MirrorPadMode),),
        3,
        by_dtype(int8=2, int16=3),
    ),
    Codec("SPACE_TO_BATCH_ND", "space_to_batch_nd", Attrs, "SpaceToBatchNDOptions", (), 4, _block_version),
    Codec("BATCH_TO_SPACE_ND", "batch_to_space_nd", Attrs, "BatchToSpaceNDOptions", (), 4, _block_version),
    Codec("GATHER", "gather", GatherAttrs, "GatherOptions", (same("axis"), same("batch_dims")), 7, _gather_version),
    Codec("GATHER_ND", "gather_nd", Attrs, "GatherNdOptions", (), 5, _gather_nd_version),
    Codec(
        "RESIZE_NEAREST_NEIGHBOR",
        "resize_nearest_neighbor",
        ResizeAttrs,
        "ResizeNearestNeighborOptions",
        _RESIZING,
        4,
        _resize_version(("half_pixel_centers", "align_corners")),
    ),
    Codec(
        "RESIZE_BILINEAR",
        "resize_bilinear",
        ResizeAttrs,
        "ResizeBilinearOptions",
        _RESIZING,
        4,
        _resize_version(("half_pixel_centers",)),
    ),
    Codec("SELECT_V2", "select_v2", Attrs, "SelectV2Options", (), 2, by_dtype(1, uint32=2)),
    Codec("ARG_MAX", "arg_max", ArgAttrs, "ArgMaxOptions", _OUTPUT_TYPE, 3, by_dtype(int8=2, bool=3)),
    Codec("ARG_MIN", "arg_min", ArgAttrs, "ArgMinOptions", _OUTPUT_TYPE, 3, by_dtype(int8=2, bool=3)),
    Codec(
        "CAST",
        "cast",
        CastAttrs,
        "CastOptions",
        (choice("in_data_type", "in_data_type", DType), choice("out_data_type", "out_data_type", DType)),
        7,
        _cast_version,
    ),
    Codec("CUMSUM", "cumsum", CumsumAttrs, "CumsumOptions", (same("exclusive"), same("reverse")), 1, by_dtype()),
    Codec("ADD_N", "add_n", Attrs, "AddNOptions", (), 1, by_dtype()),
)
