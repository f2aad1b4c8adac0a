"""A file opened: its records, and the bytes of its buffers."""

import numpy as np

from arenite.formats.tflite.constants import Bytes
from arenite.formats.tflite.flat import EnumKind, Record, Schema
from arenite.formats.tflite.reader import Reader
from arenite.formats.tflite.schema import FILE_IDENTIFIER, FILE_VERSION, tflite_schema
from arenite.formats.tflite.words import raise_for


class TfliteFile:
    """A .tflite file whose structure has been checked.

    Attributes:
        unknown_fields: fields that the file has and the schema does not.
    """

    def __init__(self, data: bytes) -> None:
        """Open a file.

        Raises:
            ModelError: it is damaged, no TFLite model, or needs other files.
        """
        self.schema: Schema = tflite_schema()
        reader = Reader(data, self.schema, "TFLite model")
        self.model: Record = reader.root("Model", FILE_IDENTIFIER)
        self.unknown_fields = tuple(reader.unknown_fields)
        self._bytes: Bytes = np.frombuffer(data, np.uint8)
        self._buffers = self.model.records("buffers")
        self._contents: dict[int, bytes] = {}
        self._check_model()

    @property
    def n_buffers(self) -> int:
        return len(self._buffers)

    def buffer(self, index: int) -> Bytes:
        """Bytes of a buffer: a view of the file; empty when it has none.

        Raises:
            ValueError: no such buffer, or its bytes are not in the file; the text says which.
        """
        if not 0 <= index < len(self._buffers):
            raise ValueError(f"buffer {index} does not exist: the file has {len(self._buffers)} buffers")
        record = self._buffers[index]
        array = record.array("data")
        if array is not None:
            return array.view(np.uint8)
        # Files beyond 2 GB keep buffers behind the FlatBuffer; an offset of 0 or 1 means none.
        offset, size = record.integer("offset"), record.integer("size")
        return self.outside(offset, size) if offset > 1 else self._bytes[:0]

    def outside(self, offset: int, nbytes: int) -> Bytes:
        """Bytes that are given by their place in the file.

        Raises:
            ValueError: they are not in the file.
        """
        if offset + nbytes > self._bytes.size:
            raise ValueError(f"expected {nbytes} bytes at byte {offset}, but the file has {self._bytes.size} bytes")
        return self._bytes[offset : offset + nbytes]

    def contents(self, index: int) -> bytes:
        """A copy of a buffer's bytes, made once.

        Raises:
            ValueError: as `buffer`.
        """
        if index not in self._contents:
            self._contents[index] = self.buffer(index).tobytes()
        return self._contents[index]

    def operator_codes(self) -> tuple["OperatorCode", ...]:
        """What the operators' opcode indices mean.

        Raises:
            ModelError: some mean nothing.
        """
        enum = self.schema.enums["BuiltinOperator"]
        codes = tuple(OperatorCode(record, enum) for record in self.model.records("operator_codes"))
        raise_for(
            f"operator code {index}: expected the number of an operator, found {code.number}"
            for index, code in enumerate(codes)
            if code.number < 0
        )
        return codes

    def _check_model(self) -> None:
        problems = []
        version = self.model.integer("version")
        if version != FILE_VERSION:
            problems.append(f"expected TFLite schema version {FILE_VERSION}, found {version}")
        if not self.model.records("subgraphs"):
            problems.append("expected at least one subgraph, found none")
        if self.model.records("external_buffers") or self.model.records("external_buffer_groups"):
            problems.append("the model keeps data in other files (external buffers), which Arenite does not read")
        raise_for(problems)


class OperatorCode:
    """An operator's kind and version.

    Attributes:
        builtin: its name, or its number when it is newer than the schema.
        custom_code: the name of a custom operator; None for others.
    """

    def __init__(self, record: Record, enum: EnumKind) -> None:
        # Old writers know only the one-byte field; new ones put 127 there for what it cannot hold.
        number = max(record.integer("builtin_code"), record.integer("deprecated_builtin_code"))
        self.builtin = enum.label(number)
        self.number = number
        self.custom_code = record.text("custom_code") if self.builtin == "CUSTOM" else None
        self.version = record.integer("version")
