"""`explain`: what the passes and the choice of kernels did to each node, and why."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from arenite._base.errors import UsageError
from arenite._base.remarks import Remark
from arenite._base.text import shortened
from arenite.driver.build import Build, build
from arenite.driver.explain_text import Facts, concerns, model_lines, node_lines, pass_lines
from arenite.driver.graph_records import graphs_record, node_records
from arenite.driver.load import load_model
from arenite.driver.node_names import find_name, short_names
from arenite.driver.options import CompileOptions
from arenite.driver.toolbox import default_toolbox
from arenite.ir.model import Model
from arenite.lower.program import KernelCall


@dataclass(frozen=True)
class Explanation:
    """Verdicts of passes, and the kernel calls that remain, of the nodes that were asked for.

    Attributes:
        node, pass_name: what was asked for; None: everything.
        facts: of the whole model.
    """

    node: str | None
    pass_name: str | None
    remarks: tuple[Remark, ...]
    calls: tuple[KernelCall, ...]
    vanished: tuple[str, ...]
    facts: Facts = field(repr=False)

    def to_json(self) -> dict[str, object]:
        return {
            "remarks": [remark.to_json() for remark in self.remarks],
            "kernels": [
                {
                    "layer": call.name,
                    "op": call.op,
                    "kernel": call.kernel,
                    "variant": call.variant,
                    "why": call.why,
                    "alternatives": [{"variant": a.kernel, "why_not": a.why_not} for a in call.alternatives],
                    "origin": list(call.origin),
                }
                for call in self.calls
            ],
            "vanished": list(self.vanished),
        }

    def to_text(self, *, whole: bool = False) -> str:
        """The answer in a few lines; or every verdict and every kernel that was not chosen, names in full."""
        if whole:
            return "\n".join(self._all_lines()) or "nothing to say: no pass looked at it, and no kernel runs for it"
        if self.pass_name is not None:
            lines = list(pass_lines(self.remarks)) or [f"{self.pass_name} looked at nothing"]
        elif self.node is not None:
            lines = [*node_lines(self.facts, self.node), "more: --all"]
        else:
            lines = list(model_lines(self.facts))
        return shortened("\n".join(lines), short_names(self._names()))

    def _names(self) -> Iterator[str]:
        yield from (node.name for node in (*self.facts.graphs.before, *self.facts.graphs.after))
        yield from (call.name for call in self.facts.calls)

    def _all_lines(self) -> Iterator[str]:
        for remark in self.remarks:
            yield f"{remark.kind.value:8} {remark.pass_name} ({remark.reason.slug}): {remark.text}"
        for call in self.calls:
            yield f"kernel   {call.name} ({call.op}): {call.kernel}, {call.why}"
            yield from (f"           not {a.kernel}: {a.why_not}" for a in call.alternatives)
        for name in self.vanished:
            yield f"vanished {name}: no layer of the firmware stands for it"


def explain_model(path: Path, *, node: str | None, pass_name: str | None, target: str) -> Explanation:
    """Compile without building, and tell what was said of a node, a pass, or all.

    Args:
        path: of the model.
        node: its name, or a piece of it that no other has.
        pass_name: only what this pass said.
        target: a core or board.

    Raises:
        UsageError: no such node or pass, or several: the nearest names are suggested.
        AreniteError: the model cannot be compiled.
    """
    passes = [each.name for each in default_toolbox().passes]
    if pass_name is not None and pass_name not in passes:
        raise UsageError(f"no pass is called '{pass_name}'{_nearest(pass_name, passes)}; see 'arenite passes'")
    return explain_loaded(load_model(path), node=node, pass_name=pass_name, target=target)


def explain_loaded(model: Model, *, node: str | None, pass_name: str | None, target: str) -> Explanation:
    """The same for a model in memory.

    Raises:
        UsageError: no such node, or several.
        AreniteError: the model cannot be compiled.
    """
    built = build(model, CompileOptions(target=target, simulate="off"), lambda _: None)
    graphs = graphs_record(node_records(model.graph), node_records(built.graph), built.remarks)
    origins = [origin for each in model.graph.nodes for origin in each.origin]
    if node is not None:
        calls = [call.name for call in built.program.calls]
        names = [*(each.name for each in model.graph.nodes), *origins, *calls, *(each.name for each in graphs.after)]
        node = find_name(node, names)
    functions = tuple(built.names.layer(step) for step in range(len(built.program.calls)))
    return Explanation(
        node,
        pass_name,
        tuple(r for r in built.remarks if (node is None or concerns(r, node)) and pass_name in (None, r.pass_name)),
        tuple(c for c in built.program.calls if pass_name is None and (node is None or node in (c.name, *c.origin))),
        _vanished(built, origins, node) if pass_name is None else (),
        Facts(graphs, built.program.calls, built.remarks, functions),
    )


def _vanished(built: Build, origins: list[str], node: str | None) -> tuple[str, ...]:
    alive = {origin for call in built.program.calls for origin in call.origin}
    return tuple(dict.fromkeys(o for o in origins if o not in alive and node in (None, o)))


def _nearest(word: str, known: list[str]) -> str:
    near = get_close_matches(word, known, n=3)
    return f"; did you mean {', '.join(near)}?" if near else ""
