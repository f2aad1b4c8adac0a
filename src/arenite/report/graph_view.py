"""Both graphs side by side as SVG: nodes in schedule order downwards, one lane for each value that is still to be read.

A node sits in the lane of the first value it reads; what passes touched is joined with the node that stands for it, and
long stretches that they did not touch are one box.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

from arenite._base.text import counted
from arenite.report.alignment import Nodes, Row, aligned, heirs_of
from arenite.report.result import GraphsRecord, NodeRecord

ROW, LANE, BOX, GAP, TOP = 26, 14, 250, 130, 30
_MOST_LANES = 12
"""Values beyond that share the last lane."""
_MOST_EDGES = 24
"""Of one box: more lines than that show nothing."""
_LABEL, _WHY, _TAIL = 35, 17, 20
"""How many characters fit into a box, and between the graphs; and how many of a name are enough."""


_PAGE = 30
"""How many rows one printed page shows legibly; taller pictures go over several."""


@dataclass(frozen=True)
class Laid:
    """A graph with a lane for each node."""

    nodes: tuple[NodeRecord, ...]
    lanes: tuple[int, ...]

    @property
    def width(self) -> float:
        return BOX + LANE * (max(self.lanes, default=0) + 1)


def lay_out(nodes: tuple[NodeRecord, ...]) -> Laid:
    """A lane is taken from the row of the node that fills it until the last row that reads it."""
    last_read = dict.fromkeys(range(len(nodes)), -1)
    for index, node in enumerate(nodes):
        last_read.update(dict.fromkeys(node.inputs, index))
    busy: dict[int, int] = {}
    lanes = []
    for index, node in enumerate(nodes):
        busy = {lane: owner for lane, owner in busy.items() if last_read[owner] >= index}
        inherited = [lane for lane, owner in busy.items() if owner in node.inputs and last_read[owner] == index]
        lane = min(inherited) if inherited else next(i for i in range(len(busy) + 1) if i not in busy)
        lanes.append(lane)
        busy = {other: owner for other, owner in busy.items() if last_read[owner] > index}
        if last_read[index] > index:
            busy[lane] = index
    return Laid(nodes, tuple(min(lane, _MOST_LANES) for lane in lanes))


@dataclass(frozen=True)
class _Side:
    """One of the graphs, as boxes.

    Attributes:
        laid: a record for each box.
        rows: where each box stands.
        nodes: which nodes each stands for.
        kinds: the class of each, as report.css has it.
        box_of: the box of each node.
    """

    laid: Laid
    rows: tuple[int, ...]
    nodes: tuple[Nodes, ...]
    kinds: tuple[str, ...]
    box_of: dict[int, int]
    left: float = 0.0

    def place(self, box: int) -> tuple[float, float]:
        return self.left + LANE * self.laid.lanes[box], TOP + ROW * self.rows[box]


def graphs_svg(graphs: GraphsRecord) -> str:
    """The picture; of at most `alignment.MAX_ROWS` rows, whatever the sizes of the graphs."""
    rows = aligned(graphs)
    heirs = heirs_of(graphs)
    before = _side(graphs.before, [row.before for row in rows], rows, _fates(graphs, heirs))
    after = _side(graphs.after, [row.after for row in rows], rows, _news(graphs, heirs))
    after = replace(after, left=before.laid.width + GAP)
    width, height = after.left + after.laid.width, TOP + ROW * max(len(rows), 1) + 8
    parts = [
        f'<svg viewBox="0 0 {width:.0f} {height}" role="img" class="graphs{" tall" if len(rows) > _PAGE else ""}">',
        f"<title>{counted(len(graphs.before), 'node')} of the model, {len(graphs.after)} after the passes</title>",
        f'<text x="0" y="16" class="mark">the model, {counted(len(graphs.before), "node")}</text>',
        f'<text x="{after.left:.0f}" y="16" class="mark">after the passes, {counted(len(graphs.after), "node")}</text>',
        *_joins(before, after, heirs),
        *_edges(before),
        *_edges(after),
        *_boxes(before),
        *_boxes(after),
        *_whys(before),
        "</svg>",
    ]
    return "\n".join(parts)


def _fates(graphs: GraphsRecord, heirs: Sequence[int | None]) -> list[str]:
    """Of each node of the model: `gone` when nothing stands for it, `fused` when a node of another op does.

    `changed` when passes changed something of it.
    """
    kinds = []
    for node, heir in zip(graphs.before, heirs, strict=True):
        stays = heir is not None and graphs.after[heir].op == node.op and graphs.after[heir].name == node.name
        left = "changed" if node.change else "node"
        kinds.append("gone" if heir is None else left if stays or not node.fate else "fused")
    return kinds


def _news(graphs: GraphsRecord, heirs: Sequence[int | None]) -> list[str]:
    """Of each node that is left: `fresh` when none of the model was like it, `touched` when it stands for several.

    `changed` when passes changed something of it.
    """
    known = {heir for heir, node in zip(heirs, graphs.before, strict=True) if _like(graphs, heir, node)}
    return [
        "fresh" if index not in known else "touched" if len(node.origin) > 1 else "changed" if node.change else "node"
        for index, node in enumerate(graphs.after)
    ]


def _like(graphs: GraphsRecord, heir: int | None, node: NodeRecord) -> bool:
    return heir is not None and graphs.after[heir].op == node.op


def _side(nodes: Sequence[NodeRecord], groups: Sequence[Nodes], rows: Sequence[Row], kinds: Sequence[str]) -> _Side:
    filled = [(row, group) for row, group in enumerate(groups) if group]
    box_of = {index: box for box, (_, group) in enumerate(filled) for index in group}
    records = []
    classes = []
    for box, (row, group) in enumerate(filled):
        sources = {box_of[source] for index in group for source in nodes[index].inputs}
        inputs = tuple(sorted(source for source in sources if source < box))[:_MOST_EDGES]
        record = nodes[group[0]] if len(group) == 1 else _many(nodes, group, kinds, same=rows[row].same)
        records.append(replace(record, inputs=inputs))
        kind = kinds[group[0]] if len(group) == 1 else "many"
        classes.append(f"{kind} same" if rows[row].same else kind)
    laid = lay_out(tuple(records))
    return _Side(laid, tuple(row for row, _ in filled), tuple(group for _, group in filled), tuple(classes), box_of)


def _many(nodes: Sequence[NodeRecord], group: Nodes, kinds: Sequence[str], *, same: bool) -> NodeRecord:
    """One record for several nodes; its name is what they are."""
    ops = Counter(_op(nodes[index]) for index in group).most_common(8)
    listed = ", ".join(f"{count} {op}" for op, count in ops)
    gone = sum(kinds[index] in ("gone", "fused") for index in group)
    changed = sum(kinds[index] in ("changed", "touched", "fresh") for index in group)
    counts = ((gone, "gone"), (changed, "changed or new"))
    parts = [text if count == len(group) else f"{count:,} {text}" for count, text in counts if count]
    what = "the same" if same else " and ".join(parts) or "more"
    return NodeRecord(listed, f"⋮ {len(group):,} nodes, {what}", "", (), ())


def _op(node: NodeRecord) -> str:
    return node.op.removeprefix("onnx.")


def _edges(side: _Side) -> list[str]:
    lines = []
    for box, node in enumerate(side.laid.nodes):
        x, y = side.place(box)
        for source in node.inputs:
            from_x, from_y = side.place(source)
            start, bend = from_y + ROW - 6, y - 8
            lines.append(f'<path d="M{from_x + 7:.0f} {start} V{max(start, bend)} L{x + 7:.0f} {y}" class="edge"/>')
    return lines


def _joins(before: _Side, after: _Side, heirs: Sequence[int | None]) -> list[str]:
    """From what passes touched to the nodes that stand for it."""
    pairs: dict[tuple[int, int], None] = {}
    for index, heir in enumerate(heirs):
        if heir is not None:
            box, to = before.box_of[index], after.box_of[heir]
            if not before.kinds[box].endswith("same"):
                pairs[box, to] = None
    lines = []
    for box, to in pairs:
        x, y = before.place(box)
        to_x, to_y = after.place(to)
        lines.append(f'<path d="M{x + BOX:.0f} {y + 10} L{to_x:.0f} {to_y + 10}" class="join"/>')
    return lines


_MARKS = {"gone": "✗ ", "fused": "→ ", "fresh": "+ ", "touched": "✎ ", "changed": "✎ "}
"""What a box begins with, so that its kind is not told by its look alone."""


def _boxes(side: _Side) -> list[str]:
    boxes = []
    for box, node in enumerate(side.laid.nodes):
        x, y = side.place(box)
        kind = side.kinds[box]
        several = len(side.nodes[box]) > 1
        title = node.name if several else f"{side.nodes[box][0]}: {node.name}"
        if node.fate:
            title += f" – {node.fate}"
        elif kind in ("fresh", "touched") and node.origin:
            title += f" – stands for {', '.join(node.origin[:_MOST_EDGES])}"
        if node.change:
            title += f" – {node.change}"
        # Of what is not known a name tells more; its end, since exporters begin names with all scopes.
        word = node.shape or ("" if several else node.name[-_TAIL:])
        word += " (nested)" if node.inside else ""
        label = _cut(f"{_MARKS.get(kind, '')}{_op(node)} {word}".rstrip(), _LABEL)
        boxes.append(
            f'<g class="{kind}"><title>{escape(title)}</title>'
            f'<rect x="{x:.0f}" y="{y}" width="{BOX}" height="20" rx="4"/>'
            f'<text x="{x + 6:.0f}" y="{y + 14}">{escape(label)}</text></g>'
        )
    return boxes


def _whys(side: _Side) -> list[str]:
    """Why a node went or was changed, in a word, beside it."""
    texts = []
    for box, node in enumerate(side.laid.nodes):
        if (node.fate or node.change) and node.reason and len(side.nodes[box]) == 1:
            _, y = side.place(box)
            x = side.left + side.laid.width - LANE + 2
            texts.append(f'<text x="{x:.0f}" y="{y + 14}" class="reason">{escape(_cut(node.reason, _WHY))}</text>')
    return texts


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
