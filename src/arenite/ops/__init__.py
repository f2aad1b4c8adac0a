"""What each op of the core dialect means. One module per family, each ending in a tuple OPS."""

from functools import cache

from arenite._base.collect import collect
from arenite.ir.opdef import OpDef, Registry


@cache
def core_registry() -> Registry:
    """Every op of the core dialect."""
    return Registry(op for op in collect("arenite.ops", "OPS") if isinstance(op, OpDef))
