from dataclasses import replace

import numpy as np
from hypothesis import given

from arenite.ir.opdef import Cost
from arenite.ops.dense import FullyConnectedAttrs
from weighted_cases import Case, dense_cases


@given(case=dense_cases())
def test_float_meaning_is_a_matrix_product(case: Case) -> None:
    attrs = replace(case.attrs, activation=FullyConnectedAttrs().activation)  # type: ignore[call-arg]
    real = Case(case.op, attrs, case.data.astype(np.float32), case.weight.astype(np.float32), None, None, None, None)
    expected = case.data.reshape(-1, case.weight.shape[1]).astype(np.int64) @ case.weight.astype(np.int64).T
    found = real.evaluate()
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.reshape(expected.shape), expected.astype(np.float32))
    with_bias = replace(real, bias=np.arange(case.weight.shape[0], dtype=np.float32))
    np.testing.assert_array_equal(with_bias.evaluate(), found + np.arange(case.weight.shape[0], dtype=np.float32))


@given(case=dense_cases())
def test_shape_keeps_dimensions_only_when_asked(case: Case) -> None:
    outputs, inputs = case.weight.shape
    flat = replace(case, attrs=FullyConnectedAttrs(keep_dims=False))
    kept = replace(case, attrs=FullyConnectedAttrs(keep_dims=True))
    assert flat.call().results[0].dims == (case.data.size // inputs, outputs)
    assert kept.call().results[0].dims == (*case.data.shape[:-1], outputs)


@given(case=dense_cases())
def test_cost_is_one_mac_per_weight_and_row(case: Case) -> None:
    facet = case.definition.cost
    assert callable(facet)
    outputs, _ = case.weight.shape
    assert facet(case.call()) == Cost(macs=case.data.size * outputs)


def test_rows_that_do_not_divide_break_a_constraint() -> None:
    case = Case(
        "fully_connected",
        FullyConnectedAttrs(),
        np.zeros((2, 3), np.float32),
        np.zeros((2, 3), np.float32),
        None,
        None,
        None,
        None,
    )
    (text,) = [c.text for c in case.definition.constraints if "whole rows" in c.text]
    for keep_dims, shape, holds in ((False, (5, 3), True), (False, (4, 5), False), (True, (3, 4), False)):
        call = case.call()
        call = replace(
            call,
            attrs=FullyConnectedAttrs(keep_dims=keep_dims),
            operands=(replace(call.operand(0), shape=shape), call.operand(1)),
        )
        failed = [c.text for c in case.definition.constraints if c.holds(call) is not True]
        assert failed == ([] if holds else [text])
