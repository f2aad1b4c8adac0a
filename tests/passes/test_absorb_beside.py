"""Transposes that weights make up for across constants and rows side by side: each precondition has a test."""

from dataclasses import replace

import numpy as np
import pytest

from arenite.ir.attrs import Attrs
from arenite.ir.graph import Graph
from arenite.ir.types import Quantization
from arenite.ops import core_registry
from arenite.ops.dense import FullyConnectedAttrs
from arenite.passes.absorb_transposes import AbsorbTransposes
from arenite.passes.base import Context
from passes.networks import Network
from passes.support import ops, verdicts

REGISTRY = core_registry()


def said(graph: Graph, subject: str = "transpose") -> str:
    (verdict,) = verdicts(AbsorbTransposes(), graph, REGISTRY)[subject]
    return verdict


def slug(graph: Graph) -> str:
    """What is said of graphs that are not sound."""
    (remark,) = AbsorbTransposes().run(graph, Context(REGISTRY)).remarks
    return remark.reason.slug


# Constants beside it


@pytest.mark.parametrize("kind", ["int8", "float32"])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("op", ["sub", "mul"])
@pytest.mark.parametrize("dims", [(24,), (1, 24), (1,), ()], ids=str)
def test_constants_of_a_row_take_the_order(kind: str, op: str, swapped: bool, dims: tuple[int, ...]) -> None:
    n = Network(kind)
    flat = n.relu(n.reshaped(n.transposed(n.input())))
    graph = n.to(n.dense(n.relu(n.beside(flat, n.constant(dims), op, swapped=swapped), "after")))
    assert said(graph) == "passed absorbed"
    assert ops(graph) == ["reshape", "relu", op, "relu", "fully_connected"]


@pytest.mark.parametrize("dims", [(4, 1, 1), (1, 4, 2, 3), (2, 1), (3,), (1,)], ids=str)
def test_constants_before_it_is_flattened_take_the_order(dims: tuple[int, ...]) -> None:
    n = Network()
    graph = n.to(n.dense(n.reshaped(n.beside(n.transposed(n.input()), n.constant(dims)))))
    assert said(graph) == "passed absorbed"
    assert ops(graph) == ["maximum", "reshape", "fully_connected"]


def test_constants_before_reductions() -> None:
    n = Network()
    assert said(n.to(n.reduced(n.beside(n.transposed(n.input()), n.constant((4, 1, 1)))))) == "passed absorbed"


def test_constants_of_columns_stay() -> None:
    n = Network()
    flat = n.reshaped(n.transposed(n.input((5, 2, 3, 4))), (5, -1))
    assert said(n.to(n.dense(n.beside(flat, n.constant((5, 1)))))) == "passed absorbed"


def test_a_constant_splat_stays_one_element() -> None:
    n = Network("float32")
    splat = n.b.constant("c", np.broadcast_to(np.float32(2), (24,)))
    graph = n.to(n.dense(n.beside(n.reshaped(n.transposed(n.input())), splat)))
    assert said(graph) == "passed absorbed"
    (moved,) = (node.operand(1).constant for node in graph.nodes if node.op == "maximum")
    assert moved is not None
    assert not any(moved.strides)


@pytest.mark.parametrize(("dims", "verdict"), [((12,), "missed mixes-rows"), ((1,), "passed absorbed")])
def test_constants_of_other_rows(dims: tuple[int, ...], verdict: str) -> None:
    n = Network()
    halves = n.beside(n.reshaped(n.transposed(n.input()), (2, 12)), n.constant(dims))
    assert said(n.to(n.dense(n.reshaped(halves, (1, 24), "whole")))) == verdict


@pytest.mark.parametrize("what", ["computed", "channels", "wider"])
def test_only_plain_constants_take_an_order(what: str) -> None:
    n = Network()
    flat = n.reshaped(n.transposed(n.input()))
    c = n.b.input("c", flat.type) if what == "computed" else n.constant((2 if what == "wider" else 1, 24))
    if what == "channels":
        c.type = replace(c.type, quantization=Quantization((0.5,) * 24, (0,) * 24, 1))
    node = n.b.node("maximum", [flat, c], [n.type((2 if what == "wider" else 1, 24))], Attrs(), name="beside")
    assert slug(n.to(n.dense(node.result, n.weights(24)))) == "other-reader"


@pytest.mark.parametrize("how", ["otherwise", "output", "alike", "whole"])
def test_constants_that_several_read(how: str) -> None:
    n = Network()
    x, c = n.transposed(n.input()), n.constant((4, 2, 3) if how == "whole" else (24,))
    beside = n.reshaped(n.beside(x, c)) if how == "whole" else n.beside(n.reshaped(x), c)
    one = n.dense(beside)
    if how == "output":
        other = c
    elif how == "alike":
        other = n.dense(n.beside(beside.producer.operand(0), c, name="again"), n.weights(24), "more")  # type: ignore[union-attr]
    else:
        other = n.beside(n.b.input("other", x.type if how == "whole" else beside.type), c, name="again")
    assert said(n.to(one, other)) == ("passed absorbed" if how == "alike" else "missed shared-weights")


# Rows side by side


@pytest.mark.parametrize("kind", ["int8", "float32"])
@pytest.mark.parametrize("first", [False, True])
def test_rows_of_two_images_side_by_side(kind: str, first: bool) -> None:
    n = Network(kind)
    x = n.input()
    flat = n.reshaped(n.transposed(x), name="a")
    pooled = n.reshaped(n.transposed(n.relu(x), name="second"), name="b")
    other = n.b.input("other", n.type((1, 5)))
    whole = n.joined(*((flat, other, pooled) if first else (other, pooled, flat)))
    graph = n.to(n.dense(n.relu(n.beside(whole, n.constant((53,))), "after")))
    found = verdicts(AbsorbTransposes(), graph, REGISTRY)
    assert found == {"transpose": ["passed absorbed"], "second": ["passed absorbed"]}
    assert "transpose" not in ops(graph)


def test_rows_beside_rows_beside_others() -> None:
    n = Network()
    flat = n.reshaped(n.transposed(n.input()))
    inner = n.joined(n.b.input("p", n.type((1, 2))), flat, name="inner")
    assert said(n.to(n.dense(n.joined(inner, n.b.input("q", n.type((1, 3))), axis=1)))) == "passed absorbed"


@pytest.mark.parametrize(("dims", "verdict"), [((1, 1, 30), "passed absorbed"), ((2, 15), "missed mixes-rows")])
def test_views_of_rows_side_by_side(dims: tuple[int, ...], verdict: str) -> None:
    n = Network()
    whole = n.joined(n.reshaped(n.transposed(n.input())), n.b.input("other", n.type((1, 6))))
    view = n.reshaped(whole, dims, "view")
    assert said(n.to(n.dense(view, n.weights(dims[-1])))) == verdict


def test_weights_of_another_width() -> None:
    n = Network()
    whole = n.joined(n.reshaped(n.transposed(n.input())), n.b.input("other", n.type((1, 24))))
    assert slug(n.to(n.dense(whole, n.weights(24)))) == "mixes-rows"


@pytest.mark.parametrize("how", ["axis", "whole", "mixed", "twice", "again", "size"])
def test_what_does_not_lie_side_by_side(how: str) -> None:
    n = Network()
    x = n.transposed(n.input())
    flat = n.reshaped(x)
    if how == "axis":
        whole = n.joined(flat, n.b.input("other", flat.type), axis=0)
    elif how == "whole":
        whole = n.reshaped(n.joined(x, n.b.input("other", x.type)), name="after")
    elif how == "mixed":
        whole = n.reshaped(n.joined(n.reshaped(x, (2, 12), "rows"), n.b.input("o", n.type((2, 2)))), name="after")
    elif how == "size":
        whole = n.joined(flat, n.b.input("other", flat.type))
        whole.type = replace(whole.type, shape=(1, "n"))
    else:
        whole = n.joined(flat, flat if how == "twice" else n.relu(flat))
    weights = n.weights(48 if how not in ("axis", "mixed") else 24 if how == "axis" else 28)
    node = n.b.node("fully_connected", [whole, weights], [n.type((1, 3))], FullyConnectedAttrs(), name="dense")
    assert slug(n.to(node.result)) == ("mixes-rows" if how == "mixed" else "other-reader")


def test_weights_that_rows_read_in_two_orders() -> None:
    n = Network()
    x, weights = n.input(), n.weights(48)
    left = n.joined(n.reshaped(n.transposed(x)), n.b.input("p", n.type((1, 24))), name="left")
    right = n.joined(n.b.input("q", n.type((1, 24))), left.producer.operand(0), name="right")  # type: ignore[union-attr]
    assert said(n.to(n.dense(left, weights), n.dense(right, weights, "more"))) == "missed shared-weights"
