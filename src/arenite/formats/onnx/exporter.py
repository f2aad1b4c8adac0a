"""From a model to an .onnx file."""

import os
from contextlib import ExitStack
from pathlib import Path

from onnx import ModelProto, TensorProto

from arenite._base.errors import ModelError
from arenite._base.files import written_whole
from arenite.formats.onnx.details import OnnxDetails
from arenite.formats.onnx.external import ExternalWriter
from arenite.formats.onnx.importer import MAX_FILE_NBYTES
from arenite.formats.onnx.scopes import Scopes
from arenite.formats.onnx.writer import GraphWriter, Writing
from arenite.ir.graph import Array
from arenite.ir.model import Model
from arenite.ops.onnx.names import is_onnx, split_op
from arenite.ops.onnx.tensors import write_tensor

EXTERNAL_NBYTES = 1024
"""Tensors of at least so many bytes go beside the file when data goes there at all."""

_ROOM_NBYTES = 1 << 26


def export_model(model: Model, path: Path | str | None = None) -> bytes:
    """The model as an .onnx file: the same bytes for the same model.

    What a file said besides the graph (see OnnxDetails) is written back where it still holds. A domain that is used
    without an opset gets version 1.

    Args:
        model: of the onnx dialect.
        path: where to write the file. Data goes beside it, as `<file name>.data`, if the model had such data or is
            too large for one file. Files appear whole or not at all.

    Returns:
        the file's bytes.

    Raises:
        ModelError: nodes that are none of ONNX, or the model is too large for a file and there is no path.
        DataError: the file cannot be written.
    """
    details = model.details if isinstance(model.details, OnnxDetails) else OnnxDetails()
    nodes = model.graph.all_nodes
    foreign = [f"node '{node.name}' ({node.op}) is no operator of ONNX" for node in nodes if not is_onnx(node.op)]
    if foreign:
        raise ModelError(foreign)
    scopes = Scopes(model.graph, details)
    inline = sum(_inline_nbytes(value.type.nbytes) for value in scopes.constants) + len(details.header)
    outside = bool(details.external)
    if inline > MAX_FILE_NBYTES - _ROOM_NBYTES:
        if path is None:
            raise ModelError(
                f"the model's constants take {inline} bytes; an .onnx file holds at most {MAX_FILE_NBYTES}"
            )
        outside = True
    if path is None:
        return _message(model, details, scopes, None)
    return _write(model, details, scopes, Path(path), outside=outside)


def _inline_nbytes(nbytes: int) -> int:
    return nbytes + 64


def data_path(path: Path) -> Path:
    """Where a model's data goes: beside the file, and when that is a link, beside what it leads to."""
    target = Path(os.path.realpath(path))
    return target.with_name(target.name + ".data")


def _write(model: Model, details: OnnxDetails, scopes: Scopes, path: Path, *, outside: bool) -> bytes:
    # Files appear in the opposite order, so that the model never lacks its data.
    with ExitStack() as stack:
        temporary = stack.enter_context(written_whole(path))
        data: ExternalWriter | None = None
        if outside:
            beside = data_path(path)
            data = ExternalWriter(stack.enter_context(written_whole(beside)), beside.name)
            stack.callback(data.close)
        message = _message(model, details, scopes, data)
        temporary.write_bytes(message)
    return message


def _message(model: Model, details: OnnxDetails, scopes: Scopes, data: ExternalWriter | None) -> bytes:
    def write(array: Array, name: str) -> TensorProto:
        if data is None or array.dtype == object or array.nbytes < EXTERNAL_NBYTES:
            return write_tensor(array, name)
        proto = TensorProto(name=name, dims=array.shape, data_type=write_tensor(array.reshape(-1)[:0]).data_type)
        data.add(array, proto)
        return proto

    proto = ModelProto.FromString(details.header) if details.header else ModelProto(producer_name="arenite")
    proto.ir_version = details.ir_version
    proto.graph.CopyFrom(GraphWriter(Writing(details, scopes, write), model.graph).write())
    known = {"" if opset.domain == "ai.onnx" else opset.domain for opset in proto.opset_import}
    versions = dict(details.opsets)
    used = {split_op(node.op)[0] for node in model.graph.all_nodes}
    for domain in sorted((used | set(versions)) - known):
        proto.opset_import.add(domain=domain, version=versions.get(domain, 1))
    message: bytes = proto.SerializeToString(deterministic=True)
    return message
