"""How rules spell formulas: ops of the core dialect, whose operands may be plain numbers."""

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Node, Value
from arenite.ops.cast import CastAttrs, converted
from arenite.passes.legalize.orders import Order
from arenite.passes.legalize.site import Site

NARROW = frozenset({DType.INT8, DType.UINT8, DType.INT16})
"""Integers that the core dialect computes with only where they are quantized: as int32 they are exact."""


def say(site: Site, op: str, *operands: Value | float, attrs: Attrs | None = None, dtype: DType | None = None) -> Value:
    """Append an op.

    Args:
        site: where it goes.
        op: of the core dialect.
        operands: values of the core graph, the first or the second of them, or numbers of their element type.
        attrs: its op's defaults if None.
        dtype: of the result; the first operand's if None.

    Raises:
        RefusedError: the op does not take such operands.
    """
    (result,) = site.emit(op, _values(site, operands), attrs, dtype=dtype)
    return result


def say_result(
    site: Site, node: Node, order: Order, op: str, *operands: Value | float, attrs: Attrs | None = None
) -> None:
    """Append an op that gives the first result of a node of the ONNX model, in an order.

    Raises:
        RefusedError: the op does not take such operands.
    """
    result = node.results[0]
    site.give(result, op, _values(site, operands), attrs, order=order, dtype=site.dtype(result))


def cast(site: Site, core: Value, dtype: DType) -> Value:
    """Stored numbers as another element type, whatever their scale; the value itself if it has it."""
    if core.type.dtype is dtype:
        return core
    if core.constant is not None:
        return site.const("cast", converted(np.asarray(core.constant), dtype))
    return say(site, "cast", core, attrs=CastAttrs(core.type.dtype, dtype), dtype=dtype)


def as_wide(site: Site, core: Value) -> Value:
    """Integers of 8 and 16 bits as int32, whatever their scale; other values as they are."""
    return cast(site, core, DType.INT32) if core.type.dtype in NARROW else core


def _values(site: Site, operands: tuple[Value | float, ...]) -> list[Value]:
    dtype = next(each.type.dtype for each in operands if isinstance(each, Value))
    return [
        each if isinstance(each, Value) else site.const("number", np.asarray(each, dtype.numpy)) for each in operands
    ]


def say_narrowed(
    site: Site, node: Node, order: Order, op: str, *operands: Value | float, attrs: Attrs | None = None
) -> None:
    """As `say_result`, of operands that were integers of 8 or 16 bits and are int32: the result is cast back, in which
    it wraps around as ONNX's arithmetic does.
    """
    dtype = site.dtype(node.results[0])
    if dtype not in NARROW:
        say_result(site, node, order, op, *operands, attrs=attrs)
        return
    wide = say(site, op, *operands, attrs=attrs)
    say_result(site, node, order, "cast", wide, attrs=CastAttrs(wide.type.dtype, dtype))
