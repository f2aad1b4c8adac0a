"""Our numpy kernels against onnxruntime, else onnx.reference, over many forms of each operator."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper
from onnx.reference import ReferenceEvaluator

from arenite._base.dtypes import DType
from arenite.ir.opdef import OpError
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.engine import Engine, onnx_registry
from arenite.ops.onnx.invocation import Invocation
from arenite.ops.onnx.kernels import kernels
from arenite.ops.onnx.numpy_movement import slice_bounds
from arenite.ops.onnx.tensors import NUMBERS

RNG = np.random.default_rng(7)
F = RNG.standard_normal((2, 3, 4)).astype(np.float32)
IMAGE = RNG.standard_normal((1, 4, 7, 6)).astype(np.float32)
I8 = RNG.integers(-128, 127, (2, 3, 4)).astype(np.int8)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def attrs_of(fields: dict[str, Any]) -> OnnxAttrs:
    return OnnxAttrs.of(**{name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()})


def ours(op: str, operands: list[Any], fields: dict[str, Any], opset: int, n_results: int = 1) -> tuple[Any, ...]:
    with np.errstate(all="ignore"):
        results = kernels()[op](Invocation(attrs_of(fields), opset, n_results), operands)
    return results if isinstance(results, tuple) else (results,)


def single(op: str, operands: list[Any], fields: dict[str, Any], opset: int, n_results: int) -> ModelProto:
    names = ["" if value is None else f"i{index}" for index, value in enumerate(operands)]
    node: NodeProto = helper.make_node(op, names, [f"o{i}" for i in range(n_results)], **fields)
    inputs = [
        helper.make_tensor_value_info(name, NUMBERS[DType.of(value.dtype)], value.shape)
        for name, value in zip(names, operands, strict=True)
        if value is not None
    ]
    outputs = [ValueInfoProto(name=f"o{i}") for i in range(n_results)]
    graph = helper.make_graph([node], "g", inputs, outputs)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])


def theirs(op: str, operands: list[Any], fields: dict[str, Any], opset: int, n_results: int = 1) -> list[Any]:
    """By onnxruntime when it is there and has the operator, else by the reference."""
    model = single(op, operands, fields, opset, n_results)
    feeds = {f"i{index}": value for index, value in enumerate(operands) if value is not None}
    runtime = pytest.importorskip("onnxruntime", reason="the oracle is onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:  # an element type that it lacks
        return list(ReferenceEvaluator(model).run(None, feeds))
    return list(session.run(None, feeds))


def check(op: str, operands: list[Any], fields: dict[str, Any], opset: int = 17, n_results: int = 1) -> None:
    found = ours(op, operands, fields, opset, n_results)
    for one, other in zip(found, theirs(op, operands, fields, opset, n_results), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if one.dtype.kind in "iub":
            assert np.array_equal(one, other)
        else:
            assert np.allclose(one.astype(np.float64), other.astype(np.float64), 2e-6, 2e-6, equal_nan=True)


UNARY_NAMES = """Abs Acos Asin Asinh Atan Ceil Cos Cosh Elu Erf Exp Floor HardSigmoid HardSwish Identity IsInf IsNaN
LeakyRelu Log Neg Reciprocal Relu Round Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh ThresholdedRelu"""
SPECIAL = np.array([0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.999, 20, -20, np.inf, -np.inf, np.nan], np.float32)


@pytest.mark.parametrize("op", UNARY_NAMES.split())
def test_of_one_operand(op: str) -> None:
    check(op, [np.concatenate([SPECIAL, F.reshape(-1)])], {})


BINARY = ("Add", "Sub", "Mul", "Div", "Pow", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_of_two_operands_that_broadcast(op: str, dtype: type) -> None:
    a: np.ndarray = RNG.integers(-9, 9, (2, 1, 4)).astype(dtype)
    b: np.ndarray = RNG.integers(1, 5, (3, 1)).astype(dtype)
    check(op, [a, b], {})


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8])
def test_a_division_of_integers_truncates(dtype: type) -> None:
    a: np.ndarray = np.array([7, 250, 7, 249], np.int64).astype(dtype)
    b: np.ndarray = np.array([2, 2, 254, 254], np.int64).astype(dtype)
    expected = [int(int(x) / int(y)) for x, y in zip(a, b, strict=True)]
    (found,) = ours("Div", [a, b], {}, 17)
    assert found.tolist() == expected
    with pytest.raises(OpError, match="divided by 0"):
        ours("Div", [a, np.zeros_like(b)], {}, 17)


def test_integers_wrap() -> None:
    a = np.array([127, -128], np.int8)
    assert ours("Add", [a, a], {}, 17)[0].tolist() == [-2, 0]
    assert ours("Mul", [np.array([2**62], np.int64), np.array([4], np.int64)], {}, 17)[0].tolist() == [0]


@pytest.mark.parametrize("fmod", [0, 1])
def test_mod(fmod: int) -> None:
    check("Mod", [np.array([5, -5, 7, -7], np.int32), np.array([3, 3, -4, -4], np.int32)], {"fmod": fmod})


A8, B8 = I8.view(np.uint8), I8.transpose(0, 2, 1).copy()
CASES: list[tuple[str, list[Any], dict[str, Any], int]] = [
    ("Clip", [F, np.array(-0.5, np.float32), None], {}, 13),
    ("Clip", [F, None, np.array(0.5, np.float32)], {}, 13),
    ("Clip", [F], {"min": -0.1, "max": 0.3}, 10),
    ("Where", [F > 0, F, F[:, :1]], {}, 17),
    ("PRelu", [F, np.array([[0.1], [0.2], [0.3]], np.float32)], {}, 16),
    ("Max", [F, F[:1], F[0, 0]], {}, 13),
    ("Min", [I8, I8[::-1].copy()], {}, 13),
    ("Mean", [F, F + 1, F * 2], {}, 13),
    ("Sum", [F, F[0]], {}, 13),
    ("Cast", [F * 100], {"to": TensorProto.INT32}, 13),
    ("Cast", [F], {"to": TensorProto.FLOAT16}, 13),
    ("Cast", [F], {"to": TensorProto.BOOL}, 13),
    ("Cast", [np.array([300, -1, 2**31], np.int64)], {"to": TensorProto.INT8}, 13),
    ("Gelu", [F], {}, 20),
    ("Gelu", [F], {"approximate": "tanh"}, 20),
    ("Shape", [F], {}, 15),
    ("Shape", [F], {"start": -2, "end": -1}, 15),
    ("Shape", [F], {"start": 2, "end": 1}, 15),
    ("Size", [F], {}, 13),
    ("Range", [np.array(0, np.float32), np.array(1, np.float32), np.array(0.3, np.float32)], {}, 11),
    ("Range", [np.array(5), np.array(-4), np.array(-3)], {}, 11),
    ("Range", [np.array(5), np.array(9), np.array(-3)], {}, 11),
    ("Reshape", [F, ints(0, -1)], {}, 13),
    ("Reshape", [F, ints(4, 0, -1)], {}, 13),
    ("Reshape", [F[:0], ints(0, 3, 4)], {"allowzero": 1}, 14),
    ("Squeeze", [F[:, :1]], {}, 13),
    ("Squeeze", [F[:, :1], ints(-2)], {}, 13),
    ("Squeeze", [F[:, :1]], {"axes": [1]}, 11),
    ("Unsqueeze", [F, ints(0, -1)], {}, 13),
    ("Unsqueeze", [F], {"axes": [0, 4]}, 11),
    ("Flatten", [F], {"axis": 0}, 13),
    ("Flatten", [F], {"axis": -1}, 13),
    ("Flatten", [F], {"axis": 3}, 13),
    ("Transpose", [F], {}, 13),
    ("Transpose", [F], {"perm": [1, 2, 0]}, 13),
    ("Expand", [F[:, :1], ints(3, 1)], {}, 13),
    ("Tile", [F, ints(1, 2, 3)], {}, 13),
    ("Concat", [F, F[:, :1]], {"axis": -2}, 13),
    ("Gather", [F, np.array([[0, -1], [2, 1]])], {"axis": 1}, 13),
    ("Gather", [F, np.array(-1)], {"axis": 2}, 13),
    ("GatherElements", [F, np.array([[[0, 1, -1, 2]]])], {"axis": 1}, 13),
    ("GatherND", [F, np.array([[0, 1], [1, -1]])], {}, 13),
    ("ScatterElements", [F, np.array([[[0, 1, -1, 2]]]), F[:1, :1]], {"axis": 1}, 16),
    ("ScatterND", [F, np.array([[0, 1], [1, -1]]), F[0, :2]], {}, 16),
    ("Slice", [F, ints(-1, 1), ints(-100, 100), ints(2, 1), ints(-2, 1)], {}, 13),
    ("Slice", [F], {"starts": [1], "ends": [2**62], "axes": [1]}, 9),
    ("Pad", [F, ints(0, 1, -1, 1, 0, 2), np.array(3, np.float32)], {}, 13),
    ("Pad", [F, ints(0, 1, 1, 0, 1, 2)], {"mode": "reflect"}, 13),
    ("Pad", [F, ints(0, 1, 1, 1, 1, 2)], {"mode": "edge"}, 13),
    ("Pad", [F, ints(1, 2), None, ints(-1)], {}, 18),
    ("Pad", [F], {"pads": [0, 1, 0, 0, 0, 1], "value": 2.0}, 10),
    ("DepthToSpace", [IMAGE], {"blocksize": 2}, 13),
    ("DepthToSpace", [IMAGE], {"blocksize": 2, "mode": "CRD"}, 13),
    ("SpaceToDepth", [IMAGE[:, :, :6]], {"blocksize": 2}, 13),
    ("NonZero", [np.array([[1, 0, 2], [0, 0, 3]])], {}, 13),
    ("Trilu", [F], {"upper": 0}, 14),
    ("Trilu", [F, np.array(1)], {}, 14),
    ("ConstantOfShape", [ints(2, 3)], {}, 9),
    ("ArgMax", [np.round(F)], {"axis": 1}, 13),
    ("ArgMin", [np.round(F)], {"axis": -1, "keepdims": 0, "select_last_index": 1}, 13),
    ("CumSum", [F, np.array(1)], {}, 14),
    ("CumSum", [F, np.array(-1)], {"exclusive": 1, "reverse": 1}, 14),
    ("OneHot", [np.array([1, -1, 5]), np.array(4), np.array([0, 2], np.float32)], {"axis": 0}, 11),
    ("Softmax", [F], {}, 13),
    ("Softmax", [F], {"axis": 1}, 11),
    ("LogSoftmax", [F], {"axis": 1}, 13),
    ("MatMul", [F, F.transpose(0, 2, 1).copy()], {}, 13),
    ("MatMul", [F[0, 0], F.transpose(0, 2, 1).copy()], {}, 13),
    ("Gemm", [F[0], F[1], F[0, :, :1]], {"transB": 1, "alpha": 0.5, "beta": 2.0}, 13),
    ("Gemm", [F[0], F[0]], {"transA": 1}, 13),
    ("BatchNormalization", [IMAGE, *(np.abs(F[0, 0]) + 0.1 for _ in range(4))], {"epsilon": 0.01}, 15),
    ("InstanceNormalization", [IMAGE, F[0, 0], F[0, 1]], {}, 6),
    ("LayerNormalization", [F, F[0, 0], F[0, 1]], {}, 17),
    ("LRN", [np.concatenate([IMAGE, 2 * IMAGE])], {"size": 1, "alpha": 0.5}, 13),
    ("LRN", [np.concatenate([IMAGE, 2 * IMAGE])], {"size": 5, "alpha": 0.5, "beta": 0.5, "bias": 2.0}, 13),
    ("GlobalAveragePool", [IMAGE], {}, 1),
    ("GlobalMaxPool", [IMAGE], {}, 1),
    ("MatMulInteger", [A8, B8, np.array(3, np.uint8), np.array(-2, np.int8)], {}, 10),
    ("QuantizeLinear", [F * 100, np.array(0.5, np.float32), np.array(3, np.int8)], {}, 13),
    ("QuantizeLinear", [F * 100, np.array([0.5, 0.1, 2], np.float32), np.array([3, 0, 1], np.uint8)], {"axis": 1}, 13),
    ("DequantizeLinear", [I8, np.array([0.5, 0.1, 2], np.float32), np.array([3, 0, 1], np.int8)], {"axis": -2}, 13),
    ("DequantizeLinear", [I8.astype(np.int32), np.array(0.5, np.float32)], {}, 13),
]


@pytest.mark.parametrize(("op", "operands", "fields", "opset"), CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_forms(op: str, operands: list[Any], fields: dict[str, Any], opset: int) -> None:
    check(op, operands, fields, opset)


REDUCTIONS = ["L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"]


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("fields", [{}, {"keepdims": 0}, {"axes": [1, -1]}, {"axes": [0], "keepdims": 0}])
def test_reductions(op: str, fields: dict[str, Any]) -> None:
    data = np.abs(F) + np.float32(0.1)
    check(f"Reduce{op}", [data], fields, 12)
    rest = {name: value for name, value in fields.items() if name != "axes"}
    axes = [ints(*fields["axes"])] if "axes" in fields else []
    check(f"Reduce{op}", [data, *axes], rest, 18)


@pytest.mark.parametrize("axes", [None, ints()])
def test_a_reduction_over_no_axes_may_do_nothing(axes: np.ndarray | None) -> None:
    check("ReduceSum", [F, axes], {"noop_with_empty_axes": 1}, 13)


SPLITS: list[tuple[int, dict[str, Any], np.ndarray | None]] = [
    (13, {}, ints(1, 3)),
    (11, {"split": [1, 3]}, None),
    (13, {}, None),
]


@pytest.mark.parametrize(("opset", "fields", "sizes"), SPLITS)
def test_split(opset: int, fields: dict[str, Any], sizes: np.ndarray | None) -> None:
    check("Split", [F] if sizes is None else [F, sizes], {"axis": 2, **fields}, opset, 2)


@pytest.mark.parametrize("largest", [0, 1])
def test_top_k_takes_the_first_of_equal_elements(largest: int) -> None:
    check("TopK", [np.round(F), ints(3)], {"axis": -1, "largest": largest}, 11, 2)


def test_dynamic_quantization() -> None:
    for data in (F, np.abs(F) + 1, np.zeros((2, 2), np.float32)):
        check("DynamicQuantizeLinear", [data], {}, 11, 3)


PADDINGS: list[dict[str, Any]] = [
    {},
    {"pads": [1, 0, 2, 1]},
    {"auto_pad": "SAME_UPPER"},
    {"auto_pad": "SAME_LOWER"},
    {"auto_pad": "VALID"},
]


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize("slide", [{}, {"strides": [2, 1]}, {"strides": [1, 3]}])
def test_conv(padding: dict[str, Any], group: int, slide: dict[str, Any]) -> None:
    w = RNG.standard_normal((4, 4 // group, 3, 2)).astype(np.float32)
    check("Conv", [IMAGE, w, w[:, 0, 0, 0].copy()], {"group": group, **padding, **slide})
    if "auto_pad" not in padding:
        check("Conv", [IMAGE, w], {"group": group, "dilations": [2, 1], **padding, **slide})


@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize(
    "slide", [{}, {"strides": [2, 3], "output_padding": [1, 2]}, {"dilations": [2, 1], "pads": [1, 0, 2, 1]}]
)
def test_transposed_conv(group: int, slide: dict[str, Any]) -> None:
    w = RNG.standard_normal((4, 2, 3, 2)).astype(np.float32)
    bias = RNG.standard_normal(2 * group).astype(np.float32)
    check("ConvTranspose", [IMAGE, w, bias], {"group": group, **slide})
    check("ConvTranspose", [IMAGE[:, :, 0], w[:, :, 0]], {"strides": [2], "group": group})


def test_conv_in_one_and_three_dimensions() -> None:
    check("Conv", [IMAGE[0], RNG.standard_normal((5, 7, 3)).astype(np.float32)], {"pads": [1, 1]})
    check("Conv", [IMAGE[None], RNG.standard_normal((2, 1, 2, 3, 2)).astype(np.float32)], {})


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("extra", [{}, {"count_include_pad": 1}])
def test_pools(op: str, padding: dict[str, Any], extra: dict[str, Any]) -> None:
    fields = {"kernel_shape": [3, 2], "strides": [2, 1], **padding}
    check(op, [IMAGE], fields | (extra if op == "AveragePool" else {}), 11)


@given(st.integers(0, 6), st.integers(-9, 9), st.integers(-9, 9), st.integers(-4, 4).filter(bool))
def test_slices_are_pythons_but_for_one_clamp(dim: int, start: int, end: int, step: int) -> None:
    data = np.arange(dim)
    # Going backwards from before the first element, Python finds nothing; ONNX begins at the first.
    begin = 0 if step < 0 and start < -dim else start
    assert data[slice_bounds(start, end, step, dim)].tolist() == data[begin:end:step].tolist()


def test_a_slice_backwards_from_before_the_first_element() -> None:
    check("Slice", [np.arange(4), ints(-9), ints(-9), ints(0), ints(-1)], {})


MISFITS: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("Add", [F, F[:, :2]], {}, "do not broadcast"),
    ("Add", [F, F.astype(np.float64)], {}, "unlike element types"),
    ("Add", [F], {}, "is absent"),
    ("Reshape", [F, ints(5, -1)], {}, "cannot become"),
    ("Squeeze", [F, ints(0)], {}, "is not 1"),
    ("Gather", [F, ints(3)], {"axis": 1}, "index 3 is outside"),
    ("Gather", [F, ints(0)], {"axis": 3}, "axis is 3"),
    ("Concat", [F, F[0]], {"axis": 0}, "cannot be joined"),
    ("Transpose", [F], {"perm": [0, 1]}, "does not name"),
    ("Transpose", [F], {"perm": [0, 1, 1]}, "twice"),
    ("Split", [F, ints(1, 1)], {"axis": 2}, "do not add up"),
    ("ConstantOfShape", [ints(2**40, 2**40)], {}, "no tensor"),
    ("Expand", [F, ints(2**50, 1, 1, 1)], {}, "no tensor"),
    ("Tile", [F, ints(2**20, 2**20, 1)], {}, "bytes"),
    ("Range", [np.array(0), np.array(2**62), np.array(1)], {}, "bytes"),
    ("Range", [np.array(0), np.array(1), np.array(0)], {}, "delta is 0"),
    ("Pad", [F, ints(*[2**30] * 6)], {}, "bytes"),
    ("Conv", [IMAGE, np.zeros((2, 3, 3, 3), np.float32)], {}, r"X has 4 channels, W \[2, 3, 3, 3\] wants 3"),
    ("Conv", [IMAGE, np.zeros((2, 4, 9, 9), np.float32)], {}, "does not fit"),
    ("MatMul", [F, F], {}, "cannot be multiplied"),
    ("Cast", [F], {"to": 99}, "no element type"),
    ("Softmax", [F], {"axis": 7}, "axis is 7"),
]


@pytest.mark.parametrize(("op", "operands", "fields", "message"), MISFITS)
def test_misfits_are_refused(op: str, operands: list[Any], fields: dict[str, Any], message: str) -> None:
    with pytest.raises(OpError, match=message):
        ours(op, operands, fields, 17)


def test_old_opsets_are_evaluated_where_nothing_changed() -> None:
    engine = Engine(onnx_registry({"": 6}))
    assert engine.evaluate("onnx.Abs", OnnxAttrs(), [-F], (True,))[0].tolist() == np.abs(F).tolist()
    with pytest.raises(OpError, match="opset 6 is older"):
        engine.evaluate("onnx.Add", OnnxAttrs(), [F, F], (True,))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("given", [(), (0,), (1,), (0, 1)])
def test_clip_lets_no_infinity_through_where_a_bound_is_not_given(given: tuple[int, ...], dtype: Any) -> None:
    x = np.array([np.inf, -np.inf, np.nan, 3, -3], dtype)
    bounds = [np.array(b, dtype) if i in given else None for i, b in enumerate((-np.inf, np.inf))]
    check("Clip", [x, *bounds], {}, 13)
    assert np.isinf(ours("Clip", [x, *bounds], {}, 13)[0]).sum() == len(given)


@pytest.mark.parametrize("fields", [{}, {"min": 0.0}, {"max": 1.0}])
@pytest.mark.parametrize("opset", [7, 10])
def test_clip_has_bounds_by_default_in_old_opsets_too(fields: dict[str, Any], opset: int) -> None:
    check("Clip", [np.array([np.inf, -np.inf, np.nan, 3, -3], np.float32)], fields, opset)
