"""What is computed beforehand, element by element or narrower, and how it is stored."""

from typing import Any

import numpy as np
import pytest

from arenite.formats.onnx import model_registry
from arenite.ir.graph import Array
from arenite.ops.onnx.dialect import OnnxRegistry
from arenite.passes.onnx import compute
from arenite.passes.onnx.compute import narrowed, stability, stored_nbytes
from arenite.passes.onnx.fold import OnnxFold
from passes.onnx.optimizing import model_of, optimized, reals

FOLD = (OnnxFold(),)


def test_only_elementwise_operators_compute_less_than_there_is() -> None:
    text = """g (float[1] x) => (float[1] y) <float[1] one = {3}, int64[1] four = {4}> {
        e = Expand (one, four)
        s = ReduceSum (e)
        y = Add (x, s)
    }"""
    found = optimized(model_of(text), {"x": reals(1)}, passes=FOLD)
    assert found.constants["s"].reshape(-1).tolist() == [12.0]


def test_operands_that_do_not_repeat_are_computed_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def narrow(*arguments: object) -> tuple[Array, ...]:
        raise AssertionError("narrow")

    monkeypatch.setattr(compute, "_narrow_compute", narrow)
    text = (
        "g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> { s = Add (a, b)  y = Add (x, s) }"
    )
    assert optimized(model_of(text), {"x": reals(2)}, passes=FOLD).reasons("s") == ["folded"]


def test_operands_that_repeat_may_stand_beside_absent_ones() -> None:
    text = """g (float[4] x) => (float[4] y) <float[1] one = {3}, int64[1] four = {4}, float most = {2}> {
        e = Expand (one, four)
        s = Clip (e, , most)
        y = Add (x, s)
    }"""
    found = optimized(model_of(text), {"x": reals(4)}, passes=FOLD)
    assert found.constants["s"].reshape(-1)[0] == 2.0
    assert found.reasons("s") in (["folded"], ["broadcast"])


def test_without_an_engine_nothing_is_computed() -> None:
    text = "g (float[2] x) => (float[2] y) <float[2] a = {1, 2}> { s = Neg (a)  y = Add (x, s) }"
    model = model_of(text)
    node = next(iter(model.graph.nodes))
    operands = [value.constant for value in node.present_operands]
    assert compute.compute(node, operands, OnnxRegistry({"": 17})) == "no engine was given"
    assert not isinstance(compute.compute(node, operands, model_registry(model)), str)


def test_results_that_are_no_tensors_are_not_stored() -> None:
    text = """g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, int64 zero = {0}> {
        s = SequenceConstruct (a, a)
        t = SequenceAt (s, zero)
        y = Add (x, t)
    }"""
    found = optimized(model_of(text), {"x": reals(2)}, passes=FOLD)
    assert found.reasons("s") == ["no-meaning"]


def test_what_repeats() -> None:
    row = np.arange(3.0)
    assert not compute.repeats(row)
    assert compute.repeats(np.broadcast_to(row, (2, 3)))
    assert not compute.repeats(np.broadcast_to(row, (1, 3)))
    assert compute._is_same_along(np.ones((4, 1)), -1)
    assert compute._is_same_along(np.ones(4), -2)
    assert not compute._is_same_along(np.ones((4, 2)), -1)


@pytest.mark.parametrize(
    ("array", "shape"),
    [
        (np.array([[1, 2], [1, 2]]), (1, 2)),
        (np.array([[1.0, 1.0], [2.0, 2.0]]), (2, 1)),
        (np.array([np.nan, np.nan], np.float32), (1,)),
        (np.array([0.0, -0.0]), (2,)),
        (np.array(["a", "a"], object), (2,)),
        (np.array([0j, complex(0.0, -0.0)]), (2,)),
        (np.zeros(0), (0,)),
        (np.zeros((0, 3)), (0, 1)),
        (np.array([True, True]), (1,)),
    ],
    ids=str,
)
def test_arrays_are_narrowed_where_their_bits_repeat(array: Array, shape: tuple[int, ...]) -> None:
    assert narrowed(array).shape == shape


def test_strings_take_their_bytes() -> None:
    assert stored_nbytes(np.array([b"ab", "\u00e9"], object)) == 4
    assert stored_nbytes(np.zeros(3, np.int16)) == 6


NAN: Any = np.array([1.0, np.nan])


@pytest.mark.parametrize(
    ("operands", "result", "what"),
    [
        ([np.ones(2)], NAN, "NaN"),
        ([NAN], NAN, None),
        ([None, NAN], NAN, None),
        ([np.array([np.inf])], NAN, "NaN"),
        ([np.ones(2)], NAN.astype(np.complex64), "NaN"),
        ([np.ones(2)], np.array([1.0, -np.inf], np.float16), "infinite"),
        ([np.ones(2)], np.array(["a", "b"], object), None),
        ([np.ones(2)], np.ones(2, np.int8), None),
        ([np.ones(0)], np.ones(0), None),
    ],
)
def test_what_is_unstable(operands: list[Array | None], result: Array, what: str | None) -> None:
    found = stability(operands, [result])
    assert found == (None if what is None else {"count": 1, "what": what, "element": [1]})
