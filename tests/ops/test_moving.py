"""Meaning of the ops that move, choose and sum elements, against TFLite-Micro, and LiteRT where it lacks a type."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model
from arenite.ops.gather import GatherAttrs
from choosing_cases import CHOOSERS, arg_cases, cast_cases
from moving_cases import MOVERS, AnyArray, Moving, space_to_batch_cases, strided_slice_cases
from oracle import run_litert, run_wheel

EVERY = {**MOVERS, **CHOOSERS}
S8, S16, S32, F32, BOOL = DType.INT8, DType.INT16, DType.INT32, DType.FLOAT32, DType.BOOL
U8, S64 = DType.UINT8, DType.INT64
ALL = (S8, S16, S32, F32, BOOL)
# What the wheel's kernels take: see its kernels' messages.
WHEEL: dict[str, tuple[DType, ...]] = {
    "slice": ALL,
    "strided_slice": ALL,
    "split": (S8, S16, S32, F32),
    "split_v": (S8, S16, S32, F32),
    "unpack": (S8, S16, S32, F32),
    "pack": (S8, S16, S32, F32),
    "squeeze": ALL,
    "expand_dims": (S8, S16, F32),
    "transpose": (S8, S16, F32),
    "space_to_depth": (S8, F32),
    "depth_to_space": (S8, F32),
    "shape": ALL,
    "fill": (S8, S32, F32),
    "broadcast_to": ALL,
    "mirror_pad": (S8, F32),
    "batch_to_space_nd": (S8, F32),
    "gather": (S8, F32),
    "gather_nd": (S8, F32),
    "resize_nearest_neighbor": (S8, S16, F32),
    "resize_bilinear": (S8, F32),
    "select_v2": (S8, S16, F32),
    "arg_max": (S8, F32),
    "arg_min": (S8, F32),
    "add_n": (S8, F32),
    "cumsum": (S8, F32),
    "padv2": (S8, S16, S32, F32),
}
LITERT: dict[str, tuple[DType, ...]] = {
    "tile": (S32, F32, BOOL),
    "transpose": (S32, BOOL),
    "expand_dims": (S32, BOOL),
    "gather": (S16, S32, BOOL),
    "gather_nd": (S16, S32),
    "mirror_pad": (S16,),
    "batch_to_space_nd": (S16,),
    "space_to_batch_nd": (S8, S16, F32),
    "fill": (S16, BOOL),
    "resize_nearest_neighbor": (S32,),
    "resize_bilinear": (S16, U8),
    "select_v2": (S32, BOOL),
    "arg_max": (S32, U8),
    "arg_min": (S32, U8),
    "add_n": (S32,),
    "cumsum": (S32,),
}


def pairs(table: dict[str, tuple[DType, ...]]) -> list[tuple[str, DType]]:
    return [(op, dtype) for op, dtypes in table.items() for dtype in dtypes]


def agrees(case: Moving, oracle: Callable[[bytes, list[list[AnyArray]]], list[list[AnyArray]]]) -> None:
    assert case.problems() == []
    found = case.evaluate()
    (expected,) = oracle(export_model(case.model()), [case.feeds])
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def wheel(data: bytes, feeds: list[list[AnyArray]]) -> list[list[AnyArray]]:
    return run_wheel(data, feeds, arena_nbytes=1 << 21)


def optimized(data: bytes, feeds: list[list[AnyArray]]) -> list[list[AnyArray]]:
    """LiteRT's other kernels, of which there are newer versions."""
    return run_litert(data, feeds, "BUILTIN_WITHOUT_DEFAULT_DELEGATES")


def test_every_op_has_an_oracle() -> None:
    assert set(EVERY) == set(WHEEL) | set(LITERT)


@pytest.mark.wheel
@pytest.mark.parametrize(("op", "dtype"), pairs(WHEEL))
@given(data=st.data())
def test_as_tflite_micro(op: str, dtype: DType, data: st.DataObject) -> None:
    case = data.draw(EVERY[op](dtype))
    # TFLite-Micro takes a tensor without elements, such as the shape of a scalar, for a dynamic one.
    assume(all(array.size for array in case.data))
    agrees(case, wheel)


@pytest.mark.litert
@pytest.mark.parametrize(("op", "dtype"), pairs(LITERT))
@given(data=st.data())
def test_as_litert(op: str, dtype: DType, data: st.DataObject) -> None:
    agrees(data.draw(EVERY[op](dtype)), run_litert)


@pytest.mark.litert
@pytest.mark.parametrize("op", ["arg_max", "arg_min"])
@given(data=st.data())
def test_indices_of_64_bits_as_litert(op: str, data: st.DataObject) -> None:
    agrees(data.draw(arg_cases(op, data.draw(st.sampled_from((S8, U8, S32, F32))), S64)), run_litert)


@pytest.mark.litert
@given(case=strided_slice_cases(S8, (1, 4), every=True))
def test_ellipsis_and_new_axes_as_litert(case: Moving) -> None:
    agrees(case, optimized)


@pytest.mark.wheel
@pytest.mark.parametrize("dtype", [S8, F32], ids=str)
@given(data=st.data())
def test_space_to_batch_is_tflite_micro_s_of_a_padded_input(dtype: DType, data: st.DataObject) -> None:
    """Its own padding is made of whatever its parameters' memory holds, often a stored 0."""
    case = data.draw(space_to_batch_cases(dtype))
    x, block, paddings = case.data
    zero = 0 if case.quantization is None else case.quantization.zero_point
    padded = np.pad(x, ((0, 0), *paddings.tolist(), (0, 0)), constant_values=zero)
    alone = replace(case, data=(padded, block, np.zeros_like(paddings)))
    np.testing.assert_array_equal(case.evaluate(), alone.evaluate())
    agrees(alone, wheel)


WHOLE = (S8, S16, S32, DType.UINT32, F32)


@pytest.mark.wheel
@pytest.mark.parametrize("source", [*WHOLE, BOOL], ids=str)
@pytest.mark.parametrize("result", WHOLE, ids=str)
@given(data=st.data())
def test_casts_as_tflite_micro(source: DType, result: DType, data: st.DataObject) -> None:
    agrees(data.draw(cast_cases(source, result)), wheel)


@pytest.mark.litert
@pytest.mark.parametrize("source", [S8, S16, S32, F32, U8, S64], ids=str)
@pytest.mark.parametrize("result", [BOOL, U8, S64], ids=str)
@given(data=st.data())
def test_casts_as_litert(source: DType, result: DType, data: st.DataObject) -> None:
    agrees(data.draw(cast_cases(source, result)), run_litert)


def test_casts_of_floats_out_of_range_are_limited() -> None:
    x = np.array(
        [[np.nan, np.inf, -np.inf, 3e38, -3e38, 127.9, -128.9, 2147483648.0, -2147483904.0, 0.5, -0.5]], np.float32
    )
    expected = {
        S8: [0, 127, -128, 127, -128, 127, -128, 127, -128, 0, 0],
        S32: [0, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 127, -128, 2**31 - 1, -(2**31), 0, 0],
        DType.UINT8: [0, 255, 0, 255, 0, 127, 0, 255, 0, 0, 0],
        DType.UINT64: [0, 2**64 - 1, 0, 2**64 - 1, 0, 127, 0, 2**31, 0, 0, 0],
        DType.INT64: [0, 2**63 - 1, -(2**63), 2**63 - 1, -(2**63), 127, -128, 2**31, -2147483904, 0, 0],
        BOOL: [True, True, True, True, True, True, True, True, True, True, True],
    }
    for dtype, numbers in expected.items():
        (found,) = Moving("cast", (x,), result_dtype=dtype).evaluate()
        np.testing.assert_array_equal(found, np.array([numbers], dtype.numpy), strict=True)


@pytest.mark.litert
@given(case=MOVERS["tile"](S8))
def test_tile_of_int8_as_litert(case: Moving) -> None:
    agrees(case, optimized)


@pytest.mark.parametrize("op", ["gather", "gather_nd"])
def test_computed_indices_are_limited_to_the_range(op: str) -> None:
    x = np.arange(12, dtype=np.int8).reshape(4, 3)
    wild = np.array([[-1], [4], [2**31 - 1], [-(2**31)], [2]], np.int32)
    nearest = np.array([0, 3, 3, 0, 2])
    case = Moving(op, (x, wild)) if op == "gather_nd" else Moving(op, (x, wild[:, 0]), attrs=GatherAttrs())
    np.testing.assert_array_equal(case.evaluate(), [x[nearest]])
