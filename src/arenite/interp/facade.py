"""The interpreter under the names of TFLite's Python API, so that scripts written for that one run on this one."""

from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from arenite._base.errors import DataError
from arenite.interp.inputs import input_problems
from arenite.interp.interpreter import Interpreter as GraphInterpreter
from arenite.ir.graph import Array, Value
from arenite.ir.model import Model, check_loaded
from arenite.ir.opdef import Registry
from arenite.ops import core_registry


class QuantizationParameters(TypedDict):
    """Scales and zero points: empty, one, or one per slice of `quantized_dimension`."""

    scales: npt.NDArray[np.float32]
    zero_points: npt.NDArray[np.int32]
    quantized_dimension: int


class TensorDetails(TypedDict):
    """What TFLite tells about a tensor.

    `quantization` is (scale, zero point), or (0.0, 0) where there is not exactly one of each; `shape_signature` has -1
    for a dimension that is not fixed, where `shape` has 1.
    """

    name: str
    index: int
    shape: npt.NDArray[np.int32]
    shape_signature: npt.NDArray[np.int32]
    dtype: type[np.generic]
    quantization: tuple[float, int]
    quantization_parameters: QuantizationParameters
    sparsity_parameters: dict[str, Any]


class Interpreter:
    """Runs a model by the numpy references.

    Args:
        model: what `arenite.load` gives.
        registry: the ops; the core dialect's by default.
        experimental_preserve_all_tensors: keep intermediate values for `get_tensor`.

    Raises:
        ModelError: the model is not sound, or uses operators that are not supported; with every problem.
    """

    def __init__(
        self, model: Model, *, registry: Registry | None = None, experimental_preserve_all_tensors: bool = False
    ) -> None:
        check_loaded(model)
        self._interpreter = GraphInterpreter(model.graph, registry or core_registry())
        self._preserve_all = experimental_preserve_all_tensors
        self._graph = model.graph
        self._values = model.graph.values()
        self._index = {value: index for index, value in enumerate(self._values)}
        self._arrays: dict[Value, Array] = {}
        self.allocate_tensors()

    def allocate_tensors(self) -> None:
        """Zero the inputs, forget the outputs, reset the state."""
        self._arrays = {
            value: np.zeros(
                [dim if isinstance(dim, int) else 1 for dim in value.type.shape or ()], value.type.dtype.numpy
            )
            for value in self._graph.inputs
        }
        self.reset_all_variables()

    def reset_all_variables(self) -> None:
        self._interpreter.reset()

    def get_input_details(self) -> list[TensorDetails]:
        return [self._details(value) for value in self._graph.inputs]

    def get_output_details(self) -> list[TensorDetails]:
        return [self._details(value) for value in self._graph.outputs]

    def get_tensor_details(self) -> list[TensorDetails]:
        """Every value: inputs, constants and results."""
        return [self._details(value) for value in self._values]

    def set_tensor(self, tensor_index: int, value: npt.ArrayLike) -> None:
        """Set an input, which keeps its value over invocations.

        Raises:
            DataError: the index is no input's, or dtype or shape do not fit.
        """
        target = self._value(tensor_index)
        if target not in self._graph.inputs:
            raise DataError(f"tensor {tensor_index} ('{target.name}') is no input, so it cannot be set")
        array = np.array(value)
        if problems := input_problems(target, array, {}):
            raise DataError(problems)
        self._arrays[target] = array

    def invoke(self) -> None:
        """Run the model once.

        Raises:
            ModelError: an operator has no meaning on its dtypes.
        """
        inputs = [self._arrays[value] for value in self._graph.inputs]
        trace = self._interpreter.trace(inputs, lambda value: self._preserve_all)
        results = [value for node in self._graph.nodes for value in node.results]
        self._arrays.update((value, trace.values[value.name]) for value in results if value.name in trace.values)
        outputs = zip(self._graph.outputs, trace.outputs, strict=True)
        self._arrays.update((value, array) for value, array in outputs if value not in self._graph.inputs)

    def get_tensor(self, tensor_index: int) -> Array:
        """A copy of an input, output or constant; of any value if all are preserved.

        Raises:
            DataError: the index is none, or the value is not there (yet).
        """
        value = self._value(tensor_index)
        array = value.constant if value.constant is not None else self._arrays.get(value)
        if array is None:
            raise DataError(
                f"tensor {tensor_index} ('{value.name}') has no value: call invoke() first, and for values that are no "
                "outputs create the interpreter with experimental_preserve_all_tensors=True"
            )
        return array.copy()

    def _value(self, index: int) -> Value:
        if not 0 <= index < len(self._values):
            raise DataError(f"there is no tensor {index}; the model has {len(self._values)}")
        return self._values[index]

    def _details(self, value: Value) -> TensorDetails:
        q = value.type.quantization
        shape = value.type.shape or ()
        single = q is not None and len(q.scales) == 1
        return {
            "name": value.name,
            "index": self._index[value],
            "shape": np.array([dim if isinstance(dim, int) else 1 for dim in shape], np.int32),
            "shape_signature": np.array([dim if isinstance(dim, int) else -1 for dim in shape], np.int32),
            "dtype": value.type.dtype.numpy.type,
            "quantization": (q.scales[0], q.zero_points[0]) if q is not None and single else (0.0, 0),
            "quantization_parameters": {
                "scales": np.array(q.scales if q else (), np.float32),
                "zero_points": np.array(q.zero_points if q else (), np.int32),
                "quantized_dimension": (q.axis or 0) if q else 0,
            },
            "sparsity_parameters": {},
        }
