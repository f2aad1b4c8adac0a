"""report.html: complete, escaped, self-contained; opened in a real browser where there is one."""

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

from arenite.report.html import render_html
from arenite.report.memory_map import peak_step
from arenite.report.result import (
    BufferRecord,
    FlashRecord,
    GraphsRecord,
    LayerRecord,
    MemoryRecord,
    ModelRecord,
    NodeRecord,
    PassRecord,
    PortRecord,
    RamRecord,
    RemarkRecord,
    Report,
    SimulationRecord,
    Trim,
    TrimKernel,
)
from report.browser import Structure, complaints, needs_browser

EVIL = "</script><img src=x onerror=alert(1)>&\"'"
PORT = PortRecord(EVIL, (1, 4), "int8", 0.5, -3)
LAYER = LayerRecord("conv", "conv2d", "arenite_conv2d_s8", 1000, 4321, 5000, 77, 12, ("op;a", EVIL), "direct", EVIL)
REPORT = Report(
    arenite="0.1.0",
    files=("net.c",),
    model=ModelRecord(EVIL, "ab" * 32, (PORT,), (PORT,)),
    target="cortex-m4",
    memory=MemoryRecord(3000, 2900, False, 4, (BufferRecord("x", 0, 1000, 0, 1), BufferRecord(EVIL, 1000, 2000, 0, 2))),
    flash=FlashRecord(77, 5, 4567),
    ram=RamRecord(3000, 0, 123),
    simulation=SimulationRecord("cortex-m4", "zig 0", 8_765_432, 9_000_000),
    layers=(LAYER, replace(LAYER, name="second", macs=0)),
    passes=(PassRecord("fold", True, 9, 7, 1.5, "bit-exact", 0.0),),
    remarks=(RemarkRecord("missed", "fold", "state", EVIL, EVIL, (EVIL,)),),
    graphs=GraphsRecord(
        (NodeRecord("a", "conv2d", "1x4 int8", (), ("a",)), NodeRecord(EVIL, "relu", EVIL, (0,), (EVIL,), EVIL)),
        (NodeRecord("a", "conv2d", "1x4 int8", (), ("a", EVIL)),),
    ),
)
TRIM = Trim(
    (TrimKernel("arenite_conv2d_s8", "direct", 900, 12, ("conv",), "cheapest", ()),), {"helpers_nbytes": 40}, 20_000
)


def test_every_figure_is_there() -> None:
    text = html.unescape(render_html(REPORT, TRIM))
    for figure in ("3,000", "2,900", "4,567", "8,765,432", "4,321", "4.32", "20,000", "112.50"):
        assert figure in text, figure


def test_texts_of_the_model_are_escaped_and_nothing_is_fetched() -> None:
    found = Structure(render_html(REPORT, TRIM))
    assert "img" not in found.tags
    assert found.tags.count("script") == 1
    assert found.fetched == []


def test_the_policy_allows_our_own_script_and_style_alone() -> None:
    text = render_html(REPORT, TRIM)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    assert policy[1].count("sha256-") == 2


def test_what_is_unknown_is_a_dash() -> None:
    unknown = replace(
        REPORT,
        simulation=None,
        flash=FlashRecord(77, 5, None),
        ram=RamRecord(3000, None, None),
        layers=(replace(LAYER, instructions=None, cycles_estimate=None),),
    )
    text = render_html(unknown, Trim((), {}, None))
    assert "None" not in text
    assert "–" in text


@pytest.mark.parametrize("buffers", [(), (BufferRecord("only", 0, 0, 0, 1),)])
def test_empty_programs_have_a_picture(buffers: tuple[BufferRecord, ...]) -> None:
    text = render_html(replace(REPORT, layers=(), memory=MemoryRecord(0, 0, True, 4, buffers)), TRIM)
    assert "<svg" in text


def test_the_peak_is_where_the_buffers_reach_highest() -> None:
    buffers = (BufferRecord("a", 0, 10, 0, 1), BufferRecord("b", 0, 30, 1, 3), BufferRecord("c", 30, 5, 2, 3))
    assert peak_step(MemoryRecord(35, 35, True, 1, buffers), 3) == 2


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_shows_it_without_a_word_of_complaint(tmp_path: Path, width: int) -> None:
    assert not complaints(render_html(REPORT, TRIM), tmp_path, width)
