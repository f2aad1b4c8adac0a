"""A network of 16-bit activations: TFLite-Micro == interpreter == poisoned arena == host C == simulated cores."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from arenite._base.dtypes import DType
from arenite.ir.attrs import Activation, Attrs, Padding
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Value
from arenite.ir.model import Model
from arenite.ir.opdef import OpCall
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs
from arenite.ops.dense import FullyConnectedAttrs
from arenite.ops.transposed import TransposeConvAttrs
from ladder.rungs import Rungs

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


@pytest.fixture(scope="module")
def case() -> Rungs:
    model = network()
    (dims,) = (value.type.dims for value in model.graph.inputs)
    codes = (RNG.integers(-32768, 32768, dims), np.full(dims, 32767), np.full(dims, -32768))
    feeds = [[array.astype(np.int16)] for array in codes]
    return Rungs.of(model, feeds)


pytestmark = pytest.mark.wheel


def test_interpreter(case: Rungs) -> None:
    case.check_interpreter()


def test_poisoned_arena(case: Rungs) -> None:
    case.check_arena(passes=True)


@pytest.mark.gcc
def test_host_c(case: Rungs) -> None:
    case.check_host_c()


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
def test_simulated(case: Rungs, compiler: str, target: str) -> None:
    case.check_simulated(compiler, target)
