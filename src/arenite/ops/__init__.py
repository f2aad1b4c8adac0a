"""What each op of the core dialect means. One module per family, each ending in a tuple OPS."""

from arenite.ir.opdef import Registry


def core_registry() -> Registry:
    """Every op of the core dialect."""
    from arenite.ops import activation, arithmetic, conv, dense, movement, pool, quant, reduce  # noqa: PLC0415

    modules = (activation, arithmetic, conv, dense, movement, pool, quant, reduce)
    return Registry(definition for module in modules for definition in module.OPS)
