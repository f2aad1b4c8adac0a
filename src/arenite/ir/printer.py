"""The text form of graphs. `ir.parser` reads it back exactly.

    graph @main(%x: int8[1, 4] q(0.5, -3)) -> (%y) {
      const %w: int8[2, 4] q(axis=0, 0.25:0, 0.5:0) = [1, 2, 3, 4, 5, 6, 7, 8]
      %y: int8[1, 2] q(0.5, -128) = fully_connected(%x, %w, none) {activation=Activation.RELU} from ["fc", "relu"]
    }

A name that is no plain word is quoted: `%"a b"`. A constant or variable stands before its first reader. Elements are
listed flat, in C order; a constant with many elements is named by its content hash, and `Printed.constants` has it.
Left out, because the parser supplies it: an attribute that has its default; a node's name that is its first result's;
an origin that is the node's name.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs, AttrValue, ForeignAttrs, ProtoAttr, RegionRef, TensorAttr
from arenite.ir.content import content_hash, is_splat
from arenite.ir.graph import Array, Graph, Node, Value
from arenite.ir.types import Dim, Quantization, TensorType

INLINE_NELEM = 16
"""Constants of up to so many elements, and per-channel quantizations of up to so many channels, are written out."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_./;\-]+")
_PLAIN_WORD = re.compile(r"(?!(?:inf|nan)(?:\.|$))[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*")


@dataclass(frozen=True)
class Printed:
    """A graph as text, and the constants that the text names by hash."""

    text: str
    constants: dict[str, Array]


def print_graph(graph: Graph, *, self_contained: bool = False) -> Printed:
    """The text form of a graph. A graph that the verifier rejects is printed too, as well as it can be.

    Args:
        graph: what to print.
        self_contained: write large constants out as bytes in hexadecimal, so that the text is enough to parse it.
    """
    printer = _Printer(self_contained)
    lines = list(printer.graph(graph, "", frozenset()))
    return Printed("\n".join(lines) + "\n", printer.constants)


def graph_text(graph: Graph) -> str:
    """The text form alone: equal texts mean equal graphs, constants included."""
    return print_graph(graph).text


def node_text(node: Node) -> str:
    """One node's line, for messages and listings; its regions are left out."""
    return _Printer().node_line(node)


def attrs_text(attrs: Attrs, tensor: Callable[[Array], str] | None = None) -> str:
    """Attributes in text form, `{stride=(2, 2)}`; empty when all have their defaults.

    Args:
        attrs: the attributes.
        tensor: what to print of an array among them.
    """
    if isinstance(attrs, ForeignAttrs):
        fields = (f"{word_text(name)}={attr_text(value, tensor)}" for name, value in attrs.fields)
        return "foreign{" + ", ".join(fields) + "}"
    shown = [
        f"{f.name}={attr_text(getattr(attrs, f.name))}"
        for f in dataclasses.fields(attrs)
        if f.default is dataclasses.MISSING or attr_text(getattr(attrs, f.name)) != attr_text(f.default)
    ]
    return "{" + ", ".join(shown) + "}" if shown else ""


def attr_text(value: AttrValue, tensor: Callable[[Array], str] | None = None) -> str:
    """An attribute's value in text form.

    Args:
        value: the value.
        tensor: what to print of an array; its type and contents, large ones by hash, unless given.

    Raises:
        TypeError: the text form has none for this type.
    """
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, tuple):
        return f"({', '.join(attr_text(v, tensor) for v in value)}{',' if len(value) == 1 else ''})"
    if isinstance(value, TensorAttr):
        return (tensor or _Printer().tensor)(value.array)
    if isinstance(value, RegionRef):
        return f"region({value.index})"
    if isinstance(value, ProtoAttr):
        return f"proto({quote(value.kind)}, {attr_text(value.data)})"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bytes):
        return f'x"{value.hex()}"'
    # numpy's scalars are subclasses of float and would print as such.
    if type(value) in (bool, int, float, type(None)):
        return repr(value).lower()
    raise TypeError(f"an attribute cannot hold {value!r} of type {type(value).__name__}")


def quote(text: str) -> str:
    """A string literal of printable characters."""
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def name_text(name: str) -> str:
    """A value's or node's name, quoted unless it is plain."""
    return name if _PLAIN_NAME.fullmatch(name) else quote(name)


def word_text(word: str) -> str:
    """An op's or symbol's name, quoted unless it is a (dotted) word that is no number's."""
    return word if _PLAIN_WORD.fullmatch(word) else quote(word)


def _dim_text(dim: Dim) -> str:
    return word_text(dim) if isinstance(dim, str) else str(dim)


def element_text(element: object) -> str | None:
    """An element that reads back to the same bits, or None when no literal does."""
    if isinstance(element, (bool, np.bool_)):
        return str(bool(element)).lower()
    if isinstance(element, (str, bytes)):
        return attr_text(element)
    if not isinstance(element, np.generic):
        return None
    if element.dtype.kind in "iu" or element.dtype.name in ("int4", "uint4", "int2", "uint2"):
        return str(int(element))
    if np.iscomplexobj(element):
        return None
    exact = float(element)
    # numpy's own text is the shortest; read as a double and rounded again it could miss by one bit.
    for text in (str(element), repr(exact)):
        if element.dtype.type(float(text)).tobytes() == element.tobytes():
            return text if "." in text or "e" in text or "n" in text else text + ".0"
    return None


def _used_values(graph: Graph) -> set[Value]:
    """Every value that the graph or a graph inside it reads."""
    found = set(graph.outputs)
    for node in graph.nodes:
        found.update(node.present_operands)
        found.update(*map(_used_values, node.regions))
    return found


def _shared_values(graph: Graph) -> set[Value]:
    """What the graph reads itself, or more than one of the graphs inside it does."""
    inside = Counter[Value]()
    direct = set(graph.outputs)
    for node in graph.nodes:
        direct.update(node.present_operands)
        for region in node.regions:
            inside.update(_used_values(region))
    return direct | {value for value, count in inside.items() if count > 1}


@dataclass
class _Printer:
    self_contained: bool = False
    constants: dict[str, Array] = field(default_factory=dict)

    def graph(self, graph: Graph, indent: str, outer: frozenset[Value]) -> Iterator[str]:
        inputs = ", ".join(map(self.declaration, graph.inputs))
        outputs = ", ".join(f"%{name_text(value.name)}" for value in graph.outputs)
        yield f"{indent}graph @{name_text(graph.name)}({inputs}) -> ({outputs}) {{"
        own = _shared_values(graph) - outer
        done = set(graph.inputs)
        for node in graph.nodes:
            read = [*node.present_operands, *self._read_inside(node, own)]
            yield from self._free_values((v for v in read if v in own), done, indent + "  ")
            line = f"{indent}  {self.node_line(node)}"
            if not node.regions:
                yield line
                continue
            yield line + " regions {"
            for region in node.regions:
                yield from self.graph(region, indent + "    ", outer | own)
            yield indent + "  }"
        yield from self._free_values((v for v in graph.outputs if v in own), done, indent + "  ")
        yield indent + "}"

    @staticmethod
    def _read_inside(node: Node, own: set[Value]) -> list[Value]:
        inside = set[Value]().union(*map(_used_values, node.regions))
        return sorted(inside & own, key=lambda value: value.name)

    def _free_values(self, values: Iterable[Value], done: set[Value], indent: str) -> Iterator[str]:
        """Declarations of constants and variables that have none yet."""
        for value in values:
            if value in done or value.producer is not None or not (value.is_constant or value.is_variable):
                continue
            done.add(value)
            contents = "" if value.constant is None else f" = {self.contents(value.constant)}"
            yield f"{indent}{'' if value.is_variable else 'const '}{self.declaration(value)}{contents}"

    def declaration(self, value: Value) -> str:
        prefix = "variable " if value.is_variable else ""
        return f"{prefix}%{name_text(value.name)}: {self.type(value.type)}"

    def node_line(self, node: Node) -> str:
        results = ", ".join(map(self.declaration, node.results))
        operands = ", ".join("none" if v is None else f"%{name_text(v.name)}" for v in node.operands)
        parts = [f"{results} = " if results else "", f"{word_text(node.op)}({operands})"]
        attrs = attrs_text(node.attrs, self.tensor)
        if attrs:
            parts.append(f" {attrs}")
        if not node.results or node.results[0].name != node.name:
            parts.append(f" @{name_text(node.name)}")
        if node.origin != (node.name,):
            parts.append(f" from [{', '.join(map(quote, node.origin))}]")
        return "".join(parts)

    def type(self, type_: TensorType) -> str:
        shape = "*" if type_.shape is None else ", ".join(map(_dim_text, type_.shape))
        quantization = "" if type_.quantization is None else f" {self.quantization(type_.quantization)}"
        return f"{type_.dtype}[{shape}]{quantization}"

    def quantization(self, q: Quantization) -> str:
        if q.is_per_tensor and len(q.scales) == len(q.zero_points) == 1:
            return f"q({float(q.scales[0])!r}, {q.zero_points[0]})"
        axis = "none" if q.axis is None else str(q.axis)
        if len(q.scales) > INLINE_NELEM and not self.self_contained:
            table = np.array([q.scales, q.zero_points], np.float64)
            return f"q(axis={axis}, {self._by_hash(table)})"
        pairs = "".join(f", {float(s)!r}:{z}" for s, z in zip(q.scales, q.zero_points, strict=False))
        return f"q(axis={axis}{pairs})"

    def tensor(self, array: Array) -> str:
        type_ = TensorType(DType.of(array.dtype), array.shape)
        return f"tensor({self.type(type_)} = {self.contents(array)})"

    def contents(self, array: Array) -> str:
        if is_splat(array):
            text = element_text(array[(0,) * array.ndim])
            if text is not None:
                return f"splat {text}"
        large = array.size > INLINE_NELEM
        if large and not self.self_contained:
            return self._by_hash(array)
        texts = (
            [element_text(element) for element in array.reshape(-1)] if array.dtype == object or not large else [None]
        )
        if None in texts:
            return f'x"{np.ascontiguousarray(array).tobytes().hex()}"'
        return f"[{', '.join(text for text in texts if text is not None)}]"

    def _by_hash(self, array: Array) -> str:
        key = content_hash(array)
        self.constants[key] = array
        return key
