"""Small .tflite files made of records, to damage at one place."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from arenite._base.errors import ModelError
from arenite.formats.tflite import import_model
from arenite.formats.tflite.flat import Record
from arenite.formats.tflite.schema import FILE_IDENTIFIER, tflite_schema
from arenite.formats.tflite.writer import write

SCHEMA = tflite_schema()
TYPE = {name: value for value, name in enumerate(SCHEMA.enums["TensorType"].names)}
BUILTIN = {name: value for value, name in enumerate(SCHEMA.enums["BuiltinOperator"].names)}


def tensor(name: str | None, shape: Sequence[int], dtype: str = "INT8", *, buffer: int = 0, **values: Any) -> Record:
    quantization = values.pop("quantization", None)
    return SCHEMA.record(
        "Tensor",
        name=name,
        shape=np.array(shape, np.int32),
        type=TYPE[dtype],
        buffer=buffer,
        quantization=quantization,
        **values,
    )


def quantization(scales: Sequence[float], zero_points: Sequence[int], axis: int = 0, **values: Any) -> Record:
    return SCHEMA.record(
        "QuantizationParameters",
        scale=np.array(scales, np.float32),
        zero_point=np.array(zero_points, np.int64),
        quantized_dimension=axis,
        **values,
    )


def code(builtin: str | int, version: int = 1, custom: str | None = None) -> Record:
    number = BUILTIN[builtin] if isinstance(builtin, str) else builtin
    return SCHEMA.record(
        "OperatorCode",
        builtin_code=number,
        deprecated_builtin_code=min(number, 127),
        version=version,
        custom_code=custom,
    )


def operator(index: int, inputs: Sequence[int], outputs: Sequence[int], **values: Any) -> Record:
    return SCHEMA.record(
        "Operator",
        opcode_index=index,
        inputs=np.array(inputs, np.int32),
        outputs=np.array(outputs, np.int32),
        **values,
    )


def subgraph(
    tensors: Sequence[Record],
    operators: Sequence[Record],
    inputs: Sequence[int],
    outputs: Sequence[int],
    name: str | None = "main",
) -> Record:
    return SCHEMA.record(
        "SubGraph",
        tensors=tuple(tensors),
        operators=tuple(operators),
        inputs=np.array(inputs, np.int32),
        outputs=np.array(outputs, np.int32),
        name=name,
    )


def buffer(data: bytes | None, **values: Any) -> Record:
    return SCHEMA.record("Buffer", data=None if data is None else np.frombuffer(data, np.uint8), **values)


def file(subgraphs: Sequence[Record], codes: Sequence[Record], buffers: Sequence[Record] = (), **values: Any) -> bytes:
    return write_model(
        operator_codes=tuple(codes), subgraphs=tuple(subgraphs), buffers=(buffer(None), *buffers), **values
    )


def write_model(**values: Any) -> bytes:
    """A file with these fields of the model, and the right version unless another is given."""
    root = SCHEMA.record("Model", **{"version": 3, **values})
    return write(root, FILE_IDENTIFIER, {("Buffer", "data"): 16}, 0)


def one_op(
    builtin: str | int,
    tensors: Sequence[Record],
    inputs: Sequence[int],
    buffers: Sequence[Record] = (),
    *,
    version: int = 1,
    custom: str | None = None,
    **operator_values: Any,
) -> bytes:
    """A file with one operator that reads `inputs`; tensor 0 is the graph's input and the last one its output."""
    last = len(tensors) - 1
    ops = [operator(0, inputs, [last], **operator_values)]
    return file([subgraph(tensors, ops, [0], [last])], [code(builtin, version, custom)], buffers)


def relu(**first: Any) -> bytes:
    """x -> RELU -> y, with the fields of tensor x as given."""
    values = {"name": "x", "shape": (1, 4), "dtype": "FLOAT32", **first}
    return one_op("RELU", [tensor(**values), tensor("y", (1, 4), "FLOAT32")], [0])


def conv_file(**values: Any) -> bytes:
    """x, weights per channel -> CONV_2D -> y, with the fields of the operator as given."""
    options = SCHEMA.record("Conv2DOptions", padding=1, stride_w=2, stride_h=3, fused_activation_function=3)
    weights = quantization([0.5, 0.25, 0.125], [0, 0, 0])
    tensors = [
        tensor("x", (1, 8, 8, 2), quantization=quantization([0.1], [-3])),
        tensor("w", (3, 1, 1, 2), buffer=1, quantization=weights),
        tensor("y", (1, 3, 4, 3), quantization=quantization([0.2], [4])),
    ]
    data = buffer(np.arange(6, dtype=np.int8).tobytes())
    values = {"version": 3, "builtin_options": options, **values}
    return one_op("CONV_2D", tensors, [0, 1, -1], [data], **values)


def problems(data: bytes) -> tuple[str, ...]:
    """What import says of a file that it refuses."""
    with pytest.raises(ModelError) as caught:
        import_model(data, "m")
    return caught.value.problems
