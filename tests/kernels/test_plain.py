"""C kernels of the ops without weights: C == numpy reference == the op's meaning, on this computer."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arenite._base.ctype import NUMPY_OF_CTYPE
from arenite._base.dtypes import DType
from arenite.ir.opdef import OpCall, OpError
from arenite.ir.types import Quantization
from arenite.kernels.families.quant import RESCALE
from arenite.lower import kernels
from arenite.lower.kernel import Kernel, OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.ops.activation import PROBABILITY_INT16
from kernels.host import call as call_c
from plain_cases import INT8_CASES, Plain, dequantize_cases, quantize_cases, requantize_cases, softmax_cases
from unsigned_cases import UNSIGNED_CASES

AnyArray = npt.NDArray[Any]
KERNELS = kernels()


def arguments_of(kernel: Kernel, prepared: Prepared, data: tuple[AnyArray, ...], result: AnyArray) -> dict[str, Any]:
    """Flat arrays; the output is a view into `result`."""
    found: dict[str, Any] = {}
    for argument in kernel.info.arguments:
        given = prepared.arguments[argument.name]
        dtype = NUMPY_OF_CTYPE[argument.ctype]
        match given:
            case OperandRef():
                found[argument.name] = data[given.index].reshape(-1).view(dtype)
            case ResultRef():
                found[argument.name] = result.reshape(-1).view(np.uint8)[given.offset_nbytes :].view(dtype)
            case PreparedConstant():
                assert given.data.dtype == dtype
                found[argument.name] = np.ascontiguousarray(given.data).reshape(-1)
            case _:
                raise AssertionError(f"{argument.name} gets {given}")
    return found


def run(kernel: Kernel, call: OpCall, data: tuple[AnyArray, ...], how: str) -> AnyArray:
    """The op by one kernel: by its numpy reference, or in C by a compiler."""
    result = np.full(call.results[0].dims, 77).astype(call.results[0].dtype.numpy)
    for prepared in kernel.prepare(call):
        arguments = arguments_of(kernel, prepared, data, result)
        if how == "reference":
            kernel.reference(prepared.params, arguments)
        else:
            call_c(kernel.info, prepared.params, arguments, how)
    return result


def takers(call: OpCall) -> list[Kernel]:
    """The kernels whose constraints the node fulfils."""
    return [k for k in KERNELS.of_op(call.op) if all(c.holds(call) is True for c in k.constraints)]


def agree(case: Plain, how: str) -> None:
    try:
        expected = case.evaluate()
    except OpError:
        assume(False)
    call = case.call()
    chosen = takers(call)
    assert chosen, f"no kernel takes {case}"
    for kernel in chosen:
        found = run(kernel, call, tuple(np.ascontiguousarray(x) for x in case.data), how)
        np.testing.assert_array_equal(found, expected, f"{kernel.variant}, {how}")


@pytest.mark.parametrize("kind", INT8_CASES)
@given(data=st.data())
def test_reference(kind: str, data: st.DataObject) -> None:
    agree(data.draw(INT8_CASES[kind]), "reference")


@pytest.mark.gcc
@pytest.mark.parametrize("kind", INT8_CASES)
@given(data=st.data())
def test_c_by_gcc(kind: str, data: st.DataObject) -> None:
    agree(data.draw(INT8_CASES[kind]), "gcc")


@pytest.mark.clang
@pytest.mark.parametrize("kind", INT8_CASES)
@given(data=st.data())
def test_c_by_clang(kind: str, data: st.DataObject) -> None:
    agree(data.draw(INT8_CASES[kind]), "clang")


@pytest.mark.gcc
@pytest.mark.parametrize("kind", ["add", "sub", "mul", "relu", "softmax", "quantize"])
@given(data=st.data())
def test_in_place(kind: str, data: st.DataObject) -> None:
    """A kernel that says so may write over the operand that it reads."""
    case = data.draw(INT8_CASES[kind])
    try:
        expected = case.evaluate()
    except OpError:
        assume(False)
    call = case.call()
    for kernel in takers(call):
        for index in kernel.in_place:
            operands = [np.ascontiguousarray(x).copy() for x in case.data]
            if operands[index].nbytes != expected.nbytes:
                continue
            (prepared,) = kernel.prepare(call)
            result = operands[index].reshape(-1).view(expected.dtype)
            call_c(kernel.info, prepared.params, arguments_of(kernel, prepared, tuple(operands), result))
            np.testing.assert_array_equal(result, expected.reshape(-1), kernel.variant)


WIDE_CASES = {
    **{f"{source}_to_{result}": requantize_cases(DType(source), DType(result)) for source, result in RESCALE},
    "softmax_to_int16": softmax_cases(PROBABILITY_INT16, DType.INT16),
    "quantize_to_int16": quantize_cases(DType.INT16),
    "dequantize_int16": dequantize_cases(DType.INT16),
    "dequantize_int32": dequantize_cases(DType.INT32),
}


@pytest.mark.gcc
@pytest.mark.clang
@pytest.mark.parametrize("kind", WIDE_CASES)
@given(data=st.data(), how=st.sampled_from(("reference", "gcc", "clang")))
def test_wide_types(kind: str, data: st.DataObject, how: str) -> None:
    agree(data.draw(WIDE_CASES[kind]), how)


GLITCHES = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38, 1e9, -1e9, 2147483648.0, -2147483904.0], np.float32)


@pytest.mark.parametrize("how", ["reference", pytest.param("gcc", marks=pytest.mark.gcc)])
@pytest.mark.parametrize("dtype", [DType.INT8, DType.UINT8, DType.INT16])
def test_quantize_of_glitches(dtype: DType, how: str) -> None:
    for zero_point in dtype.limits:
        agree(Plain("quantize", (GLITCHES,), (None, Quantization.per_tensor(1e-3, zero_point)), dtype), how)


@pytest.mark.parametrize("how", ["reference", pytest.param("gcc", marks=pytest.mark.gcc)])
@pytest.mark.parametrize("kind", ["average_pool2d", "relu", "logistic", "tanh", "hard_swish"])
@given(data=st.data())
def test_what_uint8_has_of_its_own(kind: str, how: str, data: st.DataObject) -> None:
    agree(data.draw(UNSIGNED_CASES[kind]), how)
