"""Writes docs/{ops,remarks,onnx-operators}.md from the code: `python docs/generate.py` (or `make docs`)."""

from collections.abc import Iterator
from pathlib import Path

from arenite.driver.coverage import oracle_of, without_kernel
from arenite.driver.toolbox import own_toolbox
from arenite.ir.opdef import NotApplicable, OpDef, Trait
from arenite.ops.onnx.dialect import OLDEST_OPSET
from arenite.passes.legalize.legalize import legalization_rules
from arenite.passes.legalize.rules_quantized import REFUSED
from arenite.passes.onnx.presets import onnx_passes
from arenite.passes.presets import file_only_passes

FOLDER = Path(__file__).parent
NOTICE = "<!-- Written by docs/generate.py from the code; change that, then run `make docs`. -->"


def ops_page() -> str:
    """Every operator of the core dialect: operands, what it requires, its kernels and what they require."""
    return "\n".join(_ops_lines()) + "\n"


def _ops_lines() -> Iterator[str]:
    toolbox = own_toolbox()
    yield "# Operators"
    yield NOTICE
    yield ""
    yield (
        f"{len(toolbox.registry)} operators. Their integer results are those of TFLite-Micro's reference kernels, byte "
        "for byte; [numerics.md](numerics.md) lists the exceptions. `arenite ops` lists them in short."
    )
    for name in sorted(toolbox.registry):
        definition = toolbox.registry[name]
        yield ""
        yield f"## {name}"
        yield ""
        yield definition.summary.replace("\n", " ")
        yield ""
        yield f"- signature: `{_signature(definition)}`"
        yield f"- meaning: {_meaning(definition)}"
        yield from (f"- requires: {constraint.text}" for constraint in definition.constraints)
        kernels = toolbox.kernels.of_op(name)
        if definition.has(Trait.VIEW):
            yield "- kernels: none, it moves no bytes"
        elif not kernels:
            yield "- kernels: none; `compile` takes it only where a pass removes it"
        for kernel in kernels:
            wants = "; ".join(constraint.text for constraint in kernel.constraints) or "anything"
            yield f"- kernel `{kernel.variant}` (`{kernel.info.symbol}`): takes {wants}"
        yield from (f"- no kernel: {which} ({why})" for which, why in without_kernel(definition, toolbox.kernels))
        yield f"- oracle: {oracle_of(definition)}"


def _signature(definition: OpDef) -> str:
    operands = ", ".join(
        operand.name + ("..." if operand.variadic else "?" if operand.optional else "")
        for operand in definition.operands
    )
    return f"{definition.name}({operands}) -> {', '.join(definition.result_names)}"


def _meaning(definition: OpDef) -> str:
    facets = {"float32": definition.evaluate_float, "quantized integers": definition.evaluate_quantized}
    there = [what for what, facet in facets.items() if not isinstance(facet, NotApplicable)]
    missing = [f"not on {what} ({facet.reason})" for what, facet in facets.items() if isinstance(facet, NotApplicable)]
    return ", ".join([*there, *missing])


def remarks_page() -> str:
    """Every reason that a pass may give."""
    return "\n".join(_remarks_lines()) + "\n"


def _remarks_lines() -> Iterator[str]:
    yield "# Remarks"
    yield NOTICE
    yield ""
    yield (
        "Each candidate that a pass looks at ends as passed or missed, with one of these reasons. "
        "`arenite explain MODEL` prints them, report.json and report.html hold them."
    )
    # Passes that serve both dialects stand once.
    for each in {each.name: each for each in (*own_toolbox().passes, *file_only_passes(), *onnx_passes())}.values():
        yield ""
        yield f"## {each.name}"
        yield ""
        yield f"{each.summary} Promise: {each.equivalence}."
        yield ""
        yield "| reason | what it says |"
        yield "|---|---|"
        yield from (f"| `{reason.slug}` | {reason.template.replace('|', chr(92) + '|')} |" for reason in each.reasons)


def onnx_page() -> str:
    """Every operator of ONNX that `convert` takes."""
    return "\n".join(_onnx_lines()) + "\n"


def _onnx_lines() -> Iterator[str]:
    rules = legalization_rules()
    yield "# ONNX operators"
    yield NOTICE
    yield ""
    yield (
        f"`arenite convert` takes these operators of ONNX, from opset {OLDEST_OPSET} on (older ones where they have "
        "not changed since), of float32, and of bool and integers as far as [the ops](ops.md) that they become do. "
        "What depends on constants alone is computed before. A form that no ops say exactly is refused: the message "
        "says of each such node what was expected and what was found. Dimensions stay in the order in which they lie; "
        "where they must be moved, there is a `reshape` or `transpose` more than the table says. Integers of 8 and 16 "
        "bits are computed as int32, between two `cast`."
    )
    yield ""
    yield "| operator | what it becomes |"
    yield "|---|---|"
    refused = [rule for rule in rules.values() if rule.says.startswith(REFUSED)]
    for op in sorted(rules, key=lambda op: ("::" in op, op)):
        if rules[op] not in refused:
            yield f"| `{rules[op].operator}` | {rules[op].says.replace('|', chr(92) + '|')} |"
    yield ""
    yield f"Refused, since they are in quantized models alone: {', '.join(f'`{rule.operator}`' for rule in refused)}."


PAGES = {"ops.md": ops_page, "remarks.md": remarks_page, "onnx-operators.md": onnx_page}


def main() -> None:
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
