"""Writes the picture of a model before and after an optimisation."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from arenite._base.files import written_whole
from arenite.driver.graph_records import graphs_record, node_records
from arenite.driver.load import registry_for
from arenite.driver.optimize_result import OptimizeResult
from arenite.ir.model import Model
from arenite.report.diff import Diff, render_diff
from arenite.report.result import NodeRecord, RemarkRecord


def model_records(model: Model) -> tuple[NodeRecord, ...]:
    """A record for each node of a model, with what is known of its first result."""
    if model.format != "onnx":
        return node_records(model.graph)
    from arenite.passes.onnx.facts import Facts  # noqa: PLC0415 - heavy

    facts = Facts(model.graph, registry_for(model))
    return node_records(model.graph, lambda value: facts.of(value).type)


def write_diff(path: Path, before: Sequence[NodeRecord], result: OptimizeResult) -> None:
    """Write the page.

    Args:
        path: where it goes.
        before: the nodes of the model as it was read.
        result: what came of it.

    Raises:
        DataError: the file cannot be written.
    """
    # What a thrown-away result was made by is no news.
    remarks = [r for r in result.remarks if result.changed or r.kind.value != "passed"]
    diff = Diff(
        arenite=version("arenite"),
        model=result.model.name,
        checked=str(result.checked),
        figures=tuple({"what": row[""], "before": row["before"], "after": row["after"]} for row in result.table()),
        notes=result.notes,
        graphs=graphs_record(before, model_records(result.model), remarks),
        remarks=tuple(
            RemarkRecord(r.kind.value, r.pass_name, r.reason.slug, r.subject, r.text, r.origin) for r in remarks
        ),
    )
    with written_whole(path) as temporary:
        temporary.write_text(render_diff(diff), encoding="utf-8", errors="backslashreplace")
