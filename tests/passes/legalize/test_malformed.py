"""Models whose operands do not fit: they are refused as others are, with no other exception."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from arenite._base.errors import ModelError
from passes.legalize.moves import graph_of
from passes.legalize.spatial import node

F = np.float32


def unchecked(of: onnx.NodeProto, dims: list[int], constants: dict[str, Any], dtype: Any = F) -> onnx.ModelProto:
    """A model of one node, whatever its shapes."""
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(
        [of],
        "g",
        [helper.make_tensor_value_info("x", element, dims)],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def ones(*dims: int) -> Any:
    return np.ones(dims, F)


def test_an_output_whose_shape_is_not_known_is_named() -> None:
    bare = unchecked(node("Cast", "x"), [1, 4], {})
    bare.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 4]))
    with pytest.raises(ModelError, match="output 'y': the shape of 'y' must be known"):
        graph_of(bare)


CASES: list[tuple[onnx.NodeProto, list[int], dict[str, Any]]] = [
    (node("Gemm", "x w"), [2, 6], {"w": ones(3, 4)}),
    (node("Gemm", "x w c"), [2, 3], {"w": ones(3, 4), "c": ones(3)}),
    (node("Gemm", "x w c"), [2, 3], {"w": ones(3, 4), "c": ones(1, 1, 4)}),
    (node("Gemm", "x w"), [2, 3, 3], {"w": ones(3, 4)}),
    (node("MatMul", "x w"), [2, 6], {"w": ones(3, 4)}),
    (node("MatMul", "w x"), [2, 6], {"w": ones(3, 4)}),
    (node("MatMul", "x w"), [2, 2, 3], {"w": ones(3, 3, 4)}),
    (node("MatMul", "x w"), [], {"w": ones(3, 4)}),
    (node("Einsum", "x w", equation="ij,jk->ik"), [2, 3], {"w": ones(4, 3)}),
    (node("Einsum", "x w", equation="ij,jk->iz"), [2, 3], {"w": ones(3, 3)}),
    (node("Einsum", "x", equation="ijk->i"), [2, 3], {}),
    (node("Einsum", "x", equation="i1->i"), [2, 3], {}),
    (node("Einsum", "x"), [2, 3], {}),
    (node("Add", "x w"), [2, 3], {"w": ones(2)}),
    (node("Sum", "x w w"), [2, 3], {"w": ones(2)}),
    (node("Sum", "x -"), [2, 3], {}),
    (node("Max", "x -"), [2, 3], {}),
    (node("EyeLike", "x"), [2], {}),
    (node("GatherND", "x w", batch_dims=2), [2, 2, 2], {"w": np.zeros((2, 1), np.int64)}),
    (node("LSTM", "x w r", hidden_size=1), [2, 1, 3], {"w": ones(1, 16, 3), "r": ones(1, 16, 4)}),
    (node("LSTM", "x w r"), [2, 1, 3], {"w": ones(3, 16, 3), "r": ones(3, 16, 4)}),
    (node("PRelu", "x w"), [2, 3], {"w": ones(4, 2, 3)}),
    (node("Clip", "x w"), [2, 3], {"w": ones(3)}),
    (node("Pow", "x w"), [2, 3], {"w": ones(2)}),
    (node("Softmax", "x", axis=2), [2, 3], {}),
    (node("Softmax", "x"), [], {}),
    (node("ArgMax", "x", axis=-3), [2, 3], {}),
    (node("ReduceMean", "x", axes=[5]), [2, 3], {}),
    (node("ReduceSum", "x w"), [2, 3], {"w": ones(1)}),
    (node("LpNormalization", "x", axis=2), [2, 3], {}),
    (node("LeakyRelu", "x", alpha="much"), [2, 3], {}),
    (node("QuantizeLinear", "x w"), [2, 3], {"w": ones(2)}),
    (node("QuantizeLinear", "x w w"), [2, 3], {"w": np.float32(1)}),
    (node("Dropout", "x w w"), [2, 3], {"w": ones(2)}),
    (node("Cast", "x"), [2, 3], {}),
    (node("Cast", "x", to=99), [2, 3], {}),
    (node("LSTM", "x w r"), [2, 1, 3], {"w": ones(1, 16, 3), "r": ones(1, 16, 5)}),
    (node("LSTM", "x w r b"), [2, 1, 3], {"w": ones(1, 16, 3), "r": ones(1, 16, 4), "b": ones(1, 31)}),
    (node("LSTM", "x w r - - h"), [2, 1, 3], {"w": ones(1, 16, 3), "r": ones(1, 16, 4), "h": ones(1, 2, 4)}),
    (node("GRU", "x w r", direction="bidirectional"), [2, 1, 3], {"w": ones(1, 12, 3), "r": ones(1, 12, 4)}),
    (node("RNN", "x w r", direction="sideways"), [2, 1, 3], {"w": ones(1, 4, 3), "r": ones(1, 4, 4)}),
    (node("RNN", "x w r"), [2, 3], {"w": ones(1, 4, 3), "r": ones(1, 4, 4)}),
    (node("RNN", "x w r - l"), [2, 1, 3], {"w": ones(1, 4, 3), "r": ones(1, 4, 4), "l": np.array([1], np.int32)}),
    (node("RNN", "x w r"), [2, 1, 5], {"w": ones(1, 4, 3), "r": ones(1, 4, 4)}),
    (node("ConstantOfShape", "s"), [1], {"s": [-5]}),
    (node("OneHot", "i d w"), [1], {"i": [1], "d": [-5], "w": ones(2)}),
]


@pytest.mark.parametrize(("of", "dims", "constants"), CASES, ids=[f"{i}-{c[0].op_type}" for i, c in enumerate(CASES)])
def test_operands_that_do_not_fit(of: onnx.NodeProto, dims: list[int], constants: dict[str, Any]) -> None:
    with pytest.raises(ModelError) as caught:
        graph_of(unchecked(of, dims, constants))
    assert all(problem.startswith("node 'y'") for problem in caught.value.problems)


@pytest.mark.parametrize("operands", ["ConstantOfShape x", "Reshape w x", "Expand w x"])
@pytest.mark.parametrize("dims", [[], [2, 1]])
def test_shapes_that_are_no_lists(operands: str, dims: list[int]) -> None:
    operator, names = operands.split(" ", 1)
    with pytest.raises(ModelError) as caught:
        graph_of(unchecked(node(operator, names), dims, {"w": ones(2, 3)}, np.int64))
    assert all(problem.startswith("node 'y'") for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("of", "dims", "constants", "problem"),
    [
        (node("EyeLike", "x"), [10**6, 10**6], {}, "the matrix would have 1000000000000 elements"),
        (node("Trilu", "x"), [10**6, 10**6], {}, "the mask would have 1000000000000 elements"),
        (node("OneHot", "i d w"), [1], {"i": [1], "d": [10**12], "w": ones(2)}, "the indices would have 1000000000000"),
        (node("ConstantOfShape", "s"), [1], {"s": [1 << 32, 1 << 32]}, r"\[4294967296, 4294967296\] is too large"),
        (node("ConstantOfShape", "s"), [1], {"s": [1 << 15, 1 << 14]}, r"\[32768, 16384\] is too large"),
    ],
)
def test_constants_of_absurd_sizes_are_refused_before_they_are_made(
    of: onnx.NodeProto, dims: list[int], constants: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ModelError, match=rf"node 'y' \({of.op_type}\): .*{problem}"):
        graph_of(unchecked(of, dims, constants))


def test_an_output_that_is_too_large_is_named() -> None:
    with pytest.raises(ModelError, match="output 'y': shape must be numbers of 32 bits"):
        graph_of(unchecked(node("Identity", "x"), [1 << 40], {}))


def test_scales_that_do_not_fit() -> None:
    of = node("DequantizeLinear", "x w", axis=0)
    with pytest.raises(ModelError, match=r"the scale must have 2 elements, but is \[3\]"):
        graph_of(unchecked(of, [2, 3], {"w": ones(3)}, np.int8))


def test_of_many_numbers_the_first_are_named() -> None:
    of = node("Resize", "x - w", mode="nearest")
    with pytest.raises(ModelError) as caught:
        graph_of(unchecked(of, [1, 2, 3, 4], {"w": ones(48)}))
    (problem,) = caught.value.problems
    assert problem.endswith("that is resized, but are [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, ...]")
