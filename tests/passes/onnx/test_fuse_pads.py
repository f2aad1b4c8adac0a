"""Pads before convolutions and pools: each precondition has a test that fails when it is taken away."""

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.passes.onnx.fuse_pads import OnnxFusePads
from passes.onnx.fusing import Net, Outcome, rand, reseed, said

SPEC = OnnxFusePads()


def ints(*values: int) -> Any:
    return np.array(values, np.int64)


def pad(n: Net, data: str, pads: list[int], value: Any = None, axes: Any = None, **attrs: Any) -> str:
    """A Pad named p, in whatever form the opset has."""
    if n.opset < 11:
        attrs |= {"pads": pads, **({} if value is None else {"value": float(value)})}
        return n.node("Pad", [data], "p", **attrs)
    given = None if value is None else n.constant(np.asarray(value))
    operands: list[Any] = [data, ints(*pads), given, axes]
    while operands[-1] is None:
        operands.pop()
    return n.node("Pad", operands, "p", **attrs)


def conv(n: Net, data: str, result: str = "y", **attrs: Any) -> str:
    return n.node("Conv", [data, rand(3, 2, 3, 3)], result, **attrs)


def pads_of(o: Outcome, place: int = 0) -> list[int]:
    found = {a.name: list(a.ints) for a in o.model.graph.node[place].attribute}
    assert "auto_pad" not in found
    return found["pads"]


@pytest.mark.parametrize("opset", [9, 11, 18, 21])
def test_pads_add_up(opset: int) -> None:
    n = Net(opset=opset)
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 2, 1, 0, 0, 0, 3])
    o = Outcome(n.model(conv(n, p, pads=[1, 0, 0, 2], strides=[2, 1])), SPEC)
    assert o.ops == ["Conv"]
    assert pads_of(o) == [3, 1, 0, 5]
    assert list(o.said) == ["n_p"]


def test_axes() -> None:
    n = Net(opset=18)
    p = pad(n, n.input("x", [1, 2, 6, 5]), [1, 2, 3, 4], axes=ints(-1, 2))
    assert pads_of(Outcome(n.model(conv(n, p)), SPEC)) == [2, 1, 4, 3]
    n = Net(opset=18)
    p = pad(n, n.input("x", [1, 2, 6, 5]), [1, 1], axes=n.input("a", [1], np.int64))
    assert said(SPEC, n.model(conv(n, p)), "p") == ["missed pads-unknown"]


@pytest.mark.parametrize(("pads", "axes"), [([1, 1], [2, 3]), ([1, 1, 1, 1], [2, 2]), ([1, 1], [7]), ([1, 1], [-5])])
def test_pads_that_do_not_fit_stay(pads: list[int], axes: list[int]) -> None:
    n = Net(opset=18)
    p = pad(n, n.input("x", [1, 2, 6, 5]), pads, axes=ints(*axes))
    assert said(SPEC, n.model(conv(n, p)), "p") == ["missed pads-unknown"]


def test_a_pad_of_another_rank_than_its_reader_stays() -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6]), [0, 0, 1, 0, 0, 1])
    assert said(SPEC, n.model(conv(n, p)), "p") == ["missed misfit"]


def test_a_pad_of_another_rank_than_weights_stays() -> None:
    n = Net()
    p = pad(n, n.input("x", None), [0, 0, 1, 0, 0, 1])
    assert said(SPEC, n.model(conv(n, p)), "p") == ["missed misfit"]


@pytest.mark.parametrize("value", [np.zeros(2, np.float32), np.array(0j), np.array("0", object)], ids=str)
def test_values_that_are_no_number_stay(value: Any) -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 1, 1, 0, 0, 1, 1], value)
    assert said(SPEC, n.model(conv(n, p)), "p") == ["missed pads-unknown"]


def test_weights_of_unknown_rank() -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 1, 1, 0, 0, 1, 1])
    n.node("Conv", [p, n.input("w", None)], "y")
    assert said(SPEC, n.model("y"), "p") == ["missed sizes-unknown"]


def test_elements_of_an_unknown_type_may_be_any_number() -> None:
    n = Net()
    n.node("Identity", ["s"], "a")
    n.inputs.append(onnx.helper.make_tensor_sequence_value_info("s", 1, None))
    n.node("SequenceAt", ["a", np.int64(0)], "b")
    p = pad(n, "b", [0, 0, 1, 1, 0, 0, 1, 1])
    n.node("MaxPool", [p], "y", kernel_shape=[2, 2])
    model = n.model("y")
    del model.graph.value_info[:]
    assert said(SPEC, model, "p") == ["missed value"]


def test_no_auto_pad_may_be_said_by_nothing() -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 1, 1, 0, 0, 1, 1])
    conv(n, p, auto_pad="")
    assert said(SPEC, n.model("y"), "p") == ["passed fused"]


@pytest.mark.parametrize("attrs", [{"strides": [1]}, {"dilations": [1]}, {"strides": [1], "dilations": [1]}], ids=str)
def test_attributes_for_other_ranks_do_not_fit(attrs: dict[str, Any]) -> None:
    n = Net()
    p = pad(n, n.input("x", None), [0, 0, 1, 1, 0, 0, 1, 1])
    conv(n, p, **attrs)
    assert said(SPEC, n.model("y"), "p") == ["missed misfit"]


def test_the_rank_may_be_unknown() -> None:
    n = Net()
    p = pad(n, n.input("x", None), [0, 0, 1, 0, 0, 0, 1, 0])
    assert said(SPEC, n.model(conv(n, p)), "p") == ["passed fused"]
    n = Net(opset=18)
    p = pad(n, n.input("x", None), [1, 1], axes=ints(2))
    assert said(SPEC, n.model(conv(n, p)), "p") == ["missed pads-unknown"]


def test_the_bias_of_a_convolution_stays_what_it_is() -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 2, 1, 0, 0, 0, 0])
    y = n.node("Conv", [p, rand(1, 2, 3, 3), rand(1, low=1, high=2)], "y")
    assert Outcome(n.model(y), SPEC).ops == ["Conv"]


def test_a_pad_that_two_convolutions_read_goes_into_both() -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 2, 1, 0, 0, 0, 0])
    a, b = conv(n, p, "a"), n.node("Conv", [p, rand(2, 2, 5, 5)], "b")
    assert Outcome(n.model(a, b), SPEC).ops == ["Conv", "Conv"]


def test_a_pad_that_somebody_else_reads_stays_whole() -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 2, 1, 0, 0, 0, 0])
    o = Outcome(n.model(conv(n, p), n.node("Relu", [p], "z")), SPEC)
    assert o.of("p") == "missed other-reader"
    assert o.ops == ["Pad", "Conv", "Relu"]


def test_a_pad_that_gives_weights_stays() -> None:
    n = Net()
    p = pad(n, n.input("w", [3, 2, 2, 2]), [0, 0, 1, 0, 0, 0, 0, 1])
    y = n.node("Conv", [n.input("x", [1, 2, 6, 5]), p], "y")
    assert Outcome(n.model(y), SPEC).of("p") == "missed other-reader"


def test_a_pad_that_is_an_output_stays() -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 2, 1, 0, 0, 0, 0])
    assert Outcome(n.model(conv(n, p), p), SPEC).of("p") == "missed intermediate-is-output"


def test_a_pad_that_nobody_reads_is_left_to_others() -> None:
    n = Net()
    x = n.input("x", [1, 2, 6, 5])
    pad(n, x, [0, 0, 2, 1, 0, 0, 0, 0])
    assert said(SPEC, n.model(conv(n, x)), "p") == ["missed not-read"]


@pytest.mark.parametrize(
    ("auto", "pads"), [("SAME_UPPER", [1, 1, 1, 2]), ("SAME_LOWER", [2, 1, 0, 2]), ("VALID", [1, 0, 0, 1])]
)
def test_auto_pad_is_worked_out_of_the_padded_size(auto: str, pads: list[int]) -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 5, 6]), [0, 0, 1, 0, 0, 0, 0, 1])
    y = conv(n, p, auto_pad=auto, strides=[2, 2])
    o = Outcome(n.model(y), SPEC)
    assert pads_of(o) == pads
    assert o.ops == ["Conv"]


def test_auto_pad_of_an_unknown_size_stays() -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, "h", 6]), [0, 0, 1, 0, 0, 0, 0, 1])
    assert (
        Outcome(
            n.model(conv(n, p, auto_pad="SAME_UPPER", strides=[2, 2])),
            SPEC,
        ).of("p")
        == "missed sizes-unknown"
    )


@pytest.mark.parametrize("mode", ["reflect", "edge"])
def test_other_modes_stay(mode: str) -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 1, 1, 0, 0, 1, 1], mode=mode)
    assert Outcome(n.model(conv(n, p)), SPEC).of("p") == "missed mode"


@pytest.mark.parametrize("opset", [10, 11])
def test_another_value_stays(opset: int) -> None:
    n = Net(opset=opset)
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 1, 1, 0, 0, 1, 1], np.float32(1))
    assert Outcome(n.model(conv(n, p)), SPEC).of("p") == "missed value"


def test_a_value_that_is_computed_stays() -> None:
    n = Net()
    n.node("Pad", [n.input("x", [1, 2, 6, 5]), ints(0, 0, 1, 1, 0, 0, 1, 1), n.input("v", [])], "p")
    assert Outcome(n.model(conv(n, "p")), SPEC).of("p") == "missed pads-unknown"


def test_pads_that_are_computed_stay() -> None:
    n = Net()
    n.node("Pad", [n.input("x", [1, 2, 6, 5]), n.input("a", [8], np.int64)], "p")
    assert said(SPEC, n.model(conv(n, "p")), "p") == ["missed pads-unknown"]


def test_negative_pads_stay() -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 1, 1, 0, 0, -1, 1])
    assert Outcome(n.model(conv(n, p)), SPEC).of("p") == "missed negative"


@pytest.mark.parametrize("pads", [[1, 0, 0, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 0, 0]])
def test_pads_of_batch_and_channels_stay(pads: list[int]) -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 1 if pads[5] else 2, 6, 5]), pads)
    assert Outcome(n.model(conv(n, p)), SPEC).of("p") == "missed other-dimensions"


def test_transposed_convolutions_stay() -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 1, 1, 0, 0, 1, 1])
    y = n.node("ConvTranspose", [p, rand(2, 3, 3, 3)], "y")
    assert Outcome(n.model(y), SPEC).of("p") == "missed other-reader"


def test_kernels_of_computed_weights_must_be_known() -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 1, 1, 0, 0, 1, 1])
    y = n.node("Conv", [p, n.input("w", [3, 2, "k", 3])], "y")
    assert said(SPEC, n.model(y), "p") == ["missed sizes-unknown"]
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 1, 1, 0, 0, 1, 1])
    y = n.node("Conv", [p, n.input("w", [3, 2, "k", 3])], "y", kernel_shape=[3, 3])
    assert Outcome(n.model(y), SPEC).ops == ["Conv"]


# Pools


def test_average_pool_counts_what_was_padded() -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 1, 1, 0, 0, 0, 1])
    y = n.node("AveragePool", [p], "y", kernel_shape=[3, 2], strides=[1, 2])
    assert Outcome(n.model(y), SPEC).ops == ["AveragePool"]


@pytest.mark.parametrize(("counts", "verdict"), [(0, "missed does-not-count-padding"), (1, "passed fused")])
def test_average_pool_with_padding_of_its_own(counts: int, verdict: str) -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 1, 1, 0, 0, 0, 0])
    y = n.node("AveragePool", [p], "y", kernel_shape=[3, 3], pads=[1, 0, 1, 0], count_include_pad=counts)
    assert Outcome(n.model(y), SPEC).of("p") == verdict


def test_average_pool_of_another_value_stays() -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 1, 1, 0, 0, 0, 0], np.float32(2))
    y = n.node("AveragePool", [p], "y", kernel_shape=[3, 3])
    assert Outcome(n.model(y), SPEC).of("p") == "missed value"


@pytest.mark.parametrize("op", ["AveragePool", "MaxPool"])
def test_sizes_that_are_rounded_up_stay(op: str) -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 1, 0, 0, 0, 1, 1], np.float32(0 if op == "AveragePool" else -np.inf))
    y = n.node(op, [p], "y", kernel_shape=[2, 2], strides=[3, 3], ceil_mode=1)
    assert Outcome(n.model(y), SPEC).of("p") == "missed ceil-mode"


@pytest.mark.parametrize("op", ["AveragePool", "MaxPool"])
def test_padding_as_large_as_the_kernel_stays(op: str) -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 2, 0, 0, 0, 0, 0], np.float32(0 if op == "AveragePool" else -np.inf))
    y = n.node(op, [p], "y", kernel_shape=[2, 3])
    assert Outcome(n.model(y), SPEC).of("p") == "missed empty-window"


@pytest.mark.parametrize(
    ("before", "value", "verdict"),
    [
        (None, -np.inf, "passed fused"),
        (None, 0.0, "missed value"),
        ("Relu", 0.0, "passed fused"),
        ("Sigmoid", 0.0, "passed fused"),
        ("Sigmoid", 0.5, "missed value"),
        ("Tanh", 0.0, "missed value"),
        ("Tanh", -1.0, "passed fused"),
    ],
)
def test_max_pool_of_what_no_element_is_below(before: str | None, value: float, verdict: str) -> None:
    n = Net()
    x = n.input("x", [1, 2, 6, 5])
    p = pad(n, n.node(before, [x]) if before else x, [0, 0, 1, 1, 0, 0, 1, 1], np.float32(value))
    y = n.node("MaxPool", [p], "y", kernel_shape=[3, 2], strides=[2, 2])
    assert Outcome(n.model(y), SPEC).of("p") == verdict


def test_max_pool_of_integers() -> None:
    for value, verdict in ((-128, "passed fused"), (-127, "missed value")):
        n = Net(dtype=np.int8)
        p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 1, 1, 0, 0, 1, 1], np.int8(value))
        y = n.node("MaxPool", [p], "y", kernel_shape=[3, 3])
        assert Outcome(n.model(y), SPEC, tolerance=0).of("p") == verdict


def test_max_pool_that_also_gives_indices_stays() -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 1, 1, 0, 0, 1, 1], np.float32(-np.inf))
    n.node("MaxPool", [p], "y", kernel_shape=[3, 3])
    n.nodes[-1].output.append("indices")
    n.node("Cast", ["indices"], "z", to=1)
    assert Outcome(n.model("y", "z"), SPEC).of("p") == "missed indices"


def test_dilated_max_pool_stays() -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 1, 1, 0, 0, 1, 1], np.float32(-np.inf))
    y = n.node("MaxPool", [p], "y", kernel_shape=[2, 2], dilations=[2, 2])
    assert Outcome(n.model(y), SPEC).of("p") == "missed empty-window"


# Quantized convolutions


@pytest.mark.parametrize(("value", "verdict"), [(-9, "passed fused"), (0, "missed value")])
def test_quantized_convolution_pads_with_its_zero_point(value: int, verdict: str) -> None:
    n = Net(dtype=np.int8)
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 0, 1, 0, 0, 1, 0], np.int8(value))
    weights = rand(3, 2, 3, 3, low=-127, high=127, dtype=np.int8)
    scales = [np.float32(0.5), np.int8(-9), weights, rand(3, low=0.01, high=0.02), np.zeros(3, np.int8)]
    y = n.node("QLinearConv", [p, *scales, np.float32(2), np.int8(5)], "y", pads=[0, 1, 1, 0], strides=[2, 1])
    o = Outcome(n.model(y), SPEC, tolerance=0)
    assert o.of("p") == verdict
    if verdict.startswith("passed"):
        assert pads_of(o) == [0, 2, 2, 0]


def test_quantized_convolution_whose_zero_point_is_computed() -> None:
    n = Net(dtype=np.int8)
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 0, 1, 0, 0, 1, 0])
    weights = rand(3, 2, 3, 3, low=-127, high=127, dtype=np.int8)
    operands = [p, np.float32(0.5), n.input("z", []), weights, np.float32(0.01), np.int8(0), np.float32(2), np.int8(5)]
    assert Outcome(n.model(n.node("QLinearConv", operands, "y")), SPEC, tolerance=0).of("p") == "missed value"


def test_convolution_of_integers_without_a_zero_point_pads_with_0() -> None:
    n = Net(dtype=np.uint8)
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 0, 1, 0, 0, 1, 0], np.uint8(0))
    c = n.node("ConvInteger", [p, rand(3, 2, 3, 3, low=0, high=255, dtype=np.uint8)], "c")
    n.node("Cast", [c], "y", to=1)
    model = n.model()
    model.graph.output.append(onnx.helper.make_tensor_value_info("y", 1, None))
    o = Outcome(onnx.shape_inference.infer_shapes(model), SPEC, tolerance=0)
    assert o.ops == ["ConvInteger", "Cast"]


@pytest.mark.parametrize(
    "attrs", [{"strides": [1]}, {"strides": [0, 1]}, {"pads": [1, 1]}, {"auto_pad": "SAME"}, {"auto_pad": 3}]
)
def test_attributes_that_do_not_fit_stay(attrs: dict[str, Any]) -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 1, 1, 0, 0, 1, 1])
    assert said(SPEC, n.model(conv(n, p, **attrs)), "p") == ["missed misfit"]


def test_auto_pad_of_steps_of_1_needs_no_size() -> None:
    n = Net()
    p = pad(n, n.input("x", [1, 2, "h", "w"]), [0, 0, 1, 0, 0, 0, 0, 1])
    o = Outcome(n.model(conv(n, p, auto_pad="SAME_UPPER")), SPEC)
    assert pads_of(o) == [2, 1, 1, 2]


def test_pads_of_old_opsets_stay() -> None:
    n = Net(opset=6, ir_version=3)
    p = pad(n, n.input("x", [1, 2, 6, 5]), [0, 0, 1, 1, 0, 0, 1, 1])
    model = n.model(conv(n, p))
    for constant in n.constants:
        model.graph.input.append(onnx.helper.make_tensor_value_info(constant.name, constant.data_type, constant.dims))
    assert said(SPEC, model, "p") == ["missed old-opset"]


@given(st.data())
def test_networks_compute_what_they_did(data: st.DataObject) -> None:
    reseed(data.draw(st.integers(0, 999)))
    draw = data.draw
    n = Net(opset=draw(st.sampled_from([9, 11, 13, 18])))
    rank = draw(st.integers(1, 2))
    x = n.input("x", [1, 2, *(draw(st.integers(5, 7)) for _ in range(rank))])
    if draw(st.booleans()):
        x = n.node("Relu", [x])
    pads = [
        0,
        0,
        *(draw(st.integers(0, 2)) for _ in range(rank)),
        0,
        0,
        *(draw(st.integers(0, 2)) for _ in range(rank)),
    ]
    p = pad(n, x, pads, np.float32(draw(st.sampled_from([0.0, 0.0, -np.inf, 0.25]))))
    outputs = []
    for _ in range(draw(st.integers(1, 2))):
        kind = draw(st.sampled_from(["Conv", "AveragePool", "MaxPool"]))
        kernel = [draw(st.integers(1, 3)) for _ in range(rank)]
        # onnxruntime refuses automatic padding where strides are larger than the kernel.
        strides = [draw(st.integers(1, min(length, 2))) for length in kernel]
        attrs: dict[str, Any] = {"kernel_shape": kernel, "strides": strides}
        padding = draw(st.sampled_from(["none", "own", "SAME_UPPER", "SAME_LOWER", "VALID"]))
        if padding == "own":
            attrs["pads"] = [draw(st.integers(0, kernel[i % rank] - 1)) for i in range(2 * rank)]
        elif padding != "none":
            attrs["auto_pad"] = padding
        if kind == "AveragePool":
            attrs["count_include_pad"] = draw(st.integers(0, 1))
        weights = [rand(3, 2, *kernel)] if kind == "Conv" else []
        outputs.append(n.node(kind, [p, *weights], **attrs))
    Outcome(n.model(*outputs), SPEC)
