"""Lanes of the side-by-side graphs."""

from dataclasses import replace

from arenite.report.graph_view import MAX_NODES, graphs_svg, lay_out
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


def test_the_picture_has_a_box_for_each_node_and_gives_up_on_too_many() -> None:
    graphs = GraphsRecord((node(), replace(node(0), fate="fused")), (node(),))
    picture = graphs_svg(graphs)
    assert picture is not None
    assert picture.count("<rect") == 3
    assert picture.count('class="gone"') == 1
    assert graphs_svg(GraphsRecord((node(),) * (MAX_NODES + 1), ())) is None
