"""Real models, and the models of ONNX's own tests: what goes in comes out."""

from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from onnx.backend.test.loader import load_model_tests

from arenite.formats.onnx import export_model, import_model
from arenite.ir.verifier import structure_problems
from formats.onnx.support import differences

pytestmark = [pytest.mark.filterwarnings("ignore::RuntimeWarning")]


def _paths() -> list[Path]:
    models = Path(__file__).resolve().parents[4] / "shared" / "models"
    return sorted((*models.glob("onnx/*.onnx"), *models.glob("exported/*.onnx")))


# It uses a domain that it does not import.
ADDED_OPSETS = {"finn_residual_testcase": "finn.custom_op.fpgadataflow"}


@pytest.mark.shared
@pytest.mark.parametrize("path", _paths(), ids=lambda path: path.stem)
def test_real_models(path: Path) -> None:
    model = import_model(path, path.stem)
    assert not structure_problems(model.graph)
    written = export_model(model)
    assert export_model(import_model(written, path.stem)) == written
    original, back = onnx.load(path), onnx.load_from_string(written)
    if domain := ADDED_OPSETS.get(path.stem):
        original.opset_import.add(domain=domain, version=1)
    assert differences(original, back) == ""


def _stored_cases() -> Iterator[tuple[str, bytes]]:
    for kind in ("simple", "pytorch-operator", "pytorch-converted"):
        for case in load_model_tests(kind=kind):
            if case.model_dir is not None:
                yield case.name, Path(case.model_dir, "model.onnx").read_bytes()


def test_models_in_the_onnx_package() -> None:
    found = dict(_stored_cases())
    assert len(found) > 100
    assert _wrong(found) == {}


@pytest.mark.slow
def test_node_tests_of_the_onnx_package() -> None:
    found = {c.name: c.model.SerializeToString() for c in load_model_tests(kind="node") if c.model is not None}
    assert len(found) > 1300
    assert _wrong(found) == {}


def _wrong(models: dict[str, bytes]) -> dict[str, str]:
    wrong = {}
    for name, data in models.items():
        written = export_model(import_model(data, name))
        said = differences(onnx.load_from_string(data), onnx.load_from_string(written))
        if said or export_model(import_model(written, name)) != written:
            wrong[name] = said or "the bytes of a second export differ"
    return wrong


def test_the_comparison_sees_a_difference() -> None:
    path = next(Path(onnx.backend.test.loader.DATA_DIR, "simple").glob("*/model.onnx"))
    one, other = onnx.load(path), onnx.load(path)
    other.graph.node[0].op_type += "X"
    assert differences(one, one) == ""
    assert differences(one, other) != ""
