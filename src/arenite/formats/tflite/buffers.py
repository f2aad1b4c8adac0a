"""The buffers of a file that is being written; equal contents are stored once."""

import hashlib

import numpy as np

from arenite._base.dtypes import DType
from arenite.formats.tflite.constants import Array, Bytes, encode
from arenite.formats.tflite.flat import Record, Schema


class BufferPool:
    """Collects buffers. Buffer 0 is the empty one that tensors without data refer to.

    Attributes:
        nbytes: of all contents, alignment included.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._buffers: list[Bytes] = [np.empty(0, np.uint8)]
        self._known: dict[tuple[int, bytes], int] = {}
        self.nbytes = 0

    def add(self, array: Array, dtype: DType) -> int:
        """Index of the buffer that holds a constant."""
        return self._add(encode(array, dtype))

    def add_bytes(self, data: bytes) -> int:
        """Index of the buffer that holds these bytes."""
        return self._add(np.frombuffer(data, np.uint8))

    def _add(self, data: Bytes) -> int:
        key = (data.size, hashlib.sha256(data.tobytes()).digest())
        if key not in self._known:
            self._known[key] = len(self._buffers)
            self._buffers.append(data)
            self.nbytes += data.size + 64
        return self._known[key]

    def records(self) -> tuple[Record, ...]:
        """The file's buffers."""
        return tuple(self._schema.record("Buffer", data=data if data.size else None) for data in self._buffers)
