"""What a reader asks first, answered from the records."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from arenite._base.text import short_name
from arenite.report.memory_map import peak_step
from arenite.report.result import BufferRecord, LayerRecord, RemarkRecord, Report

_MOST_NAMED = 6


@dataclass(frozen=True)
class Finding:
    """A question in a few words, and its answer."""

    question: str
    answer: str


@dataclass(frozen=True)
class RemarkGroup:
    """Remarks of one pass with one reason, which say the same of many nodes."""

    kind: str
    pass_name: str
    reason: str
    example: str
    subjects: tuple[str, ...]


def findings(report: Report) -> tuple[Finding, ...]:
    """Which layer is slowest, what sets the RAM, where the weights are, what the passes did."""
    return tuple(_findings(report))


def _findings(report: Report) -> Iterator[Finding]:
    if report.layers:
        yield _slowest(report.layers)
        yield _ram(report)
        heaviest = max(report.layers, key=lambda layer: layer.weights_nbytes)
        if heaviest.weights_nbytes:
            share = _percent(heaviest.weights_nbytes, sum(layer.weights_nbytes for layer in report.layers))
            text = f"{_named(report.layers, heaviest)}: {heaviest.weights_nbytes:,} bytes, {share} of all"
            yield Finding("Most weights", text)
    yield _passes(report)


def _slowest(layers: Sequence[LayerRecord]) -> Finding:
    measured = all(layer.instructions is not None for layer in layers)
    costs = [(layer.instructions or 0) if measured else layer.macs for layer in layers]
    most = max(costs)
    first = layers[costs.index(most)]
    unit = "instructions" if measured else "multiply-accumulates (not simulated)"
    equal = [str(step) for step, cost in enumerate(costs) if cost == most and layers[step] is not first]
    same = f"; step{'s' if len(equal) > 1 else ''} {', '.join(equal)} as many" if equal and most else ""
    share = _percent(most, sum(costs))
    return Finding("Slowest layer", f"{_named(layers, first)}: {most:,} {unit}, {share} of all{same}")


def _ram(report: Report) -> Finding:
    memory = report.memory
    step = min(peak_step(memory, len(report.layers)), len(report.layers) - 1)
    alive = alive_at(report, step)
    listed = " + ".join(f"{buffer.nbytes:,} ({buffer_name(buffer.name)})" for _, buffer in alive[:_MOST_NAMED])
    more = f" + {len(alive) - _MOST_NAMED} more" if len(alive) > _MOST_NAMED else ""
    total = sum(buffer.nbytes for _, buffer in alive)
    proof = "no plan needs less" if memory.optimal else f"no plan needs less than {memory.lower_bound_nbytes:,}"
    text = f"{_named(report.layers, report.layers[step])}: alive then are {listed}{more} = {total:,} bytes; {proof}"
    return Finding("Step that sets the RAM", text)


def buffer_name(name: str) -> str:
    """The name of a buffer to read at a glance."""
    layer, slash, kind = name.rpartition("/")
    return f"scratch of {short_name(layer)}" if slash and kind == "scratch" else short_name(name)


def alive_at(report: Report, step: int) -> list[tuple[int, BufferRecord]]:
    """The buffers that are alive at a step, with their numbers in the map, the largest first."""
    alive = [(i, b) for i, b in enumerate(report.memory.buffers) if b.first <= step < b.end and b.nbytes]
    return sorted(alive, key=lambda pair: -pair[1].nbytes)


def _passes(report: Report) -> Finding:
    before, after = len(report.graphs.before), len(report.graphs.after)
    changed = [row.name for row in report.passes if row.changed]
    by = f"changed by {', '.join(changed)}" if changed else "no pass changed anything"
    text = f"{before} nodes of the model became {after}; {by}; what each left, and why, is under Remarks"
    return Finding("Passes", text)


def _named(layers: Sequence[LayerRecord], layer: LayerRecord) -> str:
    step = next(i for i, each in enumerate(layers) if each is layer)
    return f"step {step}, {layer.op} {short_name(layer.name)}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "0 %"


def telling(remarks: Sequence[RemarkRecord], routine: Collection[tuple[str, str]]) -> tuple[RemarkRecord, ...]:
    """Remarks that are not the same for most nodes."""
    return tuple(r for r in remarks if (r.pass_name, r.reason) not in routine)


def grouped(remarks: Sequence[RemarkRecord], routine: Collection[tuple[str, str]]) -> tuple[RemarkGroup, ...]:
    """The others: each reason once, with the nodes that it is said of."""
    groups: dict[tuple[str, str, str], list[RemarkRecord]] = {}
    for remark in remarks:
        if (remark.pass_name, remark.reason) in routine:
            groups.setdefault((remark.kind, remark.pass_name, remark.reason), []).append(remark)
    return tuple(
        RemarkGroup(*key, said[0].text, tuple(short_name(remark.subject) for remark in said))
        for key, said in groups.items()
    )


def verdict_counts(remarks: Sequence[RemarkRecord]) -> dict[str, dict[str, int]]:
    """How many nodes each pass changed and left: pass → `passed`, `missed` → count."""
    counts: dict[str, dict[str, int]] = {}
    for remark in remarks:
        mine = counts.setdefault(remark.pass_name, {"passed": 0, "missed": 0})
        mine[remark.kind] = mine.get(remark.kind, 0) + 1
    return counts


def long_names(report: Report) -> dict[str, str]:
    """Names that stand in texts, with what is shown in their place."""
    nodes = (node.name for node in (*report.graphs.before, *report.graphs.after))
    buffers = (buffer.name for buffer in report.memory.buffers)
    names = {*nodes, *buffers, *(remark.subject for remark in report.remarks)}
    return {name: short_name(name) for name in sorted(names) if short_name(name) != name}
