"""The memory map over time as SVG: steps to the right, bytes upwards, one box per buffer."""

from dataclasses import dataclass
from html import escape

from arenite.report.result import MemoryRecord

WIDTH, HEIGHT = 1000, 380
LEFT, RIGHT, TOP, BOTTOM = 70, 12, 26, 40
_PALETTE = 8
"""Colours c0..c7 are defined in report.css; every box carries a number too, so that none is told by colour alone."""


@dataclass(frozen=True)
class Scale:
    """From steps and bytes to the picture."""

    steps: int
    nbytes: int

    def x(self, step: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * step / max(self.steps, 1)

    def y(self, nbytes: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * nbytes / max(self.nbytes, 1)


def peak_step(memory: MemoryRecord, steps: int) -> int:
    """Of the steps whose live buffers reach highest, the first at which most bytes are live."""
    live = [[b for b in memory.buffers if b.first <= step < b.end] for step in range(max(steps, 1))]
    heights = [(max((b.offset + b.nbytes for b in each), default=0), sum(b.nbytes for b in each)) for each in live]
    return heights.index(max(heights))


def memory_map_svg(memory: MemoryRecord, layers: tuple[str, ...]) -> str:
    """The picture. `layers` names the steps."""
    steps = max([len(layers), *(b.end for b in memory.buffers)])
    scale = Scale(steps, max(memory.arena_nbytes, memory.lower_bound_nbytes))
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="map-title" class="map">',
        f'<title id="map-title">Memory map: {len(memory.buffers)} buffers over {steps} steps, '
        f"arena {memory.arena_nbytes} bytes</title>",
        *_axes(scale, steps),
    ]
    parts += [_box(scale, index, memory) for index in range(len(memory.buffers))]
    parts += _bound(scale, memory)
    parts += _peak(scale, memory, steps)
    parts.append("</svg>")
    return "\n".join(parts)


def _axes(scale: Scale, steps: int) -> list[str]:
    lines = []
    for tick in _ticks(scale.nbytes):
        y = scale.y(tick)
        lines.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" class="grid"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:,}</text>')
    every = max(1, -(-steps // 24))
    for step in range(0, steps, every):
        x = (scale.x(step) + scale.x(step + 1)) / 2
        lines.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{step}</text>')
    lines.append(f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 6}" text-anchor="middle">schedule step</text>')
    lines.append(f'<text x="{LEFT}" y="{TOP - 12}" text-anchor="end">bytes</text>')
    return lines


def _ticks(nbytes: int) -> list[int]:
    """About five round numbers from 0 to `nbytes`."""
    if nbytes <= 0:
        return [0]
    unit = 10 ** (len(str(nbytes)) - 1)
    step = next(s for s in (unit // 5 or 1, unit // 2 or 1, unit, 2 * unit) if nbytes / s <= 6)
    return list(range(0, nbytes + 1, step))


def _box(scale: Scale, index: int, memory: MemoryRecord) -> str:
    buffer = memory.buffers[index]
    x, y = scale.x(buffer.first), scale.y(buffer.offset + buffer.nbytes)
    width, height = scale.x(buffer.end) - x, scale.y(buffer.offset) - y
    label = ""
    if width > 14 and height > 11:
        middle = f'x="{x + width / 2:.1f}" y="{y + height / 2 + 4:.1f}"'
        label = f'<text {middle} text-anchor="middle" class="tag">{index}</text>'
    title = (
        f"{index}: {buffer.name}, {buffer.nbytes} bytes at {buffer.offset}, steps {buffer.first} to {buffer.end - 1}"
    )
    size = f'width="{max(width - 1, 0.5):.1f}" height="{max(height - 0.6, 0.5):.1f}"'
    box = f'<rect x="{x:.1f}" y="{y:.1f}" {size} class="c{index % _PALETTE}"/>'
    return f'<g class="buffer"><title>{escape(title)}</title>{box}{label}</g>'


def _bound(scale: Scale, memory: MemoryRecord) -> list[str]:
    y = scale.y(memory.lower_bound_nbytes)
    words = "lower bound = arena" if memory.lower_bound_nbytes == memory.arena_nbytes else "lower bound"
    return [
        f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" class="bound"/>',
        f'<text x="{WIDTH - RIGHT}" y="{y - 5:.1f}" text-anchor="end" class="mark">'
        f"{words} {memory.lower_bound_nbytes:,}</text>",
    ]


def _peak(scale: Scale, memory: MemoryRecord, steps: int) -> list[str]:
    step = peak_step(memory, steps)
    x = (scale.x(step) + scale.x(step + 1)) / 2
    return [
        f'<path d="M{x - 5:.1f} {TOP - 10} h10 l-5 8 z" class="peak"/>',
        f'<text x="{x + 9:.1f}" y="{TOP - 3}" class="mark">peak, step {step}</text>',
    ]
