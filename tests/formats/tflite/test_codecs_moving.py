"""Versions of the operators that move, choose and sum: the least that has what a node uses."""

from typing import Any

import pytest

from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model
from arenite.formats.tflite.codecs import codecs_by_op
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.model import Model
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.cast import CastAttrs
from arenite.ops.gather import GatherAttrs
from arenite.ops.resize import ResizeAttrs
from arenite.ops.slicing import StridedSliceAttrs

REGISTRY = core_registry()


def typed(dtype: DType, rank: int = 4) -> TensorType:
    quantized = dtype in (DType.INT4, DType.INT8, DType.INT16)
    return TensorType(dtype, (1,) * rank, Quantization.per_tensor(0.5) if quantized else None)


S4, S8, S16, S32, F32, BOOL = (
    typed(d) for d in (DType.INT4, DType.INT8, DType.INT16, DType.INT32, DType.FLOAT32, DType.BOOL)
)
U16, U32, F16 = typed(DType.UINT16), typed(DType.UINT32), typed(DType.FLOAT16)
# (op, attributes or none, operands, result, version): what each version brought, by LiteRT's op_version.cc.
VERSIONS: list[tuple[str, Attrs | None, list[TensorType], TensorType, int]] = [
    ("slice", None, [F32, S32, S32], F32, 1),
    ("slice", None, [S8, S32, S32], S8, 2),
    ("slice", None, [S16, S32, S32], S16, 4),
    ("slice", None, [typed(DType.FLOAT32, 5), S32, S32], F32, 5),
    ("slice", None, [U32, S32, S32], U32, 6),
    ("strided_slice", None, [F32, S32, S32, S32], F32, 1),
    ("strided_slice", None, [S8, S32, S32, S32], S8, 2),
    ("strided_slice", None, [BOOL, S32, S32, S32], BOOL, 3),
    ("strided_slice", None, [typed(DType.INT8, 5), S32, S32, S32], S8, 4),
    ("strided_slice", StridedSliceAttrs(ellipsis_mask=1), [S8, S32, S32, S32], S8, 6),
    ("strided_slice", StridedSliceAttrs(new_axis_mask=2), [S8, S32, S32, S32], S8, 6),
    ("strided_slice", None, [U32, S32, S32, S32], U32, 7),
    ("strided_slice", StridedSliceAttrs(offset=True), [S8, S32, S32, S32], S8, 8),
    ("split", None, [S32, F32], F32, 1),
    ("split", None, [S32, S8], S8, 2),
    ("split", None, [S32, S32], S32, 3),
    ("split", None, [S32, S16], S16, 4),
    ("split_v", None, [F32, S32, S32], F32, 1),
    ("split_v", None, [S8, S32, S32], S8, 2),
    ("unpack", None, [S8], S8, 2),
    ("unpack", None, [BOOL], BOOL, 3),
    ("unpack", None, [S16], S16, 4),
    ("pack", None, [S32], S32, 1),
    ("pack", None, [S8], S8, 2),
    ("pack", None, [S16], S16, 3),
    ("transpose", None, [S8, S32], S8, 2),
    ("transpose", None, [typed(DType.INT8, 5), S32], S8, 4),
    ("transpose", None, [S16, S32], S16, 5),
    ("transpose", None, [typed(DType.INT8, 6), S32], S8, 6),
    ("space_to_depth", None, [S8], S8, 2),
    ("depth_to_space", None, [F32], F32, 1),
    ("fill", None, [S32, S32], S32, 1),
    ("fill", None, [S32, BOOL], BOOL, 2),
    ("fill", None, [S32, S8], S8, 3),
    ("fill", None, [S32, F16], F16, 4),
    ("broadcast_to", None, [F32, S32], F32, 2),
    ("broadcast_to", None, [S8, S32], S8, 3),
    ("tile", None, [S8, S32], S8, 3),
    ("mirror_pad", None, [S8, S32], S8, 2),
    ("space_to_batch_nd", None, [F32, S32, S32], F32, 1),
    ("space_to_batch_nd", None, [S8, S32, S32], S8, 2),
    ("batch_to_space_nd", None, [typed(DType.INT8, 3), S32, S32], S8, 3),
    ("batch_to_space_nd", None, [S16, S32, S32], S16, 4),
    ("gather", None, [F32, S32], F32, 1),
    ("gather", None, [S8, S32], S8, 2),
    ("gather", GatherAttrs(1, 1), [S8, S32], S8, 5),
    ("gather", None, [S8, S16], S8, 6),
    ("gather", None, [S4, S32], S4, 7),
    ("gather_nd", None, [S16, S32], S16, 3),
    ("gather_nd", None, [BOOL, S32], BOOL, 5),
    ("resize_bilinear", None, [S8, S32], S8, 2),
    ("resize_bilinear", ResizeAttrs(half_pixel_centers=True), [S8, S32], S8, 3),
    ("resize_nearest_neighbor", ResizeAttrs(align_corners=True), [S8, S32], S8, 3),
    ("resize_nearest_neighbor", None, [S16, S32], S16, 4),
    ("arg_max", None, [S8, S32], S32, 2),
    ("arg_min", None, [BOOL, S32], S32, 3),
    ("cast", CastAttrs(), [S32], F32, 1),
    ("cast", CastAttrs(), [U32], F32, 2),
    ("cast", CastAttrs(), [F32], S8, 3),
    ("cast", CastAttrs(), [U16], S32, 4),
    ("cast", CastAttrs(), [F32], F16, 5),
    ("cumsum", None, [S8, S32], S8, 1),
    ("add_n", None, [S8, S8], S8, 1),
]


@pytest.mark.litert
@pytest.mark.parametrize(("op", "attrs", "operands", "result", "version"), VERSIONS)
def test_the_least_version_that_has_it(op: str, attrs: Attrs | None, operands: Any, result: Any, version: int) -> None:
    from ai_edge_litert import schema_py_generated as litert

    builder = GraphBuilder()
    values = [builder.input(f"x{i}", type_) for i, type_ in enumerate(operands)]
    node = builder.node(op, values, [result], attrs or REGISTRY[op].attrs(), name="y")
    (code,) = litert.ModelT.InitFromPackedBuf(export_model(Model("m", builder.output(node.result))), 0).operatorCodes
    assert code.version == version <= codecs_by_op()[op].max_version
    assert code.builtinCode == getattr(litert.BuiltinOperator, codecs_by_op()[op].builtin)
