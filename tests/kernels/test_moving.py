"""C kernels of the ops that move, choose and sum: C == numpy reference == the op's meaning, on this computer."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.ctype import NUMPY_OF_CTYPE
from arenite._base.dtypes import DType
from arenite.ir.opdef import OpCall
from arenite.lower import kernels
from arenite.lower.kernel import Kernel, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.ops.gather import GatherAttrs
from choosing_cases import CHOOSERS, arg_cases, cast_cases
from kernels.host import call as call_c
from moving_cases import MOVERS, Moving

AnyArray = npt.NDArray[Any]
KERNELS = kernels()
S8, S16, S32, F32, BOOL = DType.INT8, DType.INT16, DType.INT32, DType.FLOAT32, DType.BOOL
U8, U16, U32, S64, U64 = DType.UINT8, DType.UINT16, DType.UINT32, DType.INT64, DType.UINT64
BYTES = (S8, S16, S32, F32, BOOL)
# Views make no call; sums and comparisons are of some types.
TYPES: dict[str, tuple[DType, ...]] = {
    **dict.fromkeys(("add_n", "cumsum"), (S8, S32, F32)),
    **dict.fromkeys(("arg_max", "arg_min"), (S8, U8, S16, U16, S32, U32, F32, BOOL)),
    "resize_bilinear": (S8, U8, S16, F32),
    "space_to_batch_nd": (S8, S16, F32),
}
EVERY = {op: cases for op, cases in {**MOVERS, **CHOOSERS}.items() if op not in ("squeeze", "expand_dims")}
CASES = [(op, dtype) for op in EVERY for dtype in TYPES.get(op, BYTES)]
HOWS = ["reference", pytest.param("gcc", marks=pytest.mark.gcc), pytest.param("clang", marks=pytest.mark.clang)]


def arguments_of(kernel: Kernel, prepared: Prepared, data: list[AnyArray], results: list[AnyArray]) -> dict[str, Any]:
    """Flat arrays; outputs are views into `results`."""
    found: dict[str, Any] = {}
    for argument in kernel.info.arguments:
        given_, dtype = prepared.arguments[argument.name], NUMPY_OF_CTYPE[argument.ctype]
        match given_:
            case OperandRef():
                found[argument.name] = data[given_.index].reshape(-1).view(dtype)
            case ResultRef():
                found[argument.name] = results[given_.index].reshape(-1).view(dtype)
            case PreparedConstant():
                assert given_.data.dtype == dtype
                found[argument.name] = np.ascontiguousarray(given_.data).reshape(-1)
            case None:
                found[argument.name] = None
            case _:
                raise AssertionError(f"{argument.name} gets {given_}")
    return found


def takers(call: OpCall) -> list[Kernel]:
    """The kernels whose constraints the node fulfils."""
    return [k for k in KERNELS.of_op(call.op) if all(c.holds(call) is True for c in k.constraints)]


def agree(case: Moving, how: str) -> None:
    expected, call = case.evaluate(), case.call()
    chosen = takers(call)
    assert chosen, f"no kernel takes {case}"
    for kernel in chosen:
        results = [np.full(t.dims, 77).astype(t.dtype.numpy) for t in call.results]
        for prepared in kernel.prepare(call):
            arguments = arguments_of(kernel, prepared, [np.ascontiguousarray(x) for x in case.data], results)
            if how == "reference":
                kernel.reference(prepared.params, arguments)
            else:
                call_c(kernel.info, prepared.params, arguments, how)
        for found, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(found, wanted, f"{kernel.variant}, {how}")


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(("op", "dtype"), CASES)
@given(data=st.data())
def test_kernels(op: str, dtype: DType, how: str, data: st.DataObject) -> None:
    agree(data.draw(EVERY[op](dtype)), how)


_NUMBERS = st.sampled_from((S8, S16, S32, F32, BOOL, U8, U16, U32, S64, U64))


@pytest.mark.parametrize("how", HOWS)
@given(data=st.data())
def test_casts(how: str, data: st.DataObject) -> None:
    source, result = data.draw(_NUMBERS), data.draw(_NUMBERS)
    if source is F32 and result is U64:
        source = S32
    agree(data.draw(cast_cases(source, result)), how)


@pytest.mark.parametrize("how", HOWS)
def test_floats_beyond_integers(how: str) -> None:
    large = [np.nan, np.inf, -np.inf, 3e38, -3e38, 2147483648.0, -2147483904.0, 2147483520.0]
    large += [4294967296.0, 4294967040.0, 2.0**63, -(2.0**63), 9.2233715e18, -9.223373e18]
    x = np.array([[*large, -0.0, 0.99, -0.99, 127.5, 128.5, -128.5, -129.5, 1e-40]], np.float32)
    for dtype in (S8, S16, S32, U8, U16, U32, S64, BOOL):
        agree(Moving("cast", (x,), result_dtype=dtype), how)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("op", ["arg_max", "arg_min"])
@given(data=st.data())
def test_indices_of_64_bits(op: str, how: str, data: st.DataObject) -> None:
    agree(data.draw(arg_cases(op, data.draw(st.sampled_from((U8, S32, F32))), S64)), how)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("op", ["arg_max", "arg_min"])
@given(data=st.data())
def test_searching_floats_that_are_not_numbers(op: str, how: str, data: st.DataObject) -> None:
    element = st.sampled_from((np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0))
    x = np.array(data.draw(st.lists(element, min_size=1, max_size=6)), np.float32)
    agree(Moving(op, (x, np.array([0], np.int32)), frozenset({1}), _arg(), result_dtype=S32), how)


def _arg() -> Any:
    from arenite.ops.choice import ArgAttrs

    return ArgAttrs(S32)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("op", ["gather", "gather_nd"])
def test_computed_indices_are_limited_to_the_range(op: str, how: str) -> None:
    x = np.arange(12, dtype=np.int8).reshape(4, 3)
    wild = np.array([[-1], [4], [2**31 - 1], [-(2**31)], [2]], np.int32)
    agree(Moving(op, (x, wild)) if op == "gather_nd" else Moving(op, (x, wild[:, 0]), attrs=GatherAttrs()), how)


@pytest.mark.gcc
@pytest.mark.parametrize("op", ["add_n", "cumsum", "cast"])
@given(data=st.data())
def test_in_place(op: str, data: st.DataObject) -> None:
    """A kernel that says so may write over the operand that it reads."""
    pairs = st.sampled_from(((S32, F32), (F32, U32), (F32, S32), (S64, U64)))
    cases = cast_cases(*data.draw(pairs)) if op == "cast" else EVERY[op](data.draw(st.sampled_from((S8, S32, F32))))
    case = data.draw(cases)
    (expected,), call = case.evaluate(), case.call()
    for kernel in takers(call):
        for index in (i for i in kernel.in_place if i < len(case.data)):
            operands = [np.ascontiguousarray(x).copy() for x in case.data]
            (prepared,) = kernel.prepare(call)
            result = operands[index].reshape(-1).view(expected.dtype)
            call_c(kernel.info, prepared.params, arguments_of(kernel, prepared, operands, [result]))
            np.testing.assert_array_equal(result, expected.reshape(-1), kernel.variant)
