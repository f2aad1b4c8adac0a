"""Hard-swish that is written out: each precondition has a test that fails when it is taken away."""

from collections.abc import Sequence

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite.ir.attrs import Activation
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph, Value
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.passes.base import Context
from arenite.passes.fuse_hard_swish import FuseHardSwish
from passes.support import ops, verdicts

REGISTRY = core_registry()
DIMS = (1, 3, 4)


class Net:
    """Arithmetic on floats."""

    def __init__(self) -> None:
        self.b = GraphBuilder()
        self.x = self.b.input("x", TensorType(DType.FLOAT32, DIMS))

    def number(self, *numbers: float) -> Value:
        return self.b.constant("number", np.array(numbers if numbers[1:] else numbers[0], np.float32))

    def do(self, op: str, a: Value, b: Value | float, name: str = "", clamp: Activation = Activation.NONE) -> Value:
        b = b if isinstance(b, Value) else self.number(b)
        dims = np.broadcast_shapes(a.type.dims, b.type.dims)
        attrs = ArithmeticAttrs(clamp)
        return self.b.node(op, [a, b], [TensorType(DType.FLOAT32, dims)], attrs, name=name or op).result

    def gate(self, x: Value | None = None, by: float = 3, clamp: Activation = Activation.RELU6) -> Value:
        return self.do("add", self.x if x is None else x, by, "gate", clamp)


def said(*outputs: Value, net: Net) -> dict[str, list[str]]:
    return verdicts(FuseHardSwish(), net.b.output(*outputs), REGISTRY)


def looked_at(graph: Graph) -> list[str]:
    """What is said of graphs that nothing runs."""
    return [remark.reason.slug for remark in FuseHardSwish().run(graph, Context(REGISTRY)).remarks]


WAYS = {
    "divided last": lambda n: n.do("div", n.do("mul", n.x, n.gate()), 6, "last"),
    "divided first": lambda n: n.do("mul", n.x, n.do("div", n.gate(), 6), "last"),
    "times a sixth": lambda n: n.do("mul", n.do("mul", n.gate(), 1 / 6), n.x, "last"),
    "x divided": lambda n: n.do("mul", n.do("mul", n.x, 0.5), n.do("div", n.gate(), 3), "last"),
    "number first": lambda n: n.do("mul", n.number(1 / 6), n.do("mul", n.gate(), n.x), "last"),
}


@pytest.mark.parametrize("way", WAYS)
def test_factors_in_any_order(way: str) -> None:
    n = Net()
    found = verdicts(FuseHardSwish(), graph := n.b.output(WAYS[way](n)), REGISTRY)
    assert found == {"last": ["passed fused"]}
    assert ops(graph) == ["hard_swish"]
    (node,) = graph.nodes
    assert {"last", "gate"} < set(node.origin)
    assert graph.outputs[0].name == "last"


def test_three_first() -> None:
    n = Net()
    gate = n.do("add", n.number(3), n.x, "gate", Activation.RELU6)
    assert said(n.do("div", n.do("mul", n.x, gate), 6, "last"), net=n) == {"last": ["passed fused"]}


def test_what_it_says() -> None:
    n = Net()
    graph = n.b.output(WAYS["divided last"](n))
    (remark,) = FuseHardSwish().run(graph, Context(REGISTRY)).remarks
    assert remark.text == "last was the last of x * relu6(x + 3) / 6, where x is %x"


def test_what_is_multiplied_further_is_none() -> None:
    n = Net()
    other = n.b.input("other", n.x.type)
    last = n.do("mul", WAYS["divided last"](n), other, "more")
    assert said(last, net=n) == {"more": ["missed other-factors"]}


def test_what_is_divided_by_it_is_another_product() -> None:
    n = Net()
    last = n.do("div", n.b.input("other", n.x.type), WAYS["divided last"](n), "more")
    assert said(last, net=n)["last"] == ["passed fused"]


def test_whoever_reads_it_alone() -> None:
    n = Net()
    last = n.do("sub", WAYS["divided last"](n), 1, "other")
    assert said(last, net=n) == {"last": ["passed fused"]}


def test_two_in_a_row() -> None:
    n = Net()
    first = n.do("div", n.do("mul", n.x, n.gate()), 6, "first")
    last = n.do("div", n.do("mul", first, n.gate(first)), 6, "last")
    assert said(last, net=n) == {"first": ["passed fused"], "last": ["passed fused"]}


@pytest.mark.parametrize("by", [2.9, 1 / 3])
def test_other_scales(by: float) -> None:
    n = Net()
    assert said(n.do("mul", n.do("mul", n.x, n.gate()), by, "last"), net=n) == {"last": ["missed other-scale"]}


@pytest.mark.parametrize("how", ["squared", "another", "gates", "by x", "by 0", "wider"])
def test_other_factors(how: str) -> None:
    n = Net()
    gate = n.gate()
    if how == "squared":
        last = n.do("mul", n.do("mul", n.x, n.do("div", gate, 6)), n.x, "last")
    elif how == "another":
        last = n.do("mul", n.b.input("other", n.x.type), n.do("div", gate, 6), "last")
    elif how == "gates":
        last = n.do("mul", gate, n.do("div", gate, 6), "last")
    elif how == "by x":
        last = n.do("div", n.do("div", gate, 6), n.x, "last")
    elif how == "by 0":
        last = n.do("div", n.do("mul", n.x, n.do("div", gate, 6)), 0, "last")
    else:
        last = n.do("mul", n.do("mul", n.x, n.do("div", gate, 6)), n.number(1, 1, 1, 1), "last")
    assert looked_at(n.b.output(last)) == ["other-factors"]


def test_a_constant_that_makes_it_wider() -> None:
    n = Net()
    one = n.b.constant("one", np.ones((1, 1, 1, 1), np.float32))
    last = n.do("mul", n.do("mul", n.x, n.do("div", n.gate(), 6)), one, "last")
    assert said(last, net=n) == {"last": ["missed other-factors"]}


@pytest.mark.parametrize("which", ["gate", "product"])
@pytest.mark.parametrize("how", ["read", "output"])
def test_parts_that_are_needed_otherwise(which: str, how: str) -> None:
    n = Net()
    gate = n.gate()
    product = n.do("mul", n.x, gate, "product")
    last = n.do("div", product, 6, "last")
    part = gate if which == "gate" else product
    other = part if how == "output" else n.do("sub", part, 1)
    found = verdicts(FuseHardSwish(), graph := n.b.output(last, other), REGISTRY)
    assert "passed fused" not in [verdict for each in found.values() for verdict in each]
    assert "hard_swish" not in ops(graph)


@pytest.mark.parametrize("what", ["two", "relu", "sub", "clamped", "subtracted", "quantized"])
def test_what_is_no_candidate(what: str) -> None:
    n = Net()
    gate = n.gate(by=2) if what == "two" else n.gate(clamp=Activation.RELU) if what == "relu" else n.gate()
    if what == "sub":
        gate = n.do("sub", n.x, 3, "gate", Activation.RELU6)
    product = n.do("mul", n.x, gate, clamp=Activation.RELU if what == "clamped" else Activation.NONE)
    last = n.do("sub" if what == "subtracted" else "div", product, 6, "last")
    if what == "quantized":
        assert last.producer is not None
        for node in n.b.graph.nodes:
            node.result.type = TensorType(DType.INT8, DIMS, Quantization.per_tensor(0.5))
    graph = n.b.output(last)
    assert [slug for slug in looked_at(graph) if slug == "fused"] == []
    assert ops(graph)[-1] in ("div", "sub")


@pytest.mark.parametrize("numbers", [[3.0], [3.0, 3.0, 3.0, 3.0]])
def test_three_must_be_one_number(numbers: Sequence[float]) -> None:
    n = Net()
    gate = n.do("add", n.x, n.b.constant("c", np.array(numbers, np.float32)), "gate", Activation.RELU6)
    found = said(n.do("div", n.do("mul", n.x, gate), 6, "last"), net=n)
    assert found == ({"last": ["passed fused"]} if len(numbers) == 1 else {})


def test_what_is_added_must_be_constant() -> None:
    n = Net()
    three = n.b.input("three", TensorType(DType.FLOAT32, (1,)))
    gate = n.do("add", n.x, three, "gate", Activation.RELU6)
    assert said(n.do("div", n.do("mul", n.x, gate), 6, "last"), net=n) == {}
