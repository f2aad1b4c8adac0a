"""The page that shows a model before and after: complete, escaped, small, quiet in a browser."""

import html
from dataclasses import replace
from pathlib import Path

import pytest

from arenite.report.diff import MAX_LISTED, Diff, grouped, render_diff
from arenite.report.result import GraphsRecord, NodeRecord, RemarkRecord
from report.browser import Structure, complaints, needs_browser

EVIL = "</script><img src=x onerror=alert(1)>&\"'"


def said(kind: str, reason: str, text: str) -> RemarkRecord:
    return RemarkRecord(kind, "fuse", reason, "node", text, ("node",))


DIFF = Diff(
    arenite="0.1.0",
    model=EVIL,
    checked="outputs equal",
    figures=({"what": "nodes", "before": "1,002", "after": "1,001"}, {"what": "MACs", "before": "7", "after": "7"}),
    notes=(EVIL,),
    graphs=GraphsRecord(
        (
            NodeRecord("a", "onnx.Conv", "1x4 float32", (), ("a",)),
            NodeRecord(EVIL, "onnx.Relu", EVIL, (0,), (EVIL,), f"went into Conv 'a'; {EVIL}", EVIL),
        ),
        (NodeRecord("a", "onnx.Conv", "1x4 float32", (), ("a", EVIL)),),
    ),
    remarks=(
        said("passed", "merged", "first"),
        said("passed", "merged", "second"),
        said("missed", EVIL, EVIL),
        said("analysis", "noted", "third"),
    ),
)


def large() -> Diff:
    """Five thousand nodes, every second of which goes."""
    nodes = [
        NodeRecord(f"layer/{i}", "onnx.Relu", "4 float32", (i - 1,) if i else (), (f"layer/{i}",)) for i in range(5000)
    ]
    left = [replace(node, inputs=(i - 1,) if i else ()) for i, node in enumerate(nodes[1::2])]
    gone = tuple(
        replace(node, fate="went: it does nothing", reason="no-op") if i % 2 == 0 else node
        for i, node in enumerate(nodes)
    )
    remarks = tuple(said("passed", "no-op", f"layer/{i} does nothing") for i in range(0, 5000, 2))
    return replace(DIFF, graphs=GraphsRecord(gone, tuple(left)), remarks=remarks)


def test_it_says_what_went_where_and_why() -> None:
    text = html.unescape(render_diff(DIFF))
    for words in ("1,001", "before: 1,002", "as before", "outputs equal", f"went into Conv 'a'; {EVIL}", "first"):
        assert words in text, words
    assert "onnx." not in text


def test_verdicts_are_grouped_by_reason_the_most_frequent_first() -> None:
    groups = grouped([said("missed", "rare", "one"), said("missed", "often", "two"), said("missed", "often", "three")])
    assert [(group.reason, group.count, group.text) for group in groups] == [("often", 2, "two"), ("rare", 1, "one")]


def test_texts_of_the_model_are_escaped_and_nothing_is_fetched() -> None:
    page = render_diff(DIFF)
    found = Structure(page)
    assert "img" not in found.tags
    assert found.tags.count("script") == 1
    assert found.fetched == []
    assert "default-src 'none'" in page


def test_a_large_model_makes_a_small_page() -> None:
    page = render_diff(large())
    assert len(page) < 1_000_000
    assert f"and {2500 - MAX_LISTED:,} more" in page


def test_a_model_in_which_nothing_changed_has_a_page_too() -> None:
    node = DIFF.graphs.before[0]
    text = render_diff(replace(DIFF, graphs=GraphsRecord((node,), (node,)), remarks=()))
    assert "Every node is still there" in text
    assert "no pass found anything to change" in text


def test_nodes_that_were_changed_are_listed_with_what_changed() -> None:
    node = replace(DIFF.graphs.before[0], change="1x4 → 1x3; shrink: smaller", reason="smaller")
    text = html.unescape(render_diff(replace(DIFF, graphs=GraphsRecord((node,), (node,)))))
    assert '<td class="why">1x4 → 1x3; shrink: smaller</td>' in text
    assert "Every node is still there" not in text


def test_a_small_screen_is_told_that_there_is_more() -> None:
    """The graph after the passes is beyond the right edge there, and nothing points at things."""
    page = render_diff(DIFF)
    assert page.count('class="muted swipe"') == page.count('class="picked"') == 1
    assert "or tap it" in page
    assert "@media (max-width: 680px) { .swipe { display: block; } }" in page


def test_a_tall_picture_goes_over_several_printed_pages() -> None:
    assert 'class="graphs"' in render_diff(DIFF)
    assert 'class="graphs tall"' in render_diff(large())


@needs_browser
@pytest.mark.parametrize(
    ("diff", "width"), [(DIFF, 1280), (DIFF, 390), (large(), 1280)], ids=["wide", "narrow", "large"]
)
def test_a_browser_shows_it_without_a_word_of_complaint(tmp_path: Path, diff: Diff, width: int) -> None:
    assert not complaints(render_diff(diff), tmp_path, width)
