"""An instrument that tells how far passes are."""

from collections.abc import Callable

from arenite.passes.pipeline import Instrument, Step


class Progress(Instrument):
    """Tells which pass runs, how far the passes are, and how many nodes are left."""

    def __init__(self, tell: Callable[[str], None], total: int, label: str = "") -> None:
        self._tell = tell
        self._total = total
        self._label = label

    def before(self, step: Step) -> None:
        percent = 100 * step.number // self._total
        self._tell(f"{self._label}{step.spec.name}, {step.nodes_before:,} nodes left, {percent} %")
