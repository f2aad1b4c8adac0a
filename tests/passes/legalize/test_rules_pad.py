"""Pads: values, mirrors, edges, and less than nothing; in whatever order the operand lies."""

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto

from passes.legalize.spatial import litert_agrees, node, numbers, one, refusal, run
from passes.legalize.support import model_of

DTYPES = [np.float32, np.int8, np.uint8, np.int32, np.int64]


def padding(
    dims: list[int],
    pads: list[int],
    mode: str,
    *,
    opset: int = 18,
    axes: list[int] | None = None,
    value: float | None = None,
    dtype: npt.DTypeLike = np.float32,
) -> onnx.ModelProto:
    constants: dict[str, npt.ArrayLike] = {}
    if opset < 11:
        return one(node("Pad", "x", pads=pads, mode=mode, value=float(value or 0)), dims, opset=opset)
    constants["pads"] = np.array(pads, np.int64)
    if value is not None:
        constants["value"] = np.array(value, dtype)
    if axes is not None:
        constants["axes"] = np.array(axes, np.int64)
    names = ["pads", "-" if value is None else "value", *(["axes"] if axes is not None else [])]
    return one(node("Pad", " ".join(["x", *names]), mode=mode), dims, constants, opset=opset, dtype=dtype)


@st.composite
def pads(draw: st.DrawFn) -> tuple[str, list[int], list[int], onnx.ModelProto]:
    dims = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    opset = draw(st.sampled_from([7, 11, 13, 18, 21]))
    mode = draw(st.sampled_from(["constant", "reflect", "edge", *(["wrap"] if opset >= 19 else [])]))
    axes = draw(st.lists(st.integers(0, len(dims) - 1), unique=True, min_size=1)) if opset >= 18 else None
    where = range(len(dims)) if axes is None else axes
    low = -1 if mode == "constant" else 0
    # onnxruntime mirrors once.
    most = [dims[axis] - 1 if mode == "reflect" else 3 for axis in where]
    amounts = [
        draw(st.integers(max(low, -((dims[a] - 1) // 2)), m))
        for _ in range(2)
        for a, m in zip(where, most, strict=True)
    ]
    value = draw(st.sampled_from([None, 0.0, 2.0]))
    dtype = draw(st.sampled_from(DTYPES)) if opset >= 13 else np.float32
    named = None if axes is None else [axis - draw(st.sampled_from([0, len(dims)])) for axis in axes]
    return mode, dims, amounts, padding(dims, amounts, mode, opset=opset, axes=named, value=value, dtype=dtype)


@given(pads())
def test_pads(drawn: tuple[str, list[int], list[int], onnx.ModelProto]) -> None:
    mode, _, amounts, model = drawn
    ops = run(model)
    if not any(amounts):
        assert set(ops) <= {"reshape"}
    elif mode == "constant":
        assert [op for op in ops if op != "slice"] in ([], ["pad"], ["padv2"])
    elif mode == "reflect":
        assert ops == ["mirror_pad"]
    else:
        assert set(ops) == {"gather"}


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
def test_a_pad_between_convolutions_is_not_transposed(mode: str) -> None:
    nodes = [node("Conv", "x w", "c"), node("Pad", "c pads", "p", mode=mode), node("Conv", "p w")]
    constants: dict[str, Any] = {"w": numbers(2, 2, 2, 2), "pads": np.array([0, 0, 1, 2, 0, 0, 2, 1], np.int64)}
    model = model_of(nodes, {"x": (np.float32, [1, 2, 6, 6])}, ["y"], constants)
    between = {"constant": ["pad"], "reflect": ["mirror_pad"], "edge": ["gather", "gather"]}[mode]
    assert run(model) == ["conv2d", *between, "conv2d"]


def test_what_is_cut_off_is_not_mirrored() -> None:
    assert run(padding([6], [-1, 3], "edge")) == ["slice", "gather"]
    assert run(padding([6], [-1, -3], "constant")) == ["slice"]
    assert run(padding([6, 4], [2, -1, -3, 0], "constant", value=1.5)) == ["slice", "padv2"]


def test_a_value_that_is_computed() -> None:
    pads_ = np.array([1, 0, 0, 2], np.int64)
    model = model_of(
        [node("Pad", "x pads v")], {"x": (np.float32, [2, 3]), "v": (np.float32, [])}, ["y"], {"pads": pads_}
    )
    assert "padv2" in run(model)


def test_the_order_is_passed_on_to_the_input() -> None:
    constants: dict[str, Any] = {"w": numbers(2, 2, 2, 2), "pads": np.array([0, 0, 1, 2, 0, 0, 2, 1], np.int64)}
    nodes = [node("Pad", "x pads", "p"), node("Conv", "p w")]
    model = model_of(nodes, {"x": (np.float32, [1, 2, 6, 6])}, ["y"], constants)
    assert run(model) == ["pad", "conv2d"]


@pytest.mark.litert
@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_litert_runs_it_alike(mode: str) -> None:
    litert_agrees(padding([2, 3, 4], [0, 1, 2, 1, 2, 3], mode, opset=19, value=0.5), "BUILTIN_REF")


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (padding([2] * 6, [1] * 12, "constant"), "at most 5 dimensions can be padded, found 6"),
        (padding([2], [1, 0], "constant", dtype=np.bool_), "what is padded must be of numbers, but is bool"),
        (
            one(node("Pad", "x p", mode="constant"), [4], {"p": np.array([-3, -3], np.int64)}),
            "more elements are cut off than there are: [(-3, -3)] of [4]",
        ),
    ],
)
def test_what_has_no_counterpart(model: onnx.ModelProto, expected: str) -> None:
    assert refusal(model) == expected


def test_amounts_that_are_computed_have_no_counterpart() -> None:
    inputs: dict[str, Any] = {"x": (np.float32, [2, 3]), "p": (np.int64, [4])}
    assert refusal(model_of([node("Pad", "x p")], inputs, ["y"])) == "operand 'pads' must be constant, but is computed"


def test_float16_has_no_counterpart() -> None:
    nodes = [node("Cast", "x", "h", to=TensorProto.FLOAT16), node("Pad", "h p", "q"), node("Cast", "q", to=1)]
    model = model_of(nodes, {"x": (np.float32, [2])}, ["y"], {"p": np.array([1, 1], np.int64)})
    assert "float16" in refusal(model)
