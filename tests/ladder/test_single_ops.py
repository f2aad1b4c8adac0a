"""One op, compiled with all passes: what they make of its operands, constant or not, means what the op means."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import function_cases
import norm_cases
from arenite._base.dtypes import DType
from arenite.driver.build import build
from arenite.driver.options import CompileOptions
from arenite.ir.opdef import OpError
from arenite.lower import arena, kernels
from choosing_cases import CHOOSERS
from moving_cases import MOVERS, Moving
from plain_cases import INT8_CASES, Plain
from transposed_cases import transpose_cases
from weighted_cases import Case, conv_cases, dense_cases, depthwise_cases

KERNELS = kernels()
_INT8 = DType.INT8


def _kinds() -> Mapping[str, Mapping[str, st.SearchStrategy[Any]]]:
    return {
        "moving": {op: cases(_INT8) for op, cases in MOVERS.items()},
        "choosing": {op: cases(_INT8) for op, cases in CHOOSERS.items()},
        "plain": INT8_CASES,
        "functions": {**function_cases.WHEEL_CASES, **function_cases.LITERT_CASES},
        "norms": norm_cases.WHEEL_CASES,
    }


@st.composite
def _with_constants(draw: st.DrawFn, case: Moving | Plain) -> Moving | Plain:
    """The case with more operands that are part of the model, some of one element again and again; one is fed."""
    fed = [index for index in range(len(case.data)) if index not in case.constants]
    data = list(case.data)
    if len(fed) > 1:
        fixed = draw(st.lists(st.sampled_from(fed), unique=True, max_size=len(fed) - 1))
        for index in fixed:
            if data[index].size and draw(st.booleans()):
                data[index] = np.full_like(data[index], data[index].reshape(-1)[0])
        return replace(case, data=tuple(data), constants=case.constants | frozenset(fixed))
    return case


def compiled(case: Moving | Plain | Case, feeds: list[Any]) -> list[Any]:
    """The outputs of the compiled model, run in the poisoned arena."""
    return list(arena.run(build(case.model(), CompileOptions(), lambda step: None).program, KERNELS, feeds))


def agrees(case: Moving | Plain | Case, feeds: list[Any], evaluate: Callable[[], Any]) -> None:
    try:
        expected = evaluate()
    except OpError:
        assume(False)
    for found, wanted in zip(
        compiled(case, feeds), expected if isinstance(expected, list) else [expected], strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("family", ["moving", "choosing", "plain", "functions", "norms"])
@given(data=st.data())
def test_whatever_is_constant(family: str, data: st.DataObject) -> None:
    kinds = _kinds()[family]
    kind = data.draw(st.sampled_from(sorted(kinds)))
    case = data.draw(_with_constants(data.draw(kinds[kind])))
    agrees(case, case.feeds, case.evaluate)


@given(case=st.one_of(conv_cases(), depthwise_cases(), dense_cases()))
def test_weights(case: Case) -> None:
    agrees(case, [case.data], case.evaluate)


@given(case=transpose_cases())
def test_transposed_weights(case: Plain) -> None:
    agrees(case, case.feeds, case.evaluate)
