"""Transposed convolutions: whatever their attributes, channels last, and few operators."""

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from passes.legalize.spatial import litert_agrees, node, numbers, one, refusal, run


@st.composite
def attributes(draw: st.DrawFn, rank: int) -> dict[str, Any]:
    def several(low: int, high: int, count: int = rank) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=count, max_size=count))

    found: dict[str, Any] = {"strides": several(1, 3), "kernel_shape": several(1, 4)}
    if draw(st.booleans()):
        found["dilations"] = several(1, 2)
    if draw(st.booleans()):
        # More is what onnxruntime refuses.
        found["output_padding"] = [draw(st.integers(0, stride - 1)) for stride in found["strides"]]
    auto = draw(st.sampled_from(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]))
    if auto != "NOTSET":
        found["auto_pad"] = auto
    elif draw(st.booleans()):
        found["pads"] = several(0, 3, 2 * rank)
    return found


def whole_sizes(attrs: dict[str, Any], sizes: list[int]) -> list[int]:
    rank = len(sizes)
    lists = [attrs["strides"], attrs["kernel_shape"], *(attrs.get(n, [d] * rank) for n, d in DEFAULTS.items())]
    return [
        (size - 1) * stride + (taps - 1) * dilation + 1 + extra
        for size, stride, taps, dilation, extra in zip(sizes, *lists, strict=True)
    ]


DEFAULTS = {"dilations": 1, "output_padding": 0}


@st.composite
def transposed(draw: st.DrawFn) -> onnx.ModelProto:
    rank = draw(st.integers(1, 2))
    attrs, sizes = draw(attributes(rank)), [draw(st.integers(1, 5)) for _ in range(rank)]
    whole, pads = whole_sizes(attrs, sizes), attrs.get("pads", [0] * (2 * rank))
    assume(all(size > before + after for size, before, after in zip(whole, pads, pads[rank:], strict=False)))
    if attrs.get("auto_pad", "").startswith("SAME"):
        wanted = [size * stride for size, stride in zip(sizes, attrs["strides"], strict=True)]
        assume(all(a >= b for a, b in zip(whole, wanted, strict=True)))
    if "pads" not in attrs and attrs.get("auto_pad") != "VALID" and draw(st.booleans()):
        attrs["output_shape"] = [draw(st.integers(max(1, size - 3), size)) for size in whole]
    group, inputs, outputs = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    constants = {"w": numbers(group * inputs, outputs, *attrs["kernel_shape"]), "b": numbers(group * outputs)}
    of = node("ConvTranspose", "x w b" if draw(st.booleans()) else "x w", group=group, **attrs)
    return one(
        of, [draw(st.integers(1, 2)), group * inputs, *sizes], constants, opset=draw(st.sampled_from([7, 11, 22]))
    )


@given(transposed())
def test_transposed_convolutions(model: onnx.ModelProto) -> None:
    ops = run(model)
    weighted = [op for op in ops if op not in ("reshape", "pad", "slice")]
    assert weighted in (["transpose_conv"], ["conv2d"], ["depthwise_conv2d"])
    group = next(attr.i for attr in model.graph.node[0].attribute if attr.name == "group")
    dilations = [n for attr in model.graph.node[0].attribute if attr.name == "dilations" for n in attr.ints]
    assert (weighted == ["transpose_conv"]) == (group == 1 and max(dilations, default=1) == 1)


@pytest.mark.parametrize(
    ("attrs", "expected"),
    [
        # As SAME.
        ({"strides": [2, 2], "pads": [0, 0, 1, 1]}, ["transpose_conv"]),
        ({"strides": [2, 2], "auto_pad": "SAME_UPPER"}, ["transpose_conv"]),
        ({"strides": [1, 1], "pads": [1, 1, 1, 1]}, ["transpose_conv"]),
        # As VALID.
        ({"strides": [2, 2]}, ["transpose_conv"]),
        ({"strides": [3, 3], "output_padding": [2, 1]}, ["transpose_conv"]),
        # SAME begins elsewhere, or leaves more.
        ({"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}, ["transpose_conv", "slice"]),
        ({"strides": [2, 2], "pads": [0, 0, 2, 3]}, ["transpose_conv", "slice"]),
    ],
)
def test_a_transposed_convolution_is_one_operator_where_a_file_has_words_for_it(
    attrs: dict[str, Any], expected: list[str]
) -> None:
    model = one(node("ConvTranspose", "x w", **attrs), [1, 2, 4, 5], {"w": numbers(2, 3, 3, 3)})
    assert run(model) == expected


@pytest.mark.parametrize(
    ("attrs", "expected"),
    [
        ({"strides": [2, 2]}, ["reshape", "pad", "reshape", "depthwise_conv2d"]),
        ({"strides": [2, 2], "pads": [1, 0, 0, 1]}, ["reshape", "pad", "reshape", "depthwise_conv2d"]),
        ({"strides": [2, 2], "pads": [3, 0, 4, 0]}, ["reshape", "pad", "reshape", "slice", "pad", "depthwise_conv2d"]),
        ({"strides": [1, 1], "dilations": [2, 2]}, ["depthwise_conv2d"]),
    ],
)
def test_groups_are_convolutions_of_what_is_spread(attrs: dict[str, Any], expected: list[str]) -> None:
    ops = run(one(node("ConvTranspose", "x w", group=3, **attrs), [1, 3, 4, 5], {"w": numbers(3, 2, 3, 3)}))
    assert ops == expected


@pytest.mark.litert
@pytest.mark.parametrize("resolver", ["BUILTIN_REF", "AUTO"])
@pytest.mark.parametrize(
    "attrs",
    [
        {"strides": [2, 2], "pads": [0, 0, 1, 1]},
        {"strides": [2, 2], "pads": [0, 0, 2, 3]},
        {"strides": [3, 3], "output_padding": [2, 1]},
        {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]},
        {"strides": [1, 2], "pads": [2, 2, 2, 0]},
        {"strides": [2, 1], "group": 2},
        {"strides": [2, 3], "dilations": [1, 2], "pads": [1, 2, 3, 0]},
    ],
)
def test_litert_runs_it_alike(attrs: dict[str, Any], resolver: str) -> None:
    weights = {"w": numbers(2, 4 // attrs.get("group", 1), 3, 3)}
    litert_agrees(one(node("ConvTranspose", "x w", **attrs), [2, 2, 4, 5], weights), resolver)


@pytest.mark.parametrize(
    ("attrs", "expected"),
    [
        (
            {"strides": [3, 1], "auto_pad": "SAME_UPPER", "kernel_shape": [1, 2]},
            "the result must have at most the 10 elements that it spreads over, but has 12 along spatial dimension 0: "
            "runtimes disagree on such",
        ),
        (
            {"output_shape": [4, 9]},
            "the result must have at most the 6 elements that it spreads over, but has 9 along spatial dimension 1: "
            "runtimes disagree on such",
        ),
        ({"pads": [4, 0, 0, 0]}, "the result must have elements, but its spatial dimensions are [0, 6]"),
    ],
)
def test_what_has_no_counterpart(attrs: dict[str, Any], expected: str) -> None:
    constants = {"w": numbers(2, 3, *attrs.get("kernel_shape", [1, 2]))}
    assert refusal(one(node("ConvTranspose", "x w", **attrs), [1, 2, 4, 5], constants)) == expected


def test_computed_weights_have_no_counterpart() -> None:
    model = one(node("ConvTranspose", "x x"), [2, 2, 2, 2])
    assert refusal(model) == "the weight tensor must be constant, but is computed"
    wide = {"w": numbers(2, 2, 2, 2).astype(np.float64)}
    assert refusal(one(node("ConvTranspose", "x w"), [2, 2, 2, 2], wide)) == (
        "the weights must be float32, but are float64"
    )
