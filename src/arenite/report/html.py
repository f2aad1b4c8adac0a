"""report.html: one self-contained file that requests nothing."""

import base64
import hashlib
from importlib.resources import files

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from arenite.report.graph_view import graphs_svg
from arenite.report.memory_map import memory_map_svg, peak_step
from arenite.report.result import Report, Trim

CLOCK_HZ = 80_000_000
"""The clock at which the report states a latency."""


def render_html(report: Report, trim: Trim) -> str:
    """The report as HTML. Every text of the model is escaped; the content policy allows our own script alone."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["count"] = _count
    environment.filters["share"] = _share
    environment.filters["short"] = _short
    assets = files("arenite.report") / "assets"
    style = (assets / "report.css").read_text(encoding="utf-8")
    script = (assets / "report.js").read_text(encoding="utf-8")
    template = environment.from_string((assets / "report.html.j2").read_text(encoding="utf-8"))
    layers = tuple(layer.name for layer in report.layers)
    graphs = graphs_svg(report.graphs)
    return template.render(
        report=report,
        trim=trim,
        style=Markup(style),
        script=Markup(script),
        style_hash=_policy_hash(style),
        script_hash=_policy_hash(script),
        memory_map=Markup(memory_map_svg(report.memory, layers)),
        graphs=None if graphs is None else Markup(graphs),
        peak=peak_step(report.memory, len(layers)),
        clock_mhz=CLOCK_HZ // 1_000_000,
        latency_ms=_latency_ms(report),
        most_instructions=max((layer.instructions or 0 for layer in report.layers), default=0),
    )


def _policy_hash(text: str) -> str:
    """The hash by which a content security policy allows an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _latency_ms(report: Report) -> float | None:
    simulation = report.simulation
    if simulation is None or simulation.cycles_estimate is None:
        return None
    return simulation.cycles_estimate / CLOCK_HZ * 1000


def _count(value: int | float | None, digits: int = 0) -> str:
    """Thousands set apart; a dash where unknown."""
    return "–" if value is None else f"{value:,.{digits}f}"


def _share(value: int | None, whole: int) -> str:
    """A percentage of the largest, for the width of a bar."""
    return f"{100 * (value or 0) / whole:.1f}" if whole else "0"


def _short(name: str, limit: int = 34) -> str:
    """A name to read at a glance: converters join the names of all operators that they fused. The whole is a title."""
    first = name.partition(";")[0]
    return first if len(first) <= limit else "…" + first[1 - limit :]
