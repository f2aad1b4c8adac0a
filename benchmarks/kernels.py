"""Instructions per MAC of each layer kind of the MLPerf Tiny models, on an emulated core.

    python benchmarks/kernels.py [--target cortex-m4] [--cc zig] [--optimize speed] [--only conv]

All layers are branches of one firmware, so that layers of a kind share their kernel as they do in a whole model.
Weights and inputs are random; instruction counts do not depend on them. Below: bytes of code by kernel.
"""

import argparse
import re
from dataclasses import dataclass

import numpy as np

from arenite._base.dtypes import DType
from arenite.codegen.bundle import render
from arenite.driver.build import Build, find_target
from arenite.driver.extras import Extras
from arenite.driver.measure import measure
from arenite.driver.options import CompileOptions
from arenite.driver.toolbox import own_toolbox
from arenite.ir.attrs import Attrs, Padding
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph
from arenite.ir.model import Model
from arenite.ir.opdef import OpCall
from arenite.ir.types import Quantization, TensorType
from arenite.kernels import include_dir, manifests
from arenite.lower import kernels
from arenite.lower.kernelset import KernelSet
from arenite.lower.lower import lower
from arenite.lower.select import Objective
from arenite.ops import core_registry
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs
from arenite.ops.dense import FullyConnectedAttrs


@dataclass(frozen=True)
class Layer:
    """One layer: input shape, weight shape as the op has it."""

    label: str
    op: str
    data: tuple[int, ...]
    weight: tuple[int, ...]
    attrs: Attrs


def _conv(label: str, size: tuple[int, int], channels: int, taps: tuple[int, int], outputs: int, stride: int) -> Layer:
    attrs = Conv2dAttrs(stride=(stride, stride), padding=Padding.SAME)
    return Layer(label, "conv2d", (1, *size, channels), (outputs, *taps, channels), attrs)


def _depthwise(label: str, size: tuple[int, int], channels: int, stride: int, multiplier: int = 1) -> Layer:
    attrs = DepthwiseConv2dAttrs(stride=(stride, stride), padding=Padding.SAME, multiplier=multiplier)
    taps = (3, 3) if multiplier == 1 else (10, 8)
    return Layer(label, "depthwise_conv2d", (1, *size, channels), (1, *taps, channels * multiplier), attrs)


def _dense(label: str, inputs: int, outputs: int) -> Layer:
    return Layer(label, "fully_connected", (1, inputs), (outputs, inputs), FullyConnectedAttrs())


LAYERS = (
    _conv("kws first 10x4", (49, 10), 1, (10, 4), 64, 2),
    _depthwise("kws depthwise 3x3", (25, 5), 64, 1),
    _conv("kws pointwise 64", (25, 5), 64, (1, 1), 64, 1),
    _conv("vww first 3x3", (96, 96), 3, (3, 3), 8, 2),
    _depthwise("vww depthwise 48x48", (48, 48), 8, 1),
    _conv("vww pointwise 8 -> 16", (48, 48), 8, (1, 1), 16, 1),
    _depthwise("vww depthwise 48x48 stride 2", (48, 48), 16, 2),
    _conv("vww pointwise 32 -> 32", (24, 24), 32, (1, 1), 32, 1),
    _conv("vww pointwise 128 -> 128", (6, 6), 128, (1, 1), 128, 1),
    _depthwise("vww depthwise 6x6", (6, 6), 128, 1),
    _depthwise("vww depthwise 3x3", (3, 3), 256, 1),
    _conv("vww pointwise 256 -> 256", (3, 3), 256, (1, 1), 256, 1),
    _conv("ic first 3x3", (32, 32), 3, (3, 3), 16, 1),
    _conv("ic 3x3 16", (32, 32), 16, (3, 3), 16, 1),
    _conv("ic 3x3 32", (16, 16), 32, (3, 3), 32, 1),
    _conv("ic 3x3 64", (8, 8), 64, (3, 3), 64, 1),
    _conv("ic 1x1 stride 2", (32, 32), 16, (1, 1), 32, 2),
    _dense("ad 640 -> 128", 640, 128),
    _dense("ad 128 -> 128", 128, 128),
    _dense("ad 8 -> 128", 8, 128),
    _depthwise("micro_speech 10x8, 1 -> 8", (49, 40), 1, 2, 8),
)


_ZERO_POINT = {DType.INT8: -128, DType.UINT8: 3, DType.INT16: 0}


def _graph(layers: tuple[Layer, ...], dtype: DType) -> Graph:
    rng = np.random.default_rng(0)
    builder, registry = GraphBuilder(), core_registry()
    zero_point = _ZERO_POINT[dtype]
    for index, layer in enumerate(layers):
        data = builder.input(f"in{index}", TensorType(dtype, layer.data, Quantization.per_tensor(0.05, zero_point)))
        channels_axis = 3 if layer.op == "depthwise_conv2d" else 0
        outputs = layer.weight[channels_axis]
        weights = rng.integers(-127, 128, layer.weight).astype(np.int8)
        quantization = Quantization(
            tuple(float(np.float32(s)) for s in rng.uniform(0.001, 0.01, outputs)), (0,) * outputs, channels_axis
        )
        if dtype is DType.UINT8:
            weights, quantization = weights.view(np.uint8), Quantization.per_tensor(0.0078125, 117)
        weight = builder.constant(f"w{index}", weights, quantization)
        bias_dtype = np.int64 if dtype is DType.INT16 else np.int32
        bias = builder.constant(f"b{index}", rng.integers(-1000, 1000, outputs).astype(bias_dtype))
        declared = TensorType(dtype, None, Quantization.per_tensor(0.1, zero_point))
        call = OpCall(layer.label, layer.op, layer.attrs, (data.type, weight.type, bias.type), (declared,))
        (type_,) = registry[layer.op].infer(call)
        builder.output(builder.node(layer.op, (data, weight, bias), (type_,), layer.attrs, name=f"n{index}").result)
    return builder.graph


def _build(graph: Graph, options: CompileOptions) -> Build:
    """As the driver does, but scratch is free: with every input alive throughout, all of it would raise the arena."""
    objective = Objective(options.objective)
    frugal = objective is Objective.RAM
    chosen = KernelSet(k for k in kernels() if frugal or (k.op, k.variant) != ("depthwise_conv2d", "direct"))
    program = lower(graph, core_registry(), chosen, name="bench", objective=objective)
    texts = render(
        program, {info.symbol: info for info in manifests()}, lambda name: (include_dir() / name).read_text()
    )
    files = {name: text.encode() for name, text in texts.items()}
    tools = own_toolbox()
    return Build(Model("bench", graph), options, find_target(options.target), graph, program, (), (), files, tools)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="cortex-m4")
    parser.add_argument("--cc", default=None)
    parser.add_argument("--optimize", default="speed", choices=("speed", "flash", "ram"))
    parser.add_argument("--dtype", default="int8", choices=[dtype.value for dtype in _ZERO_POINT])
    parser.add_argument("--only", default="", help="layers whose label matches this expression")
    options = parser.parse_args()
    layers = tuple(layer for layer in LAYERS if re.search(options.only, layer.label))
    compiling = CompileOptions(
        target=options.target, name="bench", compiler=options.cc, objective=options.optimize, simulate="on"
    )
    built = _build(_graph(layers, DType(options.dtype)), compiling)
    measured = measure(built, Extras(None, {}, {}, {}, {}), lambda _: None)
    assert measured.run is not None
    print(f"{'layer':30}{'variant':16}{'MACs':>11}{'instr':>11}{'/MAC':>7}{'cycles/MAC':>12}")
    by_name = {call.name: (call, run) for call, run in zip(built.program.calls, measured.run.layers, strict=True)}
    for index, layer in enumerate(layers):
        call, run = by_name[f"n{index}"]
        cycles = "" if run.cycles_estimate is None else f"{run.cycles_estimate / call.macs:12.2f}"
        rate = run.instructions / call.macs
        print(f"{layer.label:30}{call.variant:16}{call.macs:11,}{run.instructions:11,}{rate:7.2f}{cycles}")
    for symbol in sorted({call.kernel for call in built.program.calls}):
        print(f"{symbol:44}{measured.functions.get(symbol, 0):10,} B")


if __name__ == "__main__":
    main()
