"""Reads graphs, the nested ones too: names to values, messages to nodes."""

from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, SparseTensorProto, TensorProto, ValueInfoProto

from arenite._base.dtypes import DType
from arenite._base.errors import ModelError
from arenite.formats.onnx.details import GraphFacts, NodeFacts, ValueFacts
from arenite.formats.onnx.external import ExternalFiles
from arenite.formats.onnx.order import NodeRecord, checked, free_names, ordered
from arenite.ir.attrs import AttrValue, ProtoAttr
from arenite.ir.graph import Array, Graph, Node, Value
from arenite.ir.names import NamePool
from arenite.ir.types import TensorType
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.names import ABSENT_PREFIX, op_name
from arenite.ops.onnx.protos import AttrError, attr_kind, read_attr
from arenite.ops.onnx.tensors import TensorError, checked_dims, read_tensor
from arenite.ops.onnx.types import UNKNOWN, DimNames, is_plain, read_type

MAX_DEPTH = 24
"""How deep graphs may nest."""

_CONSTANT_FORMS = {
    "value": "TENSOR",
    "value_float": "FLOAT",
    "value_floats": "FLOATS",
    "value_int": "INT",
    "value_ints": "INTS",
    "value_string": "STRING",
    "value_strings": "STRINGS",
}


class Reading:
    """What all graphs of one model share while they are read.

    Attributes:
        ops: the op of each node, by the node's name.
        constants: values that initialisers gave.
    """

    def __init__(self, external: ExternalFiles, ir_version: int) -> None:
        self.external = external
        self.ir_version = ir_version
        self.node_names = NamePool()
        self.graph_names = NamePool()
        self.dims = DimNames()
        self.ops: dict[str, str] = {}
        self.constants: list[Value] = []
        self.defaults: dict[str, Array] = {}
        self.graphs: dict[str, GraphFacts] = {}
        self.nodes: dict[str, NodeFacts] = {}
        self.notes: list[str] = []


def raise_for(problems: Iterable[str]) -> None:
    """Raise all problems of one kind, if there are any."""
    if found := tuple(problems):
        raise ModelError(found)


class GraphReader:
    """Reads one graph.

    Names are unique within a graph and all graphs around it: an inner value whose name hides an outer one gets another.
    """

    def __init__(
        self, reading: Reading, proto: GraphProto, outer: "GraphReader | None" = None, where: str = ""
    ) -> None:
        self._reading = reading
        self._proto = proto
        self._outer = outer
        self._where = where
        self._depth: int = 0 if outer is None else outer._depth + 1
        if self._depth > MAX_DEPTH:
            raise ModelError(f"{where}graphs nest deeper than {MAX_DEPTH}")
        name = checked(proto.name, f"{where}a graph's name")
        self._graph = Graph(reading.graph_names.unique(name or "main"))
        self._known: dict[str, Value] = {}
        self._names: set[str] = set()
        self._types: dict[str, ValueInfoProto] = {}
        self._facts: dict[str, ValueFacts] = {}
        self._initializers: dict[str, bytes] = {}
        self._constant_nodes: dict[str, str] = {}
        self._sparse: set[str] = set()

    def read(self) -> Graph:
        """The graph.

        Raises:
            ModelError: it is damaged; all problems of one kind at once.
        """
        proto = self._proto
        self._types = {info.name: info for info in (*proto.value_info, *proto.output) if info.HasField("type")}
        self._check_texts()
        records = [NodeRecord.of(node, self._free_names) for node in proto.node]
        tensors = {tensor.name: tensor for tensor in proto.initializer}
        inputs = [info.name for info in proto.input]
        self._check_names(records, inputs)
        self._names.update(inputs, tensors, (name for record in records for name in record.outputs))
        self._read_inputs(tensors)
        self._read_initializers()
        self._read_sparse()
        defined = self._known.keys()
        for record in ordered(records, lambda name: name in defined or self._find_outer(name) is not None, self._where):
            self._read_node(record)
        self._read_outputs()
        self._keep_facts(inputs)
        return self._graph

    # Names

    def _find_outer(self, name: str) -> Value | None:
        return None if self._outer is None else self._outer._find(name)

    def _find(self, name: str) -> Value | None:
        reader: GraphReader | None = self
        while reader is not None:
            if (value := reader._known.get(name)) is not None:
                return value
            reader = reader._outer
        return None

    def _unique(self, name: str) -> str:
        """The name, or another when a graph around this one has it."""
        if self._outer is None or not self._outer._is_taken(name):
            return name
        number = 1
        while self._is_taken(found := f"{name}_{number}"):
            number += 1
        self._names.add(found)
        return found

    def _is_taken(self, name: str) -> bool:
        reader: GraphReader | None = self
        while reader is not None:
            if name in reader._names:
                return True
            reader = reader._outer
        return False

    def _free_names(self, proto: GraphProto) -> set[str]:
        if self._depth >= MAX_DEPTH:
            raise ModelError(f"{self._where}graphs nest deeper than {MAX_DEPTH}")
        return free_names(proto)

    def _check_texts(self) -> None:
        proto = self._proto
        for tensor in (*proto.initializer, *(sparse.values for sparse in proto.sparse_initializer)):
            checked(tensor.name, f"{self._where}an initialiser's name")
        for info in (*proto.input, *proto.output, *proto.value_info):
            checked(info.name, f"{self._where}a value's name")
            for dim in info.type.tensor_type.shape.dim if info.type.HasField("tensor_type") else ():
                checked(dim.dim_param, f"{self._where}a dimension of '{info.name}'")

    def _check_names(self, records: list[NodeRecord], inputs: list[str]) -> None:
        problems = []
        owners: dict[str, str] = {}
        for name in inputs:
            if name in owners:
                problems.append(f"{self._where}two inputs are called '{name}'")
            owners[name] = "an input"
        for tensor in self._proto.initializer:
            owners.setdefault(tensor.name, "an initialiser")
        for sparse in self._proto.sparse_initializer:
            owners.setdefault(sparse.values.name, "an initialiser")
        if "" in owners:
            problems.append(f"{self._where}{owners['']} has no name")
        for record in records:
            for name in record.outputs:
                if not name:
                    continue
                if name in owners:
                    problems.append(f"{self._where}{record} computes '{name}', and so does {owners[name]}")
                owners[name] = str(record)
        raise_for(problems)

    # Values

    def _define(self, name: str, type_: TensorType, constant: Array | None = None) -> Value:
        value = Value(self._unique(name), type_, constant=constant)
        self._known[name] = value
        return value

    def _declare(self, info: ValueInfoProto, value: Value) -> None:
        """Keep what is declared of a value beside its type."""
        declared = b"" if is_plain(info.type) else info.type.SerializeToString(deterministic=True)
        extra = b""
        if info.doc_string or len(getattr(info, "metadata_props", ())):
            rest = ValueInfoProto()
            rest.CopyFrom(info)
            rest.ClearField("name")
            rest.ClearField("type")
            extra = rest.SerializeToString(deterministic=True)
        self._facts[value.name] = ValueFacts(value.type, declared, extra)

    def _type_of(self, name: str) -> TensorType:
        info = self._types.get(name)
        return UNKNOWN if info is None else read_type(info.type, self._reading.dims)

    def _read_inputs(self, tensors: dict[str, TensorProto]) -> None:
        is_main = self._outer is None
        for info in self._proto.input:
            if is_main and self._reading.ir_version < 4 and info.name in tensors:
                continue
            type_ = read_type(info.type, self._reading.dims, zero_is_unknown=is_main)
            value = self._define(info.name, type_)
            self._graph.inputs.append(value)
            self._declare(info, value)

    def _read_initializers(self) -> None:
        problems = []
        seen: dict[str, TensorProto] = {}
        for proto in self._proto.initializer:
            if proto.name in seen:
                if seen[proto.name] != proto:
                    problems.append(f"{self._where}two initialisers are called '{proto.name}'")
                continue
            try:
                array = read_tensor(proto, self._reading.external.read)
            except TensorError as error:
                problems.append(f"{self._where}initialiser '{proto.name}': {error}")
                continue
            seen[proto.name] = proto
            self._keep_initializer(proto, array)
        raise_for(problems)
        inputs = (info for info in self._proto.input if info.name not in self._facts)
        for info in inputs:
            if (value := self._known.get(info.name)) is not None:
                self._declare(info, value)

    def _keep_initializer(self, proto: TensorProto, array: Array) -> None:
        extra = b""
        if proto.doc_string or len(getattr(proto, "metadata_props", ())):
            rest = TensorProto(doc_string=checked(proto.doc_string, f"the description of '{proto.name}'"))
            rest.metadata_props.extend(getattr(proto, "metadata_props", ()))
            extra = rest.SerializeToString(deterministic=True)
        if proto.name in self._known:
            if self._outer is None:
                self._reading.defaults[proto.name] = array
            else:
                self._reading.notes.append(f"{self._where}the default of input '{proto.name}' was dropped")
                return
            self._initializers[proto.name] = extra
            return
        value = self._define(proto.name, TensorType(DType.of(array.dtype), array.shape), array)
        self._initializers[value.name] = extra
        self._reading.constants.append(value)

    def _read_sparse(self) -> None:
        """Sparse initialisers become `Constant` nodes."""
        problems = []
        for proto in self._proto.sparse_initializer:
            name = proto.values.name
            try:
                type_ = _sparse_type(proto)
            except TensorError as error:
                problems.append(f"{self._where}sparse initialiser '{name}': {error}")
                continue
            attrs = OnnxAttrs.of(sparse_value=ProtoAttr("SPARSE_TENSOR", proto.SerializeToString(deterministic=True)))
            value = self._define(name, type_)
            self._sparse.add(value.name)
            node_name = self._reading.node_names.unique(name)
            self._graph._insert(Node(node_name, op_name("", "Constant"), [], [value], attrs, (node_name,)), None)
        raise_for(problems)

    def _read_outputs(self) -> None:
        problems = []
        for info in self._proto.output:
            value = self._find(info.name)
            if value is None:
                problems.append(f"{self._where}output '{info.name}' is computed by no node")
                continue
            self._graph.outputs.append(value)
            if value.name not in self._facts:
                self._declare(info, value)
        raise_for(problems)

    def _keep_facts(self, inputs: list[str]) -> None:
        proto = self._proto
        declared = set()
        for info in proto.value_info:
            value = self._known.get(info.name)
            if value is not None:
                declared.add(value.name)
                if value.name not in self._facts:
                    self._declare(info, value)
        rest = GraphProto(doc_string=checked(proto.doc_string, f"{self._where}a graph's description"))
        if not proto.doc_string:
            rest.ClearField("doc_string")
        rest.quantization_annotation.extend(proto.quantization_annotation)
        rest.metadata_props.extend(getattr(proto, "metadata_props", ()))
        self._reading.graphs[self._graph.name] = GraphFacts(
            proto.name,
            rest.SerializeToString(deterministic=True),
            self._facts,
            frozenset(declared),
            self._initializers,
            self._constant_nodes,
            frozenset(self._sparse),
            tuple(inputs),
        )

    # Nodes

    def _read_node(self, record: NodeRecord) -> None:
        proto = record.proto
        domain, operator = proto.domain, proto.op_type
        if operator == "Constant" and domain in ("", "ai.onnx") and self._read_constant(record):
            return
        wish = proto.name or next(filter(None, record.outputs), operator)
        name = self._reading.node_names.unique(wish)
        op = op_name(domain, operator)
        operands = [self._find(name) if name else None for name in record.inputs]
        attrs, regions = self._read_attrs(proto, f"{self._where}{record}")
        results = [
            self._define(output, self._type_of(output)) if output else Value(f"{ABSENT_PREFIX}{name} {index}", UNKNOWN)
            for index, output in enumerate(record.outputs)
        ]
        self._graph._insert(Node(name, op, operands, results, attrs, (name,), regions), None)
        self._reading.ops[name] = op
        extra = _node_extra(proto)
        if extra or proto.name != name:
            self._reading.nodes[name] = NodeFacts(op, proto.name, extra)

    def _read_attrs(self, proto: NodeProto, who: str) -> tuple[OnnxAttrs, tuple[Graph, ...]]:
        if not len(proto.attribute):
            return _NO_ATTRS, ()
        regions: list[Graph] = []
        external = self._reading.external.read
        fields: list[tuple[str, AttrValue]] = []
        problems = []

        def add_region(graph: GraphProto) -> int:
            regions.append(GraphReader(self._reading, graph, self, f"{who}: ").read())
            return len(regions) - 1

        # In one order, and so the regions, whatever order the file has. Names that are no text come as bytes.
        for attribute in sorted(proto.attribute, key=lambda attribute: str(attribute.name)):
            name = checked(attribute.name, f"{who}: an attribute's name")
            try:
                fields.append((name, read_attr(attribute, add_region, external)))
            except (AttrError, TensorError) as error:
                problems.append(f"{who}: attribute '{attribute.name}': {error}")
        problems.extend(
            f"{who}: attribute '{one[0]}' is given twice" for one, other in pairwise(fields) if one[0] == other[0]
        )
        raise_for(problems)
        return OnnxAttrs(tuple(fields)), tuple(regions)

    def _read_constant(self, record: NodeRecord) -> bool:
        """Turn a `Constant` node into a constant, unless it is sparse."""
        proto = record.proto
        if len(proto.attribute) != 1 or len(record.outputs) != 1 or not record.outputs[0] or record.inputs:
            raise ModelError(f"{self._where}{record} must have one attribute, one result and no operands")
        attribute = proto.attribute[0]
        if attribute.name == "sparse_value":
            return False
        try:
            array = _constant_array(attribute, self._reading.external)
        except (AttrError, TensorError) as error:
            raise ModelError(f"{self._where}{record}: attribute '{attribute.name}': {error}") from None
        value = self._define(record.outputs[0], TensorType(DType.of(array.dtype), array.shape), array)
        self._constant_nodes[value.name] = proto.name
        return True


_NO_ATTRS = OnnxAttrs()


def _node_extra(proto: NodeProto) -> bytes:
    if not (
        proto.doc_string
        or len(getattr(proto, "metadata_props", ()))
        or getattr(proto, "overload", "")
        or len(getattr(proto, "device_configurations", ()))
    ):
        return b""
    rest = NodeProto()
    rest.CopyFrom(proto)
    for field in ("name", "input", "output", "op_type", "domain", "attribute"):
        rest.ClearField(field)
    return bytes(rest.SerializeToString(deterministic=True))


def _constant_array(attribute: AttributeProto, external: ExternalFiles) -> Array:
    kind = attr_kind(attribute)
    if _CONSTANT_FORMS.get(attribute.name) != kind:
        raise AttrError(f"{kind} '{attribute.name}' is no form of a constant")
    if attribute.ref_attr_name:
        raise AttrError(f"it refers to attribute '{attribute.ref_attr_name}' of a function, outside any function")
    if kind == "TENSOR":
        return read_tensor(attribute.t, external.read)
    if kind in ("STRING", "STRINGS"):
        texts = [item.decode("utf-8", "surrogateescape") for item in (attribute.strings or [attribute.s])]
        if kind == "STRINGS":
            texts = [item.decode("utf-8", "surrogateescape") for item in attribute.strings]
        array = np.empty(len(texts), object)
        array[:] = texts
        return array if kind == "STRINGS" else array.reshape(())
    makers: dict[str, Callable[[], Array]] = {
        "FLOAT": lambda: np.array(attribute.f, np.float32),
        "FLOATS": lambda: np.array(attribute.floats, np.float32),
        "INT": lambda: np.array(attribute.i, np.int64),
        "INTS": lambda: np.array(attribute.ints, np.int64),
    }
    return makers[kind]()


def _sparse_type(proto: SparseTensorProto) -> TensorType:
    values = read_tensor(proto.values)
    return TensorType(DType.of(values.dtype), checked_dims(proto.dims))
