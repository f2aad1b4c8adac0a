"""Reads the text form of graphs (see `ir.printer`). The text may come from a stranger."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NoReturn, TypeVar

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs, AttrValue, ForeignAttrs, ProtoAttr, RegionRef, TensorAttr
from arenite.ir.attrtext import enums_of, make_attrs
from arenite.ir.content import HASH_PREFIX
from arenite.ir.graph import Array, Graph, Node, Value
from arenite.ir.lexer import Lexer, Token, TokenKind
from arenite.ir.opdef import Registry
from arenite.ir.types import Dim, Quantization, TensorType

MAX_DEPTH = 32
"""How deep regions and tuples may nest."""

MAX_NELEM = 2**40
"""How many elements a type may have: beyond what any model has, within what numpy can count."""

_T = TypeVar("_T")
_DTYPES = {dtype.value: dtype for dtype in DType}


def parse_graph(text: str, registry: Registry, constants: Mapping[str, Array] | None = None) -> Graph:
    """The graph that a text describes. It is well-formed; whether its ops make sense is for the verifier.

    Args:
        text: what `ir.printer` prints; `#` starts a comment.
        registry: gives the attribute class of each op; an op that it lacks has `foreign{...}` attributes or none.
        constants: arrays that the text names by hash (`Printed.constants`).

    Raises:
        ModelError: the first thing that is wrong, as `line:column: ...`.
    """
    return _Parser(text, registry, constants or {}).parse()


@dataclass
class _Scope:
    """Names of one graph, and of the graphs around it."""

    outer: "_Scope | None" = None
    values: dict[str, Value] = field(default_factory=dict)
    nodes: set[str] = field(default_factory=set)

    def find(self, name: str) -> Value | None:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        return None


class _Parser:
    def __init__(self, text: str, registry: Registry, constants: Mapping[str, Array]) -> None:
        self._lexer = Lexer(text)
        self._tokens = self._lexer.tokens()
        self._at = 0
        self._registry = registry
        self._constants = constants

    def parse(self) -> Graph:
        graph = self._graph(None, 0)
        self._take(TokenKind.END)
        return graph

    # Tokens

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _fail(self, problem: str, token: Token | None = None) -> NoReturn:
        raise self._lexer.error((token or self._next).offset, problem)

    def _take(self, kind: TokenKind, text: str | None = None) -> Token:
        token = self._next
        if token.kind is not kind or (text is not None and token.text != text):
            self._fail(f"expected {kind.value if text is None else repr(text)}, found {token}")
        self._at += kind is not TokenKind.END
        return token

    def _punctuation(self, text: str) -> Token:
        return self._take(TokenKind.PUNCTUATION, text)

    def _word(self, text: str) -> Token:
        return self._take(TokenKind.WORD, text)

    def _sees(self, text: str, kind: TokenKind = TokenKind.PUNCTUATION) -> bool:
        return self._next.kind is kind and self._next.text == text

    def _accept(self, text: str, kind: TokenKind = TokenKind.PUNCTUATION) -> bool:
        seen = self._sees(text, kind)
        self._at += seen
        return seen

    def _list(self, opening: str, closing: str, item: Callable[[], _T]) -> list[_T]:
        """Items between brackets; a comma after the last is allowed."""
        self._punctuation(opening)
        items: list[_T] = []
        while not self._accept(closing):
            if items:
                self._punctuation(",")
                if self._accept(closing):
                    break
            items.append(item())
        return items

    def _name(self) -> str:
        """A plain or quoted word."""
        if self._next.kind not in (TokenKind.WORD, TokenKind.STRING):
            self._fail(f"expected a name, found {self._next}")
        self._at += 1
        return self._tokens[self._at - 1].text

    def _integer(self) -> int:
        token = self._take(TokenKind.NUMBER)
        return self._int(token)

    def _int(self, token: Token) -> int:
        digits = token.text.removeprefix("-")
        if not digits.isdigit() or len(digits) > 40:
            self._fail(f"expected an integer, found {token}", token)
        return int(token.text)

    # Graphs and nodes

    def _graph(self, outer: _Scope | None, depth: int) -> Graph:
        if depth > MAX_DEPTH:
            self._fail(f"graphs nest deeper than {MAX_DEPTH}")
        scope = _Scope(outer)
        self._word("graph")
        graph = Graph(self._take(TokenKind.NODE).text)
        graph.inputs = self._list("(", ")", lambda: self._declaration(scope))
        self._punctuation("->")
        outputs = self._list("(", ")", lambda: self._take(TokenKind.VALUE))
        self._punctuation("{")
        while not self._accept("}"):
            self._statement(graph, scope, depth)
        graph.outputs = [self._known(token, scope) for token in outputs]
        return graph

    def _statement(self, graph: Graph, scope: _Scope, depth: int) -> None:
        if self._accept("const", TokenKind.WORD):
            self._constant(self._declaration(scope))
            return
        results: list[Value] = []
        while self._next.kind is TokenKind.VALUE or self._sees("variable", TokenKind.WORD):
            results.append(self._declaration(scope))
            if not self._accept(","):
                break
        if len(results) == 1 and results[0].is_variable and not self._is_node_next():
            self._constant(results[0], optional=True)
            return
        if results:
            self._punctuation("=")
        self._node(graph, scope, results, depth)

    def _is_node_next(self) -> bool:
        """Whether `= op(` follows."""
        ahead = self._tokens[self._at : self._at + 3]
        return [t.text for t in ahead[::2]] == ["=", "("] and ahead[1].kind in (TokenKind.WORD, TokenKind.STRING)

    def _node(self, graph: Graph, scope: _Scope, results: list[Value], depth: int) -> None:
        start = self._next
        op = self._name()
        operands = self._list("(", ")", lambda: self._operand(scope, results))
        attrs = self._attrs(op)
        if self._next.kind is TokenKind.NODE:
            name = self._take(TokenKind.NODE).text
        elif results:
            name = results[0].name
        else:
            self._fail("a node without results needs a name (@name)")
        if name in scope.nodes:
            self._fail(f"two nodes are called '{name}'", start)
        scope.nodes.add(name)
        origin: tuple[str, ...] = (name,)
        if self._accept("from", TokenKind.WORD):
            origin = tuple(self._list("[", "]", lambda: self._take(TokenKind.STRING).text))
        regions: list[Graph] = []
        if self._accept("regions", TokenKind.WORD):
            self._punctuation("{")
            while not self._accept("}"):
                regions.append(self._graph(scope, depth + 1))
        graph._insert(Node(name, op, operands, results, attrs, origin, tuple(regions)), None)

    def _operand(self, scope: _Scope, results: list[Value]) -> Value | None:
        if self._accept("none", TokenKind.WORD):
            return None
        token = self._take(TokenKind.VALUE)
        value = self._known(token, scope)
        if value in results:
            self._fail(f"%{token.text} is read by the node that computes it", token)
        return value

    def _known(self, token: Token, scope: _Scope) -> Value:
        value = scope.find(token.text)
        if value is None:
            self._fail(f"%{token.text} is not defined before it is read", token)
        return value

    # Values and types

    def _declaration(self, scope: _Scope) -> Value:
        variable = self._accept("variable", TokenKind.WORD)
        token = self._take(TokenKind.VALUE)
        if token.text in scope.values:
            self._fail(f"%{token.text} is defined twice", token)
        self._punctuation(":")
        value = Value(token.text, self._type(), is_variable=variable)
        scope.values[token.text] = value
        return value

    def _type(self) -> TensorType:
        token = self._take(TokenKind.WORD)
        dtype = _DTYPES.get(token.text)
        if dtype is None:
            self._fail(f"unknown element type {token}; there are {', '.join(_DTYPES)}", token)
        shape: tuple[Dim, ...] | None
        if self._tokens[self._at + 1 : self._at + 2] and self._tokens[self._at + 1].text == "*":
            self._punctuation("[")
            self._punctuation("*")
            self._punctuation("]")
            shape = None
        else:
            shape = tuple(self._list("[", "]", self._dim))
            if math.prod(dim for dim in shape if isinstance(dim, int)) > MAX_NELEM:
                self._fail(f"a type has more than {MAX_NELEM} elements", token)
        return TensorType(dtype, shape, self._quantization() if self._sees("q", TokenKind.WORD) else None)

    def _dim(self) -> Dim:
        if self._next.kind is not TokenKind.NUMBER:
            return self._name()
        token = self._next
        dim = self._integer()
        if not 0 <= dim <= MAX_NELEM:
            self._fail(f"a dimension is between 0 and {MAX_NELEM}, not {dim}", token)
        return dim

    def _quantization(self) -> Quantization:
        self._word("q")
        self._punctuation("(")
        if not self._accept("axis", TokenKind.WORD):
            scale = self._float()
            self._punctuation(",")
            zero_point = self._integer()
            self._punctuation(")")
            return Quantization((scale,), (zero_point,))
        self._punctuation("=")
        axis = None if self._accept("none", TokenKind.WORD) else self._integer()
        scales: list[float] = []
        zero_points: list[int] = []
        while self._accept(","):
            if self._next.kind is TokenKind.HASH:
                table = self._by_hash(DType.FLOAT64, None)
                scales.extend(map(float, table[0]))
                zero_points.extend(int(z) for z in np.nan_to_num(table[1]))
            else:
                scales.append(self._float())
                self._punctuation(":")
                zero_points.append(self._integer())
        self._punctuation(")")
        return Quantization(tuple(scales), tuple(zero_points), axis)

    def _float(self) -> float:
        return float(self._take(TokenKind.NUMBER).text)

    # Contents of constants

    def _constant(self, value: Value, *, optional: bool = False) -> None:
        if optional and not self._sees("="):
            return
        self._punctuation("=")
        token = self._next
        if not value.type.is_static:
            self._fail(f"%{value.name} has contents, so its shape must be known", token)
        array = self._contents(value.type)
        array.flags.writeable = False
        value.constant = array

    def _contents(self, type_: TensorType) -> Array:
        token = self._next
        if token.kind is TokenKind.HASH:
            return self._by_hash(type_.dtype, type_.dims)
        if self._accept("splat", TokenKind.WORD):
            return np.broadcast_to(self._elements([self._element()], type_.dtype, token)[0], type_.dims)
        if token.kind is TokenKind.HEX:
            self._at += 1
            data = bytes.fromhex(token.text)
            if type_.dtype is DType.STRING or len(data) != type_.nbytes:
                self._fail(f"expected {type_.nbytes} bytes, found {len(data)}", token)
            return np.frombuffer(data, type_.dtype.numpy).reshape(type_.dims)
        elements = self._list("[", "]", self._element)
        if len(elements) != type_.nelem:
            self._fail(f"expected {type_.nelem} elements, found {len(elements)}", token)
        return self._elements(elements, type_.dtype, token).reshape(type_.dims)

    def _element(self) -> bool | int | float | str | bytes:
        value = self._attr_value({}, 0)
        if not isinstance(value, (bool, int, float, str, bytes)) or isinstance(value, Enum):
            self._fail("expected an element")
        return value

    def _elements(self, elements: list[bool | int | float | str | bytes], dtype: DType, token: Token) -> Array:
        if dtype is DType.STRING:
            fit = all(isinstance(element, (str, bytes)) for element in elements)
        elif dtype is DType.BOOL:
            fit = all(isinstance(element, bool) for element in elements)
        elif dtype.is_float:
            fit = all(type(element) in (int, float) for element in elements)
        else:
            low, high = dtype.limits if dtype.is_integer else (0, -1)
            fit = all(type(element) is int and low <= element <= high for element in elements)
        if not fit:
            self._fail(f"an element is no {dtype}", token)
        found = np.empty(len(elements), dtype.numpy)
        with np.errstate(over="ignore"):
            for index, element in enumerate(elements):
                found[index] = element
        return found

    def _by_hash(self, dtype: DType, dims: tuple[int, ...] | None) -> Array:
        token = self._take(TokenKind.HASH)
        array = self._constants.get(token.text)
        if array is None:
            self._fail(f"the constant {token.text[: len(HASH_PREFIX) + 8]}... was not given", token)
        fits = array.ndim == 2 and len(array) == 2 if dims is None else array.shape == dims
        if not fits or array.dtype != dtype.numpy:
            expected = "float64[2, n]" if dims is None else f"{dtype}{list(dims)}"
            self._fail(f"expected a constant {expected}, found {array.dtype}{list(array.shape)}", token)
        return array

    # Attributes

    def _attrs(self, op: str) -> Attrs:
        definition = self._registry.get(op)
        cls: type[Attrs] = Attrs if definition is None else definition.attrs
        token = self._next
        if self._accept("foreign", TokenKind.WORD):
            foreign = cls if issubclass(cls, ForeignAttrs) else ForeignAttrs
            enums = enums_of(foreign)
            return foreign(tuple(self._list("{", "}", lambda: self._attr_field(enums))))
        pairs: list[tuple[str, AttrValue]] = []
        if self._sees("{"):
            if definition is None:
                near = self._registry.nearest(op)
                hint = f"; did you mean {' or '.join(near)}?" if near else ""
                self._fail(f"op '{op}' is not known, so neither are its attributes{hint}", token)
            known = enums_of(cls)
            pairs = self._list("{", "}", lambda: self._attr_field(known))
        fields = dict(pairs)
        if len(fields) != len(pairs):
            self._fail("an attribute is given twice", token)
        try:
            return make_attrs(cls, fields)
        except (ValueError, TypeError) as error:
            self._fail(f"attributes of '{op}': {error}", token)

    def _attr_field(self, enums: Mapping[str, type[Enum]]) -> tuple[str, AttrValue]:
        name = self._name()
        self._punctuation("=")
        return name, self._attr_value(enums, 0)

    def _attr_value(self, enums: Mapping[str, type[Enum]], depth: int) -> AttrValue:  # noqa: RET503 - _fail raises
        token = self._next
        if depth > MAX_DEPTH:
            self._fail(f"tuples nest deeper than {MAX_DEPTH}")
        if self._sees("("):
            return tuple(self._list("(", ")", lambda: self._attr_value(enums, depth + 1)))
        self._at += 1
        if token.kind is TokenKind.STRING:
            return token.text
        if token.kind is TokenKind.HEX:
            return bytes.fromhex(token.text)
        if token.kind is TokenKind.NUMBER:
            digits = token.text.removeprefix("-")
            return self._int(token) if digits.isdigit() else float(token.text)
        if token.kind is TokenKind.WORD:
            if token.text in ("true", "false", "none"):
                return {"true": True, "false": False, "none": None}[token.text]
            if token.text in ("tensor", "region", "proto") and self._sees("("):
                return self._long_value(token.text)
            cls, _, member = token.text.partition(".")
            if cls in enums and member in enums[cls].__members__:
                return enums[cls][member]
        self._at -= 1
        self._fail(f"expected a value, found {token}", token)

    def _long_value(self, word: str) -> AttrValue:
        """What follows `tensor`, `region` or `proto`."""
        self._punctuation("(")
        value: AttrValue
        if word == "tensor":
            type_ = self._type()
            self._punctuation("=")
            if not type_.is_static:
                self._fail("a tensor's shape must be known")
            value = TensorAttr(self._contents(type_))
        elif word == "region":
            value = RegionRef(self._integer())
        else:
            kind = self._take(TokenKind.STRING).text
            self._punctuation(",")
            value = ProtoAttr(kind, bytes.fromhex(self._take(TokenKind.HEX).text))
        self._punctuation(")")
        return value
