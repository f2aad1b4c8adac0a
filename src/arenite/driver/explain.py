"""`explain`: what the passes and the choice of kernels did to each node, and why."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from arenite._base.errors import UsageError
from arenite._base.remarks import Remark
from arenite.driver.build import Build, build
from arenite.driver.load import load_model
from arenite.driver.options import CompileOptions
from arenite.driver.toolbox import default_toolbox
from arenite.lower.program import KernelCall


@dataclass(frozen=True)
class Explanation:
    """Verdicts of passes, and the kernel calls that remain, of the nodes that were asked for."""

    remarks: tuple[Remark, ...]
    calls: tuple[KernelCall, ...]
    vanished: tuple[str, ...]

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

    def to_text(self) -> str:
        return "\n".join(self._lines()) or "nothing to say: no pass looked at it, and no kernel runs for it"

    def _lines(self) -> Iterator[str]:
        for remark in self.remarks:
            yield f"{remark.kind.value:8} {remark.pass_name} ({remark.reason.slug}): {remark.text}"
        for call in self.calls:
            yield f"kernel   {call.name} ({call.op}): {call.kernel}, {call.why}"
            yield from (f"           not {a.kernel}: {a.why_not}" for a in call.alternatives)
        for name in self.vanished:
            yield f"vanished {name}: no layer of the firmware stands for it"


def explain_model(path: Path, *, node: str | None, pass_name: str | None, target: str) -> Explanation:
    """Compile without building, and tell what was said of a node, a pass, or all.

    Raises:
        UsageError: no such node or pass; the nearest names are suggested.
        AreniteError: the model cannot be compiled.
    """
    passes = [each.name for each in default_toolbox().passes]
    if pass_name is not None and pass_name not in passes:
        raise UsageError(f"no pass is called '{pass_name}'{_nearest(pass_name, passes)}; see 'arenite passes'")
    model = load_model(path)
    origins = [origin for each in model.graph.nodes for origin in each.origin]
    built = build(model, CompileOptions(target=target, simulate="off"), lambda _: None)
    known = [*origins, *(call.name for call in built.program.calls), *(remark.subject for remark in built.remarks)]
    if node is not None and node not in known:
        raise UsageError(f"no node is called '{node}'{_nearest(node, known)}")
    return Explanation(
        tuple(r for r in built.remarks if _concerns(r, node) and pass_name in (None, r.pass_name)),
        tuple(c for c in built.program.calls if pass_name is None and (node is None or node in (c.name, *c.origin))),
        _vanished(built, origins, node) if pass_name is None else (),
    )


def _concerns(remark: Remark, node: str | None) -> bool:
    return node is None or node == remark.subject or node in remark.origin


def _vanished(built: Build, origins: list[str], node: str | None) -> tuple[str, ...]:
    alive = {origin for call in built.program.calls for origin in call.origin}
    return tuple(dict.fromkeys(o for o in origins if o not in alive and node in (None, o)))


def _nearest(word: str, known: list[str]) -> str:
    near = get_close_matches(word, known, n=3)
    return f"; did you mean {', '.join(near)}?" if near else ""
