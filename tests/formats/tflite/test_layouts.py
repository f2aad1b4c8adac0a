"""What a file says of the order of its dimensions."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite._base.errors import ModelError
from arenite.formats.tflite import Layout, Layouts, TfliteDetails, export_model, import_model, read_layouts
from arenite.formats.tflite.layouts import LAYOUTS
from arenite.ir.builder import GraphBuilder
from arenite.ir.model import Model
from arenite.ir.types import TensorType


def model(*metadata: tuple[str, bytes]) -> Model:
    """One input of four dimensions, and its RELU."""
    builder = GraphBuilder("g")
    x = builder.input("x", TensorType(DType.FLOAT32, (1, 4, 5, 3)))
    node = builder.node("relu", [x], [x.type], name="y")
    builder.output(node.result)
    return Model("m", builder.graph, "tflite", TfliteDetails(metadata=metadata))


def test_more_than_is_read_is_not_written() -> None:
    large = Layouts((Layout("x" * (1 << 20), ()),), ())
    with pytest.raises(ModelError, match=r"1,048,6.. bytes, more than the limit of 1,048,576; give them shorter names"):
        large.metadata()


GOOD = Layouts((Layout("image", (0, 2, 3, 1)),), (Layout("result", (0, 1, 2, 3)),))


def test_what_is_written_is_read() -> None:
    data = export_model(model(("else", b"\0"), GOOD.metadata()))
    assert read_layouts(import_model(data, "m")) == GOOD
    assert read_layouts(model(("else", b"\0"))) is None


@given(st.permutations(range(4)), st.tuples(*[st.integers(1, 4)] * 4))
def test_arrays_go_into_the_file_and_back(order: list[int], dims: tuple[int, ...]) -> None:
    layout = Layout("x", tuple(order))
    array = np.arange(np.prod(dims)).reshape(dims)
    filed = layout.into_file(array)
    assert filed.shape == tuple(dims[axis] for axis in order)
    assert layout.dims_in_onnx(filed.shape) == dims
    np.testing.assert_array_equal(layout.out_of_file(filed), array)
    assert layout.is_moved == (order != sorted(order))


def test_layouts_have_letters() -> None:
    assert [Layout("x", (0, *range(2, rank), 1)).letters for rank in (3, 4, 5)] == ["NWC", "NHWC", "NDHWC"]
    assert Layout("x", (0, 1, 2, 3)).letters == ""
    assert Layout("x", (1, 0)).letters == "dimensions 1, 0 of ONNX"


def changed(change: Callable[[Any], object]) -> bytes:
    content = json.loads(GOOD.metadata()[1])
    change(content)
    return json.dumps(content).encode()


def order(value: object) -> bytes:
    return changed(lambda content: content["inputs"][0].update(order=value))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[" * 100_000,
        b"[]",
        b"{}",
        b" " * (1 << 20) + GOOD.metadata()[1],
        changed(lambda content: content.update(schema=2)),
        changed(lambda content: content.update(inputs=None)),
        changed(lambda content: content["outputs"].append({"name": "z", "order": [0]})),
        changed(lambda content: content["inputs"].clear()),
        changed(lambda content: content["inputs"].__setitem__(0, "image")),
        changed(lambda content: content["inputs"][0].update(name=3)),
        order(None),
        order([0, 1, 2]),
        order([0, 1, 2, 2]),
        order([0, 1, 2, 4]),
        order([0, 1, 2, -1]),
        order([False, True, 2, 3]),
        order([0.0, 1, 2, 3]),
        order(["0", 1, 2, 3]),
        order([[], 1, 2, 3]),
    ],
)
def test_a_damaged_entry_is_refused(data: bytes) -> None:
    with pytest.raises(ModelError, match=r"'arenite\.layouts'.*; convert the model again"):
        read_layouts(model((LAYOUTS, data)))


def test_two_entries_contradict_each_other() -> None:
    with pytest.raises(ModelError, match="is there 2 times"):
        read_layouts(model(GOOD.metadata(), GOOD.metadata()))
