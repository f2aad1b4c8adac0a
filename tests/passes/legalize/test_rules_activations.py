"""Activation functions: their formulas, and clamps by any bounds."""

import math
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.interp.interpreter import Interpreter
from arenite.ops import core_registry
from passes.legalize.moves import FEW, after_transpose, graph_of, ops_of, permuted, shapes
from passes.legalize.spatial import computed, node, numbers, one, refusal, run
from passes.legalize.support import model_of

WIDE = np.concatenate([np.linspace(-30, 30, 1201), [-200, -90, 90, 200]]).astype(np.float32)
SLOPES = st.sampled_from([0.0, 0.01, 0.25, 1.0, 1.5])
ATTRIBUTES: dict[str, Any] = {
    "Relu": st.just({}),
    "LeakyRelu": st.fixed_dictionaries({}, optional={"alpha": SLOPES}),
    "Elu": st.fixed_dictionaries({}, optional={"alpha": SLOPES}),
    "Celu": st.fixed_dictionaries({}, optional={"alpha": st.sampled_from([0.5, 1.0, 3.0])}),
    "Selu": st.fixed_dictionaries({}, optional={"alpha": SLOPES, "gamma": SLOPES}),
    "ThresholdedRelu": st.fixed_dictionaries({}, optional={"alpha": SLOPES}),
    "Shrink": st.fixed_dictionaries({}, optional={"lambd": SLOPES, "bias": SLOPES}),
    "HardSigmoid": st.fixed_dictionaries({}, optional={"alpha": st.sampled_from([0.1, 1 / 6, 0.5]), "beta": SLOPES}),
    "Softplus": st.just({}),
    "Softsign": st.just({}),
    "Erf": st.just({}),
    "HardSwish": st.just({}),
    "Mish": st.just({}),
    "Gelu": st.fixed_dictionaries({}, optional={"approximate": st.sampled_from(["none", "tanh"])}),
    "Swish": st.fixed_dictionaries({}, optional={"alpha": SLOPES}),
}
OPSETS = {"Mish": 18, "Gelu": 20, "Swish": 24}
MOST_NODES = {"Erf": 14, "Gelu": 15, "Mish": 7, "Shrink": 6, "Softplus": 5, "HardSigmoid": 4}


@FEW
@given(st.sampled_from(sorted(set(ATTRIBUTES) - {"Swish"})), shapes(1, 4), st.data())
def test_functions(operator: str, dims: tuple[int, ...], data: Any) -> None:
    perm, attrs = data.draw(permuted(len(dims))), data.draw(ATTRIBUTES[operator])
    model = after_transpose([node(operator, "t", **attrs)], dims, perm, opset=OPSETS.get(operator, 17))
    ops = [op for op in ops_of(model) if op not in ("transpose", "reshape")]
    assert len(ops) <= MOST_NODES.get(operator, 3)


@pytest.mark.parametrize("operator", sorted(set(ATTRIBUTES) - {"Swish"}))
def test_functions_over_a_wide_range(operator: str) -> None:
    run(one(node(operator, "x"), WIDE.shape, opset=OPSETS.get(operator, 17)), feeds={"x": WIDE})


@pytest.mark.parametrize("alpha", [1.0, 1.702])
def test_swish(alpha: float) -> None:
    """The runtime here has no Swish of opset 24: its definition is the oracle."""
    spelled = [node("Mul", "x a", "m"), node("Sigmoid", "m", "s"), node("Mul", "x s")]
    expected = _result(spelled, {"a": np.float32(alpha)})
    np.testing.assert_allclose(_result([node("Swish", "x", alpha=alpha)], {}, opset=24), expected, rtol=1e-6)


def _result(nodes: list[onnx.NodeProto], constants: dict[str, Any], opset: int = 17) -> Any:
    return computed(model_of(nodes, {"x": (np.float32, [40])}, ["y"], constants, opset=opset))


def test_erf_and_gelu_are_near_enough() -> None:
    """To float64's, by the largest difference."""
    x = np.linspace(-9, 9, 20001).astype(np.float32)
    exact = np.array([math.erf(float(each)) for each in x])
    halves = np.array([math.erf(float(each) / math.sqrt(2)) for each in x])
    assert float(np.abs(_of("Erf", x) - exact).max()) < 1.2e-6
    assert float(np.abs(_of("Gelu", x) - x * (1 + halves) / 2).max()) < 1.5e-6


def test_gelu_goes_to_0_and_to_its_operand() -> None:
    x = np.array([-1e4, -1e10, -3e38, 1e4, 1e10, 3e38], np.float32)
    assert _of("Gelu", x).tolist() == [0, 0, 0, *x[3:].tolist()]


def _of(operator: str, x: np.ndarray[Any, Any]) -> Any:
    graph = graph_of(one(node(operator, "x"), x.shape, opset=20))
    with np.errstate(all="ignore"):
        return np.asarray(Interpreter(graph, core_registry()).run([x])[0], np.float64)


@pytest.mark.parametrize("opset", [7, 16])
@pytest.mark.parametrize("slope", [(), (1,), (3, 1, 1), (3, 4, 5), (5,), (1, 1, 5)])
def test_prelu(slope: tuple[int, ...], opset: int) -> None:
    """Slopes broadcast as ONNX has them, in the order in which the value lies."""
    nodes = [node("Conv", "x w", "c"), node("PRelu", "c s")]
    constants = {"w": numbers(3, 2, 1, 1), "s": numbers(*slope)}
    ops = run(model_of(nodes, {"x": (np.float32, [1, 2, 4, 5])}, ["y"], constants, opset=opset))
    assert ops == ["conv2d", "prelu"]


def test_microsofts_gelus() -> None:
    bias = {"b": numbers(5)}
    for of, constants in (
        (node("Gelu", "x", domain="com.microsoft"), {}),
        (node("QuickGelu", "x", domain="com.microsoft", alpha=1.5), {}),
        (node("FastGelu", "x", domain="com.microsoft"), {}),
        (node("FastGelu", "x b", domain="com.microsoft"), bias),
        (node("BiasGelu", "x b", domain="com.microsoft"), bias),
    ):
        model = one(node("Relu", "x"), [2, 3, 5], constants)
        model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
        model.graph.node[0].CopyFrom(of)
        run(model)


BOUNDS = st.sampled_from([None, -1.0, 0.0, 0.5, 1.0, 6.0])


@FEW
@given(BOUNDS | st.just(-math.inf), BOUNDS | st.just(math.inf), st.sampled_from([7, 11, 13]))
def test_clip(low: float | None, high: float | None, opset: int) -> None:
    # Before opset 11, onnxruntime takes no bounds that leave nothing between them.
    if opset < 11 and (-math.inf if low is None else low) > (math.inf if high is None else high):
        opset = 11
    given_: dict[str, Any] = {name: each for name, each in (("min", low), ("max", high)) if each is not None}
    if opset < 11:
        model = one(node("Clip", "x", **given_), [3, 50], opset=opset)
    else:
        operands = " ".join(["x", *(name if name in given_ else "-" for name in ("min", "max"))])
        constants = {name: np.float32(each) for name, each in given_.items()}
        model = one(node("Clip", operands), [3, 50], constants, opset=opset)
    ops = run(model, feeds={"x": np.linspace(-9, 9, 150, dtype=np.float32).reshape(3, 50)})
    named: dict[tuple[float, float], str] = {
        (0, 6): "relu6",
        (-1, 1): "relu_n1_to_1",
        (0, 1): "relu_0_to_1",
        (0, math.inf): "relu",
    }
    key = (-math.inf if low is None else low, math.inf if high is None else high)
    assert ops == [named[key]] if key in named else len(ops) == max(sum(map(math.isfinite, key)), 1)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_clip_of_integers(dtype: Any) -> None:
    constants = {"low": np.array(-3, dtype), "high": np.array(4, dtype)}
    ops = run(one(node("Clip", "x low high"), [4, 5], constants, dtype=dtype))
    assert [op for op in ops if op != "cast"] == ["maximum", "minimum"]


def test_clip_by_computed_bounds() -> None:
    inputs = {"x": (np.float32, [2, 3]), "low": (np.float32, []), "high": (np.float32, [])}
    feeds = {"x": numbers(2, 3), "low": np.array(-0.5, np.float32), "high": np.array(0.25, np.float32)}
    assert run(model_of([node("Clip", "x low high")], inputs, ["y"]), feeds=feeds) == ["maximum", "minimum"]


def test_clip_between_bounds_that_are_none() -> None:
    assert refusal(one(node("Clip", "x b"), [3], {"b": np.float32(np.nan)})) == "min must be a number, but is nan"
    message = refusal(one(node("Clip", "x - b"), [3], {"b": np.ones(3, np.float32)}))
    assert message == "max must be one number, but is [3]"


@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_relu_of_integers(dtype: Any) -> None:
    run(one(node("Relu", "x"), [4, 5], dtype=dtype))


def test_what_is_refused() -> None:
    assert refusal(one(node("Celu", "x", alpha=-1.0), [3])) == "alpha must be positive, but is -1.0"
    assert refusal(one(node("Gelu", "x", approximate="cubic"), [3], opset=20)) == (
        "approximate must be none or tanh, but is 'cubic'"
    )
