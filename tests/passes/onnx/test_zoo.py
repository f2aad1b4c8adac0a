"""Published models through all passes: claims hold, nothing is left to do, what files declare changes nothing."""

from pathlib import Path

import onnx
import onnx.shape_inference
import pytest

from arenite.formats.onnx import export_model, import_model, model_registry
from arenite.ir.graph import Graph
from arenite.ir.model import Model
from arenite.passes.instruments import CheckClaims
from arenite.passes.onnx.facts import all_graphs
from arenite.passes.onnx.measures import measured
from arenite.passes.onnx.presets import onnx_passes, run_rounds

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "models"
MODELS = sorted(FOLDER.rglob("*.onnx"))

pytestmark = pytest.mark.shared


def load(path: Path) -> Model:
    return import_model(path, path.stem)


def optimised(model: Model) -> Model:
    run_rounds(model.graph, onnx_passes(), model_registry(model))
    return model


def structure(graph: Graph) -> list[tuple[object, ...]]:
    """Operators, what they read and give, constants by contents."""

    def shown(value: object) -> object:
        constant = getattr(value, "constant", None)
        if constant is not None:
            return constant.dtype, constant.shape, hash(constant.tobytes())
        return getattr(value, "name", None)

    return [
        (node.op, [shown(v) for v in node.operands], [v.name for v in node.results if v.is_read])
        for each in all_graphs(graph)
        for node in each.nodes
    ]


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_claims_hold_and_a_second_run_changes_nothing(path: Path) -> None:
    model = load(path)
    registry = model_registry(model)
    before = measured(model.graph, registry)
    result = run_rounds(model.graph, onnx_passes(), registry, instruments=lambda: (CheckClaims(),))
    assert all("{" not in remark.text for remark in result.remarks if remark.reason.template.count("{") < 9)
    again = run_rounds(model.graph, onnx_passes(), registry)
    assert not any(row.changed for row in again.rows)
    after = measured(model.graph, registry)
    assert after.nodes <= before.nodes
    assert after.weights_nbytes <= 1.1 * before.weights_nbytes + 4096
    if before.activations_nbytes is not None and after.activations_nbytes is not None:
        # A layer that was computed twice is kept until its second reader instead.
        computed_once = before.macs is not None and after.macs is not None and after.macs < before.macs
        assert computed_once or after.activations_nbytes <= before.activations_nbytes
    assert before.macs is None or (after.macs is not None and after.macs <= before.macs)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_bytes_are_the_same_each_time_and_fit_the_standard(path: Path) -> None:
    first, second = (export_model(optimised(load(path))) for _ in range(2))
    assert first == second
    original = onnx.load(path)
    try:
        onnx.checker.check_model(original)
    except onnx.checker.ValidationError:
        pytest.skip("the original is not valid either")
    onnx.checker.check_model(onnx.load_from_string(first))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_prior_shape_inference_makes_no_difference(path: Path) -> None:
    try:
        inferred = onnx.shape_inference.infer_shapes(onnx.load(path))
    except onnx.shape_inference.InferenceError:
        pytest.skip("onnx cannot infer its shapes")
    plain, known = load(path), import_model(inferred.SerializeToString(), path.stem)
    assert structure(optimised(plain).graph) == structure(optimised(known).graph)
