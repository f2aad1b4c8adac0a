"""conv2d, depthwise_conv2d and fully_connected: C, its numpy reference, the op's meaning and the oracle agree."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from arenite._base.ctype import NUMPY_OF_CTYPE
from arenite.formats.tflite import export_model
from arenite.lower.conv import KERNELS as CONV_KERNELS
from arenite.lower.dense import KERNELS as DENSE_KERNELS
from arenite.lower.depthwise import KERNELS as DEPTHWISE_KERNELS
from arenite.lower.kernel import Kernel, OperandRef, Prepared, PreparedConstant, ResultRef
from kernels.host import call
from oracle import run_wheel
from weighted_cases import AnyArray, Case, conv_cases, dense_cases, depthwise_cases, fits

KERNELS = (*CONV_KERNELS, *DEPTHWISE_KERNELS, *DENSE_KERNELS)


def kernels_for(case: Case) -> tuple[Kernel, ...]:
    node = case.call()
    taken = tuple(k for k in KERNELS if k.op == case.op and all(c.holds(node) is True for c in k.constraints))
    assert taken, "no kernel takes this case"
    return taken


def bound(kernel: Kernel, prepared: Prepared, case: Case, poison: int) -> Mapping[str, AnyArray | None]:
    """Arrays for each argument; outputs and scratch hold `poison`."""
    arrays: dict[str, AnyArray | None] = {}
    for argument in kernel.info.arguments:
        given_, dtype = prepared.arguments[argument.name], NUMPY_OF_CTYPE[argument.ctype]
        match given_:
            case None:
                arrays[argument.name] = None
            case int():
                arrays[argument.name] = np.full(given_ // dtype.itemsize, poison, dtype)
            case PreparedConstant():
                arrays[argument.name] = np.ascontiguousarray(given_.data).reshape(-1)
            case OperandRef():
                arrays[argument.name] = np.ascontiguousarray(case.data).reshape(-1)
            case ResultRef():
                arrays[argument.name] = np.full(case.call().results[0].nelem, poison, dtype)
    return arrays


def by_reference(kernel: Kernel, case: Case) -> AnyArray:
    (prepared,) = kernel.prepare(case.call())
    arrays = bound(kernel, prepared, case, 0x55)
    kernel.reference(prepared.params, arrays)
    return np.asarray(arrays["output"])


def by_c(kernel: Kernel, case: Case, compiler: str, poison: int = 0x55) -> AnyArray:
    (prepared,) = kernel.prepare(case.call())
    arrays = bound(kernel, prepared, case, poison)
    call(kernel.info, prepared.params, arrays, compiler)
    return np.asarray(arrays["output"])


ANY_CASE = st.one_of(conv_cases(), conv_cases(), conv_cases(pointwise=True), depthwise_cases(), dense_cases())


@given(case=ANY_CASE)
def test_the_numpy_reference_means_what_the_op_means(case: Case) -> None:
    assume(fits(case))
    expected = case.evaluate().reshape(-1)
    for kernel in kernels_for(case):
        np.testing.assert_array_equal(by_reference(kernel, case), expected, err_msg=kernel.variant)


@pytest.mark.parametrize("compiler", [pytest.param(c, marks=getattr(pytest.mark, c)) for c in ("gcc", "clang")])
@given(case=ANY_CASE)
def test_c_does_what_the_op_means(compiler: str, case: Case) -> None:
    assume(fits(case))
    expected = case.evaluate().reshape(-1)
    for kernel in kernels_for(case):
        np.testing.assert_array_equal(by_c(kernel, case, compiler), expected, err_msg=kernel.variant)


@pytest.mark.wheel
@pytest.mark.gcc
@given(case=ANY_CASE)
def test_c_does_what_the_oracle_does(case: Case) -> None:
    assume(fits(case))
    ((expected,),) = run_wheel(export_model(case.model()), [[case.data]], arena_nbytes=1 << 20)
    for kernel in kernels_for(case):
        np.testing.assert_array_equal(by_c(kernel, case, "gcc"), expected.reshape(-1), err_msg=kernel.variant)


@pytest.mark.gcc
@given(case=depthwise_cases(multipliers=(1,), same_size=True))
def test_in_place(case: Case) -> None:
    """A kernel that says so may write over the operand that it reads."""
    assume(fits(case))
    expected = case.evaluate().reshape(-1)
    for kernel in kernels_for(case):
        if kernel.in_place:
            (prepared,) = kernel.prepare(case.call())
            arrays = bound(kernel, prepared, case, 0x55)
            taken = np.array(arrays["input"])
            call(kernel.info, prepared.params, {**arrays, "input": taken, "output": taken})
            np.testing.assert_array_equal(taken, expected, err_msg=kernel.variant)


def _traits(case: Case) -> set[str]:
    """What a case reaches that is easily missed."""
    found = {
        f"zero point {z}" for z in (-128, 127) if case.data_quantization and case.data_quantization.zero_point == z
    }
    for kernel in kernels_for(case):
        (prepared,) = kernel.prepare(case.call())
        found.add(f"{case.op} {kernel.variant}")
        shifts = prepared.arguments["shifts"]
        assert isinstance(shifts, PreparedConstant)
        largest, least = max(shifts.data.tolist()), min(shifts.data.tolist())
        found |= {"shift above 0"} if largest > 0 else set()
        found |= {"vanishing multiplier"} if least < -31 else set()
        found |= {f"{kernel.variant} narrow {prepared.params['narrow']}"} if "narrow" in prepared.params else set()
    if case.op == "fully_connected":
        return found | ({"several rows"} if case.call().results[0].nelem > case.weight.shape[0] else set())
    (kernel, *_) = (k for k in kernels_for(case) if k.variant in ("direct", "grouped"))
    (prepared,) = kernel.prepare(case.call())
    p = {name: value for name, value in prepared.params.items() if isinstance(value, int)}
    found |= {"stride > filter"} if p["stride_width"] > p["filter_width"] else set()
    found |= {"dilation"} if p["dilation_width"] > 1 and p["filter_width"] > 1 else set()
    found |= {"padding beyond half the filter"} if p["pad_left"] > p["filter_width"] // 2 else set()
    found |= {"odd channels"} if case.call().results[0].dims[3] % 2 else set()
    found |= {"odd pixels"} if np.prod(case.call().results[0].dims[:3]) % 2 else set()
    found |= {"filter larger than the input"} if p["filter_width"] > p["input_width"] else set()
    found |= {"batches"} if p["batches"] > 1 else set()
    found |= {"no bias"} if case.bias is None else set()
    scales = case.weight_quantization.scales if case.weight_quantization else (1.0,)
    found |= {"channels far apart"} if max(scales) / min(scales) > 2.0**20 else set()
    return found


WANTED = frozenset(
    {
        *("zero point -128", "zero point 127", "shift above 0", "vanishing multiplier", "several rows", "odd pixels"),
        *("stride > filter", "dilation", "padding beyond half the filter", "odd channels", "batches", "no bias"),
        *("filter larger than the input", "channels far apart"),
        *(f"{kernel.op} {kernel.variant}" for kernel in KERNELS),
        *(f"{variant} narrow {n}" for variant in ("dense", "pointwise", "planes", "as_conv2d") for n in (0, 1)),
        *(f"{variant} narrow {n}" for variant in ("direct", "grouped") for n in (0, 1)),
    }
)


@pytest.mark.slow
def test_the_cases_reach_what_is_easily_missed() -> None:
    counts: Counter[str] = Counter()

    # Twice what the CI profile runs of each test and more, since some of these are rare; derandomized, so that it
    # cannot fail by chance.
    @settings(max_examples=1500, derandomize=True, database=None)
    @given(case=ANY_CASE)
    def count(case: Case) -> None:
        assume(fits(case))
        counts.update(_traits(case))

    count()
    print(sorted(counts.items()))
    assert not {name for name in WANTED if counts[name] < 2}
