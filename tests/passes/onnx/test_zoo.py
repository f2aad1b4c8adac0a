"""Published models through all passes: claims hold, nothing is left to do, what files declare changes nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import onnx
import onnx.shape_inference
import pytest

from arenite.formats.onnx import export_model, import_model, model_registry
from arenite.ir.graph import Graph
from arenite.ir.model import Model
from arenite.passes.instruments import CheckClaims
from arenite.passes.onnx.facts import all_graphs
from arenite.passes.onnx.interface import Interface, apply_interface
from arenite.passes.onnx.measures import measured, peaks_of
from arenite.passes.onnx.peaks import run_within_peak
from arenite.passes.onnx.presets import onnx_passes

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "models"
MODELS = sorted(FOLDER.rglob("*.onnx"))

pytestmark = pytest.mark.shared


def load(path: Path) -> Model:
    return import_model(path, path.stem)


def optimised(model: Model) -> Model:
    model.graph = run_within_peak(model.graph, onnx_passes(), model_registry(model)).graph
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
    before, peaks = measured(model.graph, registry), peaks_of(model.graph, registry)
    within = run_within_peak(model.graph, onnx_passes(), registry, instruments=lambda: (CheckClaims(),))
    assert all("{" not in remark.text for remark in within.result.remarks if remark.reason.template.count("{") < 9)
    model.graph = within.graph
    written = export_model(model)
    # The written file says nothing of what was given up to keep the peak down.
    assert export_model(optimised(import_model(written, path.stem))) == written
    after = measured(within.graph, registry)
    assert after.nodes <= before.nodes
    assert after.weights_nbytes <= 1.1 * before.weights_nbytes + 4096
    assert all(
        old is None or (new is not None and new <= old)
        for old, new in zip(peaks, peaks_of(within.graph, registry), strict=True)
    )
    assert before.macs is None or (after.macs is not None and after.macs <= before.macs)


def _digests(seed: int) -> str:
    """Hashes of all optimised models, by a process that orders sets in another way."""
    code = """if True:
        import hashlib, sys
        from passes.onnx.test_zoo import MODELS, load, optimised
        from arenite.formats.onnx import export_model
        for path in MODELS:
            print(path.stem, hashlib.sha256(export_model(optimised(load(path)))).hexdigest())
    """
    tests = Path(__file__).resolve().parents[2]
    environment = os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONPATH": str(tests)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.slow
def test_bytes_are_the_same_in_every_process() -> None:
    first = _digests(1)
    assert len(first.splitlines()) == len(MODELS) > 40
    assert _digests(2) == first


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


def _static(path: Path) -> dict[str, tuple[int, ...]]:
    """Sizes for the inputs of a model that has dynamic ones; empty for others."""
    known = json.loads((FOLDER / "inputs.json").read_text()).get(path.name, {})
    inputs = [value for value in load(path).graph.inputs if value.type.shape is not None]
    if all(value.type.is_static for value in inputs):
        return {}
    return {
        value.name: tuple(
            known.get(value.name, {}).get(
                "shape", [dim if isinstance(dim, int) else 1 for dim in value.type.shape or ()]
            )
        )
        for value in inputs
    }


@pytest.mark.slow
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_static_sizes_do_as_well(path: Path) -> None:
    shapes = _static(path)
    if not shapes:
        pytest.skip("its sizes are static: the other tests have it")
    model = load(path)
    apply_interface(model.graph, Interface(shapes, {}))
    sized = export_model(model)
    registry = model_registry(model)
    before = peaks_of(model.graph, registry)
    found = optimised(model)
    for old, new in zip(before, peaks_of(found.graph, registry), strict=True):
        assert old is None or (new is not None and new <= old)
    written = export_model(found)
    assert export_model(optimised(import_model(written, path.stem))) == written
    try:
        inferred = onnx.shape_inference.infer_shapes(onnx.load_from_string(sized))
    except onnx.shape_inference.InferenceError:
        return
    known = import_model(inferred.SerializeToString(), path.stem)
    assert structure(optimised(known).graph) == structure(found.graph)
