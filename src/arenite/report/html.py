"""report.html: one self-contained file that requests nothing."""

import base64
import hashlib
from collections.abc import Collection, Sequence
from dataclasses import replace
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from arenite._base.text import short_name, shortened
from arenite.report.findings import buffer_name, findings, grouped, long_names, telling, verdict_counts
from arenite.report.graph_view import graphs_svg
from arenite.report.memory_map import memory_map_svg, peak_step
from arenite.report.result import Report, Trim

CLOCK_HZ = 80_000_000
"""The clock at which the report states a latency."""


def render_html(report: Report, trim: Trim, routine: Collection[tuple[str, str]] = ()) -> str:
    """The report as HTML. Every text of the model is escaped; the content policy allows our own script alone.

    Args:
        report: what to show.
        trim: the trimming list.
        routine: (pass, reason) of remarks that say of most nodes that there was nothing to do: shown together.
    """
    layers = tuple(layer.name for layer in report.layers)
    names = long_names(report)
    told = [replace(r, text=shortened(r.text, names)) for r in telling(report.remarks, routine)]
    groups = [replace(g, example=shortened(g.example, names)) for g in grouped(report.remarks, routine)]
    return render_page(
        "report.html.j2",
        report=report,
        trim=trim,
        memory_map=Markup(memory_map_svg(report.memory, layers)),
        graphs=Markup(graphs_svg(report.graphs)),
        findings=findings(report),
        verdicts=verdict_counts(report.remarks),
        told=told,
        groups=groups,
        peak=peak_step(report.memory, len(layers)),
        clock_mhz=CLOCK_HZ // 1_000_000,
        latency_ms=_latency_ms(report),
        most_instructions=max((layer.instructions or 0 for layer in report.layers), default=0),
    )


def render_page(template: str, **content: object) -> str:
    """A page made of a template of ours: style and script inside, their hashes in its policy."""
    environment = Environment(
        loader=FunctionLoader(_asset), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        count=_count,
        share=_share,
        short=short_name,
        buffer=buffer_name,
        title=_title,
        scale=_scale,
        op=_op,
        cut=_cut,
    )
    style, script = _asset("report.css"), _asset("report.js")
    return environment.get_template(template).render(
        style=Markup(style),
        script=Markup(script),
        style_hash=_policy_hash(style),
        script_hash=_policy_hash(script),
        **content,
    )


def _asset(name: str) -> str:
    return (files("arenite.report") / "assets" / name).read_text(encoding="utf-8")


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


def _title(name: str, origin: Sequence[str] = ()) -> str:
    """The whole of a name that is shown short, and which operators it stands for."""
    return name if tuple(origin) in ((), (name,)) else f"{name} from {', '.join(origin)}"


def _scale(value: float | None) -> str:
    """As many digits as a 32-bit float has."""
    return "–" if value is None else f"{value:.9g}"


def _op(name: str) -> str:
    """An operator as its own format calls it."""
    return name.removeprefix("onnx.")


def _cut(text: str, limit: int = 400) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
