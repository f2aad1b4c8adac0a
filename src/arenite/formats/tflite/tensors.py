"""Tensors of a subgraph: types, constants and facts, every problem collected."""

import math
from dataclasses import dataclass

from arenite._base.dtypes import DType
from arenite.formats.tflite.constants import ELEMENT_TYPES, Array, decode
from arenite.formats.tflite.details import TensorFacts
from arenite.formats.tflite.file import TfliteFile
from arenite.formats.tflite.flat import EnumKind, Record
from arenite.formats.tflite.quantization import range_of, read_quantization, scales_and_zero_points
from arenite.formats.tflite.words import shown
from arenite.ir.types import TensorType

MAX_RANK = 32
MAX_TENSOR_NBYTES = (1 << 31) - 1


@dataclass(frozen=True)
class Tensor:
    """A tensor that has been checked.

    Attributes:
        index: in its subgraph.
        name: as stored.
        constant: its data, of its type's shape; None when it has none. A tensor without elements has all of it.
        frozen: its shape signature has dimensions that were dynamic.
        damaged: something is wrong with it; what the others say is as far as it is known.
    """

    index: int
    name: str | None
    type: TensorType
    constant: Array | None
    is_variable: bool
    record: Record
    frozen: bool
    damaged: bool = False

    def facts(self, value: str) -> TensorFacts:
        """What the value named `value` does not hold."""
        q = self.record.record("quantization")
        idle = scales_and_zero_points(q)
        return TensorFacts(
            value,
            self.name,
            self.type,
            self.record.integers("shape_signature") if self.record.has("shape_signature") else None,
            self.record.flag("has_rank"),
            range_of(q, "min"),
            range_of(q, "max"),
            0 if q is None else q.integer("quantized_dimension"),
            idle if self.type.quantization is None and any(idle) else None,
        )


class TensorReader:
    """Reads tensors of a file.

    Attributes:
        problems: what is wrong, one sentence each.
    """

    def __init__(self, file: TfliteFile) -> None:
        self._file = file
        self._decoded: dict[tuple[int, DType, int], Array] = {}
        self.problems: list[str] = []

    def read(self, record: Record, index: int, where: str) -> Tensor:
        """One tensor; what is wrong with it goes to `problems`."""
        name = record.text("name")
        try:
            return self._read(record, index, name)
        except ValueError as error:
            self.problems.append(f"{where}tensor {index} {shown(name)}: {error}")
            return Tensor(index, name, TensorType(DType.INT8, ()), None, False, record, False, damaged=True)

    def _read(self, record: Record, index: int, name: str | None) -> Tensor:
        dtype, shape = self._dtype(record), self._shape(record)
        type_ = TensorType(dtype, shape)
        nbytes = math.prod(dim or 1 for dim in shape) * dtype.itemsize
        if nbytes > MAX_TENSOR_NBYTES:
            raise ValueError(
                f"its shape {list(shape)} of {dtype} is too large: {nbytes} bytes of memory, "
                f"where at most {MAX_TENSOR_NBYTES} are possible"
            )
        self._refuse_what_is_not_dense(record)
        quantization = read_quantization(record.record("quantization"), dtype, shape)
        type_ = TensorType(dtype, shape, quantization)
        signature = record.integers("shape_signature") if record.has("shape_signature") else shape
        frozen = len(signature) == len(shape) and any(dim < 0 for dim in signature)
        constant = self._constant(record, type_)
        return Tensor(index, name, type_, constant, record.flag("is_variable"), record, frozen)

    def _dtype(self, record: Record) -> DType:
        kind = record.table.field("type").kind
        assert isinstance(kind, EnumKind)
        label = kind.label(record.integer("type"))
        dtype = DType.__members__.get(str(label))
        if dtype not in ELEMENT_TYPES:
            raise ValueError(f"its element type {label} is not one that Arenite reads")
        return dtype

    def _shape(self, record: Record) -> tuple[int, ...]:
        array = record.array("shape")
        if array is None:
            return ()
        if array.size > MAX_RANK:
            raise ValueError(f"expected a rank of at most {MAX_RANK}, found {array.size}")
        shape = record.integers("shape")
        if any(dim < 0 for dim in shape):
            raise ValueError(
                f"expected dimensions of at least 0, found the shape {list(shape)}: "
                "give its dimensions fixed sizes when you convert the model"
            )
        signature = record.array("shape_signature")
        if signature is not None and signature.size > MAX_RANK:
            raise ValueError(f"expected a shape signature of at most {MAX_RANK} dimensions, found {signature.size}")
        return shape

    def _refuse_what_is_not_dense(self, record: Record) -> None:
        if record.record("sparsity") is not None:
            raise ValueError("it is sparse, which Arenite does not read: store it dense")
        if record.integer("external_buffer"):
            raise ValueError("its data is in another file (an external buffer), which Arenite does not read")
        if record.records("variant_tensors"):
            raise ValueError("it is a variant tensor (a list of tensors), which Arenite does not have")

    def _constant(self, record: Record, type_: TensorType) -> Array | None:
        index = record.integer("buffer")
        is_none = index == 0 and self._file.n_buffers == 0
        data = self._file.outside(0, 0) if is_none else self._file.buffer(index)
        if data.size == 0 and (type_.nelem > 0 or record.flag("is_variable")):
            return None
        key = (index, type_.dtype, type_.nelem)
        if key not in self._decoded:
            # Once for all tensors that share the buffer: what is packed grows when it is unpacked.
            self._decoded[key] = decode(data, type_.dtype, type_.nelem)
        return self._decoded[key].reshape(type_.dims)
