"""Operands and attributes of strangers: whatever they are, an op takes them or says what is wrong with them."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite._base.errors import ModelError
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Graph
from arenite.ir.opdef import OpError
from arenite.ir.verifier import check
from arenite.lower import arena, kernels
from arenite.lower.lower import lower
from choosing_cases import CHOOSERS
from moving_cases import MOVERS, REGISTRY, AnyArray, Moving

KERNELS = kernels()
WILD = st.one_of(st.integers(-3, 7), st.sampled_from((-(2**31), 2**31 - 1, 2**20, -128)))


def damaged(draw: st.DrawFn, array: AnyArray) -> AnyArray:
    """Other numbers, or another shape."""
    found: AnyArray = array.copy().reshape(-1)
    for index in draw(st.lists(st.integers(0, max(found.size - 1, 0)), max_size=2)) if found.size else ():
        found[index] = draw(WILD)
    found = found.reshape(array.shape)
    match draw(st.sampled_from(("whole", "whole", "whole", "flat", "nested", "short", "long"))):
        case "flat":
            return found.reshape(-1)
        case "nested":
            return found[None]
        case "short":
            return found.reshape(-1)[:-1]
        case "long":
            return np.concatenate([found.reshape(-1), found.reshape(-1)])
    return found


def damaged_attrs(draw: st.DrawFn, attrs: Attrs) -> Attrs:
    changes: dict[str, Any] = {}
    for item in fields(attrs):
        value = getattr(attrs, item.name)
        if isinstance(value, int) and not isinstance(value, bool) and draw(st.booleans()):
            changes[item.name] = draw(WILD)
        elif isinstance(value, tuple) and draw(st.booleans()):
            changes[item.name] = (*value, draw(WILD))
    return replace(attrs, **changes)


@st.composite
def damaged_cases(draw: st.DrawFn, op: str) -> Moving:
    case = draw({**MOVERS, **CHOOSERS}[op](DType.INT8))
    data = tuple(damaged(draw, x) if x.dtype == np.int32 else x for x in case.data)
    count = draw(st.sampled_from((case.n_results, case.n_results, 1, 3))) if case.n_results > 1 else case.n_results
    return replace(case, data=data, attrs=damaged_attrs(draw, case.attrs), n_results=count)


def taken(case: Moving) -> Graph | None:
    """The graph, if the op takes the operands."""
    try:
        graph = case.graph()
    except OpError:
        return None
    try:
        check(graph, REGISTRY)
    except ModelError:
        return None
    return graph


@pytest.mark.parametrize("op", [*MOVERS, *CHOOSERS])
@given(data=st.data())
def test_what_is_taken_runs(op: str, data: st.DataObject) -> None:
    case = data.draw(damaged_cases(op))
    graph = taken(case)
    # Nobody waits for gigabytes.
    if graph is None or sum(value.type.nbytes for value in graph.outputs) >= 1 << 20:
        return
    expected = case.evaluate()
    try:
        program = lower(graph, REGISTRY, KERNELS, name="m")
    except ModelError:
        return
    for found, wanted in zip(arena.run(program, KERNELS, case.feeds), expected, strict=True):
        np.testing.assert_array_equal(found, wanted, strict=True)
