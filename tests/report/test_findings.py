"""What a reader asks first."""

from dataclasses import replace

from arenite.report.findings import buffer_name, findings, grouped, telling, verdict_counts
from arenite.report.html import render_html
from arenite.report.memory_map import peak_step
from arenite.report.result import BufferRecord, MemoryRecord, PassRecord, RemarkRecord
from report.test_html import LAYER, REPORT, TRIM

LAYERS = (
    replace(LAYER, name="first;a;b", instructions=100, macs=7, weights_nbytes=10),
    replace(LAYER, name="second", instructions=300, macs=5, weights_nbytes=90),
    replace(LAYER, name="third", instructions=300, macs=9, weights_nbytes=0),
)
MEMORY = MemoryRecord(
    3000,
    2900,
    False,
    4,
    (
        BufferRecord("in", 2000, 1000, 0, 1),
        BufferRecord("first;a;b", 0, 1000, 0, 2),
        BufferRecord("second", 1000, 2000, 1, 3),
        BufferRecord("second/scratch", 0, 0, 1, 2),
    ),
)
REMARKS = (
    RemarkRecord("missed", "fold", "not-constant", "x;y", "x;y depends", ()),
    RemarkRecord("missed", "fold", "not-constant", "z", "z depends", ()),
    RemarkRecord("missed", "fold", "too-large", "w", "w is large", ()),
    RemarkRecord("passed", "dce", "dead", "v", "v is dead", ()),
)
ROUTINE = {("fold", "not-constant")}


def answers(**changes: object) -> dict[str, str]:
    report = replace(REPORT, layers=LAYERS, memory=MEMORY, remarks=REMARKS, **changes)  # type: ignore[arg-type]
    return {finding.question: finding.answer for finding in findings(report)}


def test_the_slowest_layer_and_its_equals() -> None:
    text = answers()["Slowest layer"]
    assert text == "step 1, conv2d second: 300 instructions, 43 % of all; step 2 as many"


def test_without_a_simulation_the_largest_is_told() -> None:
    blind = tuple(replace(layer, instructions=None) for layer in LAYERS)
    report = replace(REPORT, layers=blind, memory=MEMORY)
    (found,) = [finding for finding in findings(report) if finding.question == "Slowest layer"]
    assert found.answer == "step 2, conv2d third: 9 multiply-accumulates (not simulated), 43 % of all"


def test_the_step_that_sets_the_ram_is_where_most_bytes_are_alive() -> None:
    # At step 0 the buffers reach as high, but with a gap.
    assert peak_step(MEMORY, 3) == 1
    text = answers()["Step that sets the RAM"]
    assert text == (
        "step 1, conv2d second: alive then are 2,000 (second) + 1,000 (first) = 3,000 bytes; "
        "no plan needs less than 2,900"
    )


def test_weights_and_passes() -> None:
    assert answers()["Most weights"] == "step 1, conv2d second: 90 bytes, 90 % of all"
    quiet = (PassRecord("fold", False, 2, 2, 1.0, "bit-exact", 0.0),)
    assert "2 nodes of the model became 1; changed by fold" in answers()["Passes"]
    assert "no pass changed anything" in answers(passes=quiet)["Passes"]


def test_routine_remarks_are_told_once_and_nothing_is_lost() -> None:
    assert [r.reason for r in telling(REMARKS, ROUTINE)] == ["too-large", "dead"]
    (group,) = grouped(REMARKS, ROUTINE)
    assert group.subjects == ("x", "z")
    assert verdict_counts(REMARKS) == {"fold": {"passed": 0, "missed": 3}, "dce": {"passed": 1, "missed": 0}}
    page = render_html(replace(REPORT, remarks=REMARKS), TRIM, ROUTINE)
    for text in ("x depends", "w is large", "v is dead", "2 routine remarks"):
        assert text in page
    assert "z depends" not in page


def test_names_of_buffers() -> None:
    assert buffer_name("a/b;c;d/scratch") == "scratch of a/b"
    assert buffer_name("a/b;c") == "a/b"
