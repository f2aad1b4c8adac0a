"""Writes records as a FlatBuffer. The bytes depend on the records alone."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from flatbuffers.builder import Builder

from arenite.formats.tflite.flat import EnumKind, Field, Record, Scalar, StringKind, TableKind, UnionKind, VectorKind

MAX_FILE_NBYTES = (1 << 31) - (1 << 20)
_OFFSET_NBYTES = 4


def write(root: Record, identifier: bytes, alignments: Mapping[tuple[str, str], int], size_hint_nbytes: int) -> bytes:
    """The file.

    Args:
        root: what to write.
        identifier: four bytes that name the format.
        alignments: (table, field) → bytes that a vector of numbers is aligned to, where more than its items need.
        size_hint_nbytes: about how large the file will be.
    """
    writer = _Writer(alignments, size_hint_nbytes)
    writer.builder.Finish(writer.record(root), file_identifier=identifier)
    return bytes(writer.builder.Output())


class _Writer:
    def __init__(self, alignments: Mapping[tuple[str, str], int], size_hint_nbytes: int) -> None:
        self.builder: Any = Builder(max(size_hint_nbytes, 1024))
        self._alignments = alignments

    def record(self, record: Record) -> int:
        """Write a table after everything it refers to; its position as the builder counts."""
        targets = {field.name: self._target(record, field, value) for field, value in record.items()}
        self.builder.StartObject(record.table.slots)
        for field, value in record.items():
            scalar = field.scalar
            if scalar is not None:
                self._scalar(field, scalar, value)
                continue
            if isinstance(field.kind, UnionKind):
                assert isinstance(value, Record)
                self.builder.PrependUint8Slot(field.slot - 1, field.kind.members.index(value.table.name), 0)
            self.builder.PrependUOffsetTRelativeSlot(field.slot, targets[field.name], 0)
        return int(self.builder.EndObject())

    def _scalar(self, field: Field, scalar: Scalar, value: object) -> None:
        prepend = getattr(self.builder, f"Prepend{scalar.name.capitalize()}Slot")
        prepend(field.slot, value, field.default)

    def _target(self, record: Record, field: Field, value: object) -> int:
        match field.kind:
            case StringKind():
                assert isinstance(value, str)
                return self._string(value)
            case TableKind() | UnionKind():
                assert isinstance(value, Record)
                return self.record(value)
            case VectorKind(TableKind()):
                assert isinstance(value, tuple)
                return self._offsets([self.record(item) for item in value])
            case VectorKind(item):
                assert isinstance(item, (Scalar, EnumKind))
                scalar = item.scalar if isinstance(item, EnumKind) else item
                array = np.ascontiguousarray(np.asarray(value), scalar.dtype).reshape(-1)
                alignment = self._alignments.get((record.table.name, field.name), scalar.nbytes)
                return self._numbers(array, alignment)
        return 0

    def _string(self, text: str) -> int:
        return int(self.builder.CreateString(text.encode("utf-8", "surrogateescape")))

    def _offsets(self, targets: list[int]) -> int:
        self.builder.StartVector(_OFFSET_NBYTES, len(targets), _OFFSET_NBYTES)
        for target in reversed(targets):
            self.builder.PrependUOffsetTRelative(target)
        return int(self.builder.EndVector())

    def _numbers(self, array: npt.NDArray[np.generic], alignment: int) -> int:
        # One copy of the whole vector: Prepend per item takes 13 s for 20 MB.
        self.builder.StartVector(array.itemsize, array.size, alignment)
        head = self.builder.Head() - array.nbytes
        self.builder.Bytes[head : head + array.nbytes] = array.tobytes()
        self.builder.head = head
        return int(self.builder.EndVector())
