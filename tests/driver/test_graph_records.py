"""What the pictures say of nodes that stay: whether passes changed them, what, and which."""

from pathlib import Path

import pytest

from arenite._base.remarks import Reason, Remark, RemarkKind
from arenite.driver.build import Build, build
from arenite.driver.graph_records import graphs_record, node_records
from arenite.driver.load import load_model
from arenite.driver.options import CompileOptions
from arenite.report.alignment import aligned
from arenite.report.result import NodeRecord
from cli.test_cli import DIGITS

ZOO = Path(__file__).resolve().parents[2].parent / "shared" / "models" / "tflite"
SMALLER = Reason("smaller", "{subject} lost channels")


def node(name: str, shape: str, *inputs: int, op: str = "conv2d") -> NodeRecord:
    return NodeRecord(name, op, shape, inputs, (name,))


def said(subject: str, kind: RemarkKind = RemarkKind.PASSED) -> Remark:
    return Remark(kind, "shrink", SMALLER, subject, origin=(subject,))


def test_a_type_that_changed_is_told_and_by_which_pass() -> None:
    before = (node("a", "1x64 int8"), node("b", "1x2 int8", 0), node("c", "1x2 int8", 1))
    after = (node("a", "1x60 int8"), node("b", "1x2 int8", 0), node("c", "1x2 int8", 1))
    graphs = graphs_record(before, after, [said("a"), said("c", RemarkKind.MISSED)])
    for nodes in (graphs.before, graphs.after):
        assert [each.change for each in nodes] == [
            "1x64 int8 → 1x60 int8; shrink: a lost channels",
            "reads 1x64 int8 → 1x60 int8 (shrink)",
            "",
        ]
        assert [each.reason for each in nodes] == ["smaller", "smaller", ""]
    assert [row.same for row in aligned(graphs)] == [False, False, True]


def test_attributes_that_changed_are_told() -> None:
    nodes = (node("a", "4 int8"), node("b", "4 int8", 0))
    graphs = graphs_record(nodes, nodes, [said("b"), said("b")])
    assert [each.change for each in graphs.before] == ["", "shrink: b lost channels"]


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("1x4 int8", "1x4 int8", False),
        ("1x4 int8", "1x4 uint8", True),
        ("1x4 int8", "4 int8", True),
        ("?x4 float32", "1x4 float32", False),
        ("?x4 float32", "1x3 float32", True),
        ("nx4 float32", "4 float32", False),
        ("", "1x3 float32", False),
        ("float32", "1x3 float32", False),
    ],
)
def test_what_became_known_is_no_change(old: str, new: str, changed: bool) -> None:
    graphs = graphs_record((node("a", old),), (node("a", new),), [])
    assert graphs.before[0].change == (f"{old} → {new}" if changed else "")


def check(built: Build) -> None:
    """What is drawn as untouched has the types that it had, and no pass says that it changed it."""
    before, after = node_records(built.model.graph), node_records(built.graph)
    graphs = graphs_record(before, after, built.remarks)
    subjects = {remark.subject for remark in built.remarks if remark.kind is RemarkKind.PASSED}
    same = [(i, j) for row in aligned(graphs) if row.same for i, j in zip(row.before, row.after, strict=True)]
    for i, j in same:
        assert before[i].shape == after[j].shape
        assert before[i].name not in subjects
    assert (len(same) < len(before)) == any(row.changed for row in built.passes)


def test_the_picture_agrees_with_the_passes() -> None:
    check(build(load_model(DIGITS), CompileOptions(simulate="off"), lambda _: None))


@pytest.mark.shared
@pytest.mark.parametrize("name", ["mlperf_vww_int8", "mlperf_ad_int8", "mltk_rock_paper_scissors"])
def test_pictures_of_converted_models_agree_with_the_passes(name: str) -> None:
    check(build(load_model(ZOO / f"{name}.tflite"), CompileOptions(simulate="off"), lambda _: None))
