"""Kernels with state: C, their numpy references and the ops' meaning agree, invocation after invocation."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arenite._base.ctype import NUMPY_OF_CTYPE
from arenite.interp.interpreter import initial_state
from arenite.lower.kernel import Kernel, OperandRef, PreparedConstant, ResultRef
from kernels.host import call as call_c
from kernels.test_plain import takers
from state_cases import AnyArray, Stateful, lstm_cases, lstm_int16_cases, svdf_cases

HOW = ["reference", pytest.param("gcc", marks=pytest.mark.gcc), pytest.param("clang", marks=pytest.mark.clang)]


def run(kernel: Kernel, case: Stateful, how: str) -> list[AnyArray]:
    """The result of each invocation by one kernel."""
    (node,) = case.graph().nodes
    (prepared,) = kernel.prepare(case.call())
    states = {i: initial_state(v).reshape(-1) for i, v in enumerate(node.operands) if v is not None and v.is_variable}
    results = []
    for feed in case.feeds:
        result = np.full(case.result.nelem, 77).astype(case.result.dtype.numpy)
        arguments: dict[str, Any] = {}
        for argument in kernel.info.arguments:
            match prepared.arguments[argument.name]:
                case OperandRef(index=0):
                    arguments[argument.name] = np.ascontiguousarray(feed).reshape(-1)
                case OperandRef(index=index):
                    arguments[argument.name] = states[index]
                case PreparedConstant(data=data):
                    assert data.dtype == NUMPY_OF_CTYPE[argument.ctype]
                    arguments[argument.name] = np.ascontiguousarray(data).reshape(-1)
                case ResultRef():
                    arguments[argument.name] = result
                case other:
                    raise AssertionError(f"{argument.name} gets {other}")
        if how == "reference":
            kernel.reference(prepared.params, arguments)
        else:
            call_c(kernel.info, prepared.params, arguments, how)
        results.append(result.reshape(case.result.dims))
    return results


def agree(case: Stateful, how: str) -> None:
    assume(not case.problems())
    chosen = takers(case.call())
    assert chosen, f"no kernel takes {case}"
    expected = case.evaluate()
    for kernel in chosen:
        np.testing.assert_array_equal(run(kernel, case, how), expected, f"{kernel.variant}, {how}")


@pytest.mark.parametrize("how", HOW)
@given(case=svdf_cases(biased=True))
def test_svdf(how: str, case: Stateful) -> None:
    agree(case, how)


@given(case=svdf_cases(biased=False))
def test_svdf_without_bias(case: Stateful) -> None:
    agree(case, "reference")


@pytest.mark.parametrize("how", HOW)
@given(case=st.one_of(lstm_cases(), lstm_int16_cases()))
def test_lstm(how: str, case: Stateful) -> None:
    agree(case, how)
