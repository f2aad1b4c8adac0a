"""Resizing: element by element what onnxruntime takes, as one operator where TFLite takes the same."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arenite._base.errors import ModelError
from passes.legalize.spatial import litert_agrees, node, numbers, one, refusal, run
from passes.legalize.support import model_of

COORDINATES = ["asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners", "half_pixel_symmetric"]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
NEAREST, BILINEAR = "resize_nearest_neighbor", "resize_bilinear"


def resize(
    dims: list[int],
    *,
    scales: Sequence[float] | None = None,
    sizes: Sequence[int] | None = None,
    opset: int = 19,
    dtype: Any = np.float32,
    **attrs: Any,
) -> onnx.ModelProto:
    constants: dict[str, Any] = {}
    if scales is not None:
        constants["scales"] = np.array(scales, np.float32)
    if sizes is not None:
        constants["sizes"] = np.array(sizes, np.int64)
    names = "x scales" if opset < 11 else "x - scales" if sizes is None else "x - - sizes"
    return one(node("Resize", names, **attrs), dims, constants, opset=opset, dtype=dtype)


@st.composite
def amounts(draw: st.DrawFn, rank: int, first: int) -> tuple[list[int], dict[str, Any]]:
    """Dimensions, and the scales or sizes that those from `first` on get."""
    dims = [draw(st.integers(1, 6)) for _ in range(rank)]
    if draw(st.booleans()):
        return dims, {"sizes": [*dims[:first], *(draw(st.integers(1, 13)) for _ in dims[first:])]}
    some = st.sampled_from([0.5, 2.0, 3.0, 1.0, 1.5, 0.75, 2.3, 4.0])
    scales = [draw(some) for _ in dims[first:]]
    assume(all(dim * scale >= 1 for dim, scale in zip(dims[first:], scales, strict=True)))
    return dims, {"scales": [*[1.0] * first, *scales]}


def agrees_on_size(dims: list[int], asked: dict[str, Any], coordinates: str) -> bool:
    """Whether all runtimes find the same size, and the same corners."""
    if "sizes" in asked:
        return True
    exact = [float(np.float32(scale)) * dim for scale, dim in zip(asked["scales"], dims, strict=True)]
    single = [int(np.float32(scale) * np.float32(dim)) for scale, dim in zip(asked["scales"], dims, strict=True)]
    return single == [int(e) for e in exact] and (coordinates != "align_corners" or all(e == int(e) for e in exact))


@given(
    drawn=st.integers(1, 5).flatmap(lambda rank: amounts(rank, 0)),
    coordinates=st.sampled_from([*COORDINATES, "tf_half_pixel_for_nn"]),
    rounding=st.sampled_from(ROUNDINGS),
    dtype=st.sampled_from([np.float32, np.int8, np.uint8, np.int32]),
)
def test_nearest(drawn: tuple[list[int], dict[str, Any]], coordinates: str, rounding: str, dtype: Any) -> None:
    dims, asked = drawn
    assume(agrees_on_size(dims, asked, coordinates))
    attrs: Any = {"coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
    of = resize(dims, **asked, **attrs, dtype=dtype)
    if coordinates == "half_pixel_symmetric" and is_between(dims, asked) and "between two" in refusal_or_none(of):
        return
    ops = run(of)
    assert set(ops) <= {"reshape", "gather", NEAREST, "transpose"}
    # The input comes channels last, which does not help where channels are resized.
    assert ops.count("transpose") <= (len(dims) > 2 and changes(dims, asked, 1))


def changes(dims: list[int], asked: dict[str, Any], axis: int) -> bool:
    """Whether a dimension is resized."""
    return bool(asked["sizes"][axis] != dims[axis] if "sizes" in asked else asked["scales"][axis] != 1)


def refusal_or_none(model: onnx.ModelProto) -> str:
    """Why a model is refused; nothing where it is not."""
    with suppress(ModelError):
        run(model)
        return ""
    return refusal(model)


@pytest.mark.parametrize(("size", "wanted"), [(3, 1), (6, 2), (9, 3)])
def test_runtimes_do_not_agree_between_two_elements(size: int, wanted: int) -> None:
    attrs: Any = {"coordinate_transformation_mode": "half_pixel_symmetric", "nearest_mode": "floor"}
    with pytest.raises(ModelError, match=f"resizing {size} elements to {wanted} by floor takes the place between two"):
        run(resize([size], sizes=[wanted], **attrs))


def is_between(dims: list[int], asked: dict[str, Any]) -> bool:
    """Whether the result would have another size by exact numbers, so that places lie beside where they should."""
    if "sizes" in asked:
        return any(
            float(np.float32(wanted / dim)) * dim != wanted for dim, wanted in zip(dims, asked["sizes"], strict=True)
        )
    return any(float(np.float32(scale)) * dim % 1 != 0 for dim, scale in zip(dims, asked["scales"], strict=True))


@given(drawn=st.integers(3, 4).flatmap(lambda rank: amounts(rank, 2)), coordinates=st.sampled_from(COORDINATES))
def test_linear(drawn: tuple[list[int], dict[str, Any]], coordinates: str) -> None:
    dims, asked = drawn
    assume(agrees_on_size(dims, asked, coordinates))
    ops = run(resize(dims, **asked, mode="linear", coordinate_transformation_mode=coordinates))
    assert set(ops) <= {"reshape", "gather", "sub", "mul", "add", BILINEAR}


@pytest.mark.parametrize("opset", [7, 9, 10])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scales", [[1, 1, 2, 3], [1, 1, 2.5, 1]])
def test_older_opsets(opset: int, mode: str, scales: list[float]) -> None:
    operator = "Resize" if opset == 10 else "Upsample"
    constants = {"scales": np.array(scales, np.float32)} if opset > 7 else None
    attrs: dict[str, Any] = {"scales": [float(scale) for scale in scales]} if opset == 7 else {}
    of = node(operator, "x" if opset == 7 else "x scales", mode=mode, **attrs)
    ops = run(one(of, [1, 2, 4, 5], constants, opset=opset))
    assert ops == [NEAREST if mode == "nearest" else BILINEAR]


@pytest.mark.parametrize(
    ("attrs", "expected"),
    [
        ({"nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}, [NEAREST]),
        ({"nearest_mode": "round_prefer_floor", "coordinate_transformation_mode": "half_pixel"}, [NEAREST]),
        ({"nearest_mode": "round_prefer_ceil", "coordinate_transformation_mode": "align_corners"}, [NEAREST]),
        ({"mode": "linear", "coordinate_transformation_mode": "half_pixel"}, [BILINEAR]),
        ({"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}, [BILINEAR]),
        ({"mode": "linear", "coordinate_transformation_mode": "align_corners"}, [BILINEAR]),
        ({"mode": "linear", "coordinate_transformation_mode": "asymmetric"}, [BILINEAR]),
    ],
)
def test_what_frameworks_write_is_one_operator(attrs: dict[str, Any], expected: list[str]) -> None:
    for scales in ([1, 1, 2, 2], [1, 1, 4, 3]):
        assert run(resize([1, 3, 5, 4], scales=scales, **attrs)) == expected


def test_scales_that_are_not_those_of_the_sizes() -> None:
    ops = run(resize([1, 2, 4, 5], scales=[1, 1, 0.6, 0.7], mode="linear"))
    assert ops == ["gather", "gather", "sub", "mul", "add"] * 2
    assert run(resize([1, 2, 4, 5], scales=[1, 1, 2.3, 1], nearest_mode="ceil")) == ["gather"]


def test_axes() -> None:
    assert run(resize([1, 2, 4, 5], scales=[2, 3], axes=[3, 2])) == [NEAREST]
    assert run(resize([1, 2, 4, 5], sizes=[8, 10], axes=[-2, -1], mode="linear")) == [BILINEAR]


def test_a_resize_between_convolutions_is_not_transposed() -> None:
    nodes = [node("Conv", "x w", "c"), node("Resize", "c - s", "r"), node("Conv", "r w")]
    constants = {"w": numbers(2, 2, 2, 2), "s": np.array([1, 1, 2, 2], np.float32)}
    model = model_of(nodes, {"x": (np.float32, [1, 2, 6, 6])}, ["y"], constants)
    assert run(model) == ["conv2d", NEAREST, "conv2d"]


def test_images_that_have_their_channels_last_already() -> None:
    assert run(resize([1, 4, 5, 2], scales=[1, 2, 2, 1]), keep=["x"]) == [NEAREST]


def test_nothing_to_resize() -> None:
    # An output is never an input itself.
    assert run(resize([1, 2, 4, 5], sizes=[1, 2, 4, 5])) == ["reshape"]


@pytest.mark.litert
@pytest.mark.parametrize("resolver", ["BUILTIN_REF", "AUTO"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("coordinates", ["asymmetric", "half_pixel", "align_corners"])
def test_litert_runs_it_alike(mode: str, coordinates: str, resolver: str) -> None:
    for sizes in ([1, 2, 8, 15], [1, 2, 3, 7], [1, 2, 13, 1]):
        attrs: Any = {"mode": mode, "coordinate_transformation_mode": coordinates}
        litert_agrees(resize([1, 2, 4, 5], sizes=sizes, **attrs), resolver)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (resize([1, 2, 4, 4], scales=[1, 1, 2, 2], mode="cubic"), "mode must be nearest or linear, but is cubic"),
        (
            resize([1, 2, 4, 4], scales=[1, 1, 0.5, 0.5], mode="linear", antialias=1),
            "antialias must be 0: a .tflite has no filters for it",
        ),
        (
            resize([1, 2, 4, 4], sizes=[8, 9], axes=[2, 3], keep_aspect_ratio_policy="not_larger"),
            "keep_aspect_ratio_policy must be stretch, but is not_larger",
        ),
        (
            resize([1, 1, 2, 10], scales=[1, 1, 1, 0.7]),
            "10 elements times the scale 0.7 must be a number that all runtimes agree on",
        ),
        (
            resize([1, 1, 2, 4], scales=[1, 1, 1, 0.6], mode="linear", coordinate_transformation_mode="align_corners"),
            "4 elements times the scale 0.6 must be a number that all runtimes agree on",
        ),
        (
            resize([1, 1, 2, 4], sizes=[1, 1, 4, 4], mode="linear", dtype=np.uint8),
            "what is resized linearly must be float32, but is uint8",
        ),
        (
            resize([1, 1, 2, 4], sizes=[1, 1, 4, 4], mode="cubic", exclude_outside=1),
            "exclude_outside must be 0",
        ),
        (
            resize([1, 1, 2, 4], sizes=[1, 1, 4, 4], coordinate_transformation_mode="tf_crop_and_resize"),
            "coordinate_transformation_mode must be one of asymmetric, half_pixel, pytorch_half_pixel, align_corners, "
            "tf_half_pixel_for_nn, half_pixel_symmetric, but is tf_crop_and_resize",
        ),
    ],
)
def test_what_has_no_counterpart(model: onnx.ModelProto, expected: str) -> None:
    assert refusal(model) == expected


def test_scales_that_are_computed_have_no_counterpart() -> None:
    inputs: dict[str, Any] = {"x": (np.float32, [1, 1, 2, 2]), "s": (np.float32, [4])}
    assert (
        refusal(model_of([node("Resize", "x - s")], inputs, ["y"]))
        == "operand 'scales' must be constant, but is computed"
    )


@pytest.mark.parametrize("operator", ["GridSample", "RoiAlign"])
def test_sampling_has_no_counterpart(operator: str) -> None:
    inputs: dict[str, Any] = {"x": (np.float32, [1, 1, 4, 4]), "g": (np.float32, [1, 2, 2, 2])}
    operands = "x g"
    if operator == "RoiAlign":
        inputs |= {"g": (np.float32, [1, 4]), "i": (np.int64, [1])}
        operands = "x g i"
    model = model_of([node(operator, operands)], inputs, ["y"])
    assert refusal(model) == f"operator {operator} has no counterpart in a .tflite that Arenite knows: node 'y'"
