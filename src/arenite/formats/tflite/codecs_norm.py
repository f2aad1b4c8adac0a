"""Reductions, normalizations, BATCH_MATMUL. Versions: LiteRT's table of operator versions."""

from arenite.formats.tflite.codec import Codec, by_dtype, same
from arenite.ir.attrs import Attrs
from arenite.ops.matmul import BatchMatmulAttrs
from arenite.ops.reduce import ReduceAttrs

_REDUCER = (ReduceAttrs, "ReducerOptions", (same("keep_dims"),))

CODECS = (
    Codec("SUM", "sum", *_REDUCER, 2, by_dtype(int8=2)),
    Codec("REDUCE_MAX", "reduce_max", *_REDUCER, 3, by_dtype(int8=2, int16=3)),
    Codec("REDUCE_MIN", "reduce_min", *_REDUCER, 3, by_dtype(int8=2, int16=3)),
    Codec(
        "L2_NORMALIZATION",
        "l2_normalization",
        Attrs,
        "L2NormOptions",
        (),
        2,
        by_dtype(int8=2),
        must_be_default=("fused_activation_function",),
    ),
    Codec("LOG_SOFTMAX", "log_softmax", Attrs, "LogSoftmaxOptions", (), 2, by_dtype(int8=2)),
    Codec(
        "BATCH_MATMUL",
        "batch_matmul",
        BatchMatmulAttrs,
        "BatchMatMulOptions",
        (same("adj_x"), same("adj_y")),
        4,
        by_dtype(int8=2, int16=3),
    ),
)
