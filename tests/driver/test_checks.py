"""Models that are quantized in part are refused with the reason, all nodes at once, and can be looked at."""

from pathlib import Path

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite._base.errors import ModelError
from arenite.driver.build import build
from arenite.driver.checks import check_compilable, check_runnable
from arenite.driver.inspect import inspect_model
from arenite.driver.options import CompileOptions
from arenite.formats.tflite import export_model
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Value
from arenite.ir.model import Model
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.dense import FullyConnectedAttrs
from arenite.ops.state import CallOnceAttrs
from named_state import ROW, START, assigning, handle

REGISTRY = core_registry()


def _float(*shape: int) -> TensorType:
    return TensorType(DType.FLOAT32, shape)


def _dense(builder: GraphBuilder, x: Value, weight: Value, name: str) -> Value:
    return builder.node("fully_connected", [x, weight], [_float(1, 4)], FullyConnectedAttrs(), name=name).result


def _int8(builder: GraphBuilder) -> Value:
    return builder.constant("w", np.ones((4, 4), np.int8), Quantization.per_tensor(0.5))


def _half(builder: GraphBuilder, name: str) -> Value:
    weight = builder.constant("h", np.ones((4, 4), np.float16))
    return builder.node("dequantize", [weight], [_float(4, 4)], name=name).result


def _hybrid() -> Model:
    builder = GraphBuilder()
    y = _dense(builder, builder.input("x", _float(1, 4)), _int8(builder), "one")
    return Model("m", builder.output(_dense(builder, y, _int8(builder), "two")))


def _halves() -> Model:
    builder = GraphBuilder()
    return Model("m", builder.output(_dense(builder, builder.input("x", _float(1, 4)), _half(builder, "wide"), "y")))


def test_dynamic_range_quantization_is_refused_in_one_sentence() -> None:
    for check in (check_runnable, check_compilable):
        with pytest.raises(ModelError, match=r"^dynamic range quantization .*: 'one', 'two'$") as caught:
            check(_hybrid(), REGISTRY)
        assert len(caught.value.problems) == 1
        assert "full integer quantization" in caught.value.problems[0]


def test_half_floats_are_run_but_not_compiled() -> None:
    check_runnable(_halves(), REGISTRY)
    with pytest.raises(ModelError, match=r"^weights of 16-bit floats.*; they are at node 'wide'$"):
        check_compilable(_halves(), REGISTRY)


def test_both_kinds_are_told_at_once() -> None:
    builder = GraphBuilder()
    y = _dense(builder, builder.input("x", _float(1, 4)), _half(builder, "wide"), "y")
    model = Model("m", builder.output(_dense(builder, y, _int8(builder), "mixed")))
    with pytest.raises(ModelError) as caught:
        check_compilable(model, REGISTRY)
    assert [problem.split("'")[-2] for problem in caught.value.problems] == ["mixed", "wide"]


def test_floats_alone_and_integers_alone_pass() -> None:
    builder = GraphBuilder()
    x = builder.input("x", _float(1, 4))
    weight = builder.constant("w", np.ones((4, 4), np.float32))
    check_compilable(Model("m", builder.output(_dense(builder, x, weight, "y"))), REGISTRY)
    builder = GraphBuilder()
    small = TensorType(DType.INT8, (1, 4), Quantization.per_tensor(0.5))
    node = builder.node("fully_connected", [builder.input("x", small), _int8(builder)], [small], FullyConnectedAttrs())
    check_compilable(Model("m", builder.output(node.result)), REGISTRY)


@pytest.mark.parametrize(("model", "text"), [(_hybrid(), "dynamic range"), (_halves(), "16-bit floats")])
def test_inspect_reads_them_and_says_why_they_do_not_compile(model: Model, text: str, tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(export_model(model))
    found = inspect_model(path)
    assert "fully_connected" in dict(found.histogram)
    (problem,) = found.problems
    assert text in problem


def test_inspect_says_which_nodes_no_kernel_takes(tmp_path: Path) -> None:
    builder = GraphBuilder()
    weight = builder.input("w", _float(4, 4))
    path = tmp_path / "m.tflite"
    result = _dense(builder, builder.input("x", _float(1, 4)), weight, "y")
    path.write_bytes(export_model(Model("m", builder.output(result))))
    found = inspect_model(path)
    cause, problem = found.problems
    assert cause.startswith("the model computes with floats at 1 of 1 nodes;")
    assert "quantize the network by other tools" in cause
    assert "no kernel of fully_connected takes" in problem
    listed = [f"             - {each}" for each in (cause, problem)]
    assert found.to_text().splitlines()[-3:] == ["  verdict    cannot be compiled:", *listed]
    assert found.macs == 16


def _long(number: int) -> str:
    """A name as converters make them, of all that they fused."""
    return f"net/act_{number}/Relu;" + ";".join(f"net/bn_{number}/{part}{'/inner' * 20}" for part in "abc")


def test_names_in_refusals_are_short_and_the_cause_comes_first() -> None:
    builder = GraphBuilder()
    y = builder.input("x", _float(1, 4))
    for number in range(12):
        y = _dense(builder, y, _int8(builder), _long(number))
    with pytest.raises(ModelError) as caught:
        check_compilable(Model("m", builder.output(y)), REGISTRY)
    (problem,) = caught.value.problems
    assert len(problem) < 400
    assert problem.endswith(
        "it is at 12 nodes: 'net/act_0/Relu', 'net/act_1/Relu', 'net/act_2/Relu', 'net/act_3/Relu', 'net/act_4/Relu' "
        "and 7 more"
    )


def test_names_in_what_lowering_refuses_are_short() -> None:
    builder = GraphBuilder()
    y = builder.input("x", _float(1, 4))
    for number in range(2):
        y = _dense(builder, y, builder.input(f"w{number}", _float(4, 4)), _long(number))
    with pytest.raises(ModelError) as caught:
        build(Model("m", builder.output(y)), CompileOptions(simulate="off"), lambda _: None)
    cause, problem = caught.value.problems
    assert cause.startswith("the model computes with floats at 2 of 2 nodes;")
    assert problem.startswith("nodes 'net/act_0/Relu', 'net/act_1/Relu': no kernel of fully_connected")


def test_tensors_that_no_device_can_hold_are_refused_at_once() -> None:
    """A file of a kilobyte can ask for gigabytes."""
    b = GraphBuilder()
    large, larger = _float(1 << 24, 1), _float((1 << 24) + 1)
    b.output(b.node("relu", [b.input("x", large)], [large], name="fits").result)
    check_runnable(Model("m", b.graph), REGISTRY)
    b.output(*b.graph.outputs, b.node("relu", [b.input("z", larger)], [larger], name="large").result)
    for check in (check_runnable, check_compilable):
        with pytest.raises(ModelError) as caught:
            check(Model("m", b.graph), REGISTRY)
        (problem,) = caught.value.problems
        assert "'z' 67,108,868, 'large' 67,108,868" in problem
        assert "fits" not in problem


def test_state_that_is_read_before_it_is_started_is_the_one_reason() -> None:
    """Not that handles have no kernels."""
    b = GraphBuilder()
    x = b.input("x", ROW)
    before = b.node("read_variable", [handle(b)], [ROW], name="before").result
    b.node("call_once", [], [], CallOnceAttrs(1), name="once", regions=[assigning(START)])
    b.node("assign_variable", [handle(b), x], [], name="after")
    with pytest.raises(ModelError) as caught:
        build(Model("m", b.output(before)), CompileOptions(simulate="off"), lambda _: None)
    (problem,) = caught.value.problems
    assert problem.startswith("node 'once': once runs once, but state is read or changed before it does: compile a ")
