"""Runs a .tflite file by TFLite-Micro's and by LiteRT's own interpreter: the oracles that decide what is right.

Both take `feeds`: for each invocation, one array per model input in the model's order and dtype, and give for each
invocation the outputs in the model's order. One loaded model runs all invocations in a row, so that state carries
over. They need the `wheel` and the `litert` marker.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]
_WHEEL_ARENA_NBYTES = 32 << 20


def run_wheel(
    data: bytes, feeds: Sequence[Sequence[AnyArray]], *, arena_nbytes: int = _WHEEL_ARENA_NBYTES
) -> list[list[AnyArray]]:
    """Outputs of successive invocations by the tflite-micro wheel (TFLM's reference kernels).

    Raises:
        RuntimeError: TFLM cannot load or run the model (its own message goes to stderr).
        ValueError: the feeds do not fit the model.
    """
    from tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(data, arena_size=arena_nbytes)
    n_outputs = _number_of_outputs(data)
    results = []
    for feed in feeds:
        for index, array in enumerate(feed):
            interpreter.set_input(np.array(array, order="C"), index)
        interpreter.invoke()
        results.append([np.array(interpreter.get_output(index)) for index in range(n_outputs)])
    return results


def run_litert(data: bytes, feeds: Sequence[Sequence[AnyArray]], resolver: str = "BUILTIN_REF") -> list[list[AnyArray]]:
    """Outputs of successive invocations by LiteRT.

    Args:
        data: the file.
        feeds: see the module.
        resolver: `BUILTIN_REF` (reference kernels), `BUILTIN_WITHOUT_DEFAULT_DELEGATES` (optimized kernels) or `AUTO`
            (with XNNPACK).

    Raises:
        RuntimeError, ValueError: LiteRT cannot load or run the model, or the feeds do not fit.
    """
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType[resolver])
    interpreter.allocate_tensors()
    inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
    results = []
    for feed in feeds:
        for detail, array in zip(inputs, feed, strict=True):
            interpreter.set_tensor(detail["index"], np.array(array, order="C"))
        interpreter.invoke()
        results.append([np.array(interpreter.get_tensor(detail["index"])) for detail in outputs])
    return results


def random_feeds(data: bytes, invocations: int = 2, seed: int = 0) -> list[list[AnyArray]]:
    """Inputs of the model's own shapes and dtypes: integers over their whole range, floats in [-1, 1)."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    details = Interpreter(
        model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF
    ).get_input_details()
    rng = np.random.default_rng(seed)
    return [
        [_random(rng, detail["shape"], np.dtype(detail["dtype"])) for detail in details] for _ in range(invocations)
    ]


def _random(rng: np.random.Generator, shape: Sequence[int], dtype: np.dtype[Any]) -> AnyArray:
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    return rng.uniform(-1, 1, shape).astype(dtype)


def _number_of_outputs(data: bytes) -> int:
    # The wheel does not tell; its own schema module does.
    from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

    subgraph = schema.Model.GetRootAsModel(data, 0).Subgraphs(0)
    assert subgraph is not None
    return int(subgraph.OutputsLength())
