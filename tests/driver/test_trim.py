"""What goes besides the network, and its price; what TFLite-Micro would want."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from arenite._base.errors import LimitError, SelfCheckError
from arenite.api import load
from arenite.codegen.selftest import Vector
from arenite.driver.build import build
from arenite.driver.compile import compile_loaded
from arenite.driver.extras import make_extras
from arenite.driver.measure import measure
from arenite.driver.options import CompileOptions
from arenite.driver.tflm_arena import estimated_arena_nbytes, planned_nbytes
from arenite.ir.model import Model
from cli.test_cli import DIGITS

ZOO = Path(__file__).resolve().parents[2].parent / "shared" / "models" / "tflite"
OPTIONS = CompileOptions(compiler="zig", simulate="on")


@pytest.mark.zig
@pytest.mark.unicorn
@pytest.mark.slow
def test_kept_kernels_have_a_price_and_change_no_other_figure() -> None:
    plain = compile_loaded(load(DIGITS), OPTIONS, lambda _: None)
    kept = compile_loaded(load(DIGITS), replace(OPTIONS, keep=("SOFTMAX", "mean")), lambda _: None)
    assert plain.trim.kept == ()
    assert plain.trim.kept_nbytes == 0
    assert {record.op for record in kept.trim.kept} == {"softmax", "mean"}
    sizes = [record.nbytes for record in kept.trim.kept]
    assert all(nbytes is not None and nbytes > 50 for nbytes in sizes)
    assert kept.trim.kept_nbytes is not None
    assert sum(filter(None, sizes)) <= kept.trim.kept_nbytes < 12_000
    assert replace(kept.trim, kept=(), kept_nbytes=0) == plain.trim
    for field in ("flash", "ram", "simulation", "layers"):
        assert getattr(kept.report, field) == getattr(plain.report, field)
    assert {"digits_kept.c", "digits_kept.h"} <= set(kept.files)
    code = plain.report.flash.code_nbytes
    assert code is not None
    needed = code + plain.report.flash.weights_nbytes + plain.report.flash.tables_nbytes
    with pytest.raises(LimitError, match=rf"kept kernels {kept.trim.kept_nbytes:,}"):
        compile_loaded(
            load(DIGITS), replace(OPTIONS, flash_limit_nbytes=needed, keep=("mean", "softmax")), lambda _: None
        )


@pytest.mark.zig
@pytest.mark.unicorn
@pytest.mark.slow
def test_the_selftest_has_a_price_and_a_wrong_vector_is_noticed() -> None:
    built = build(load(DIGITS), OPTIONS, lambda _: None)
    extras = make_extras(built)
    assert extras.vector is not None
    measured = measure(built, extras, lambda _: None)
    assert measured.selftest_nbytes is not None
    assert extras.vector.nbytes < measured.selftest_nbytes < 1000
    ((output,),) = extras.vector.outputs
    wrong = replace(built, model=with_another_bias())
    with pytest.raises(SelfCheckError, match="output elements that are not those of the model"):
        measure(built, make_extras(wrong), lambda _: None)
    assert Vector(((output,),)).nbytes == output.nbytes


def with_another_bias() -> Model:
    """The same network, whose last layer adds something else."""
    changed = load(DIGITS)
    node = next(node for node in reversed(list(changed.graph.nodes)) if node.op == "fully_connected")
    bias = node.operand(2)
    assert bias.constant is not None
    bias.constant = bias.constant + 5000
    return changed


FIGURES = {
    "mlperf_kws_int8": (16_000, 22_820),
    "mlperf_vww_int8": (73_728, 100_708),
    "mlperf_ic_int8": (49_152, 54_996),
    "mlperf_ad_int8": (768, 2_580),
}
"""Of TFLite-Micro of August 2026 on a Cortex-M4: bytes that its planner places; of its arena that it uses."""


@pytest.mark.shared
@pytest.mark.parametrize("name", list(FIGURES))
def test_the_arena_of_tflite_micro(name: str) -> None:
    model = load(ZOO / f"{name}.tflite")
    planned, used = FIGURES[name]
    assert planned_nbytes(model) == planned
    estimated = estimated_arena_nbytes(model)
    assert estimated is not None
    assert used <= estimated <= 1.15 * used


@pytest.mark.shared
@pytest.mark.wheel
@pytest.mark.parametrize(
    "name",
    [
        "coral_keras_lstm_mnist_ptq",
        "mltk_rock_paper_scissors",
        "mlperf_vww_int8",
        "nxp_yolo_face_detect",
        "tflm_micro_speech_int8",
        "tinyengine_detection",
        "xtensa_mobilenetv2_from_pytorch_int8",
    ],
)
def test_what_the_planner_of_tflite_micro_places(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    from tflite_micro import runtime

    path = ZOO / f"{name}.tflite"
    runtime.Interpreter.from_bytes(path.read_bytes(), arena_size=2**23).print_allocations()
    captured = capfd.readouterr()
    head = re.search(r"head (\d+) bytes", captured.out + captured.err)
    assert head is not None
    assert planned_nbytes(load(path)) == int(head[1])


@pytest.mark.shared
@pytest.mark.parametrize("name", ["tflm_keyword_scrambled_int8", "mww_okay_nabu_v2"])
def test_no_arena_is_told_where_operators_want_scratch_or_keep_state(name: str) -> None:
    assert estimated_arena_nbytes(load(ZOO / f"{name}.tflite")) is None
