"""What there is: targets, operators, passes; as rows of text."""

from arenite.driver.coverage import oracle_of, without_kernel
from arenite.driver.toolbox import default_toolbox
from arenite.ir.opdef import OpDef, Trait
from arenite.passes.presets import file_only_passes
from arenite.targets import table


def list_targets() -> list[dict[str, str]]:
    return [
        {
            "target": name,
            "compile": "yes",
            "build": "yes" if builds else "no",
            "simulate": "yes" if simulates else "no",
            "what": summary + (f" ({missing})" if missing else ""),
        }
        for name, summary, builds, simulates, missing in table()
    ]


def list_ops() -> list[dict[str, str]]:
    available = default_toolbox().kernels
    return [
        {
            "op": definition.name,
            "kernels": ", ".join(kernel.variant for kernel in available.of_op(definition.name))
            or _no_kernel(definition),
            "oracle": oracle_of(definition),
            "no kernel": "; ".join(f"{which}: {why}" for which, why in without_kernel(definition, available)) or "-",
            "what": _summary(definition),
            "requires": "; ".join(constraint.text for constraint in definition.constraints) or "nothing more",
        }
        for definition in default_toolbox().registry.values()
    ]


def list_passes() -> list[dict[str, str]]:
    return [
        {
            "pass": each.name,
            "equivalence": str(each.equivalence),
            "may say": ", ".join(reason.slug for reason in each.reasons),
        }
        for each in (*default_toolbox().passes, *file_only_passes())
    ]


def _no_kernel(definition: OpDef) -> str:
    return "none (a view)" if definition.has(Trait.VIEW) else "none"


def _summary(definition: OpDef) -> str:
    return definition.summary.replace("\n", " ")
