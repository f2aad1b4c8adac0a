"""Ranges of channels: what is computed exactly, and what lies outside the image."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite.interp import interpreter_for
from arenite.ir.attrs import Attrs, Padding
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Node, Value
from arenite.ir.opdef import Registry
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.conv import Conv2dAttrs, DepthwiseConv2dAttrs
from arenite.passes.ranges import Ranges, is_exact

REGISTRY = core_registry()
Q = Quantization.per_tensor(0.5, -100)
IMAGE = TensorType(DType.INT8, (1, 3, 3, 2), Q)
WEIGHTS = Quantization.per_tensor(2.0**-7)


def layer(b: GraphBuilder, x: Value, attrs: Attrs | None = None, taps: int = 1, fill: int = 3) -> Node:
    """A conv2d with two channels."""
    w = b.constant("w", np.full((2, taps, taps, 2), fill, np.int8), WEIGHTS)
    bias = b.constant("bias", np.array([900, -900], np.int32), Quantization.per_tensor(2.0**-8))
    return b.node("conv2d", [x, w, bias], [IMAGE], attrs or Conv2dAttrs(), name="conv")


def one_layer() -> Node:
    b = GraphBuilder()
    return layer(b, b.input("x", IMAGE))


def without_constraints() -> Registry:
    """Constraints refuse some of it, too; an added op of that name may have none."""
    conv = dataclasses.replace(REGISTRY["conv2d"], constraints=())
    return Registry([conv if each.name == "conv2d" else each for each in REGISTRY.values()])


def test_a_layer_of_int8_is_exact() -> None:
    assert is_exact(one_layer(), REGISTRY)


@pytest.mark.parametrize(
    "change",
    [{"dtype": DType.INT16}, {"shape": (1, 3, "w", 2)}, {"shape": (1, 1, 3, 3, 2)}, {"quantization": None}],
    ids=str,
)
@pytest.mark.parametrize("place", ["data", "result"])
def test_precondition_images_of_int8(change: dict[str, Any], place: str) -> None:
    node = one_layer()
    value = node.operand(0) if place == "data" else node.result
    value.type = dataclasses.replace(value.type, **change)
    assert not is_exact(node, without_constraints())


def test_precondition_the_op_means_something() -> None:
    node = one_layer()
    node.operand(1).type = dataclasses.replace(node.operand(1).type, quantization=Quantization.per_tensor(0.5, 7))
    assert not is_exact(node, REGISTRY)


@pytest.mark.parametrize("place", [1, 2])
@pytest.mark.parametrize("how", ["state", "computed"])
def test_precondition_weights_are_constant(how: str, place: int) -> None:
    node = one_layer()
    value = node.operand(place)
    if how == "state":
        value.is_variable = True
    else:
        value.constant = None
    assert not is_exact(node, REGISTRY)


def test_precondition_weights_are_int8() -> None:
    node = one_layer()
    node.operand(1).type = dataclasses.replace(node.operand(1).type, dtype=DType.INT4)
    assert not is_exact(node, without_constraints())


@pytest.mark.parametrize("padding", [Padding.SAME, ((1, 0), (0, 0)), ((0, 1), (0, 0)), Padding.VALID])
@pytest.mark.parametrize("op", ["conv2d", "depthwise_conv2d"])
def test_borders_see_zeros(op: str, padding: Any) -> None:
    """Of a channel that is always 20, windows at a border see less; ranges are reached where nothing varies."""
    b = GraphBuilder()
    w = b.constant("zeros", np.zeros((2, 1, 1, 2), np.int8), WEIGHTS)
    bias = b.constant("bias", np.array([15360, 15360], np.int32), Quantization.per_tensor(2.0**-8))
    first = b.node("conv2d", [b.input("x", IMAGE), w, bias], [IMAGE], Conv2dAttrs()).result
    size = {Padding.SAME: (3, 3), Padding.VALID: (1, 1)}.get(padding, (2, 1))
    result = dataclasses.replace(IMAGE, shape=(1, *size, 2))
    if op == "conv2d":
        operands = [first, b.constant("w", np.full((2, 3, 3, 2), 2, np.int8), WEIGHTS)]
        node = b.node(op, operands, [result], Conv2dAttrs(padding=padding))
    else:
        operands = [first, b.constant("w", np.full((1, 3, 3, 2), 2, np.int8), WEIGHTS)]
        node = b.node(op, operands, [result], DepthwiseConv2dAttrs(padding=padding))
    graph = b.output(node.result)
    known = Ranges(graph, REGISTRY).of(node.result)
    (found,) = interpreter_for(graph, REGISTRY).run({"x": np.zeros(IMAGE.dims, np.int8)})
    assert known.low[0] <= found.min() <= found.max() <= known.high[0]
    assert known.is_constant.all() == (padding is Padding.VALID)
    assert found.max() > -100
