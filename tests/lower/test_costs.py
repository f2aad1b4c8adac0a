"""Estimates of instructions are about what the emulated core counts."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from arenite.driver.build import build
from arenite.driver.extras import Extras
from arenite.driver.measure import measure
from arenite.driver.options import CompileOptions
from arenite.driver.toolbox import own_toolbox
from arenite.ir.attrs import Padding
from arenite.ir.builder import GraphBuilder
from arenite.ir.model import Model
from arenite.ir.opdef import OpCall
from arenite.ir.types import Quantization, TensorType
from arenite.lower import kernels
from arenite.lower.kernelset import KernelSet
from arenite.ops.conv import DepthwiseConv2dAttrs
from weighted_cases import Case, sixteen, unsigned

Pair = tuple[int, int]


@dataclass(frozen=True)
class Depthwise:
    """A layer of `channels` channels; `scale` is that of the result: a fine one takes shifts to the left."""

    size: Pair
    taps: Pair
    channels: int = 8
    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    multiplier: int = 1
    scale: float = 0.1

    def case(self) -> Case:
        rng, outputs = np.random.default_rng(0), self.channels * self.multiplier
        attrs = DepthwiseConv2dAttrs(self.stride, self.dilation, Padding.SAME, self.multiplier)
        data = rng.integers(-128, 128, (1, *self.size, self.channels)).astype(np.int8)
        weight = rng.integers(-127, 128, (1, *self.taps, outputs)).astype(np.int8)
        data_q, weight_q = Quantization.per_tensor(0.05, -3), Quantization.per_tensor(0.01)
        result_q = Quantization.per_tensor(self.scale, 2)
        bias = np.zeros(outputs, np.int32)
        return Case("depthwise_conv2d", attrs, data, weight, bias, data_q, weight_q, result_q)


# Of several shapes each: with the loop for 3x3 taps, and without, for one reason or another.
LAYERS = (
    Depthwise((24, 24), (3, 3)),
    Depthwise((24, 24), (3, 3), stride=(2, 2)),
    Depthwise((24, 24), (3, 3), dilation=(2, 1)),
    Depthwise((5, 5), (3, 3), channels=64),
    Depthwise((24, 24), (3, 3), stride=(3, 3)),
    Depthwise((24, 24), (3, 3), dilation=(1, 2)),
    Depthwise((24, 24), (3, 3), scale=0.0004),
    Depthwise((24, 24), (1, 3)),
    Depthwise((24, 24), (2, 3)),
    Depthwise((24, 24), (5, 3)),
    Depthwise((24, 24), (3, 5)),
    Depthwise((24, 24), (5, 5)),
    Depthwise((24, 24), (7, 1)),
    Depthwise((49, 40), (10, 8), channels=1, stride=(2, 2), multiplier=8),
)
TYPES: dict[str, Callable[[Case], Case]] = {
    "int8": lambda case: case,
    "int16": lambda case: sixteen(case, np.int64),
    "uint8": lambda case: unsigned(case, 117),
}


def _network(cases: list[Case]) -> Model:
    """All cases beside each other, so that they share their kernel as the layers of a network do."""
    builder = GraphBuilder()
    for case in cases:
        (node,) = case.graph().nodes
        data, *constants = node.operands
        assert data is not None
        operands = [builder.input("data", data.type)]
        for value in constants:
            assert value is not None
            assert value.constant is not None
            operands.append(builder.constant("constant", value.constant, value.type.quantization))
        types: list[TensorType] = [node.result.type]
        builder.output(builder.node(node.op, operands, types, node.attrs, name="layer").result)
    return Model("costs", builder.graph)


@pytest.mark.zig
@pytest.mark.unicorn
@pytest.mark.parametrize("dtype", TYPES)
def test_depthwise_planes(dtype: str) -> None:
    planes = KernelSet(kernel for kernel in kernels() if kernel.variant.endswith("planes"))
    toolbox = replace(own_toolbox(), kernels=planes, passes=())
    model = _network([TYPES[dtype](layer.case()) for layer in LAYERS])
    built = build(model, CompileOptions(), lambda _: None, toolbox)
    run = measure(built, Extras(None, {}, {}, {}, {}), lambda _: None).run
    assert run is not None
    found = {}
    for layer, node, measured in zip(LAYERS, built.graph.nodes, run.layers, strict=True):
        (kernel,) = (k for k in planes if (k.op, k.variant) == (node.op, built.program.calls[0].variant))
        found[layer] = kernel.cost(OpCall.of(node)).instructions / measured.instructions
    assert {layer: ratio for layer, ratio in found.items() if not 0.85 < ratio < 1.15} == {}
