"""Whether nodes may be computed beforehand, merged or left out."""

from arenite.ir.graph import Node
from arenite.ir.opdef import Registry


def why_impure(node: Node, registry: Registry) -> str | None:
    """Why a node may not be; None when it may. A dialect whose nodes differ in it has its own say."""
    own = getattr(registry, "why_impure", None)
    if own is not None:
        reason = own(node)
        return None if reason is None else str(reason)
    definition = registry.get(node.op)
    if definition is None:
        return "its operator is not known"
    return None if definition.is_foldable and not node.regions else f"{node.op} is not pure and deterministic"
