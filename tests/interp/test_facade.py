"""The facade behaves as TFLite's interpreter does where scripts look."""

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite._base.errors import DataError
from arenite.interp.facade import Interpreter
from arenite.ir.builder import GraphBuilder
from arenite.ir.model import Model
from arenite.ir.types import Quantization, TensorType
from ir.support import REGISTRY, f32

Q = TensorType(DType.INT8, (1, 3), Quantization.per_tensor(0.5, -3))


def model() -> Model:
    b = GraphBuilder()
    x = b.input("x", Q)
    c = b.constant("c", np.array([[1, 2, 3]], np.int8), Quantization((0.25, 0.5, 1.0), (0, 0, 0), 1))
    s = b.node("t.sum", [x, c], [Q], name="s")
    return Model("m", b.output(b.node("t.neg", [s.result], [Q], name="y").result))


def test_details() -> None:
    interpreter = Interpreter(model(), registry=REGISTRY)
    (x,) = interpreter.get_input_details()
    assert (x["name"], x["dtype"], x["quantization"]) == ("x", np.int8, (0.5, -3))
    np.testing.assert_array_equal(x["shape"], [1, 3])
    assert x["shape"].dtype == np.int32
    assert x["quantization_parameters"]["scales"].dtype == np.float32
    assert list(x["quantization_parameters"]["zero_points"]) == [-3]
    details = {d["name"]: d for d in interpreter.get_tensor_details()}
    assert sorted(details) == ["c", "s", "x", "y"]
    assert len({d["index"] for d in details.values()}) == 4
    assert details["c"]["quantization"] == (0.0, 0)
    assert details["c"]["quantization_parameters"]["quantized_dimension"] == 1
    assert interpreter.get_output_details()[0]["index"] == details["y"]["index"]


def test_set_invoke_get() -> None:
    interpreter = Interpreter(model(), registry=REGISTRY)
    interpreter.allocate_tensors()
    x, y = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]
    with pytest.raises(DataError, match="call invoke"):
        interpreter.get_tensor(y)
    interpreter.set_tensor(x, np.array([[10, 20, 30]], np.int8))
    interpreter.invoke()
    np.testing.assert_array_equal(interpreter.get_tensor(y), [[-11, -22, -33]])
    interpreter.get_tensor(y)[...] = 0
    interpreter.invoke()
    np.testing.assert_array_equal(interpreter.get_tensor(y), [[-11, -22, -33]])
    np.testing.assert_array_equal(interpreter.get_tensor(x), [[10, 20, 30]])
    interpreter.allocate_tensors()
    interpreter.invoke()
    np.testing.assert_array_equal(interpreter.get_tensor(y), [[-1, -2, -3]])


def test_what_does_not_fit_is_refused() -> None:
    interpreter = Interpreter(model(), registry=REGISTRY)
    x, y = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]
    with pytest.raises(DataError, match=r"input 'x' must be int8, found float64\n.*shape"):
        interpreter.set_tensor(x, [1.0])
    with pytest.raises(DataError, match=r"\('y'\) is no input"):
        interpreter.set_tensor(y, np.zeros((1, 3), np.int8))
    for index in (-1, 99):
        with pytest.raises(DataError, match=f"no tensor {index}"):
            interpreter.get_tensor(index)


def test_intermediate_values_only_when_preserved() -> None:
    for preserve in (False, True):
        interpreter = Interpreter(model(), registry=REGISTRY, experimental_preserve_all_tensors=preserve)
        index = next(d["index"] for d in interpreter.get_tensor_details() if d["name"] == "s")
        interpreter.invoke()
        if preserve:
            np.testing.assert_array_equal(interpreter.get_tensor(index), [[1, 2, 3]])
        else:
            with pytest.raises(DataError, match="preserve_all_tensors"):
                interpreter.get_tensor(index)


def test_state_over_invocations() -> None:
    b = GraphBuilder()
    state, x = b.variable("state", f32(1)), b.input("x", f32(1))
    m = Model("m", b.output(b.node("t.accumulate", [state, x], [f32(1)], name="y").result))
    interpreter = Interpreter(m, registry=REGISTRY)
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.ones(1, np.float32))
    y = interpreter.get_output_details()[0]["index"]
    for expected in (1, 2):
        interpreter.invoke()
        assert interpreter.get_tensor(y) == expected
    interpreter.reset_all_variables()
    interpreter.invoke()
    assert interpreter.get_tensor(y) == 1
