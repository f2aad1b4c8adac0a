"""What report.html shows is what report.json and trim.json say."""

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from arenite._base.text import short_name
from arenite.api import load
from arenite.driver.compile import compile_loaded
from arenite.driver.options import CompileOptions
from cli.test_cli import DIGITS

ZOO = Path(__file__).resolve().parents[2].parent / "shared" / "models" / "tflite"
LIMIT_NBYTES = 200_000


class Tables(HTMLParser):
    """The cells of every table's body, by the section that it is in; and the tiles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: dict[str, list[list[str]]] = {}
        self.tiles: list[str] = []
        self._section, self._cell, self._tile = "", False, False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "section":
            self._section = found.get("id") or ""
        elif tag == "tr":
            self.rows.setdefault(self._section, []).append([])
        elif tag == "td":
            self.rows[self._section][-1].append("")
            self._cell = True
        self._tile = tag == "b" and self._section == ""

    def handle_endtag(self, tag: str) -> None:
        self._cell = self._cell and tag != "td"

    def handle_data(self, data: str) -> None:
        if self._cell:
            self.rows[self._section][-1][-1] += data
        elif self._tile:
            self.tiles.append(data)
            self._tile = False


def number(text: str) -> float | None:
    return None if text.strip() == "–" else float(text.replace(",", ""))


def check(files: dict[str, bytes]) -> None:
    page = files["report.html"].decode()
    report: dict[str, Any] = json.loads(files["report.json"])
    trim: dict[str, Any] = json.loads(files["trim.json"])
    tables = Tables(page)
    simulation = report["simulation"]
    assert [number(tile) for tile in tables.tiles[:5]] == [
        report["memory"]["arena_nbytes"],
        report["ram"]["stack_nbytes"],
        report["flash"]["weights_nbytes"],
        report["flash"]["code_nbytes"],
        simulation["instructions"],
    ]
    layers = [row for row in tables.rows["layers"] if row]
    assert len(layers) == len(report["layers"])
    for step, (row, layer) in enumerate(zip(layers, report["layers"], strict=True)):
        assert row[:3] == [str(step), short_name(layer["name"]), layer["op"]]
        figures = [number(row[index]) for index in (3, 4, 7, 8, 9)]
        keys = ("macs", "instructions", "cycles_estimate", "weights_nbytes", "scratch_nbytes")
        assert figures == [layer[key] for key in keys]
        assert number(row[5]) == pytest.approx(100 * layer["instructions"] / simulation["instructions"], abs=0.051)
        assert layer["kernel"].removeprefix("arenite_") in row[10]
    buffers = [row for row in tables.rows["memory"] if row]
    shown = [[int(row[index]) for index in (2, 3, 4, 5)] for row in buffers]
    assert shown == [[b["offset"], b["nbytes"], b["first"], b["end"] - 1] for b in report["memory"]["buffers"]]
    kernels = [row for row in tables.rows["trim"] if row]
    assert [(row[0], number(row[2])) for row in kernels] == [(k["symbol"], k["nbytes"]) for k in trim["kernels"]]
    passes = [row for row in tables.rows["passes"] if row]
    assert [(row[0], int(row[4]), int(row[5])) for row in passes] == [
        (each["name"], each["nodes_before"], each["nodes_after"]) for each in report["passes"]
    ]
    assert sum(int(row[2]) + int(row[3]) for row in passes) == len(report["remarks"])
    slowest = max(report["layers"], key=lambda layer: layer["instructions"])
    text = html.unescape(page)
    assert f"{slowest['instructions']:,} instructions" in text
    assert f"= {report['memory']['arena_nbytes']:,} bytes" in text or not report["memory"]["optimal"]
    assert f"self-test takes {trim['selftest_nbytes']:,} bytes" in text
    remarks = [row for row in tables.rows["remarks"] if row]
    assert len(remarks) <= len(report["remarks"])
    assert re.search(rf"\b{len(report['remarks'])} remarks", text)
    assert len(files["report.html"]) < LIMIT_NBYTES


@pytest.mark.zig
@pytest.mark.unicorn
def test_figures_of_the_shipped_model() -> None:
    check(dict(compile_loaded(load(DIGITS), CompileOptions(compiler="zig", simulate="on"), lambda _: None).files))


@pytest.mark.shared
@pytest.mark.zig
@pytest.mark.unicorn
@pytest.mark.slow
@pytest.mark.parametrize("name", ["mlperf_kws_int8", "mlperf_vww_int8", "mlperf_ic_int8", "mlperf_ad_int8"])
def test_figures_of_mlperf_models(name: str) -> None:
    model = load(ZOO / f"{name}.tflite")
    check(dict(compile_loaded(model, CompileOptions(compiler="zig", simulate="on"), lambda _: None).files))
