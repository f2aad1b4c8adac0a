"""`explain` on .onnx files: what became of each node when the model is optimised, and why."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from arenite._base.errors import UsageError
from arenite._base.remarks import Remark, RemarkKind
from arenite._base.text import counted, first_of
from arenite.driver.graph_records import graphs_record, node_records
from arenite.driver.load import load_model
from arenite.driver.node_names import find_name
from arenite.driver.optimize_onnx import optimize_onnx
from arenite.driver.optimize_result import OptimizeOptions
from arenite.ir.graph import Array
from arenite.passes.onnx.presets import onnx_passes
from arenite.report.result import GraphsRecord, NodeRecord

ROUTINE = frozenset(
    {
        ("onnx-fold", "not-constant"),
        ("onnx-fold", "no-operands"),
        ("onnx-simplify", "changes-type"),
        ("onnx-simplify", "drops"),
        ("onnx-simplify", "moves-elements"),
        ("onnx-simplify", "not-apart"),
        ("onnx-simplify", "not-neutral"),
        ("onnx-simplify", "not-of-dequantized"),
        ("onnx-simplify", "not-of-pad"),
        ("onnx-simplify", "not-of-slice"),
        ("onnx-simplify", "not-of-transpose"),
        ("onnx-simplify", "not-of-view"),
        ("onnx-simplify", "not-ones"),
        ("onnx-simplify", "not-quantized-here"),
        ("onnx-simplify", "not-single"),
        ("onnx-simplify", "not-undone"),
        ("onnx-simplify", "several-values"),
        ("onnx-simplify", "shape-changes"),
        ("onnx-simplify", "shape-is-constant"),
        ("onnx-simplify", "state-given"),
        ("merge-clamps", "no-clamp"),
        ("fuse-affine", "not-constant"),
    }
)
"""Misses that say of most nodes that there was nothing to do: (pass, reason)."""

_LONG = 48
"""Names longer than this are cut at their beginning, where exporters write every scope."""


@dataclass(frozen=True)
class OnnxExplanation:
    """Verdicts, and what became of the nodes that were asked for.

    Attributes:
        node: the one that was asked for; None: all.
        pass_name: the pass that was asked for; None: all.
        remarks: what was said of one by the other.
        graphs: the model before and after.
    """

    node: str | None
    pass_name: str | None
    remarks: tuple[Remark, ...]
    graphs: GraphsRecord = field(repr=False)

    def to_json(self) -> dict[str, object]:
        return {
            "nodes": [
                {"name": n.name, "op": _op(n), "fate": n.fate or None}
                for n in self.graphs.before
                if self.node in (None, n.name)
            ],
            "remarks": [remark.to_json() for remark in self.remarks],
        }

    def to_text(self, *, whole: bool = False) -> str:
        """The answer in a few lines; or every verdict, names in full."""
        if whole:
            said = (f"{r.kind.value:8} {r.pass_name} ({r.reason.slug}): {r.text}" for r in self.remarks)
            return "\n".join(said) or "nothing to say: no pass looked at it"
        return "\n".join(self._of_all() if self.node is None else self._of_one(self.node))

    def _of_all(self) -> Iterator[str]:
        """How often each pass said what, and one example of each; of all passes, what is routine is only counted."""
        yield f"{counted(len(self.graphs.before), 'node')} became {len(self.graphs.after):,}"
        routine = Counter(r.pass_name for r in self.remarks if self._is_routine(r))
        groups: dict[tuple[RemarkKind, str, str], list[Remark]] = {}
        for remark in (r for r in self.remarks if not self._is_routine(r)):
            groups.setdefault((remark.kind, remark.pass_name, remark.reason.slug), []).append(remark)
        order = list(RemarkKind)
        for (kind, pass_name, slug), said in sorted(groups.items(), key=lambda g: (order.index(g[0][0]), -len(g[1]))):
            example = "" if len(said) == 1 else "for instance "
            yield f"{kind.value:8} {len(said):5,} x {pass_name} ({slug}): {example}{_text(said[0])}"
        if routine:
            listed = ", ".join(f"{pass_name} {count:,}" for pass_name, count in routine.most_common())
            yield f"missed   {routine.total():5,} x nothing to do, as for most nodes: {listed}"
        yield "more: --node NAME (any piece of a name will do), --pass NAME, --all"

    def _is_routine(self, remark: Remark) -> bool:
        return self.pass_name is None and (remark.pass_name, remark.reason.slug) in ROUTINE

    def _of_one(self, name: str) -> Iterator[str]:
        node = next((each for each in self.graphs.before if each.name == name), None)
        heir = next((each for each in self.graphs.after if each.name == name), None)
        if node is not None:
            yield f"{_op(node)} '{_short(name)}' {self._fate(node)}"
        elif heir is not None:
            yield f"{_op(heir)} '{_short(name)}' was made of {_listed(heir.origin)}"
        order = list(RemarkKind)
        for remark in sorted(self.remarks, key=lambda r: order.index(r.kind)):
            yield f"  {remark.kind.value:8} {remark.pass_name} ({remark.reason.slug}): {_text(remark)}"

    def _fate(self, node: NodeRecord) -> str:
        heirs = [each for each in self.graphs.after if node.name in each.origin]
        if not heirs:
            return "is gone"
        if node.fate:
            return f"went into {_op(heirs[0])} '{_short(heirs[0].name)}'"
        others = [origin for origin in heirs[0].origin if origin != node.name]
        return f"stays, and stands for {_listed(others)} too" if others else "stays as it is"


def explain_onnx_file(
    path: Path,
    *,
    node: str | None,
    pass_name: str | None,
    input_shapes: Mapping[str, tuple[int, ...]],
    pins: Mapping[str, Array],
) -> OnnxExplanation:
    """Optimise a model without running it or writing the result, and tell what was said of a node, a pass, or all.

    Raises:
        ModelError: the file is damaged.
        UsageError: no such node or pass; the nearest names are suggested.
        DataError: a shape or a value does not fit its input.
    """
    passes = [each.name for each in onnx_passes()]
    if pass_name is not None and pass_name not in passes:
        raise UsageError(f"no pass of .onnx models is called '{pass_name}'{_nearest(pass_name, passes)}")
    model = load_model(path)
    before = node_records(model.graph)
    options = OptimizeOptions(input_shapes=input_shapes, pins=pins, check=0)
    result = optimize_onnx(model, options, source=None, reproducer=Path())
    graphs = graphs_record(before, node_records(model.graph), result.remarks)
    known = [n.name for n in (*graphs.before, *graphs.after)]
    node = None if node is None else find_name(node, known)
    said = [remark for remark in result.remarks if pass_name in (None, remark.pass_name)]
    return OnnxExplanation(node, pass_name, _about(said, node), graphs)


def _about(remarks: Sequence[Remark], node: str | None) -> tuple[Remark, ...]:
    """What is said of a node by name; if that is not what changed it, what was done to those that stand for it, too."""
    if node is None:
        return tuple(remarks)
    changed = any(r.kind is RemarkKind.PASSED and r.subject == node for r in remarks)
    return tuple(
        r for r in remarks if r.subject == node or (r.kind is RemarkKind.PASSED and node in r.origin and not changed)
    )


def _op(node: NodeRecord) -> str:
    return node.op.removeprefix("onnx.")


def _short(name: str) -> str:
    return name if len(name) <= _LONG else f"…{name[1 - _LONG :]}"


def _listed(names: "list[str] | tuple[str, ...]") -> str:
    return first_of([f"'{_short(name)}'" for name in names], 3)


def _text(remark: Remark) -> str:
    """The sentence, with long names cut."""
    arguments = {
        key: _short(value) if isinstance(value, str) and " " not in value else value
        for key, value in remark.arguments.items()
    }
    return remark.reason.text({"subject": _short(remark.subject), **arguments})


def _nearest(word: str, known: list[str]) -> str:
    near = get_close_matches(word, known, n=3)
    return f"; did you mean {', '.join(near)}?" if near else ""
