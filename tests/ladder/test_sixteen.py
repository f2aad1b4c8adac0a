"""A network of 16-bit activations: TFLite-Micro == interpreter == poisoned arena == host C == simulated cores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import oracle
from arenite._base.dtypes import DType
from arenite.driver.build import Build, build
from arenite.driver.firmware import Firmware, SimulatorEngine
from arenite.driver.native import NativeEngine
from arenite.driver.options import CompileOptions
from arenite.formats.tflite import export_model
from arenite.interp.interpreter import Interpreter
from arenite.ir.attrs import Activation, Attrs, Padding
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Value
from arenite.ir.model import Model
from arenite.ir.opdef import OpCall
from arenite.ir.types import Quantization, TensorType
from arenite.lower import arena, kernels
from arenite.ops import core_registry
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs
from arenite.ops.dense import FullyConnectedAttrs
from arenite.ops.transposed import TransposeConvAttrs
from arenite.toolchain import firmware_compiler, host_compiler

AnyArray = npt.NDArray[Any]
REGISTRY = core_registry()
RNG = np.random.default_rng(0)
SAME, VALID, RELU = Padding.SAME, Padding.VALID, Activation.RELU


def _float32(value: float) -> float:
    return float(np.float32(value))


def _layer(b: GraphBuilder, x: Value, op: str, shape: tuple[int, ...], attrs: Attrs, dims: Any = None) -> Value:
    """A layer with random weights, per-channel scales and a bias of 64 bits."""
    axis = 3 if op == "depthwise_conv2d" else 0
    scales = tuple(map(_float32, RNG.uniform(0.002, 0.01, shape[axis])))
    name, zeros = f"{op}_{len(b.graph)}", (0,) * shape[axis]
    assert x.type.quantization is not None
    bias_scales = tuple(_float32(scale * x.type.quantization.scale) for scale in scales)
    weights = RNG.integers(-127, 128, shape).astype(np.int8)
    weight = b.constant(f"{name}/w", weights, Quantization(scales, zeros, axis))
    bias_values = RNG.integers(-(2**14), 2**14, shape[axis])
    bias = b.constant(f"{name}/b", bias_values.astype(np.int64), Quantization(bias_scales, zeros, 0))
    operands = [x, weight, bias]
    if dims is not None:
        operands = [b.constant(f"{name}/shape", np.array(dims, np.int32)), weight, x, bias]
    taken = weights.size / shape[axis]
    scale = _float32(x.type.quantization.scale * 0.5 * taken**0.5)
    declared = (TensorType(DType.INT16, None, Quantization.per_tensor(scale)),)
    call = OpCall(
        name, op, attrs, tuple(v.type for v in operands), declared, tuple(value.constant for value in operands)
    )
    return b.node(op, operands, REGISTRY[op].infer(call), attrs, name=name).result


def network() -> Model:
    """Every way in which windows lie, long rows, and sums of more than 32 bits."""
    b = GraphBuilder()
    x = b.input("x", TensorType(DType.INT16, (1, 11, 9, 3), Quantization.per_tensor(_float32(0.0004))))
    x = _layer(b, x, "conv2d", (8, 3, 3, 3), Conv2dAttrs((2, 1), (1, 1), SAME, RELU))
    x = _layer(b, x, "depthwise_conv2d", (1, 3, 3, 16), DepthwiseConv2dAttrs((1, 1), (1, 1), SAME, 2))
    x = _layer(b, x, "conv2d", (7, 1, 1, 16), Conv2dAttrs())
    x = _layer(b, x, "depthwise_conv2d", (1, 2, 4, 7), DepthwiseConv2dAttrs((1, 2), (2, 1), SAME, 1, RELU))
    x = _layer(b, x, "conv2d", (6, 3, 3, 7), Conv2dAttrs((1, 1), (2, 2), SAME))
    x = _layer(b, x, "transpose_conv", (5, 3, 2, 6), TransposeConvAttrs((2, 2), SAME), (1, 12, 10, 5))
    first = _layer(b, x, "fully_connected", (5, 600), FullyConnectedAttrs())
    return Model("sixteen", b.output(first, x))


@dataclass(frozen=True)
class Case:
    model: Model
    feeds: list[list[AnyArray]]
    expected: list[list[AnyArray]]

    def check(self, run: Callable[[list[AnyArray]], Sequence[Any]]) -> None:
        for feed, wanted in zip(self.feeds, self.expected, strict=True):
            for found, one in zip(run(feed), wanted, strict=True):
                np.testing.assert_array_equal(found, one, strict=True)

    def build(self, target: str = "host") -> Build:
        return build(self.model, CompileOptions(target=target), lambda _: None)


@pytest.fixture(scope="module")
def case() -> Case:
    model = network()
    (dims,) = (value.type.dims for value in model.graph.inputs)
    codes = (RNG.integers(-32768, 32768, dims), np.full(dims, 32767), np.full(dims, -32768))
    feeds = [[array.astype(np.int16)] for array in codes]
    return Case(model, feeds, oracle.run_wheel(export_model(model), feeds))


pytestmark = pytest.mark.wheel


def test_interpreter(case: Case) -> None:
    case.check(Interpreter(case.model.graph, REGISTRY).run)


def test_poisoned_arena(case: Case) -> None:
    program = case.build().program
    case.check(lambda feed: arena.run(program, kernels(), feed))


@pytest.mark.gcc
def test_host_c(case: Case) -> None:
    with NativeEngine(case.build(), host_compiler("gcc")) as engine:
        case.check(engine.invoke)


@pytest.mark.unicorn
@pytest.mark.parametrize(
    ("compiler", "target"),
    [
        pytest.param("zig", "cortex-m0plus", marks=pytest.mark.zig),
        pytest.param("zig", "cortex-m4", marks=pytest.mark.zig),
        pytest.param("arm-none-eabi-gcc", "cortex-m0plus", marks=pytest.mark.arm_gcc),
        pytest.param("arm-none-eabi-gcc", "cortex-m33", marks=pytest.mark.arm_gcc),
    ],
)
def test_simulated(case: Case, compiler: str, target: str) -> None:
    built = case.build(target)
    with Firmware.link(built, built.target, firmware_compiler(compiler)) as firmware:
        case.check(SimulatorEngine(firmware).invoke)
