"""The node tests of the onnx package, run by our engine."""

from importlib.util import find_spec

import pytest

from arenite._base.errors import AreniteError
from arenite.formats.onnx import OnnxDetails, import_model, model_registry
from arenite.interp.onnx import OnnxInterpreter
from onnx_cases import Case, node_cases, same

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

# Tests that do not pass, by the beginning of their name, and why.
KNOWN = {
    "test_bernoulli": "its results are random",
}
if find_spec("PIL") is None:
    KNOWN["test_image_decoder"] = "onnx.reference needs Pillow for it"


def verdict(case: Case) -> str:
    """Empty when our engine gives what the test expects."""
    model = import_model(case.model.SerializeToString(), case.name)
    assert isinstance(model.details, OnnxDetails)
    try:
        run = OnnxInterpreter(model.graph, model_registry(model), model.details.defaults).run
        for inputs, outputs in case.data:
            feeds = {value.name: array for value, array in zip(model.graph.inputs, inputs, strict=False)}
            found = run(feeds)
            if not all(same(a, b, case) for a, b in zip(outputs, found, strict=True)):
                return "another result"
    except AreniteError as error:
        return str(error)
    return ""


def test_every_node_test_passes_but_the_known_ones() -> None:
    cases = node_cases()
    assert len(cases) > 1300
    failed = {case.name: said for case in cases if (said := verdict(case))}
    assert {name: said for name, said in failed.items() if not name.startswith(tuple(KNOWN))} == {}
    # An entry that nothing needs any more has to go.
    assert [prefix for prefix in KNOWN if not any(name.startswith(prefix) for name in failed)] == []
