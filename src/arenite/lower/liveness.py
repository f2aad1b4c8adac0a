"""Buffers and their lifetimes: from the first step that writes one until the last that needs its bytes."""

from collections.abc import Sequence
from dataclasses import dataclass

from arenite._base.ctype import NUMPY_OF_CTYPE
from arenite.ir.graph import Graph, Value
from arenite.lower.aliases import Aliases
from arenite.lower.program import Buffer
from arenite.lower.steps import Step


@dataclass
class _Span:
    nbytes: int
    alignment: int
    first: int
    end: int

    def touch(self, step: int, alignment: int) -> None:
        self.first = min(self.first, step)
        self.end = max(self.end, step + 1)
        self.alignment = max(self.alignment, alignment)


def find_buffers(graph: Graph, steps: Sequence[Step], aliases: Aliases, alignment: int) -> tuple[Buffer, ...]:
    """Every buffer that the arena must hold, in order of first use.

    Inputs live from step 0 until their last use, outputs until the end; scratch lives for one step; a program without
    steps counts as one step long.
    `alignment` is the least of each buffer; wider elements ask for more.
    """
    count = max(1, len(steps))
    spans: dict[str, _Span] = {}

    def touch(value: Value, step: int, width: int) -> None:
        host = aliases.host(value)
        if not (host.is_constant or host.is_variable):
            span = spans.setdefault(host.name, _Span(host.type.nbytes, alignment, step, step + 1))
            span.touch(step, width)

    for value in graph.inputs:
        touch(value, 0, value.type.dtype.itemsize)
    for index, step in enumerate(steps):
        widths = {a.name: NUMPY_OF_CTYPE[a.ctype].itemsize for a in step.choice.kernel.info.arguments}
        for name, ref in step.accesses:
            touch(step.value_of(ref), index, widths[name])
        for name, buffer in step.scratch.items():
            given = step.prepared.arguments[name]
            assert isinstance(given, int), "steps.py names the scratch of integers alone"
            spans[buffer] = _Span(given, max(alignment, widths[name]), index, index + 1)
    for value in graph.outputs:
        touch(value, count - 1, value.type.dtype.itemsize)
    return tuple(Buffer(name, s.nbytes, s.alignment, s.first, s.end) for name, s in spans.items())
