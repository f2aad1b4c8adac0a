"""Printer and parser: exact round trip, readable text, and errors with a place on hostile text."""

import dataclasses
from dataclasses import dataclass
from enum import Enum

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite._base.errors import ModelError
from arenite.ir.attrs import Activation, Attrs, AttrValue, ForeignAttrs, Padding
from arenite.ir.attrtext import fits
from arenite.ir.builder import GraphBuilder
from arenite.ir.content import content_hash
from arenite.ir.graph import Array, Graph, Node, Value
from arenite.ir.opdef import NotApplicable, OpDef, Registry
from arenite.ir.parser import parse_graph
from arenite.ir.printer import Printed, attr_text, print_graph
from arenite.ir.types import Quantization, TensorType
from arenite.ops.conv import Conv2dAttrs
from ir.support import REGISTRY, node_facts

F4 = TensorType(DType.FLOAT32, (4,))


class Mode(Enum):
    FAST = 1
    SLOW = 2


@dataclass(frozen=True)
class EverythingAttrs(Attrs):
    needed: int
    flag: bool = False
    ratio: float = -0.0
    text: str = ""
    data: bytes = b""
    mode: Mode | None = None
    dtype: DType = DType.INT8
    nested: tuple[tuple[int, ...], ...] = ()
    pair: tuple[Padding, Activation] = (Padding.SAME, Activation.NONE)


def _definition(name: str, attrs: type[Attrs]) -> OpDef:
    nothing = NotApplicable("only its text form is tested")
    return OpDef(
        name=name,
        summary="",
        attrs=attrs,
        operands=(),
        result_names=(),
        traits=frozenset(),
        infer=lambda call: call.results,
        evaluate_float=nothing,
        evaluate_quantized=nothing,
        cost=nothing,
        quantization=nothing,
        canonicalize=nothing,
    )


OPS = Registry((_definition("everything", EverythingAttrs), _definition("conv2d", Conv2dAttrs)))


def round_trip(graph: Graph) -> tuple[Printed, Graph]:
    """The graph read back; fails unless its text and its facts are the same."""
    printed = print_graph(graph)
    back = parse_graph(printed.text, OPS, printed.constants)
    again = print_graph(back)
    assert again.text == printed.text
    assert node_facts(back) == node_facts(graph)
    return printed, back


def test_readable_text() -> None:
    b = GraphBuilder("tiny")
    x = b.input("x", TensorType(DType.INT8, (1, 4, 4, 1), Quantization.per_tensor(0.5, -3)))
    w = b.constant("w", np.array([[[[1]]], [[[-2]]]], np.int8), Quantization((0.25, 0.5), (0, 0), 0))
    y_type = TensorType(DType.INT8, (1, 4, 4, 2), Quantization.per_tensor(0.125, -128))
    y = b.node("conv2d", [x, w, None], [y_type], Conv2dAttrs(padding=Padding.SAME), name="conv", origin=["c", "relu"])
    b.output(y.result)
    assert print_graph(b.graph).text == (
        "graph @tiny(%x: int8[1, 4, 4, 1] q(0.5, -3)) -> (%conv) {\n"
        "  const %w: int8[2, 1, 1, 1] q(axis=0, 0.25:0, 0.5:0) = [1, -2]\n"
        "  %conv: int8[1, 4, 4, 2] q(0.125, -128) = conv2d(%x, %w, none) {padding=Padding.SAME}"
        ' from ["c", "relu"]\n'
        "}\n"
    )
    round_trip(b.graph)


HOSTILE = [
    "a b",
    'quo"te',
    "back\\slash",
    "new\nline",
    "tab\t",
    "",
    "%",
    "x:0",
    "model/c;d",
    "ünï",
    "\u202e",
    "\ud800",
    "]",
    "\r",
    "#",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_round_trip(name: str) -> None:
    b = GraphBuilder(name)
    x = b.input(name, TensorType(DType.FLOAT32, ("N", name, 3)))
    n = b.node(f"tflite.{name}", [x], [F4, F4], ForeignAttrs(((name, name),)), name=name, origin=[name, ""])
    b.output(n.results[1], n.results[1], x)
    round_trip(b.graph)


@given(st.text(max_size=12))
def test_any_name_round_trips(name: str) -> None:
    test_hostile_names_round_trip(name)


ATTR_VALUES: st.SearchStrategy[AttrValue] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64)
    | st.floats()
    | st.text(max_size=8)
    | st.binary(max_size=8)
    | st.sampled_from([*Padding, *Activation, *DType]),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=8,
)


@given(st.lists(st.tuples(st.text(max_size=5), ATTR_VALUES), max_size=4))
def test_foreign_attributes_round_trip(fields: list[tuple[str, AttrValue]]) -> None:
    b = GraphBuilder()
    b.output(b.node("tflite.ODD", [], [F4], ForeignAttrs(tuple(fields))).result)
    _, back = round_trip(b.graph)
    (node,) = back.nodes
    assert isinstance(node.attrs, ForeignAttrs)
    assert [name for name, _ in node.attrs.fields] == [name for name, _ in fields]
    assert attr_text(tuple(v for _, v in node.attrs.fields)) == attr_text(tuple(v for _, v in fields))


@given(
    st.builds(
        EverythingAttrs,
        needed=st.integers(),
        flag=st.booleans(),
        ratio=st.floats(allow_nan=False),
        text=st.text(max_size=4),
        data=st.binary(max_size=4),
        mode=st.sampled_from([None, *Mode]),
        dtype=st.sampled_from(DType),
        nested=st.lists(st.lists(st.integers(), max_size=2).map(tuple), max_size=2).map(tuple),
        pair=st.tuples(st.sampled_from(Padding), st.sampled_from(Activation)),
    )
)
def test_typed_attributes_round_trip(attrs: EverythingAttrs) -> None:
    b = GraphBuilder()
    b.output(b.node("everything", [], [F4], attrs).result)
    if abs(attrs.needed) >= 10**40 or any(abs(i) >= 10**40 for pair in attrs.nested for i in pair):
        return
    _, back = round_trip(b.graph)
    (node,) = back.nodes
    assert node.attrs == attrs
    assert str(dataclasses.astuple(node.attrs)) == str(dataclasses.astuple(attrs))  # tells -0.0 from 0.0, 1 from True


def test_numpy_scalars_are_no_attributes() -> None:
    with pytest.raises(TypeError, match="float64"):
        attr_text(np.float64(1.5))


def _bits(array: Array) -> tuple[object, ...]:
    content = array.tolist() if array.dtype == object else array.tobytes()
    return array.dtype, array.shape, content


ARRAYS = [
    np.array(3, np.int64),
    np.array([], np.float32),
    np.array([[0.1, -0.0, np.inf], [-np.inf, 1e-45, 3.4028235e38]], np.float32),
    np.array([0x7FC00001, 0x7FC00000, 1], np.uint32).view(np.float32),
    np.array([0.1, 65504.0, 6e-8], np.float16),
    np.array([0.1, 3e38, -0.0], ml_dtypes.bfloat16),
    np.array([0.1, 1e308, 5e-324]),
    np.array([-8, 7], ml_dtypes.int4),
    np.array([0, 2**64 - 1], np.uint64),
    np.array([True, False]),
    np.array([1 + 2j], np.complex64),
    np.array([b"\xff", "text", ""], object),
    np.arange(100, dtype=np.int16).reshape(4, 25),
    np.array([b"x"] * 20, object),
    np.broadcast_to(np.float32(0.1), (3, 50)),
    np.broadcast_to(np.int8(-1), (1, 2)),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{list(a.shape)}")
def test_constants_round_trip(array: Array) -> None:
    b = GraphBuilder()
    c = b.constant("c", array)
    b.output(b.node("f", [c], [F4]).result, c)
    printed, back = round_trip(b.graph)
    value = back.outputs[1]
    assert value.constant is not None
    assert _bits(value.constant) == _bits(array)
    assert not value.constant.flags.writeable
    assert ("sha256:" in printed.text) == bool(printed.constants) == (array.size > 16 and 0 not in array.strides)
    assert value.constant.strides == array.strides or 0 not in array.strides
    alone = print_graph(b.graph, self_contained=True)
    assert alone.constants == {}
    assert node_facts(parse_graph(alone.text, OPS)) == node_facts(b.graph)


@given(st.lists(st.floats(width=32), max_size=16), st.lists(st.floats(width=16), max_size=16))
def test_floats_round_trip(singles: list[float], halves: list[float]) -> None:
    for array in (np.array(singles, np.float32), np.array(halves, np.float16)):
        test_constants_round_trip(array)


def test_hash_tells_type_shape_and_bits_apart() -> None:
    zeros = np.zeros(4, np.int8)
    others: list[Array] = [zeros.view(np.uint8), zeros.reshape(2, 2), np.ones(4, np.int8), zeros.view(np.int32)]
    negative = [np.array([0.0], np.float32), np.array([-0.0], np.float32)]
    strings = [np.array(["a", "bc"], object), np.array(["ab", "c"], object), np.array([b"a", b"bc"], object)]
    arrays: list[Array] = [zeros, *others, *negative, *strings]
    hashes = list(map(content_hash, arrays))
    assert len(set(hashes)) == len(hashes)
    assert content_hash(np.asfortranarray(np.arange(6).reshape(2, 3))) == content_hash(np.arange(6).reshape(2, 3))


@given(
    st.lists(st.tuples(st.floats(1e-30, 1e30), st.integers(-(2**31), 2**31 - 1)), min_size=1, max_size=40),
    st.integers(0, 3) | st.none(),
)
def test_quantizations_round_trip(pairs: list[tuple[float, int]], axis: int | None) -> None:
    q = Quantization(tuple(float(np.float32(s)) for s, _ in pairs), tuple(z for _, z in pairs), axis)
    b = GraphBuilder()
    x = b.input("x", TensorType(DType.INT8, (3, 4), q))
    _, back = round_trip(b.output(x))
    assert back.inputs[0].type.quantization == q
    alone = parse_graph(print_graph(b.graph, self_contained=True).text, OPS)
    assert alone.inputs[0].type.quantization == q


def test_variables_regions_and_unknown_rank_round_trip() -> None:
    b = GraphBuilder()
    x = b.input("x", TensorType(DType.FLOAT32, None))
    state, started = b.variable("state", F4), b.variable("started", F4)
    started.constant = np.arange(4, dtype=np.float32)
    shared, inner_only = b.constant("shared", np.ones(2, np.int8)), b.constant("inner only", np.ones(1, np.int8))
    regions = []
    for i in range(2):
        inside = GraphBuilder(f"branch{i}")
        y = inside.input("y", F4)
        inner = [inner_only] if i else []
        z = inside.node("g", [x, y, shared, state, *inner], [F4], name="deep")
        regions.append(inside.output(z.result, shared))
    n = b.node("if", [x, started], [F4], name="if", regions=regions)
    b.node("assign", [state, n.result], [], name="set", origin=[])
    _, back = round_trip(b.output(n.result))
    assert [value.name for value in back.values() if value.is_variable] == ["started", "state"]
    inner_graphs = next(iter(back.nodes)).regions
    deep = [next(iter(region.nodes)) for region in inner_graphs]
    assert deep[0].operand(2) is deep[1].operand(2)
    assert deep[0].operand(0) is back.inputs[0]


def test_a_broken_graph_prints() -> None:
    graph = Graph("broken")
    orphan = Value("orphan", TensorType(DType.INT8, (2,), Quantization((0.5,), (0, 1), None)))
    graph._insert(Node("n", "add", [orphan, orphan], [Value("orphan", F4)], Attrs()), None)
    graph.outputs = [orphan]
    assert "%orphan: float32[4] = add(%orphan, %orphan) @n" in print_graph(graph).text


THREE = content_hash(np.zeros(3, np.int8))
BAD = {
    "": "1:1: expected 'graph', found the end of the text",
    "graph": "1:6: expected a name (@name), found the end of the text",
    "graph @g() -> (%y) {}": "1:16: %y is not defined before it is read",
    "graph @g(%x: int9[1]) -> () {}": "1:14: unknown element type 'int9'",
    "graph @g(%x: int8[1], %x: int8[1]) -> () {}": "1:23: %x is defined twice",
    "graph @g(%x: int8[-1]) -> () {}": "1:19: a dimension is between 0 and",
    "graph @g(%x: int8[99999999999999999999]) -> () {}": "a dimension is between 0 and",
    "graph @g(%x: int8[9999999, 9999999]) -> () {}": "1:14: a type has more than",
    "graph @g(%x: int8[1.5]) -> () {}": "expected an integer, found '1.5'",
    f"graph @g(%x: int8[{'9' * 50}]) -> () {{}}": "expected an integer",
    "graph @g() -> () {\n  const %c: int8[2] = [1]\n}": "2:23: expected 2 elements, found 1",
    "graph @g() -> () {\n  const %c: int8[1] = [300]\n}": "an element is no int8",
    "graph @g() -> () {\n  const %c: int8[1] = [true]\n}": "an element is no int8",
    "graph @g() -> () {\n  const %c: int8[1] = [(1, 2)]\n}": "expected an element",
    'graph @g() -> () {\n  const %c: float32[1] = ["a"]\n}': "an element is no float32",
    "graph @g() -> () {\n  const %c: int8[N] = [1]\n}": "its shape must be known",
    'graph @g() -> () {\n  const %c: int8[2] = x"00"\n}': "expected 2 bytes, found 1",
    f"graph @g() -> () {{ const %c: int8[2] = sha256:{'0' * 64} }}": "sha256:00000000... was not given",
    f"graph @g() -> () {{ const %c: int8[2] = {THREE} }}": "expected a constant int8[2], found int8[3]",
    f"graph @g(%x: int8[2] q(axis=0, {THREE})) -> () {{}}": "expected a constant float64[2, n]",
    "graph @g(%x: int8[1]) -> () {\n  %y: int8[1] = f(%x, %z)\n}": "2:23: %z is not defined before it is read",
    "graph @g() -> () {\n  %y: int8[1] = f(%y)\n}": "2:19: %y is read by the node that computes it",
    "graph @g() -> () {\n  f()\n}": "a node without results needs a name",
    "graph @g() -> () {\n  f() @a\n  f() @a\n}": "3:3: two nodes are called 'a'",
    "graph @g() -> () {\n  f() {a=1} @a\n}": "op 'f' is not known, so neither are its attributes",
    "graph @g() -> () {\n  conv2 () {a=1} @a\n}": "did you mean conv2d?",
    "graph @g() -> () {\n  conv2d() {strides=(1, 1)} @a\n}": "Conv2dAttrs has no field 'strides'; it has stride",
    "graph @g() -> () {\n  conv2d() {stride=(1, true)} @a\n}": "Conv2dAttrs.stride is tuple[int, int], not (1, True)",
    "graph @g() -> () {\n  conv2d() {padding=Padding.OTHER} @a\n}": "expected a value, found 'Padding.OTHER'",
    "graph @g() -> () {\n  conv2d() {padding=Activation.RELU} @a\n}": "Conv2dAttrs.padding is Padding",
    "graph @g() -> () {\n  conv2d() {stride=(1, 1), stride=(1, 1)} @a\n}": "an attribute is given twice",
    "graph @g() -> () {\n  everything() @a\n}": "EverythingAttrs needs a value for needed",
    'graph @"\\q"() -> () {}': "1:7: unknown escape \\q in a string",
    'graph @"\\Uffffffff"() -> () {}': "unknown escape",
    'graph @"open': "1:7: unexpected character '@'",
    "graph @g() -> () {} ?": "1:21: unexpected character '?'",
    "graph @g() -> () {} graph": "expected the end of the text, found 'graph'",
    "graph @g() -> () { f() foreign{a=" + "(" * 2000 + " } @a }": "tuples nest deeper than 32",
    "graph @g() -> () { " + "f() @a regions { graph @g() -> () { " * 1000: "graphs nest deeper than 32",
}


@pytest.mark.parametrize(("text", "problem"), BAD.items(), ids=range(len(BAD)))
def test_bad_text_has_a_place(text: str, problem: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse_graph(text, OPS, {THREE: np.zeros(3, np.int8)})
    assert problem in str(caught.value)
    line, column, _ = str(caught.value).split(":", 2)
    assert int(line) >= 1
    assert int(column) >= 1


@given(st.data())
def test_damaged_text_gives_a_graph_or_an_error(data: st.DataObject) -> None:
    b = GraphBuilder()
    x = b.input("x", TensorType(DType.INT8, ("N", 3), Quantization.per_tensor(0.5, 1)))
    c = b.constant("c", np.arange(3, dtype=np.int8))
    n = b.node("conv2d", [x, c, None], [F4], Conv2dAttrs(stride=(2, 2)), origin=["a", "b"])
    text = print_graph(b.output(n.result)).text
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 5)))
    insert = data.draw(st.text(alphabet='%@"(){}[]=,:*-.x1aN\\ \n#', max_size=4))
    damaged = text[:start] + insert + text[end:]
    try:
        graph = parse_graph(damaged, OPS)
    except ModelError:
        return
    assert node_facts(parse_graph(print_graph(graph).text, OPS)) == node_facts(graph)


@pytest.mark.parametrize(
    ("value", "hint", "fit"),
    [
        (1, int, True),
        (True, int, False),
        (1, float, True),
        (True, float, False),
        (1.0, int, False),
        (None, int | None, True),
        ("a", int | None, False),
        ((1, 2), tuple[int, ...], True),
        ((1, "a"), tuple[int, ...], False),
        ((1, 2), tuple[int, int, int], False),
        (Padding.SAME, Padding, True),
        (Padding.SAME, Activation, False),
        (b"a", str, False),
    ],
)
def test_fits(value: AttrValue, hint: object, fit: bool) -> None:
    assert fits(value, hint) is fit


def test_core_registry_is_what_the_parser_takes() -> None:
    assert parse_graph("graph @g() -> () { # nothing\n}", REGISTRY).name == "g"


@pytest.mark.parametrize("odd", ["\udce6", "\x07", "\u2028"])
def test_messages_can_be_printed_whatever_they_quote(odd: str) -> None:
    for text in (f'graph @"\\{odd}" () -> () {{\n}}\n', f"graph {odd}", f'graph @"{odd}" ()'):
        with pytest.raises(ModelError) as caught:
            parse_graph(text, REGISTRY)
        assert str(caught.value).isprintable()
