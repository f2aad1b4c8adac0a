"""Float convolutions and fully_connected: C does what its numpy reference does to the bit, and what the op means."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.lower.kernel import Kernel
from arenite.lower.weighted_float import KERNELS
from kernels.host import call
from kernels.test_weighted import bound
from weighted_cases import AnyArray, Case, conv_cases, dense_cases, depthwise_cases


@st.composite
def float_cases(draw: st.DrawFn) -> Case:
    """Real numbers of several magnitudes, so that sums depend on their order."""
    case = draw(st.one_of(conv_cases(), depthwise_cases(), dense_cases()))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def reals(shape: tuple[int, ...]) -> AnyArray:
        return (rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(np.float32)

    return replace(
        case,
        data=reals(case.data.shape),
        weight=reals(case.weight.shape),
        bias=None if case.bias is None else reals(case.bias.shape),
        data_quantization=None,
        weight_quantization=None,
        result_quantization=None,
    )


def _kernel_for(case: Case) -> Kernel:
    node = case.call()
    (kernel,) = (k for k in KERNELS if k.op == case.op and all(c.holds(node) is True for c in k.constraints))
    return kernel


def _by_reference(case: Case) -> AnyArray:
    kernel = _kernel_for(case)
    (prepared,) = kernel.prepare(case.call())
    arrays = bound(kernel, prepared, case, 1)
    kernel.reference(prepared.params, arrays)
    return np.asarray(arrays["output"])


@pytest.mark.parametrize("compiler", [pytest.param(c, marks=getattr(pytest.mark, c)) for c in ("gcc", "clang")])
@given(case=float_cases())
def test_c_is_the_reference_to_the_bit(compiler: str, case: Case) -> None:
    kernel = _kernel_for(case)
    (prepared,) = kernel.prepare(case.call())
    arrays = bound(kernel, prepared, case, 1)
    call(kernel.info, prepared.params, arrays, compiler)
    np.testing.assert_array_equal(np.asarray(arrays["output"]), _by_reference(case))


@given(case=float_cases())
def test_the_reference_means_what_the_op_means(case: Case) -> None:
    expected = case.evaluate().reshape(-1)
    taps = replace(case, data=np.abs(case.data), weight=np.abs(case.weight), bias=None)
    # Two orders of summation differ by at most the number of terms times the sum of magnitudes in units of rounding.
    unclamped = replace(taps, attrs=replace(taps.attrs, activation=type(taps.attrs)().activation))  # type: ignore[attr-defined,call-arg]
    terms = case.weight.size
    limit = unclamped.evaluate().reshape(-1) * terms * 2.0**-23 + np.abs(expected) * 2.0**-22
    assert (np.abs(_by_reference(case).astype(np.float64) - expected) <= limit).all()
