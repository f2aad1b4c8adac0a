"""From an .onnx file to a model: one operator in, one node out, nothing optimised."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from google.protobuf.message import DecodeError
from onnx import FunctionProto, ModelProto, NodeProto

from arenite._base.errors import DataError, ModelError
from arenite.formats.onnx.details import OnnxDetails
from arenite.formats.onnx.external import ExternalFiles
from arenite.formats.onnx.order import all_nodes, check_texts, checked
from arenite.formats.onnx.reader import GraphReader, Reading
from arenite.ir.graph import Graph
from arenite.ir.model import Model
from arenite.ops.onnx.dialect import OnnxRegistry
from arenite.ops.onnx.engine import onnx_registry
from arenite.ops.onnx.names import split_op

MAX_FILE_NBYTES = 2**31 - 1
"""Protobuf's limit."""


def import_model(source: bytes | str | Path, name: str) -> Model:
    """The model in a file.

    Operators become `onnx.<Operator>` (`onnx.<domain>::<Operator>`) with OnnxAttrs. Initialisers and `Constant` nodes
    become constants; an initialiser that is an input too is one for IR version 3, and from version 4 on the default
    of an input (`OnnxDetails.defaults`). Nodes that are out of order are put in order.

    Args:
        source: the path of the file, or its bytes; with bytes, no data beside the file can be read. It may be damaged
            or hostile.
        name: what to call the model.

    Raises:
        DataError: the file cannot be read.
        ModelError: it is no model, or a damaged one; all problems of one kind at once.
    """
    data, folder = (source, None) if isinstance(source, bytes) else _read(Path(source))
    proto = _parse(data)
    digest = hashlib.sha256(data).hexdigest()
    del data, source
    reading = Reading(ExternalFiles(folder), proto.ir_version)
    graph = GraphReader(reading, proto.graph).read()
    proto.ClearField("graph")
    opsets, notes = _opsets(proto)
    _check_opsets(reading, opsets)
    _check_functions(list(proto.functions))
    functions = tuple(dict.fromkeys((function.domain, function.name) for function in proto.functions))
    details = OnnxDetails(
        ir_version=proto.ir_version,
        opsets=tuple(sorted(opsets.items())),
        header=proto.SerializeToString(deterministic=True),
        functions=functions,
        defaults=reading.defaults,
        graphs=reading.graphs,
        nodes=reading.nodes,
        external=reading.external.used,
        unused=_unused(reading, graph),
        notes=(*reading.notes, *notes),
    )
    return Model(name, graph, "onnx", details, digest)


def model_registry(model: Model, pure: Sequence[str] = ()) -> OnnxRegistry:
    """The operators of a model's opsets and the functions that it defines.

    Args:
        model: of the onnx dialect.
        pure: names of ops that are declared pure.
    """
    details = model.details if isinstance(model.details, OnnxDetails) else OnnxDetails()
    functions = ModelProto.FromString(details.header).functions
    return onnx_registry(dict(details.opsets), functions=tuple(functions), pure=pure)


def _read(path: Path) -> tuple[bytes, Path]:
    try:
        size = path.stat().st_size
        if size > MAX_FILE_NBYTES:
            raise DataError(f"{path}: {size} bytes; an .onnx file has at most {MAX_FILE_NBYTES}")
        return path.read_bytes(), path.parent
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None


def _parse(data: bytes) -> ModelProto:
    proto = ModelProto()
    try:
        proto.ParseFromString(data)
    except (DecodeError, UnicodeDecodeError):
        raise ModelError("this is no ONNX file, or it is damaged or cut off") from None
    if not proto.HasField("graph"):
        raise ModelError("this is no ONNX file: it has no graph")
    return proto


def _opsets(proto: ModelProto) -> tuple[dict[str, int], list[str]]:
    """Version by domain. A domain that is named twice gets the highest."""
    versions: dict[str, int] = {}
    notes = []
    for opset in proto.opset_import:
        checked(opset.domain, "a domain")
        domain = "" if opset.domain == "ai.onnx" else opset.domain
        if versions.get(domain, opset.version) != opset.version:
            notes.append(f"domain '{domain}' is imported twice, in versions {versions[domain]} and {opset.version}")
        versions[domain] = max(opset.version, versions.get(domain, 0))
    return versions, notes


def _check_opsets(reading: Reading, opsets: dict[str, int]) -> None:
    users = [node for node, op in reading.ops.items() if not split_op(op)[0]]
    if users and opsets.get("", 0) < 1:
        raise ModelError(
            f"the file does not say which opset of ONNX's own operators it uses (node '{users[0]}' does); "
            "add an opset_import"
        )


def _check_functions(functions: list[FunctionProto]) -> None:
    """Refuse functions that call themselves, directly or not."""
    for function in functions:
        for text in (function.domain, function.name):
            checked(text, "a function's name")
        check_texts(function, f"function '{function.name}'")
    known = {_key(function, function.name): function for function in functions}
    state: dict[tuple[str, str, str], bool] = {}
    for start in known:
        stack = [start]
        while stack:
            key = stack[-1]
            if key not in state:
                state[key] = False
                called = {_key(node, node.op_type) for node in all_nodes(known[key].node)} & known.keys()
                if open_ := [callee for callee in called if state.get(callee) is False]:
                    raise ModelError(f"function '{key[1]}' calls '{min(open_)[1]}', which calls it: a cycle")
                stack.extend(sorted(callee for callee in called if callee not in state))
                continue
            state[key] = True
            stack.pop()


def _key(proto: FunctionProto | NodeProto, name: str) -> tuple[str, str, str]:
    return proto.domain, name, getattr(proto, "overload", "")


def _unused(reading: Reading, graph: Graph) -> dict[str, int]:
    return {
        value.name: value.type.nbytes
        for value in reading.constants
        if not value.is_read and value.type.is_static and value not in graph.inputs
    }
