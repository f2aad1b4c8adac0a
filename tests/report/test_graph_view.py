"""Lanes of the side-by-side graphs."""

from dataclasses import replace

import pytest

from arenite.report.alignment import MAX_ROWS, Row, aligned
from arenite.report.graph_view import graphs_svg, lay_out
from arenite.report.result import GraphsRecord, NodeRecord


def node(*inputs: int) -> NodeRecord:
    return NodeRecord("n", "op", "1 int8", inputs, ("n",))


def test_a_chain_stays_in_one_lane() -> None:
    assert lay_out((node(), node(0), node(1))).lanes == (0, 0, 0)


def test_a_skip_keeps_its_lane_until_it_is_read() -> None:
    assert lay_out((node(), node(0), node(1), node(0, 2), node(3))).lanes == (0, 1, 1, 0, 0)


def test_two_branches_have_two_lanes_and_meet_in_the_first() -> None:
    assert lay_out((node(), node(0), node(0), node(1, 2))).lanes == (0, 1, 0, 0)


def test_a_lane_that_nobody_reads_is_free_again() -> None:
    assert lay_out((node(), node(), node())).lanes == (0, 0, 0)


def named(name: str, *inputs: int, op: str = "op", origin: tuple[str, ...] = (), fate: str = "") -> NodeRecord:
    return NodeRecord(name, op, "1 int8", inputs, origin or (name,), fate, "why" if fate else "")


def chain(*nodes: NodeRecord) -> tuple[NodeRecord, ...]:
    return tuple(replace(node, inputs=(index - 1,) if index else ()) for index, node in enumerate(nodes))


def test_the_picture_has_a_box_for_each_node_and_says_what_became_of_it() -> None:
    before = chain(named("a", op="conv"), named("b", op="norm", fate="went"), named("c", op="pad", fate="went"))
    picture = graphs_svg(GraphsRecord(before, chain(named("a", op="conv", origin=("a", "b")))))
    assert picture.count("<rect") == 4
    assert picture.count('class="fused"') == picture.count('class="gone"') == picture.count('class="touched"') == 1
    assert picture.count('class="reason">why<') == 2
    assert picture.count('class="join"') == 2


def test_what_is_new_is_marked() -> None:
    graphs = GraphsRecord(chain(named("a", op="split", fate="became")), chain(named("x", op="gather", origin=("a",))))
    assert '"fresh"' in graphs_svg(graphs)


def test_what_is_the_same_stands_side_by_side() -> None:
    before = chain(named("a"), named("gone", fate="went"), named("b"), named("c"))
    after = chain(named("a"), named("b"), named("new", origin=("elsewhere",)), named("c"))
    assert aligned(GraphsRecord(before, after)) == (
        Row((0,), (0,), same=True),
        Row((1,), (), same=False),
        Row((2,), (1,), same=True),
        Row((), (2,), same=False),
        Row((3,), (3,), same=True),
    )


def test_nodes_that_changed_their_order_are_in_one_row_each() -> None:
    before, after = chain(named("a"), named("b"), named("c")), chain(named("c"), named("a"), named("b"))
    rows = aligned(GraphsRecord(before, after))
    assert [row for row in rows if row.same] == [Row((0,), (1,), same=True), Row((1,), (2,), same=True)]
    assert sorted(index for row in rows for index in row.before) == [0, 1, 2]
    assert sorted(index for row in rows for index in row.after) == [0, 1, 2]


@pytest.mark.parametrize("every", [0, 2, 3, 500])
def test_five_thousand_nodes_make_a_small_picture(every: int) -> None:
    gone = {index for index in range(5000) if every and index % every == 0}
    before = chain(*(named(f"n{i}", fate="went" if i in gone else "") for i in range(5000)))
    after = chain(*(named(f"n{i}") for i in range(5000) if i not in gone))
    graphs = GraphsRecord(before, after)
    rows = aligned(graphs)
    assert len(rows) <= MAX_ROWS
    # Each node once, and in order.
    assert [index for row in rows for index in row.before] == list(range(5000))
    assert [index for row in rows for index in row.after] == list(range(len(after)))
    assert len(graphs_svg(graphs)) < 400_000


def test_many_values_alive_at_once_make_no_wide_picture() -> None:
    many = (*(node() for _ in range(3000)), node(*range(3000)))
    graphs = GraphsRecord(tuple(replace(each, fate="went") for each in many), ())
    picture = graphs_svg(graphs)
    assert len(picture) < 400_000
    assert float(picture.split('viewBox="0 0 ')[1].split()[0]) < 1200


def test_what_passes_changed_is_marked_on_both_sides() -> None:
    changed = replace(named("b"), change="1x64 → 1x60; shrink: smaller", reason="removed")
    nodes = chain(named("a"), changed, named("c"))
    graphs = GraphsRecord(nodes, nodes)
    assert [row.same for row in aligned(graphs)] == [True, False, True]
    picture = graphs_svg(graphs)
    assert picture.count('class="changed"') == picture.count("✎ op") == 2
    assert picture.count("1: b – 1x64 → 1x60; shrink: smaller") == 2
    assert picture.count('class="reason">removed<') == 1
    many = chain(*(replace(changed, name=f"n{i}", origin=(f"n{i}",)) for i in range(1000)))
    assert f"⋮ {1000 - MAX_ROWS + 1} nodes, changed" in graphs_svg(GraphsRecord(many, many))
