"""16-bit activations and uint8: C, its numpy reference and the op's meaning agree."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from arenite.ir.types import Quantization
from arenite.lower import kernels
from arenite.lower.kernel import Kernel
from arenite.ops.conv import DepthwiseConv2dAttrs
from arenite.ops.dense import FullyConnectedAttrs
from kernels.host import call
from kernels.test_weighted import bound
from weighted_cases import Case, conv_cases, dense_cases, depthwise_cases, fits, sixteen, unsigned

HOW = ["reference", pytest.param("gcc", marks=pytest.mark.gcc), pytest.param("clang", marks=pytest.mark.clang)]
KERNELS = kernels()
ANY_CASE = st.one_of(conv_cases(), depthwise_cases(), dense_cases())


@st.composite
def wide_cases(draw: st.DrawFn) -> Case:
    """int16 with either bias, none, or uint8 with weights of any zero point."""
    kind = draw(st.sampled_from((np.int32, np.int64, np.uint8)))
    if kind is np.uint8:
        # Groups on uint8 are not in the oracle, and not in what the op means.
        case = draw(st.one_of(conv_cases(grouped=False), depthwise_cases(), dense_cases()))
        return unsigned(case, draw(st.one_of(st.sampled_from((0, 128, 255)), st.integers(0, 255))))
    return sixteen(draw(ANY_CASE), np.int32 if kind is np.int32 else np.int64)


def agree(case: Case, how: str) -> None:
    node, expected = case.call(), case.evaluate().reshape(-1)
    for kernel in takers(case):
        (prepared,) = kernel.prepare(node)
        arrays = bound(kernel, prepared, case, 1)
        if how == "reference":
            kernel.reference(prepared.params, arrays)
        else:
            call(kernel.info, prepared.params, arrays, how)
        np.testing.assert_array_equal(np.asarray(arrays["output"]), expected, kernel.variant)


def takers(case: Case) -> list[Kernel]:
    node = case.call()
    found = [k for k in KERNELS.of_op(case.op) if all(c.holds(node) is True for c in k.constraints)]
    assert found, f"no kernel takes {case}"
    return found


@pytest.mark.parametrize("how", HOW)
@given(case=wide_cases())
def test_kernels_do_what_the_op_means(how: str, case: Case) -> None:
    assume(fits(case))
    agree(case, how)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("outputs", [1, 3])
def test_sums_that_leave_32_bits(how: str, outputs: int) -> None:
    case = sixteen(_long(outputs), np.int64)
    assert [kernel.prepare(case.call())[0].params["wide"] for kernel in takers(case)] == [1, 1]
    agree(case, how)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("bias", [2**31 - 1, -(2**31), 2**38, -(2**38)])
def test_a_bias_that_leaves_32_bits(how: str, bias: int) -> None:
    case = replace(sixteen(_long(2), np.int64), bias=np.array([bias, 5]))
    case = replace(case, data=case.data[:, :9], weight=case.weight[:, :9])
    assert [kernel.prepare(case.call())[0].params["wide"] for kernel in takers(case)] == [1, 1]
    agree(case, how)


@pytest.mark.parametrize("how", HOW)
def test_many_taps_of_one_channel_leave_32_bits(how: str) -> None:
    """What a plane's sums do not hold is left to the kernel of any groups."""
    data, weight = np.full((1, 24, 24, 2), -128, np.int8), np.full((1, 24, 24, 2), -127, np.int8)
    q, result = Quantization.per_tensor(0.5), Quantization.per_tensor(2.0**23)
    narrow = Case("depthwise_conv2d", DepthwiseConv2dAttrs(), data, weight, None, q, q, result)
    case = sixteen(narrow, np.int64)
    assert [kernel.variant for kernel in takers(case)] == ["int16"]
    agree(case, how)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("exponent", [-9, -2, -1, 3])
def test_halves_of_unsigned_matrix_products(how: str, exponent: int) -> None:
    """Rounded once, away from zero; the last two by shifts that are not narrow."""
    q, one = Quantization.per_tensor(2.0**exponent), Quantization.per_tensor(1.0, -128)
    halves = np.arange(-600, 601) * 2.0 ** (-exponent - 1)
    bias = np.concatenate([halves, halves - 1, halves + 1]).astype(np.int32)
    data, weight = np.zeros((1, 1), np.int8), np.zeros((bias.size, 1), np.int8)
    narrow = Case("fully_connected", FullyConnectedAttrs(), data, weight, bias, q, one, replace(one, zero_points=(-3,)))
    case = unsigned(narrow, 128)
    params = [kernel.prepare(case.call())[0].params for kernel in takers(case)]
    assert {p["once"] for p in params} == {1}
    assert {p["narrow"] for p in params if "narrow" in p} == {int(exponent < -1)}
    exact = bias * 2.0**exponent
    rounded = np.sign(exact) * np.floor(np.abs(exact) + 0.5)
    np.testing.assert_array_equal(case.evaluate().reshape(-1), np.clip(rounded + 125, 0, 255))
    agree(case, how)


def _long(outputs: int) -> Case:
    data, weight = np.full((1, 1200), -128, np.int8), np.full((outputs, 1200), -127, np.int8)
    q = Quantization.per_tensor(0.5)
    result = Quantization.per_tensor(2.0**23)
    return Case("fully_connected", FullyConnectedAttrs(), data, weight, None, q, q, result)


def test_the_cases_reach_every_kernel_both_roundings_and_widths() -> None:
    counts: Counter[str] = Counter()

    # Derandomized, so that it cannot fail by chance.
    @settings(max_examples=200, derandomize=True, database=None)
    @given(case=wide_cases())
    def count(case: Case) -> None:
        assume(fits(case))
        bias = None if case.bias is None else case.bias.dtype
        counts[f"{case.op} {case.data.dtype} {bias}"] += 1
        for kernel in takers(case):
            counts[kernel.variant] += 1
            params = kernel.prepare(case.call())[0].params
            counts.update(f"{kind} {params[kind]}" for kind in ("narrow", "once", "in_place") if kind in params)

    count()
    wanted = {f"{op} uint8 int32" for op in ("conv2d", "depthwise_conv2d", "fully_connected")}
    wanted |= {f"{op} int16 int64" for op in ("conv2d", "depthwise_conv2d", "fully_connected")}
    assert wanted <= set(counts), counts
    assert {"uint8_quads", "int16_quads", "uint8_planes", "int16_planes", "uint8", "int16"} <= set(counts), counts
    assert {f"{kind} {value}" for kind in ("narrow", "once", "in_place") for value in (0, 1)} <= set(counts), counts
