"""Small ONNX models for tests, and a form in which two files that mean the same are equal."""

import hashlib
from collections.abc import Sequence

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.defs import onnx_opset_version

from arenite.formats.onnx import import_model
from arenite.ir.model import Model


def model_of(
    nodes: Sequence[NodeProto],
    inputs: dict[str, Sequence[int | str | None]],
    outputs: Sequence[str],
    initializers: dict[str, np.ndarray] | None = None,
    *,
    ir_version: int = 8,
    opset: int = 17,
) -> ModelProto:
    """A model of float32 inputs whose outputs are declared to have one dimension."""
    tensors = [numpy_helper.from_array(array, name) for name, array in (initializers or {}).items()]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None]) for name in outputs]
    graph = helper.make_graph(list(nodes), "g", infos, ends, tensors)
    return helper.make_model(graph, ir_version=ir_version, opset_imports=[helper.make_opsetid("", opset)])


def imported(model: ModelProto) -> Model:
    return import_model(model.SerializeToString(), "m")


def newest() -> int:
    """The newest opset of the default domain that is released."""
    return int(onnx_opset_version())


def canonical(model: ModelProto) -> ModelProto:
    """The model without the freedom that a file has: constants are initialisers, each list that is a set is sorted."""
    result = ModelProto()
    result.CopyFrom(model)
    versions = {"" if opset.domain == "ai.onnx" else opset.domain: opset.version for opset in result.opset_import}
    del result.opset_import[:]
    result.opset_import.extend(helper.make_opsetid(domain, version) for domain, version in sorted(versions.items()))
    if result.ir_version < 4:
        # There an initialiser must be an input too, and one that nothing reads is neither.
        read = _names_read(result.graph)
        gone = {tensor.name for tensor in result.graph.initializer} - read
        kept = [info for info in result.graph.input if info.name not in gone]
        del result.graph.input[:]
        result.graph.input.extend(kept)
    _canonical_graph(result.graph)
    return result


def _canonical_graph(graph: GraphProto) -> None:
    nodes = list(graph.node)
    del graph.node[:]
    for part in (graph, *nodes, *graph.input, *graph.output, *graph.value_info):
        if not part.doc_string:
            part.ClearField("doc_string")
    for node in nodes:
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx") and node.attribute[0].name != "sparse_value":
            tensor = numpy_helper.from_array(_constant(node.attribute[0]), node.output[0])
            graph.initializer.append(tensor)
            continue
        if node.domain in ("", "ai.onnx"):
            node.ClearField("domain")
        attributes = sorted(node.attribute, key=lambda attribute: attribute.name)
        del node.attribute[:]
        node.attribute.extend(attributes)
        for attribute in node.attribute:
            attribute.ClearField("doc_string")
            if attribute.HasField("t"):
                attribute.t.CopyFrom(_canonical_tensor(attribute.t, ""))
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                _canonical_graph(inner)
        graph.node.append(node)
    read = _names_read(graph)
    inputs = {info.name for info in graph.input}
    tensors = {tensor.name: _canonical_tensor(tensor, tensor.name) for tensor in graph.initializer}
    del graph.initializer[:]
    graph.initializer.extend(tensors[name] for name in sorted(tensors) if name in read | inputs)
    defined = read | {name for node in graph.node for name in node.output} | inputs
    infos = {info.name: info for info in graph.value_info if info.name in defined}
    outputs = {info.name for info in graph.output}
    del graph.value_info[:]
    graph.value_info.extend(infos[name] for name in sorted(infos) if name not in outputs | inputs)


def _canonical_tensor(tensor: TensorProto, name: str) -> TensorProto:
    result = numpy_helper.from_array(numpy_helper.to_array(tensor), name)
    if len(result.raw_data) > 256:
        # What is compared is text, and megabytes of it take long.
        result.raw_data = hashlib.sha256(result.raw_data).digest()
    if tensor.doc_string:
        result.doc_string = tensor.doc_string
    return result


def _constant(attribute: AttributeProto) -> np.ndarray:
    value = helper.get_attribute_value(attribute)
    if isinstance(value, TensorProto):
        return np.asarray(numpy_helper.to_array(value))
    if attribute.type in (AttributeProto.STRING, AttributeProto.STRINGS):
        texts = [item.decode() for item in (value if isinstance(value, list) else [value])]
        array = np.array(texts, object)
        return array if attribute.type == AttributeProto.STRINGS else array.reshape(())
    floats = attribute.type in (AttributeProto.FLOAT, AttributeProto.FLOATS)
    return np.array(value, np.float32 if floats else np.int64)


def _names_read(graph: GraphProto) -> set[str]:
    read = {info.name for info in graph.output}
    for node in graph.node:
        read.update(node.input)
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                read |= _names_read(inner)
    return read


def differences(one: ModelProto, other: ModelProto) -> str:
    """The first line in which two canonical models differ; empty when none does."""
    a, b = str(canonical(one)).splitlines(), str(canonical(other)).splitlines()
    for number, (left, right) in enumerate(zip(a, b, strict=False)):
        if left != right:
            return f"line {number}: {left!r} became {right!r}"
    return "" if len(a) == len(b) else f"{len(a)} lines became {len(b)}"
