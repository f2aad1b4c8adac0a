"""What is known of values holds when the model runs, whatever the named sizes are."""

from collections.abc import Mapping

import numpy as np
import pytest

from arenite.formats.onnx import model_registry
from arenite.interp.onnx import OnnxInterpreter
from arenite.ir.graph import Array
from arenite.passes.onnx.expr import Expr
from arenite.passes.onnx.facts import Facts
from passes.onnx.optimizing import model_of, reals


def number(item: Expr, sizes: dict[str, int]) -> int | None:
    """The value of an expression; None when it has a name of which nothing is known."""
    if isinstance(item, int):
        return item
    total = 0
    for names, factor in item.terms:
        product = factor
        for name in names:
            if name.startswith("floor(("):
                inner, _, divisor = name.removeprefix("floor((").rstrip(")").rpartition(")/")
                known = eval(inner, {}, dict(sizes))
                product *= int(known) // int(divisor)
            elif name in sizes:
                product *= sizes[name]
            else:
                return None
        total += product
    return total


def check(text: str, sizes: dict[str, int], feeds: Mapping[str, Array], opset: int = 17) -> dict[str, str]:
    """Compare every fact with a run; what is known of each value, as text."""
    model = model_of(text, opset=opset)
    registry = model_registry(model)
    facts = Facts(model.graph, registry)
    values = {value.name: value for node in model.graph.nodes for value in node.results}
    trace = OnnxInterpreter(model.graph, registry).trace(feeds).values
    shown = {}
    for name, value in values.items():
        fact, array = facts.of(value), np.asarray(trace[name])
        assert fact.dtype is None or fact.dtype.numpy == array.dtype
        if fact.shape is not None:
            assert len(fact.shape) == array.ndim, name
            for dim, found in zip(fact.shape, array.shape, strict=True):
                expected = number(dim, sizes)
                assert expected is None or expected == found, (name, fact, array.shape)
        if fact.elements is not None:
            for item, element in zip(fact.elements, array.reshape(-1), strict=True):
                expected = None if item is None else number(item, sizes)
                assert expected is None or expected == int(element), (name, fact, array)
        elements = "" if fact.elements is None else " = " + ", ".join(map(str, fact.elements))
        shown[name] = f"{fact.type}{elements}"
    return shown


CHAINS = {
    "reshape": """g (float[N, 6, 4] x) => (float[N, M] y) {
        s = Shape (x)
        i = Constant <value_int: int = 0> ()
        n = Gather (s, i)
        axes = Constant <value_ints: ints = [0]> ()
        u = Unsqueeze (n, axes)
        rest = Constant <value_ints: ints = [-1]> ()
        shape = Concat <axis: int = 0> (u, rest)
        y = Reshape (x, shape)
    }""",
    "half": """g (float[N, H, 3] x) => (float[A, B, C] y) {
        s = Shape (x)
        one = Constant <value_ints: ints = [1]> ()
        two = Constant <value_ints: ints = [2]> ()
        h = Slice (s, one, two)
        half = Div (h, two)
        from = Mul (half, one)
        axes = Constant <value_ints: ints = [1]> ()
        big = Constant <value_ints: ints = [9223372036854775807]> ()
        y = Slice (x, from, big, axes)
        even = Mul (half, two)
        odd = Sub (h, even)
        is = Equal (odd, odd)
    }""",
    "layers": """g (float[N, 3, 9, 11] x, float[4, 3, 3, 3] w) => (float[A, B, C, D] y) {
        c = Conv <pads: ints = [1, 1, 1, 1], strides: ints = [2, 2]> (x, w)
        p = MaxPool <kernel_shape: ints = [2, 2], ceil_mode: int = 1, strides: ints = [2, 2]> (c)
        q = AveragePool <kernel_shape: ints = [3, 3], auto_pad: string = "SAME_UPPER", strides: ints = [2, 2]> (c)
        t = Transpose <perm: ints = [0, 2, 3, 1]> (p)
        g = GlobalAveragePool (c)
        f = Flatten (g)
        s = Softmax (f)
        r = ReduceMean <axes: ints = [1], keepdims: int = 0> (t)
        k, l = Split <axis: int = 3> (t)
        d = DepthToSpace <blocksize: int = 2> (c)
        y = Relu (d)
    }""",
    "expand": """g (float[N, 1] x, float[N, T] z) => (float[A, B] y) {
        s = Shape (z)
        y = Expand (x, s)
        o = ConstantOfShape <value = int64[1] {1}> (s)
        e = Equal (x, z)
        w = Where (e, x, z)
        zero = Constant <value_int: int = 0> ()
        one = Constant <value_int: int = 1> ()
        n = Gather (s, one)
        r = Range (zero, n, one)
        m = Add (r, n)
        c = Cast <to: int = 1> (m)
    }""",
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("sizes", [{"N": 1, "H": 4, "T": 3}, {"N": 2, "H": 7, "T": 1}])
def test_facts_hold(name: str, sizes: dict[str, int]) -> None:
    feeds = {
        "reshape": {"x": reals(sizes["N"], 6, 4)},
        "half": {"x": reals(sizes["N"], sizes["H"], 3)},
        "layers": {"x": reals(sizes["N"], 3, 9, 11), "w": reals(4, 3, 3, 3)},
        "expand": {"x": reals(sizes["N"], 1), "z": reals(sizes["N"], sizes["T"])},
    }[name]
    check(CHAINS[name], sizes, feeds)


def test_what_is_known_of_a_chain() -> None:
    known = check(CHAINS["reshape"], {"N": 2}, {"x": reals(2, 6, 4)})
    assert known["s"] == "int64[3] = N, 6, 4"
    assert known["shape"] == "int64[2] = N, -1"
    assert known["y"] == "float32[N, 24]"


def test_rounding_down_is_followed() -> None:
    known = check(CHAINS["half"], {"N": 1, "H": 5}, {"x": reals(1, 5, 3)})
    assert known["half"] == "int64[1] = floor((H)/2)"
    assert known["odd"] == "int64[1] = H - floor((H)/2)*2"


def test_integers_wrap_and_truncate() -> None:
    text = """g (int32[2] x) => (int32[2] y)
        <int32[2] a = {2147483647, -7}, int32[2] b = {1, 2}> {
        s = Add (a, b)
        d = Div (a, b)
        m = Mod (a, b)
        f = Mod <fmod: int = 1> (a, b)
        y = Add (s, x)
    }"""
    known = check(text, {}, {"x": np.array([0, 0], np.int32)})
    # What would wrap is left to whoever computes it.
    assert known["s"] == "int32[2] = None, -5"
    assert known["d"] == "int32[2] = 2147483647, -3"
    assert known["m"] == "int32[2] = 0, 1"
    assert known["f"] == "int32[2] = 0, -1"


def test_a_rank_that_depends_on_contents_is_not_known() -> None:
    text = """g (float[N, M] x, int64[K] shape) => (float y) {
        z = Reshape (x, shape)
        y = Relu (z)
    }"""
    model = model_of(text)
    facts = Facts(model.graph, model_registry(model))
    assert [facts.of(value).shape for node in model.graph.nodes for value in node.results] == [None, None]


def test_declared_types_inside_are_not_believed() -> None:
    text = """g (float[N, 4] x) => (float[N, 4] y) <float[3, 9] z> {
        z = Relu (x)
        y = Relu (z)
    }"""
    model = model_of(text)
    facts = Facts(model.graph, model_registry(model))
    (z,) = next(iter(model.graph.nodes)).results
    assert str(facts.of(z).type) == "float32[N, 4]"


def test_a_long_chain_needs_no_recursion() -> None:
    lines = [f"v{i + 1} = Relu (v{i})" for i in range(3000)]
    body = "\n".join(["v0 = Relu (x)", *lines, "y = Relu (v3000)"])
    model = model_of(f"g (float[2] x) => (float[2] y) {{ {body} }}")
    assert str(Facts(model.graph, model_registry(model)).of(model.graph.outputs[0]).type) == "float32[2]"


@pytest.mark.parametrize("node", ["ConstantOfShape (low)", "OneHot (low, low, two)", "Expand (two, low)"])
def test_no_size_is_negative(node: str) -> None:
    model = model_of(f"g (float x) => (float[A] y) <int64[1] low = {{-5}}, float[2] two = {{0, 1}}> {{ y = {node} }}")
    facts = Facts(model.graph, model_registry(model))
    assert facts.of(model.graph.outputs[0]).shape in (None, (2,))
