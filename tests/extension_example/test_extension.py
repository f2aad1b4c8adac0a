"""Out-of-tree ops, kernels and passes work without a change to the package."""

from dataclasses import replace

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite._base.errors import ModelError, ToolError
from arenite.driver.build import build
from arenite.driver.firmware import Firmware, SimulatorEngine
from arenite.driver.native import NativeEngine
from arenite.driver.options import CompileOptions
from arenite.driver.toolbox import own_toolbox
from arenite.interp.interpreter import Interpreter
from arenite.ir.builder import GraphBuilder
from arenite.ir.model import Model
from arenite.ir.types import Quantization, TensorType
from arenite.toolchain import firmware_compiler
from extension_example.negate import EXTENSION, NEGATE_KERNEL

TOOLBOX = own_toolbox().extended_with(EXTENSION)
INPUT = np.array([-128, -127, -1, 0, 1, 127], np.int8)
OUTPUT = [127, 127, 1, 0, -1, -127]


def model() -> Model:
    builder = GraphBuilder()
    type_ = TensorType(DType.INT8, (6,), Quantization.per_tensor(0.5))
    return Model("net", builder.output(builder.node("example.negate", [builder.input("x", type_)], [type_]).result))


def test_the_package_alone_does_not_know_it() -> None:
    with pytest.raises(ModelError, match=r"example\.negate"):
        build(model(), CompileOptions(), lambda _: None, own_toolbox())


def test_interpreter() -> None:
    (output,) = Interpreter(model().graph, TOOLBOX.registry).run([INPUT])
    assert output.tolist() == OUTPUT


@pytest.mark.gcc
def test_host_c() -> None:
    built = build(model(), CompileOptions(), lambda _: None, TOOLBOX)
    assert "negate_s8.h" in built.files
    with NativeEngine(built) as engine:
        assert engine.invoke([INPUT])[0].tolist() == OUTPUT


@pytest.mark.zig
@pytest.mark.unicorn
def test_simulated_core() -> None:
    built = build(model(), CompileOptions(), lambda _: None, TOOLBOX)
    with Firmware.link(built, built.target, firmware_compiler("zig")) as firmware:
        assert SimulatorEngine(firmware).invoke([INPUT])[0].tolist() == OUTPUT


def test_its_pass_speaks() -> None:
    built = build(model(), CompileOptions(), lambda _: None, TOOLBOX)
    said = [(r.reason.slug, r.text) for r in built.remarks if r.pass_name == "example-cancel-negates"]
    assert said == [("single", "'example.negate' follows no other negate")]


def test_names_that_are_taken_are_refused() -> None:
    twice = replace(EXTENSION, ops=(), kernels=(NEGATE_KERNEL, NEGATE_KERNEL))
    with pytest.raises(ToolError, match="extension 'negate' does not fit"):
        own_toolbox().extended_with(twice)
