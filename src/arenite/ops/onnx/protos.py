"""Nodes and attributes between ONNX's messages and ours."""

from collections.abc import Callable, Iterable

from onnx import AttributeProto, GraphProto, NodeProto, SparseTensorProto, TypeProto

from arenite.ir.attrs import Attrs, AttrValue, ForeignAttrs, ProtoAttr, RegionRef, TensorAttr
from arenite.ir.graph import Graph, Node, Value
from arenite.ops.onnx.attrs import empty_list
from arenite.ops.onnx.names import is_absent, split_op
from arenite.ops.onnx.tensors import ReadExternal, read_tensor, write_tensor

_KINDS: dict[int, str] = {number: name for name, number in AttributeProto.AttributeType.items()}
_FIELDS = {
    "FLOAT": "f",
    "INT": "i",
    "STRING": "s",
    "TENSOR": "t",
    "GRAPH": "g",
    "SPARSE_TENSOR": "sparse_tensor",
    "TYPE_PROTO": "tp",
    "FLOATS": "floats",
    "INTS": "ints",
    "STRINGS": "strings",
    "TENSORS": "tensors",
    "GRAPHS": "graphs",
    "SPARSE_TENSORS": "sparse_tensors",
    "TYPE_PROTOS": "type_protos",
}
_MESSAGES: dict[str, type[SparseTensorProto | TypeProto]] = {
    "SPARSE_TENSOR": SparseTensorProto,
    "TYPE_PROTO": TypeProto,
}


class AttrError(ValueError):
    """An attribute is damaged, without the names of it and its node."""


def attr_kind(proto: AttributeProto) -> str:
    """The type of an attribute; where the message leaves it out, what its contents say.

    Raises:
        AttrError: it has none.
    """
    kind = _KINDS.get(proto.type, "")
    if kind in _FIELDS:
        return kind
    if not proto.type:
        for kind, field in _FIELDS.items():
            if len(getattr(proto, field)) if kind.endswith("S") else proto.HasField(field):
                return kind
    raise AttrError(f"its type is {proto.type}, which is none that ONNX defines")


def read_attr(
    proto: AttributeProto, add_region: Callable[[GraphProto], int], external: ReadExternal | None = None
) -> AttrValue:
    """The value of an attribute.

    Args:
        proto: the message.
        add_region: takes a graph and says which of the node's regions it is.
        external: see `read_tensor`.

    Raises:
        AttrError: it is damaged.
        TensorError: a tensor in it is.
    """
    kind = attr_kind(proto)
    if proto.ref_attr_name:
        raise AttrError(f"it refers to attribute '{proto.ref_attr_name}' of a function, outside any function")
    field = getattr(proto, _FIELDS[kind])
    if not kind.endswith("S"):
        return _read_one(kind, field, add_region, external)
    if not len(field):
        return empty_list(kind)
    if kind in ("INTS", "FLOATS"):
        return tuple(field)
    return tuple(_read_one(kind.removesuffix("S"), item, add_region, external) for item in field)


def _read_one(  # type: ignore[no-untyped-def]
    kind: str, field, add_region: Callable[[GraphProto], int], external: ReadExternal | None
) -> AttrValue:
    if kind == "INT":
        return int(field)
    if kind == "FLOAT":
        return float(field)
    if kind == "STRING":
        try:
            return str(field, "utf-8")
        except UnicodeDecodeError:
            return bytes(field)
    if kind == "TENSOR":
        return TensorAttr(read_tensor(field, external))
    if kind == "GRAPH":
        return RegionRef(add_region(field))
    return ProtoAttr(kind, field.SerializeToString(deterministic=True))


def write_attrs(attrs: Attrs, write_region: Callable[[int], GraphProto]) -> Iterable[AttributeProto]:
    """Messages of a node's attributes.

    Raises:
        TypeError: they are no attributes of the onnx dialect.
    """
    if not isinstance(attrs, ForeignAttrs):
        if attrs == Attrs():
            return []
        raise TypeError(f"{type(attrs).__name__} are no attributes of ONNX")
    return [write_attr(name, value, write_region) for name, value in attrs.fields]


def write_attr(name: str, value: AttrValue, write_region: Callable[[int], GraphProto]) -> AttributeProto:
    """The message of an attribute; raises as `write_attrs` does."""
    proto = AttributeProto(name=name)
    if isinstance(value, ProtoAttr) and value.kind.endswith("S"):
        proto.type = AttributeProto.AttributeType.Value(value.kind)
        return proto
    if not isinstance(value, tuple):
        kind = _kind_of(value)
        proto.type = AttributeProto.AttributeType.Value(kind)
        _write_one(proto, kind, value, write_region)
        return proto
    kind = _kind_of(value[0]) if value else "INT"
    proto.type = AttributeProto.AttributeType.Value(kind + "S")
    for item in value:
        if _kind_of(item) != kind:
            raise TypeError(f"attribute '{name}' holds values of unlike types")
    field = getattr(proto, _FIELDS[kind + "S"])
    if kind in ("INT", "FLOAT"):
        field.extend(value)
    else:
        for item in value:
            single = AttributeProto()
            _write_one(single, kind, item, write_region)
            field.append(getattr(single, _FIELDS[kind]))
    return proto


def value_kind(value: AttrValue) -> str:
    """The type of an attribute, as ONNX calls it; raises as `write_attrs` does."""
    if not isinstance(value, tuple):
        return _kind_of(value)
    return f"{_kind_of(value[0]) if value else 'INT'}S"


def _kind_of(value: AttrValue) -> str:
    if isinstance(value, ProtoAttr):
        return value.kind
    kinds = {int: "INT", bool: "INT", float: "FLOAT", str: "STRING", bytes: "STRING"}
    kinds |= {TensorAttr: "TENSOR", RegionRef: "GRAPH"}
    if type(value) not in kinds:
        raise TypeError(f"ONNX has no attribute like {value!r}")
    return kinds[type(value)]


def _write_one(proto: AttributeProto, kind: str, value: AttrValue, write_region: Callable[[int], GraphProto]) -> None:
    if isinstance(value, str):
        proto.s = value.encode()
    elif isinstance(value, TensorAttr):
        proto.t.CopyFrom(write_tensor(value.array))
    elif isinstance(value, RegionRef):
        proto.g.CopyFrom(write_region(value.index))
    elif isinstance(value, ProtoAttr):
        getattr(proto, _FIELDS[kind]).CopyFrom(_MESSAGES[kind].FromString(value.data))
    else:
        setattr(proto, _FIELDS[kind], value)


def write_node(node: Node, name_of: Callable[[Value], str], write_region: Callable[[Graph], GraphProto]) -> NodeProto:
    """The message of a node.

    Args:
        node: of the onnx dialect.
        name_of: what a value is called in the file.
        write_region: the message of a nested graph.

    Raises:
        ValueError: its op is not of the onnx dialect.
        TypeError: its attributes are not.
    """
    domain, operator = split_op(node.op)
    inputs = ["" if value is None else name_of(value) for value in node.operands]
    outputs = ["" if is_absent(value) else name_of(value) for value in node.results]
    proto = NodeProto(input=inputs, output=outputs, op_type=operator)
    if domain:
        proto.domain = domain
    proto.attribute.extend(write_attrs(node.attrs, lambda index: write_region(node.regions[index])))
    return proto
