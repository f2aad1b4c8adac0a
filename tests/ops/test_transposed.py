"""The meaning of transpose_conv: TFLite-Micro's on integers, its definition on floats."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model
from arenite.ir.attrs import Activation, Padding
from arenite.ir.opdef import Cost, OpError
from arenite.ops.clamps import activation_range_float
from arenite.ops.transposed import TransposeConvAttrs
from oracle import run_wheel
from plain_cases import AnyArray, Plain
from transposed_cases import transpose_cases, transpose_int16_cases


@pytest.mark.wheel
@given(case=st.one_of(transpose_cases(), transpose_int16_cases()))
def test_quantized_meaning_is_the_oracles(case: Plain) -> None:
    assume(not case.problems())
    try:
        found = case.evaluate()
    except OpError:
        assume(False)
    ((expected,),) = run_wheel(export_model(case.model()), [[case.data[2]]], arena_nbytes=1 << 20)
    np.testing.assert_array_equal(found, expected)


def _attrs(case: Plain) -> TransposeConvAttrs:
    assert isinstance(case.attrs, TransposeConvAttrs)
    return case.attrs


def _brute_force(case: Plain) -> AnyArray:
    """Every input pixel adds its taps, in float64, by the definition."""
    shape, weight, data = (np.asarray(array, np.float64) for array in case.data[:3])
    attrs, sizes = _attrs(case), [int(n) for n in shape]
    pads = []
    for i in range(2):
        reach = (data.shape[1 + i] - 1) * attrs.stride[i] + weight.shape[1 + i]
        pads.append(max(reach - sizes[1 + i], 0) // 2 if attrs.padding is Padding.SAME else 0)
    total = np.zeros(sizes)
    for n, y, x, c in np.ndindex(*data.shape):
        for ky, kx in np.ndindex(*weight.shape[1:3]):
            at_y, at_x = y * attrs.stride[0] + ky - pads[0], x * attrs.stride[1] + kx - pads[1]
            if 0 <= at_y < sizes[1] and 0 <= at_x < sizes[2]:
                total[n, at_y, at_x] += data[n, y, x, c] * weight[:, ky, kx, c]
    return total + (case.data[3] if len(case.data) > 3 else 0)


def _as_float(case: Plain) -> Plain:
    """Numbers whose sums float32 holds exactly."""
    shape, weight, data, *bias = case.data
    arrays = [weight.astype(np.float32) / 64, data.astype(np.float32) / 16]
    arrays += [(array % 64).astype(np.float32) for array in bias]
    return replace(case, data=(shape, *arrays), quantizations=(None,) * (len(arrays) + 2), result_dtype=DType.FLOAT32)


@given(case=transpose_cases())
def test_float_meaning_is_the_definition(case: Plain) -> None:
    case = _as_float(case)
    low, high = activation_range_float(_attrs(case).activation)
    found = case.evaluate()
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.clip(_brute_force(case), low, high).astype(np.float32))


@given(case=transpose_cases())
def test_cost_counts_every_tap_of_every_input(case: Plain) -> None:
    facet = case.definition.cost
    assert callable(facet)
    _, weight, data = case.data[:3]
    assert facet(case.call()) == Cost(macs=data.size * weight.size // weight.shape[3])


@given(case=transpose_cases())
def test_canonical_attributes_mean_the_same(case: Plain) -> None:
    assume(not case.problems())
    facet = case.definition.canonicalize
    assert callable(facet)
    try:
        expected = case.evaluate()
        (node,) = case.graph().nodes
        simpler = facet(node)
    except OpError:
        assume(False)
    if simpler is not None:
        assert simpler != case.attrs
        np.testing.assert_array_equal(replace(case, attrs=simpler).evaluate(), expected)


def _small() -> Plain:
    zeros = np.zeros((1, 2, 2, 3), np.float32)
    shape = np.array([1, 4, 4, 2], np.int32)
    weight = np.zeros((2, 2, 2, 3), np.float32)
    attrs = TransposeConvAttrs((2, 2))
    return Plain("transpose_conv", (shape, weight, zeros), (None,) * 4, DType.FLOAT32, attrs, frozenset({0, 1}))


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ([1, 4, 4], "four numbers"),
        ([1, 4, 0, 2], "at least 1"),
        ([2, 4, 4, 2], "batch of 1"),
        ([1, 4, 4, 3], "2 channels"),
        ([1, 1, 4, 2], "no window fits"),
    ],
)
def test_shapes_that_cannot_be(shape: list[int], text: str) -> None:
    case = _small()
    with pytest.raises(OpError, match=text):
        replace(case, data=(np.array(shape, np.int32), *case.data[1:])).graph()


def test_a_computed_shape_is_refused() -> None:
    call = _small().call()
    computed = replace(call, constants=(None, *call.constants[1:]))
    failed = [c.text for c in _small().definition.constraints if c.holds(computed) is not True]
    assert failed == ["the result's shape is constant"]


def test_the_cases_reach_what_is_easily_missed() -> None:
    counts: Counter[str] = Counter()

    # Derandomized, so that it cannot fail by chance.
    @settings(max_examples=300, derandomize=True, database=None)
    @given(case=transpose_cases())
    def count(case: Plain) -> None:
        assume(not case.problems())
        attrs, taps = _attrs(case), case.data[1].shape[1:3]
        counts[f"bias {len(case.data) > 3}"] += 1
        counts[f"padding {attrs.padding.value}"] += 1
        counts["stride beyond the filter"] += attrs.stride[0] > taps[0]
        counts["activation"] += attrs.activation is not Activation.NONE
        counts["per channel"] += case.quantizations[1] is not None and case.quantizations[1].axis is not None

    count()
    assert len(counts) == 7
    assert min(counts.values()) > 0, counts
