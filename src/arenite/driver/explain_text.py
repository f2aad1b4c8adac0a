"""The few lines that answer what happened to a node, and what a pass did."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from arenite._base.remarks import Remark, RemarkKind
from arenite._base.text import counted
from arenite.lower.program import KernelCall
from arenite.report.result import GraphsRecord, NodeRecord

ROUTINE = frozenset(
    {
        ("fold", "not-constant"),
        ("fold", "no-operands"),
        ("straighten", "moves"),
        ("straighten", "several-values"),
        ("simplify-transposes", "no-partner"),
        ("canonicalize", "simpler-attributes"),
        ("canonicalize", "simple-attributes"),
        ("canonicalize", "changes-type"),
        ("canonicalize", "not-of-view"),
        ("canonicalize", "not-of-activation"),
        ("canonicalize", "pads"),
        ("canonicalize", "several-values"),
        ("join-slices", "not-pieces"),
        ("join-slices", "not-joined"),
        ("trim-taps", "no-zero-taps"),
        ("fold-channels", "all-used"),
        ("fold-channels", "follows-input"),
    }
)
"""Verdicts that say of most nodes that there was nothing to do: (pass, reason)."""

ADVICE: Mapping[tuple[str, str], str] = {
    ("fold", "too-large"): "--fold-max-bytes N allows more",
    ("fold", "keeps-float16"): "leave --keep-fp16 out",
    ("fold", "state"): "nothing: it changes from one invocation to the next",
    ("fuse-activations", "several-readers"): "nothing: another node needs the value as it is",
    ("fuse-activations", "intermediate-is-output"): "give the model without that output, if nobody needs it",
    ("fuse-activations", "scales-differ"): "quantize with the activation fused, as converters do before they calibrate",
    ("fuse-activations", "other-op"): "nothing: it works on its own",
    ("fuse-pads", "intermediate-is-output"): "give the model without that output, if nobody needs it",
    ("fuse-pads", "padding-counts"): "train with a pool that pads itself, if its border does not matter",
    ("fold-channels", "is-output"): "nothing: outputs keep their shapes",
    ("fold-channels", "other-reader"): "nothing: what reads the channels needs them",
    ("compose-unary", "rounds-twice"): "nothing: results would change",
    ("cse", "raises-peak"): "nothing: it would take more RAM",
    (
        "simplify-transposes",
        "input-layout",
    ): "export the model with channels last, so that inputs come as they are used",
}
"""What a user can do about a verdict: (pass, reason)."""


@dataclass(frozen=True)
class Facts:
    """What is told of: the graphs, the layers that are left, and what passes said."""

    graphs: GraphsRecord
    calls: tuple[KernelCall, ...]
    remarks: tuple[Remark, ...]
    functions: tuple[str, ...]


def is_routine(remark: Remark) -> bool:
    return (remark.pass_name, remark.reason.slug) in ROUTINE


def concerns(remark: Remark, name: str) -> bool:
    """Whether a verdict is about a node of the model, or what it became."""
    return name == remark.subject or name in remark.origin


def node_lines(facts: Facts, name: str) -> Iterator[str]:
    """What happened to a node of the model, by which pass, why, and what can be done."""
    node = next((n for n in facts.graphs.before if n.name == name), None)
    steps = [step for step, call in enumerate(facts.calls) if name in (call.name, *call.origin)]
    said = [remark for remark in facts.remarks if concerns(remark, name) and not is_routine(remark)]
    yield f"{name}: {node.op} {node.shape}".rstrip() if node is not None else f"{name}: a layer that passes have made"
    yield f"  {_fate(facts, node, steps)}"
    if node is not None and node.fate:
        reason = node.fate if _vanished(node) else node.fate.partition("; ")[2]
        yield from [f"  by     {reason}"] if reason else []
    else:
        yield from _changes(facts, name, [r for r in said if r.kind is RemarkKind.PASSED], laid=bool(steps))
    yield from _misses([r for r in said if r.kind is RemarkKind.MISSED])
    for step in steps:
        yield from _kernel_lines(facts.calls[step], several=len(steps) > 1)


def _changes(facts: Facts, name: str, passed: Sequence[Remark], *, laid: bool) -> Iterator[str]:
    others = [o for n in facts.graphs.after if name in n.origin for o in n.origin if o != name]
    if others:
        yield f"  with   {', '.join(dict.fromkeys(others))}"
    yield from (f"  by     {remark.pass_name}: {remark.text}" for remark in passed[-3:])
    if laid and not passed and not others:
        yield "  by     no pass: none changed it"


def _vanished(node: NodeRecord) -> bool:
    return not node.fate.startswith(("became ", "went into "))


def _fate(facts: Facts, node: NodeRecord | None, steps: Sequence[int]) -> str:
    where = ", ".join(f"layer {step} ({facts.functions[step]})" for step in steps)
    if node is not None and node.fate:
        verb = "vanished" if _vanished(node) else node.fate.partition("; ")[0]
        return f"{verb}{f', {where}' if where else ''}"
    if steps:
        return f"stays: {where}"
    return "costs nothing: it only looks at bytes in another way, and no layer runs for it"


def _misses(missed: Sequence[Remark]) -> Iterator[str]:
    for remark in dict.fromkeys((r.pass_name, r.text, r.reason.slug) for r in missed):
        pass_name, text, slug = remark
        yield f"  not    {pass_name}: {text}"
        if (pass_name, slug) in ADVICE:
            yield f"         to do: {ADVICE[pass_name, slug]}"


def _kernel_lines(call: KernelCall, *, several: bool) -> Iterator[str]:
    of = f" of {call.name}" if several else ""
    why = call.why.removeprefix(f"{call.variant}: ").partition("; ")[0]
    yield f"  kernel{of} {call.kernel} ({call.variant}): {why}"
    nearest = next((a for a in call.alternatives if a.cost is not None), None)
    if nearest is not None:
        yield f"         next best: {nearest.kernel}, {nearest.why_not}"


def pass_lines(remarks: Sequence[Remark], most: int = 8) -> Iterator[str]:
    """What a pass did: how often it said what, and each verdict that is not the same for most nodes."""
    yield from _counts(remarks)
    told = [r for r in remarks if not is_routine(r)]
    for kind in (RemarkKind.PASSED, RemarkKind.MISSED):
        these = list(dict.fromkeys(r.text for r in told if r.kind is kind))
        yield from (f"  {kind.value}  {text}" for text in these[:most])
        if len(these) > most:
            yield f"  and {len(these) - most} more ({kind.value}); --all lists them"


def model_lines(facts: Facts) -> Iterator[str]:
    """The whole in short: what passes said, which nodes went, which stayed against an attempt."""
    before, after = facts.graphs.before, facts.graphs.after
    layers = counted(len(facts.calls), "layer")
    yield f"{counted(len(before), 'node')} of the model, {len(after):,} after the passes, {layers} of the firmware"
    yield from _counts(facts.remarks)
    gone = [node for node in before if node.fate]
    if gone:
        yield "went or changed:"
        yield from (f"  {node.name} ({node.op}): {node.fate}" for node in gone[:12])
        yield from [f"  and {len(gone) - 12} more"] if len(gone) > 12 else []
    kept = [r for r in facts.remarks if r.kind is RemarkKind.MISSED and not is_routine(r)]
    texts = list(dict.fromkeys(f"{r.pass_name} ({r.reason.slug}): {r.text}" for r in kept))
    if texts:
        yield "was looked at and left:"
        yield from (f"  {text}" for text in texts[:12])
        yield from [f"  and {len(texts) - 12} more"] if len(texts) > 12 else []
    yield "more: --node NAME (any piece of a name will do), --pass NAME, --all"


def _counts(remarks: Sequence[Remark]) -> Iterator[str]:
    names = list(dict.fromkeys(r.pass_name for r in remarks))
    width = max(map(len, names), default=0)
    for name in names:
        parts = []
        for kind in (RemarkKind.PASSED, RemarkKind.MISSED):
            counts = Counter(r.reason.slug for r in remarks if r.pass_name == name and r.kind is kind)
            if counts:
                listed = ", ".join(f"{slug} {count}" for slug, count in counts.most_common())
                parts.append(f"{counts.total()} {kind.value} ({listed})")
        yield f"  {name:{width}}  {'; '.join(parts)}"
