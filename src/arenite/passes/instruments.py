"""Instruments that check what passes do and claim, and one that writes the graph between them."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from arenite._base.dtypes import DType
from arenite._base.errors import ModelError, SelfCheckError
from arenite._base.remarks import RemarkKind
from arenite.interp.inputs import Inputs
from arenite.ir.printer import graph_text
from arenite.ir.types import TensorType
from arenite.ir.verifier import structure_problems, verify
from arenite.passes.differential import Differential
from arenite.passes.pipeline import Instrument, Step


class VerifyGraph(Instrument):
    """Verifies the graph before the first pass and after each one.

    A model may hold nodes that do not fit their ops (types that no kernel has): passes leave them alone, and must not
    make more of them.
    """

    def __init__(self) -> None:
        self._known: frozenset[str] = frozenset()

    def before(self, step: Step) -> None:
        if step.number == 0:
            if problems := structure_problems(step.graph):
                raise ModelError(problems)
            self._known = frozenset(self._problems(step))

    def after(self, step: Step) -> None:
        if problems := [problem for problem in self._problems(step) if problem not in self._known]:
            raise SelfCheckError(f"pass '{step.spec.name}' broke the graph: {problem}" for problem in problems)

    @staticmethod
    def _problems(step: Step) -> list[str]:
        return verify(step.graph, step.context.registry, allow_unknown=True)


class CheckClaims(Instrument):
    """Compares what a pass says with what it did.

    A pass that says unchanged leaves the text form equal; one that says changed changes it, and says by a remark what
    it did; each candidate gets exactly one verdict; each reason is one that the pass lists; inputs and outputs keep
    their names, and except in a lossy pass their types: where an output becomes a constant, its sizes are known.
    """

    def __init__(self) -> None:
        self._text = ""
        self._interface: tuple[list[_Declared], list[_Declared]] = ([], [])

    def before(self, step: Step) -> None:
        self._text = graph_text(step.graph)
        self._interface = _interface(step)

    def after(self, step: Step) -> None:
        problems = list(self._problems(step))
        if problems:
            raise SelfCheckError(f"pass '{step.spec.name}' {problem}" for problem in problems)

    def _problems(self, step: Step) -> list[str]:
        said = step.said
        problems = []
        differs = graph_text(step.graph) != self._text
        if differs and not said.changed:
            problems.append("says that it changed nothing, but the graph is another one")
        passed, missed = said.count(RemarkKind.PASSED), said.count(RemarkKind.MISSED)
        if said.changed != (passed > 0):
            problems.append(f"says changed={said.changed}, but has {passed} remarks of changes")
        if passed + missed != said.candidates:
            problems.append(f"looked at {said.candidates} candidates, but has {passed} passed and {missed} missed")
        listed = set(step.spec.reasons)
        strangers = Counter(remark.reason.slug for remark in said.remarks if remark.reason not in listed)
        if strangers:
            problems.append(f"gives reasons that it does not list: {', '.join(strangers)}")
        before, after = self._interface, _interface(step)
        known = [
            (name, old if value.is_constant and _is_refined(old, new) else new)
            for (_, old), (name, new), value in zip(before[1], after[1], step.graph.outputs, strict=False)
        ]
        if before != (after[0], known):
            problems.append("changed the name or the type of an input or output")
        return problems


_Declared = tuple[str, TensorType | None]


def _interface(step: Step) -> tuple[list[_Declared], list[_Declared]]:
    lossy = str(step.spec.equivalence) == "lossy"
    inputs, outputs = (
        [(value.name, None if lossy else value.type) for value in values]
        for values in (step.graph.inputs, step.graph.outputs)
    )
    return inputs, outputs


def _is_refined(old: TensorType | None, new: TensorType | None) -> bool:
    """Whether a type says of a constant what another one leaves open of its sizes, or of all when it knows nothing."""
    if old is None or new is None or new.shape is None:
        return False
    if old.dtype is DType.OPAQUE:
        return old.shape is None
    shape = (
        new.shape
        if old.shape is None
        else tuple(size if isinstance(dim, str) else dim for dim, size in zip(old.shape, new.shape, strict=False))
    )
    fits = old.shape is None or len(old.shape) == len(new.shape)
    return fits and TensorType(old.dtype, shape, old.quantization) == new


class Dump(Instrument):
    """Writes the text form after each pass that changed the graph, as `NN-pass.ir` in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def before(self, step: Step) -> None:
        if step.number == 0:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._write(step, "00-start.ir")

    def after(self, step: Step) -> None:
        if step.said.changed:
            self._write(step, f"{step.number + 1:02}-{step.spec.name}.ir")

    def _write(self, step: Step, name: str) -> None:
        (self._folder / name).write_text(graph_text(step.graph), encoding="utf-8", errors="surrogatepass")


def all_checks(samples: Sequence[Inputs] = ()) -> tuple[Instrument, ...]:
    """Every checking instrument, new for one run; `samples` are inputs to compare on besides those made up."""
    return (VerifyGraph(), CheckClaims(), Differential(samples))
