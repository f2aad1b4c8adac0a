"""LSTM, GRU and RNN, unrolled."""

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passes.legalize.moves import FEW, graph_of, ops_of
from passes.legalize.spatial import node, refusal
from passes.legalize.support import model_of

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
PER_STEP = {"RNN": 3, "GRU": 11, "LSTM": 11}
"""Nodes of one step, at most."""
FOR_ALL = {"RNN": 1, "GRU": 2, "LSTM": 1}
"""Nodes of what inputs add, for all steps at once."""


def network(
    operator: str,
    steps: int = 3,
    *,
    batch: int = 1,
    direction: str = "forward",
    given_: str = "b",
    states: str = "",
    computed: bool = False,
    **attrs: Any,
) -> onnx.ModelProto:
    """`given_`: which of b (biases), h and c (states) there are; those in `states` are inputs, the others constants."""
    rng, n, gates, hidden = np.random.default_rng(9), 2 if direction == "bidirectional" else 1, GATES[operator], 4
    dims = {
        "w": (n, gates * hidden, 3),
        "r": (n, gates * hidden, hidden),
        "b": (n, 2 * gates * hidden),
        "h": (n, batch, hidden),
        "c": (n, batch, hidden),
    }
    names = [name for name in "wrbhc" if name in "wr" + given_]
    constants = {name: rng.normal(0, 0.5, dims[name]).astype(np.float32) for name in names if name not in states}
    inputs: dict[str, Any] = {"x": (np.float32, [steps, batch, 3])}
    inputs |= {name: (np.float32, dims[name]) for name in names if name in states}
    operands = ["x", "w", "r", *(name if name in names else "-" for name in ("b", "-", "h", "c"))]
    outputs = ["y", "yh", "yc"][: 3 if operator == "LSTM" else 2]
    operands = operands if operator == "LSTM" else operands[:6]
    of = node(operator, " ".join(operands), " ".join(outputs), hidden_size=hidden, direction=direction, **attrs)
    return model_of([of], inputs, outputs, constants)


@FEW
@given(
    st.sampled_from(sorted(GATES)),
    st.sampled_from(["forward", "reverse", "bidirectional"]),
    st.sampled_from(["", "b", "bh", "bhc", "h"]),
    st.sampled_from(["", "h", "hc"]),
    st.integers(1, 4),
    st.integers(1, 2),
    st.integers(0, 1),
)
def test_layers(operator: str, direction: str, given_: str, states: str, steps: int, batch: int, linear: int) -> None:
    given_ = given_ if operator == "LSTM" else given_.replace("c", "")
    attrs: dict[str, Any] = {"linear_before_reset": linear} if operator == "GRU" else {}
    model = network(
        operator,
        steps,
        batch=batch,
        direction=direction,
        given_=given_,
        states=states if states in given_ else "",
        **attrs,
    )
    ops = [op for op in ops_of(model) if op not in ("reshape", "pack", "unpack", "transpose")]
    n = 2 if direction == "bidirectional" else 1
    assert len(ops) <= n * (FOR_ALL[operator] + steps * PER_STEP[operator])


def test_one_step_with_its_states_as_inputs() -> None:
    ops = ops_of(network("LSTM", 1, given_="bhc", states="hc"))
    assert [op for op in ops if op != "reshape"] == [
        "fully_connected",
        "fully_connected",
        "add",
        "split_v",
        "logistic",
        "split",
        "tanh",
        "mul",
        "mul",
        "add",
        "tanh",
        "mul",
    ]


def test_steps_share_their_weights() -> None:
    graph = graph_of(network("GRU", 6))
    weights = {id(each.operand(1)) for each in graph.nodes if each.op == "fully_connected"}
    assert len(weights) == 3


@pytest.mark.parametrize("activation", ["Relu", "Sigmoid", "Tanh"])
def test_activations(activation: str) -> None:
    assert {"Relu": "relu", "Sigmoid": "logistic", "Tanh": "tanh"}[activation] in ops_of(
        network("RNN", activations=[activation])
    )


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"activations": ["Affine"]}, "activations must be 1 of Sigmoid, Tanh and Relu, but are Affine"),
        ({"clip": 1.0}, "clip and input_forget have no counterpart"),
        (
            {"steps": 65},
            "a sequence must have 1 to 64 steps, which are written one behind the other, but has 65; give the model "
            "one step (--input-shape), with its states as inputs and outputs",
        ),
    ],
)
def test_what_is_refused(attrs: dict[str, Any], message: str) -> None:
    assert refusal(network("RNN", **attrs)) == message


def test_computed_weights_are_refused() -> None:
    assert "the weights R must be constant" in refusal(network("RNN", states="r"))
