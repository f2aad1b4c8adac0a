"""A model before and after an optimisation, as one self-contained file of HTML."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from arenite.report.graph_view import graphs_svg
from arenite.report.html import render_page
from arenite.report.result import GraphsRecord, RemarkRecord

MAX_LISTED = 1000
"""How many nodes are listed: a page that holds more is slow to open."""


@dataclass(frozen=True)
class Diff:
    """What an optimisation did.

    Attributes:
        arenite: its version.
        model: the model's name.
        checked: whether outputs are the same, as a sentence.
        figures: `what`, `before`, `after`: figures as text.
        notes: what the user should know.
        graphs: both graphs; nodes of the first with their fates.
        remarks: every verdict.
    """

    arenite: str
    model: str
    checked: str
    figures: tuple[Mapping[str, str], ...]
    notes: tuple[str, ...]
    graphs: GraphsRecord
    remarks: tuple[RemarkRecord, ...]


@dataclass(frozen=True)
class Group:
    """Verdicts of one pass for one reason, and one of them as text."""

    pass_name: str
    reason: str
    count: int
    text: str


def render_diff(diff: Diff) -> str:
    """The page. Every text of the model is escaped; the content policy allows our own script alone."""
    gone = [node for node in diff.graphs.before if node.fate] + [n for n in diff.graphs.before if n.change]
    return render_page(
        "diff.html.j2",
        diff=diff,
        graphs=Markup(graphs_svg(diff.graphs)),
        done=grouped(remark for remark in diff.remarks if remark.kind == "passed"),
        stayed=grouped(remark for remark in diff.remarks if remark.kind == "missed"),
        gone=gone[:MAX_LISTED],
        more=max(0, len(gone) - MAX_LISTED),
    )


def grouped(remarks: Iterable[RemarkRecord]) -> Sequence[Group]:
    """One group for each reason of each pass, the most frequent first."""
    groups: dict[tuple[str, str], list[RemarkRecord]] = {}
    for remark in remarks:
        groups.setdefault((remark.pass_name, remark.reason), []).append(remark)
    found = [Group(pass_name, reason, len(said), said[0].text) for (pass_name, reason), said in groups.items()]
    return sorted(found, key=lambda group: -group.count)
