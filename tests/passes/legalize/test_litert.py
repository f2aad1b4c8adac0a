"""LiteRT takes the files, and computes of them what onnxruntime computes of the models."""

from typing import Any

import numpy as np
import onnx
import pytest

from passes.legalize.spatial import litert_agrees, node, numbers, one
from passes.legalize.support import model_of
from passes.legalize.test_rules_recurrent import network

pytestmark = pytest.mark.litert

FLOATS = [
    *((name, {}) for name in ("Abs", "Neg", "Sign", "Exp", "Floor", "Ceil", "Round", "Sin", "Cos", "Tan", "Sigmoid")),
    *((name, {}) for name in ("Tanh", "Erf", "Mish", "Softplus", "Softsign", "Selu", "HardSwish", "Shrink", "Gelu")),
    *((name, {"alpha": 0.3}) for name in ("Elu", "Celu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid")),
    *((name, {"axis": axis}) for name in ("Softmax", "LogSoftmax", "Hardmax") for axis in (1, -1)),
    *((name, {"keepdims": keep}) for name in ("ReduceMean", "ReduceL2", "ReduceLogSumExp") for keep in (0, 1)),
    *((name, {"axis": 1, "keepdims": keep}) for name in ("ArgMax", "ArgMin") for keep in (0, 1)),
    ("LpNormalization", {"axis": 1}),
]


@pytest.mark.parametrize(("operator", "attrs"), FLOATS, ids=str)
def test_functions(operator: str, attrs: dict[str, Any]) -> None:
    litert_agrees(one(node(operator, "x", **attrs), [2, 3, 4, 5], opset=20), "AUTO")


@pytest.mark.parametrize("exponent", [2, 3, 0.5, -1, 1.5])
def test_powers(exponent: float) -> None:
    nodes = [node("Sigmoid", "x", "p"), node("Pow", "p e")]
    litert_agrees(model_of(nodes, {"x": (np.float32, [2, 5])}, ["y"], {"e": np.float32(exponent)}), "AUTO")


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Min", "Max", "Equal", "Less", "PRelu"])
@pytest.mark.parametrize("dims", [(), (5,), (3, 1, 5), (2, 3, 4, 5)])
def test_broadcasting(operator: str, dims: tuple[int, ...]) -> None:
    litert_agrees(one(node(operator, "x o"), [2, 3, 4, 5], {"o": numbers(*dims)}), "AUTO")


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
@pytest.mark.parametrize("operator", ["Add", "Mul", "Max", "Greater", "Mod"])
def test_integers(operator: str, dtype: Any) -> None:
    litert_agrees(one(node(operator, "x o"), [4, 5], {"o": np.array([1, 2, 3, 4, 5], dtype)}, dtype=dtype), "AUTO")


@pytest.mark.parametrize("bounds", [(0, 6), (-1, 1), (0, 1), (-0.5, 0.25)])
def test_clips(bounds: tuple[float, float]) -> None:
    constants = {"low": np.float32(bounds[0]), "high": np.float32(bounds[1])}
    litert_agrees(one(node("Clip", "x low high"), [3, 7], constants), "AUTO")


PRODUCTS: list[tuple[onnx.NodeProto, tuple[int, ...], tuple[int, ...]]] = [
    (node("MatMul", "x o"), (2, 3, 4, 6), (6, 5)),
    (node("MatMul", "x o"), (2, 3, 4, 6), (6,)),
    (node("MatMul", "x o"), (6,), (6, 5)),
    (node("MatMul", "o x"), (2, 6, 5), (4, 6)),
    (node("MatMul", "x o"), (2, 3, 4, 6), (3, 6, 5)),
    (node("Gemm", "x o", transA=1, alpha=0.5), (6, 4), (6, 5)),
    (node("Gemm", "x o", transB=1), (4, 6), (5, 6)),
    (node("Einsum", "x o", equation="bhid,bhjd->bhij"), (2, 3, 4, 5), (2, 3, 6, 5)),
    (node("Einsum", "x o", equation="bchw,bc->bchw"), (2, 3, 4, 5), (2, 3)),
]


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(("of", "dims", "others"), PRODUCTS, ids=lambda each: str(getattr(each, "op_type", each)))
def test_products(of: onnx.NodeProto, dims: tuple[int, ...], others: tuple[int, ...], constant: bool) -> None:
    inputs = {"x": (np.float32, dims)} | ({} if constant else {"o": (np.float32, others)})
    litert_agrees(model_of([of], inputs, ["y"], {"o": numbers(*others)} if constant else {}), "AUTO")


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("operator", ["LSTM", "GRU", "RNN"])
def test_recurrence(operator: str, direction: str) -> None:
    litert_agrees(network(operator, 3, batch=2, direction=direction, given_="bh", states="h"), "AUTO")


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_stored_numbers(dtype: Any) -> None:
    nodes = [node("QuantizeLinear", "x s z", "q"), node("Transpose", "q", "t"), node("DequantizeLinear", "t s z")]
    constants = {"s": np.array(0.1, np.float32), "z": np.array(3, dtype)}
    litert_agrees(model_of(nodes, {"x": (np.float32, [2, 3, 4])}, ["y"], constants), "AUTO")
