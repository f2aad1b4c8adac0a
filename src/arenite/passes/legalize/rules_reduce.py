"""Reductions, indices of extremes, and softmax: along whichever dimension ONNX means, as the value lies."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Node, Value
from arenite.ops.activation import SoftmaxAttrs
from arenite.ops.cast import CastAttrs
from arenite.ops.choice import ArgAttrs
from arenite.ops.reduce import ReduceAttrs
from arenite.passes.legalize.formulas import say, say_result
from arenite.passes.legalize.orders import Order, dropped, moved
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.rules_views import same
from arenite.passes.legalize.site import Site, attributes

_SOFTMAX_RANK = 4
"""Most dimensions of a softmax that every runtime takes."""


def axis_in(axis: int, rank: int) -> int:
    """A dimension, counted from the front.

    Raises:
        RefusedError: there is none such.
    """
    if not -rank <= axis < rank:
        raise RefusedError(f"axis must be from {-rank} to {rank - 1}, but is {axis}")
    return axis % rank


def _axes(site: Site, node: Node) -> tuple[int, ...]:
    """The dimensions that a reduction is over: an attribute, an operand from opset 13 (sums) or 18 on, else all."""
    rank = site.rank(node.operand(0))
    axes = attributes(node).integers("axes")
    if len(node.operands) > 1:
        axes = site.integers(node, 1, "the axes")
    if not axes:
        return () if attributes(node).integer("noop_with_empty_axes", 0) else tuple(range(rank))
    return tuple(sorted({axis_in(axis, rank) for axis in axes}))


Steps = Callable[[Site, Value, Value, bool], Value]
"""What a reduction computes of its operand: with the axes in the operand's order, and whether they stay as 1."""


def _plain(op: str, *, before: str = "", after: str = "") -> Steps:
    def steps(site: Site, x: Value, axes: Value, keep: bool) -> Value:
        x = say(site, before, x) if before else x
        reduced = say(site, op, x, axes, attrs=ReduceAttrs(keep))
        return say(site, after, reduced) if after else reduced

    return steps


def _log_sum_exp(site: Site, x: Value, axes: Value, keep: bool) -> Value:
    """The largest element goes before exp and comes back behind log, so that nothing overflows."""
    largest = say(site, "reduce_max", x, axes, attrs=ReduceAttrs(True))
    powers = say(site, "exp", say(site, "sub", x, largest))
    logarithm = say(site, "log", say(site, "sum", powers, axes, attrs=ReduceAttrs(keep)))
    return say(site, "add", logarithm, site.reshaped(largest, logarithm.type.dims))


def _reduce(steps: Steps, *, alone: Sequence[str] = ()) -> Callable[[Site, Node], None]:
    """`alone`: what is left where nothing is reduced."""

    def apply(site: Site, node: Node) -> None:
        data, result = node.operand(0), node.results[0]
        axes, keep = _axes(site, node), bool(attributes(node).integer("keepdims", 1))
        core, order = site.lie(data)
        if axes:
            places = [place for place, axis in enumerate(order) if axis in axes]
            core = steps(site, core, site.ints("axes", places), keep)
            site.put(result, core, order if keep else dropped(order, axes))
            return
        if not alone:
            same(site, node)
            return
        for op in alone:
            core = say(site, op, core)
        site.put(result, core, order)

    return apply


def _lp_normalization(site: Site, node: Node) -> None:
    """Each element over the norm along one dimension, 0 where that is 0."""
    attrs, data = attributes(node), node.operand(0)
    p = attrs.integer("p", 2)
    if p not in (1, 2):
        raise RefusedError(f"p must be 1 or 2, but is {p}")
    core, order = site.lie(data)
    axes = site.ints("axes", [order.index(axis_in(attrs.integer("axis", -1), site.rank(data)))])
    steps = _plain("sum", before="abs") if p == 1 else _plain("sum", before="square", after="sqrt")
    norm = steps(site, core, axes, True)
    there = say(site, "greater", norm, 0.0, dtype=DType.BOOL)
    zero = site.const("zero", np.zeros((), np.float32))
    say_result(site, node, order, "select_v2", there, say(site, "div", core, norm), zero)


def _arg(op: str) -> Callable[[Site, Node], None]:
    def apply(site: Site, node: Node) -> None:
        data, result, attrs = node.operand(0), node.results[0], attributes(node)
        if attrs.integer("select_last_index", 0):
            raise RefusedError("select_last_index must be 0: the core dialect finds the first of equal elements")
        axis = axis_in(attrs.integer("axis", 0), site.rank(data))
        core, order = site.lie(data)
        indices = _index_along(site, op, core, order.index(axis), DType.INT64)
        if attrs.integer("keepdims", 1):
            site.put(result, site.reshaped(indices, moved(site.dims(result), order), name=result.name), order)
        else:
            site.put(result, indices, dropped(order, [axis]))

    return apply


def _index_along(site: Site, op: str, core: Value, place: int, dtype: DType) -> Value:
    return say(site, op, core, site.ints("axis", [place]), attrs=ArgAttrs(dtype), dtype=dtype)


def _together(site: Site, node: Node) -> tuple[int, ...]:
    """The dimensions that count as one: before opset 13 those from the axis on, else the axis."""
    rank, old = site.rank(node.operand(0)), site.opset < 13
    if rank == 0:
        raise RefusedError("the input must have a dimension, but is a scalar")
    axis = axis_in(attributes(node).integer("axis", 1 if old else -1), rank)
    return tuple(range(axis, rank)) if old else (axis,)


def _softmax(op: str) -> Callable[[Site, Node], None]:
    """Over the last dimension, into which those that count as one are merged."""

    def apply(site: Site, node: Node) -> None:
        data, result = node.operand(0), node.results[0]
        dims = site.dims(data)
        axes = [axis for axis in _together(site, node) if dims[axis] != 1] or [_together(site, node)[-1]]
        order, core = _with_last(site, data, axes)
        rows = order[: len(order) - len(axes)]
        attrs: Attrs = SoftmaxAttrs() if op == "softmax" else Attrs()
        if len(axes) == 1 and len(order) <= _SOFTMAX_RANK:
            site.give(result, op, [core], attrs, order=order)
            return
        flat = (math.prod(moved(dims, rows)), math.prod(dims[axis] for axis in axes))
        core = say(site, op, site.reshaped(core, flat), attrs=attrs)
        site.put(result, site.reshaped(core, moved(dims, order), name=result.name), order)

    return apply


def _with_last(site: Site, data: Value, axes: Sequence[int]) -> tuple[Order, Value]:
    """A value with some dimensions last, in whatever sequence they lie already."""
    for order in site.orders(data):
        tail = order[len(order) - len(axes) :]
        if sorted(tail) == sorted(axes):
            return order, site.get(data, order)
    order = site.with_last(data, axes)
    return order, site.get(data, order)


def _hardmax(site: Site, node: Node) -> None:
    """Whether an element's index is that of the first largest one, as a number."""
    data, result = node.operand(0), node.results[0]
    dims, axes = site.dims(data), _together(site, node)
    if len(axes) == 1:
        core, order = site.lie(data)
    else:
        order = site.with_last(data, axes)
        core = site.get(data, order)
        core = site.reshaped(core, (*moved(dims, order[: len(order) - len(axes)]), math.prod(dims[a] for a in axes)))
    place = order.index(axes[0])
    length = core.type.dims[place]
    largest = _index_along(site, "arg_max", core, place, DType.INT32)
    kept = [1 if axis == place else dim for axis, dim in enumerate(core.type.dims)]
    counted = np.arange(length, dtype=np.int32).reshape([-1 if a == place else 1 for a in range(len(kept))])
    found = say(site, "equal", site.reshaped(largest, kept), site.const("indices", counted), dtype=DType.BOOL)
    if len(axes) == 1:
        say_result(site, node, order, "cast", found, attrs=CastAttrs(DType.BOOL, DType.FLOAT32))
        return
    numbers = say(site, "cast", found, attrs=CastAttrs(DType.BOOL, DType.FLOAT32), dtype=DType.FLOAT32)
    site.put(result, site.reshaped(numbers, moved(dims, order), name=result.name), order)


_REDUCTIONS: dict[str, tuple[Steps, tuple[str, ...], str]] = {
    "ReduceMean": (_plain("mean"), (), "`mean`"),
    "ReduceSum": (_plain("sum"), (), "`sum`"),
    "ReduceMax": (_plain("reduce_max"), (), "`reduce_max`"),
    "ReduceMin": (_plain("reduce_min"), (), "`reduce_min`"),
    "ReduceL1": (_plain("sum", before="abs"), ("abs",), "`abs`, `sum`"),
    "ReduceL2": (_plain("sum", before="square", after="sqrt"), ("abs",), "`square`, `sum`, `sqrt`"),
    "ReduceSumSquare": (_plain("sum", before="square"), ("square",), "`square`, `sum`"),
    "ReduceLogSum": (_plain("sum", after="log"), ("log",), "`sum`, `log`"),
    "ReduceLogSumExp": (_log_sum_exp, (), "`log` of `sum` of `exp`, less what is largest, which is added then"),
}

RULES = (
    *(
        Rule(operator, _reduce(steps, alone=alone), Flow.THROUGH, says)
        for operator, (steps, alone, says) in _REDUCTIONS.items()
    ),
    Rule("LpNormalization", _lp_normalization, Flow.THROUGH, "as ReduceL1 or ReduceL2, then `div`, `select_v2`"),
    Rule("ArgMax", _arg("arg_max"), says="`arg_max`"),
    Rule("ArgMin", _arg("arg_min"), says="`arg_min`"),
    Rule("Softmax", _softmax("softmax"), Flow.THROUGH, "`softmax`; the axis goes last if it does not lie so"),
    Rule("LogSoftmax", _softmax("log_softmax"), Flow.THROUGH, "`log_softmax`; as Softmax"),
    Rule("Hardmax", _hardmax, Flow.THROUGH, "`arg_max`, compared with all indices: `equal`, `cast`"),
)
