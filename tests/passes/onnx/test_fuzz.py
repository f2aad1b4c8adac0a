"""Made-up graphs: original and optimised agree, whatever is put together."""

import warnings
from collections import Counter
from typing import Any

import numpy as np
import onnx
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite._base.errors import AreniteError
from arenite.driver.onnx_functions import with_inlining, with_smaller_bodies
from arenite.formats.onnx import export_model, import_model, model_registry
from arenite.formats.onnx.functions import without_unused
from arenite.interp.onnx import OnnxInterpreter
from arenite.ir.clone import clone_graph
from arenite.passes.base import Close
from arenite.passes.instruments import CheckClaims
from arenite.passes.onnx.interface import Interface, apply_interface
from arenite.passes.onnx.measures import measured, peaks_of
from arenite.passes.onnx.peaks import run_within_peak
from arenite.passes.onnx.presets import onnx_passes, run_rounds
from passes.onnx.made import Made, made
from passes.onnx.moves_graphs import MOVES

TOLERANCE = 1e-4
STEPS = st.lists(st.integers(0, (1 << 24) - 1), min_size=5, max_size=40)
# In CI seven times as many as other tests have: graphs are cheap to make.
EXAMPLES = 2000 if settings().max_examples >= 300 else settings().max_examples


def feeds(case: Made) -> list[dict[str, Any]]:
    """As it was made; with special numbers and another trip count; of another size."""
    special = np.array([0.0, -0.0, np.inf, np.nan, -1.5, 3e38], np.float32)
    rng = np.random.default_rng(0)
    odd = {name: np.resize(special, array.shape) for name, array in case.feed.items() if array.ndim}
    other = {
        name: rng.standard_normal((3, *array.shape[1:])).astype(np.float32)
        for name, array in case.feed.items()
        if array.ndim
    }
    return [case.feed, {**odd, "k": np.array(3, np.int64)}, {**other, "k": np.array(1, np.int64)}]


def check(case: Made, pinned: str = "", limit: int | None = None) -> None:
    """Optimise, and compare on inputs where the original runs: bit for bit, but for what fused layers give.

    Args:
        case: the model.
        pinned: names of inputs, a letter each, that become constants.
        limit: how many bytes of constants one folding may add.
    """
    onnx.checker.check_model(case.proto)
    model = import_model(case.proto.SerializeToString(), "made")
    apply_interface(model.graph, Interface({}, {name: case.feed[name] for name in pinned}))
    registry = model_registry(model)
    original = clone_graph(model.graph)
    before, peaks = measured(original, registry), peaks_of(original, registry)
    passes = onnx_passes(fold_max_nbytes=limit)
    model = with_smaller_bodies(model, passes)
    passes = with_inlining(passes, model, model_registry(model))
    found = run_within_peak(model.graph, passes, model_registry(model), instruments=lambda: (CheckClaims(),))
    again = run_rounds(clone_graph(found.graph), found.passes, registry)
    assert not any(row.changed for row in again.rows), "a second run changes something"
    model.graph = found.graph
    model, _ = without_unused(model)
    written = export_model(model)
    onnx.checker.check_model(onnx.load_from_string(written))
    after = measured(found.graph, model_registry(model))
    assert limit or after.weights_nbytes <= 1.1 * before.weights_nbytes + 8192
    assert all(a is None or b is None or b <= a for a, b in zip(peaks, peaks_of(found.graph, registry), strict=True))
    fused = any(row.changed and isinstance(row.equivalence, Close) for row in found.result.rows)
    back = import_model(written, "made").graph
    for number, given_feed in enumerate(feeds(case)):
        feed = {name: array for name, array in given_feed.items() if name not in pinned}
        one = OnnxInterpreter(original, registry)
        other = OnnxInterpreter(back, model_registry(model))
        try:
            trace = one.trace(feed)
        except AreniteError:
            assert number, "the original does not run"
            continue
        for value, expected, given_ in zip(case.outputs, trace.outputs, other.run(feed), strict=True):
            assert (expected.dtype, expected.shape) == (given_.dtype, given_.shape)
            if not (fused and value.near):
                same = np.ascontiguousarray(expected).tobytes() == np.ascontiguousarray(given_).tobytes()
                assert same or (np.array_equal(np.isnan(expected), np.isnan(given_)) and _bits(expected, given_))
            elif number != 1:
                assert _near(expected, given_, trace.values)


def _bits(one: Any, other: Any) -> bool:
    """Whether all but NaN have the same bits: of a NaN, nobody says which it is."""
    real = ~np.isnan(one)
    return bool(
        np.array_equal(one[real], other[real]) and np.array_equal(np.signbit(one[real]), np.signbit(other[real]))
    )


def _near(expected: Any, found: Any, values: dict[str, Any]) -> bool:
    """Whether two results differ by little, beside the largest number that went into them."""
    floats = [array for array in values.values() if isinstance(array, np.ndarray) and array.dtype == np.float32]
    finite = [np.abs(array[np.isfinite(array)]).max(initial=0) for array in (*floats, expected)]
    apart = np.abs(expected - found)[np.isfinite(expected)]
    alike = np.array_equal(np.isnan(expected), np.isnan(found)) and np.array_equal(np.isinf(expected), np.isinf(found))
    return alike and bool((apart <= TOLERANCE * max(1.0, *finite)).all())


@settings(max_examples=EXAMPLES)
@given(STEPS, st.booleans(), st.sampled_from(("", "", "k", "kxz")), st.sampled_from((None, None, 0, 1 << 20)))
def test_original_and_optimised_agree(numbers: list[int], dynamic: bool, pinned: str, limit: int | None) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        check(made(numbers, MOVES, dynamic=dynamic), pinned, limit)


# In how many of 300 graphs there must be what is easily missed.
REACHED = {
    "dynamic": 100,
    "shared constant": 150,
    "equal constants": 150,
    "nested graph in a nested graph": 15,
    "If": 60,
    "If, condition constant": 40,
    "Loop, 0 trips": 5,
    "Loop, 1 trips": 5,
    "Loop, 2 trips": 15,
    "Loop, 3 trips": 5,
    "Loop, 4 trips": 10,
    "Loop, trips not known": 20,
    "Scan": 40,
    "RandomNormalLike": 50,
    "empty": 40,
    "F0": 5,
    "F1": 5,
    "F2": 5,
    **{f"rank {rank}": 100 for rank in range(5)},
    "rank 5": 30,
    **dict.fromkeys(("Conv", "Transpose", "Reshape", "Slice", "Gather", "Concat", "Pad", "Cast", "Shape", "Mul"), 60),
    **dict.fromkeys(("MatMul", "BatchNormalization", "Split", "Tile", "Expand", "Where", "Squeeze", "Unsqueeze"), 25),
    **dict.fromkeys(("QuantizeLinear", "ArgMax", "Range", "ConstantOfShape", "Clip", "Dropout", "Flatten", "Pow"), 10),
}


def test_what_is_made_reaches_what_is_easily_missed() -> None:
    reached: Counter[str] = Counter()
    lengths = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        case = made([int(item) for item in rng.integers(0, 1 << 24, 5 + seed % 36)], MOVES, dynamic=seed % 2 == 0)
        lengths.append(case.reached.pop("nodes"))
        reached.update(key for key, count in case.reached.items() if count)
    assert {what: reached[what] for what, least in REACHED.items() if reached[what] < least} == {}
    # Nested nodes and those of functions are not counted.
    assert sum(5 <= length <= 40 for length in lengths) > 200
    assert max(lengths) > 40
