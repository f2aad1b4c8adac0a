"""The node tests of the onnx package, run by our engine."""

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from onnx import OptionalProto, SequenceProto, TensorProto, numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

from arenite._base.errors import AreniteError
from arenite.formats.onnx import OnnxDetails, import_model, model_registry
from arenite.interp.onnx import OnnxInterpreter

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

# Tests that do not pass, by the beginning of their name, and why.
KNOWN = {
    "test_bernoulli": "its results are random",
}
if find_spec("PIL") is None:
    KNOWN["test_image_decoder"] = "onnx.reference needs Pillow for it"
# Here the expected values are the fused operator's, rounded once; its expansion rounds after each node.
HALF = ("_fp16_expanded", "_bf16_expanded")


def arrays(items: Any) -> list[Any]:
    return [_plain(item) for item in items]


def _plain(item: Any) -> Any:
    if isinstance(item, TensorProto):
        return numpy_helper.to_array(item)
    if isinstance(item, SequenceProto):
        return numpy_helper.to_list(item)
    return numpy_helper.to_optional(item) if isinstance(item, OptionalProto) else item


def same(expected: Any, found: Any, case: TestCase) -> bool:
    if expected is None or isinstance(expected, list):
        if not isinstance(expected, list) or not isinstance(found, list):
            return expected is found
        return len(expected) == len(found) and all(same(a, b, case) for a, b in zip(expected, found, strict=True))
    expected, found = np.asarray(expected), np.asarray(found)
    if (expected.dtype, expected.shape) != (found.dtype, found.shape):
        return False
    if expected.dtype == object:
        return [str(item) for item in expected.flat] == [str(item) for item in found.flat]
    if expected.dtype.kind in "iub":
        return np.array_equal(expected, found)
    rtol = max(case.rtol, 0.02) if case.name.endswith(HALF) else case.rtol
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    return np.allclose(found.astype(wide), expected.astype(wide), rtol, max(case.atol, 1e-7), equal_nan=True)


def verdict(case: TestCase) -> str:
    """Empty when our engine gives what the test expects."""
    assert case.model is not None
    model = import_model(case.model.SerializeToString(), case.name)
    assert isinstance(model.details, OnnxDetails)
    try:
        run = OnnxInterpreter(model.graph, model_registry(model), model.details.defaults).run
        for inputs, outputs in case.data_sets or ():
            feeds = {value.name: array for value, array in zip(model.graph.inputs, arrays(inputs), strict=False)}
            found = run(feeds)
            if not all(same(a, b, case) for a, b in zip(arrays(outputs), found, strict=True)):
                return "another result"
    except AreniteError as error:
        return str(error)
    return ""


def test_every_node_test_passes_but_the_known_ones() -> None:
    cases = [case for case in load_model_tests(kind="node") if case.model is not None]
    assert len(cases) > 1300
    failed = {case.name: said for case in cases if (said := verdict(case))}
    assert {name: said for name, said in failed.items() if not name.startswith(tuple(KNOWN))} == {}
    # An entry that nothing needs any more has to go.
    assert [prefix for prefix in KNOWN if not any(name.startswith(prefix) for name in failed)] == []
