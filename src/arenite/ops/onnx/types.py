"""Types of values between ONNX's messages and ours."""

from onnx import TensorShapeProto, TypeProto

from arenite._base.dtypes import DType
from arenite.ir.types import Dim, TensorType
from arenite.ops.onnx.tensors import DTYPES, NUMBERS

UNKNOWN = TensorType(DType.OPAQUE, None)
"""The type of a value of which the file says none, and of sequences, optionals and maps."""

ANONYMOUS = "?"
"""Begins the name of a dimension of which nothing is known; each has its own, so that none are taken to be equal."""


class DimNames:
    """Names dimensions that have none."""

    def __init__(self) -> None:
        self._count = 0

    def fresh(self) -> str:
        self._count += 1
        return f"{ANONYMOUS}{self._count}"


def read_type(proto: TypeProto, names: DimNames, *, zero_is_unknown: bool = False) -> TensorType:
    """The type that a message declares; UNKNOWN when it is not a dense tensor's, or of no known element type.

    Args:
        proto: the message.
        names: for dimensions without a name.
        zero_is_unknown: whether a dimension of 0 means that it is unknown, as some exporters write it in inputs.
    """
    if not proto.HasField("tensor_type"):
        return UNKNOWN
    tensor = proto.tensor_type
    dtype = DTYPES.get(tensor.elem_type)
    if dtype is None:
        return UNKNOWN
    if not tensor.HasField("shape"):
        return TensorType(dtype, None)
    return TensorType(dtype, tuple(_read_dim(dim, names, zero_is_unknown) for dim in tensor.shape.dim))


def _read_dim(dim: TensorShapeProto.Dimension, names: DimNames, zero_is_unknown: bool) -> Dim:
    if dim.HasField("dim_value"):
        value = int(dim.dim_value)
        return names.fresh() if value < 0 or (value == 0 and zero_is_unknown) else value
    name = dim.dim_param
    return name if name and not name.startswith(ANONYMOUS) else names.fresh()


def is_plain(proto: TypeProto) -> bool:
    """Whether `write_type(read_type(proto))` says all that the message says."""
    if not proto.HasField("tensor_type") or proto.denotation or proto.tensor_type.elem_type not in DTYPES:
        return False
    for dim in proto.tensor_type.shape.dim:
        if dim.denotation or dim.dim_param.startswith(ANONYMOUS):
            return False
        if dim.HasField("dim_value") and dim.dim_value <= 0:
            return False
    return True


def write_type(type_: TensorType) -> TypeProto | None:
    """The message of a type; None when nothing is known of it."""
    number = NUMBERS.get(type_.dtype)
    if number is None:
        return None
    proto = TypeProto()
    proto.tensor_type.elem_type = number
    if type_.shape is not None:
        shape = proto.tensor_type.shape
        shape.SetInParent()
        for size in type_.shape:
            dim = shape.dim.add()
            if isinstance(size, int):
                dim.dim_value = size
            elif not size.startswith(ANONYMOUS):
                dim.dim_param = size
    return proto
