"""What passes make and no file has (explicit padding, tables, one element for many, fewer channels), down to C."""

from pathlib import Path

import numpy as np
import pytest

import oracle
from arenite._base.dtypes import DType
from arenite.driver.build import Build, build
from arenite.driver.load import load_model
from arenite.driver.native import NativeEngine
from arenite.driver.options import CompileOptions
from arenite.formats.tflite import export_model
from arenite.ir.attrs import Attrs, Padding
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Value
from arenite.ir.model import Model
from arenite.ir.types import Quantization, TensorType
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs
from arenite.ops.pool import Pool2dAttrs
from arenite.toolchain import host_compiler

SHARED = Path(__file__).resolve().parents[3] / "shared"


def q8(*dims: int, scale: float = 0.5, zero_point: int = -5) -> TensorType:
    return TensorType(DType.INT8, dims, Quantization.per_tensor(float(np.float32(scale)), zero_point))


class Net:
    """8x8 pixels; what each kind of window does to them after a border was added."""

    def __init__(self) -> None:
        self.b = GraphBuilder("net")
        self.rng = np.random.default_rng(0)

    def padded(self, x: Value, value: int | None = None) -> Value:
        _, height, width, channels = x.type.dims
        operands = [x, self.b.constant("paddings", np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32))]
        if value is not None:
            operands.append(self.b.constant("value", np.array([value], np.int8), x.type.quantization))
        op = "pad" if value is None else "padv2"
        return self.b.node(op, operands, [q8(1, height + 2, width + 2, channels)], Attrs(), name=op).result

    def layer(self, op: str, x: Value, dead: int) -> Value:
        shape, axis = ((4, 3, 3, x.type.dims[3]), 0) if op == "conv2d" else ((1, 3, 3, x.type.dims[3]), 3)
        weights = self.rng.integers(-127, 128, shape).astype(np.int8)
        weights[(slice(None),) * axis + (dead,)] = 0
        count = shape[axis]
        w = self.b.constant("w", weights, Quantization((2.0**-8,) * count, (0,) * count, axis))
        bias = self.b.constant("bias", np.zeros(count, np.int32), Quantization((2.0**-9,) * count, (0,) * count, 0))
        attrs = Conv2dAttrs((2, 2)) if op == "conv2d" else DepthwiseConv2dAttrs((2, 2))
        size = (x.type.dims[1] - 3) // 2 + 1
        return self.b.node(op, [x, w, bias], [q8(1, size, size, count)], attrs, name=op).result

    def model(self) -> Model:
        b, x = self.b, self.b.input("x", q8(1, 8, 8, 3))
        first = self.layer("conv2d", self.padded(x), 2)
        many = b.constant("many", np.full((1, 4, 4, 4), 9, np.int8), first.type.quantization)
        second = self.layer("conv2d", self.padded(self.layer("depthwise_conv2d", self.padded(first), 1)), 3)
        added = b.node("add", [first, many], [q8(1, 4, 4, 4)], ArithmeticAttrs(), name="add").result
        pooled = b.node(
            "max_pool2d",
            [self.padded(added, -128)],
            [q8(1, 2, 2, 4)],
            Pool2dAttrs((3, 3), (2, 2), Padding.VALID),
            name="pool",
        ).result
        coarse = b.node("quantize", [pooled], [q8(1, 2, 2, 4, scale=1.7)], Attrs(), name="coarse").result
        fine = b.node("quantize", [coarse], [q8(1, 2, 2, 4, scale=0.3)], Attrs(), name="fine").result
        b.output(second, fine)
        return Model("net", b.graph)


@pytest.fixture(scope="module")
def built() -> Build:
    return build(Net().model(), CompileOptions(), lambda step: None)


def test_the_passes_made_it_all(built: Build) -> None:
    nodes = list(built.graph.nodes)
    assert {node.op for node in nodes} == {"conv2d", "depthwise_conv2d", "add", "max_pool2d", "lookup"}
    assert sum(isinstance(getattr(node.attrs, "padding", None), tuple) for node in nodes) == 4
    assert next(node for node in nodes if node.op == "add").operand(1).type.nelem == 1
    (depthwise,) = (node for node in nodes if node.op == "depthwise_conv2d")
    # Its operand is read by the sum, too, which needs all channels.
    assert depthwise.result.type.dims[3] == 4


def test_one_element_is_in_flash_for_many(built: Build) -> None:
    nines = [constant.data.size for constant in built.program.constants if (constant.data == 9).all()]
    assert max(nines, default=0) <= 1


@pytest.mark.wheel
@pytest.mark.gcc
def test_c_computes_what_the_oracle_does_with_the_file(built: Build) -> None:
    data = export_model(Net().model())
    feeds = oracle.random_feeds(data, invocations=3)
    with NativeEngine(built, host_compiler("gcc")) as engine:
        for feed, wanted in zip(feeds, oracle.run_wheel(data, feeds), strict=True):
            for found, expected in zip(engine.invoke(feed), wanted, strict=True):
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("without", [(), ("fold",)])
def test_folding_can_be_left_out(without: tuple[str, ...]) -> None:
    b = GraphBuilder("net")
    type_ = TensorType(DType.INT32, (4,))
    c = b.constant("c", np.arange(4, dtype=np.int32))
    doubled = b.node("add", [c, c], [type_], ArithmeticAttrs(), name="doubled").result
    b.output(b.node("add", [b.input("x", type_), doubled], [type_], ArithmeticAttrs(), name="sum").result)
    for limit, left in ((None, 1), (0, 1)):
        options = CompileOptions(without=without, fold_max_nbytes=limit)
        found = build(Model("net", b.graph), options, lambda step: None)
        assert len(found.graph) == (2 if without else left)


@pytest.mark.shared
@pytest.mark.wheel
@pytest.mark.gcc
@pytest.mark.slow
@pytest.mark.parametrize("name", ["mlperf_vww_int8", "xtensa_mobilenetv2_from_pytorch_int8"])
def test_networks_that_lose_much(name: str) -> None:
    path = SHARED / "models" / "tflite" / f"{name}.tflite"
    data = path.read_bytes()
    built = build(load_model(path), CompileOptions(), lambda step: None)
    assert "pad" not in {node.op for node in built.graph.nodes}
    feeds = oracle.random_feeds(data, invocations=1)
    with NativeEngine(built, host_compiler("gcc")) as engine:
        for found, expected in zip(engine.invoke(feeds[0]), oracle.run_wheel(data, feeds)[0], strict=True):
            np.testing.assert_array_equal(found, expected)
