"""Both graphs side by side as SVG: nodes in schedule order downwards, one lane for each value that is still to be read.

A node sits in the lane of the first value it reads; the model's nodes are joined with the nodes that stand for them.
"""

from dataclasses import dataclass
from html import escape

from arenite.report.result import GraphsRecord, NodeRecord

ROW, LANE, BOX, GAP, TOP = 26, 14, 250, 130, 30
MAX_NODES = 400
"""More than that is no picture any more."""


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
    return Laid(nodes, tuple(lanes))


def graphs_svg(graphs: GraphsRecord) -> str | None:
    """The picture, or None when there are too many nodes for one."""
    if max(len(graphs.before), len(graphs.after)) > MAX_NODES:
        return None
    before, after = lay_out(graphs.before), lay_out(graphs.after)
    right = before.width + GAP
    width, height = right + after.width, TOP + ROW * max(len(before.nodes), len(after.nodes), 1) + 8
    parts = [
        f'<svg viewBox="0 0 {width:.0f} {height}" role="img" class="graphs">',
        f"<title>{len(before.nodes)} nodes of the model, {len(after.nodes)} after the passes</title>",
        f'<text x="0" y="16" class="mark">the model, {len(before.nodes)} nodes</text>',
        f'<text x="{right:.0f}" y="16" class="mark">after the passes, {len(after.nodes)} nodes</text>',
        *_joins(before, after, right),
        *_edges(before, 0),
        *_edges(after, right),
        *_nodes(before, 0),
        *_nodes(after, right),
        "</svg>",
    ]
    return "\n".join(parts)


def _place(laid: Laid, index: int, left: float) -> tuple[float, float]:
    return left + LANE * laid.lanes[index], TOP + ROW * index


def _edges(laid: Laid, left: float) -> list[str]:
    lines = []
    for index, node in enumerate(laid.nodes):
        x, y = _place(laid, index, left)
        for source in node.inputs:
            from_x, from_y = _place(laid, source, left)
            start, end, bend = from_y + ROW - 6, y, y - 8
            lines.append(f'<path d="M{from_x + 7:.0f} {start} V{max(start, bend)} L{x + 7:.0f} {end}" class="edge"/>')
    return lines


def _joins(before: Laid, after: Laid, right: float) -> list[str]:
    """From each node of the model to the node that stands for it."""
    heirs = {origin: index for index, node in enumerate(after.nodes) for origin in node.origin}
    lines = []
    for index, node in enumerate(before.nodes):
        heir = heirs.get(node.name)
        if heir is not None:
            x, y = _place(before, index, 0)
            to_x, to_y = _place(after, heir, right)
            lines.append(f'<path d="M{x + BOX:.0f} {y + 10} L{to_x:.0f} {to_y + 10}" class="join"/>')
    return lines


def _nodes(laid: Laid, left: float) -> list[str]:
    boxes = []
    for index, node in enumerate(laid.nodes):
        x, y = _place(laid, index, left)
        kind = "gone" if node.fate else "node"
        fate = f" – {node.fate}" if node.fate else ""
        label = f"{node.op} {node.shape}"
        boxes.append(
            f'<g class="{kind}"><title>{escape(f"{index}: {node.name}{fate}")}</title>'
            f'<rect x="{x:.0f}" y="{y}" width="{BOX}" height="20" rx="4"/>'
            f'<text x="{x + 6:.0f}" y="{y + 14}">{escape(label[:38])}</text></g>'
        )
    return boxes
