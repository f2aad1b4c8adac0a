"""Normalizations: by numbers of the model, or by mean and variance of what they normalize."""

import numpy as np

from arenite.ir.attrs import Padding
from arenite.ir.graph import Node, Value
from arenite.ops.conv import Conv2dAttrs
from arenite.ops.reduce import ReduceAttrs
from arenite.passes.legalize.framing import along_channels, bounded
from arenite.passes.legalize.orders import UNIT, Order, as_in_onnx, channels_last, moved, moves_nothing, without_units
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.reshaping import reshaped_for
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.site import Site, attributes, only_results
from arenite.passes.onnx.facts import Facts

_LRN_POWERS = (0.5, 0.75, 1.0)
"""Which roots say."""


def _batch_normalization(site: Site, node: Node) -> None:
    attrs, data, result = attributes(node), node.operand(0), node.results[0]
    only_results(node, 1, {1: "running_mean", 2: "running_var", 3: "saved_mean", 4: "saved_var"})
    if attrs.integer("training_mode", 0) or attrs.integer("spatial", 1) != 1:
        raise RefusedError("it must normalize channels as when it was trained: training_mode 0, spatial 1")
    dims = site.dims(data)
    bounded(max(dims, default=0), "parameters of channels")
    names = ("scale", "B", "input_mean", "input_var")
    scale, bias, mean, variance = (
        np.asarray(site.required_constant(node, index, f"operand '{name}'"), np.float64)
        for index, name in enumerate(names, 1)
    )
    core, order = site.lie(data)
    if len(dims) < 2 or {scale.shape, bias.shape, mean.shape, variance.shape} != {(dims[1],)}:
        raise RefusedError(f"{', '.join(names)} must have one element per channel of {list(dims)}")
    wide = variance + np.float64(np.float32(attrs.number("epsilon", 1e-5)))
    if not (wide > 0).all():
        raise RefusedError("input_var + epsilon must be positive")
    factors = scale / np.sqrt(wide)
    added = bias - mean * factors
    steps = [("mul", factors, 1.0), ("add", added, 0.0)]
    needed = [(op, numbers.astype(np.float32)) for op, numbers, idle in steps if (numbers != idle).any()]
    for index, (op, numbers) in enumerate(needed):
        operands = [core, site.const(op, along_channels(numbers, order))]
        (core,) = site.emit(op, operands, name=result.name if index == len(needed) - 1 else "")
    site.put(result, core, order)


def _instance_normalization(site: Site, node: Node) -> None:
    data, result = node.operand(0), node.results[0]
    dims = site.dims(data)
    if len(dims) < 3:
        raise RefusedError(f"the input must have spatial dimensions, but is {list(dims)}")
    _one_each(site, node, dims[1], "channels")
    epsilon = attributes(node).number("epsilon", 1e-5)
    if _says_groups(site, node, epsilon):
        return
    core, order = site.lie(data)
    scale, bias = (_aligned(site, node.operand(index), len(order) - order.index(1)) for index in (1, 2))
    axes = [place for place, axis in enumerate(order) if axis not in (0, 1)]
    site.put(result, _Normalizer(site, core, axes, epsilon).scaled(scale, bias, result.name), order)


def _around_groups(facts: Facts, node: Node) -> tuple[Value, Value] | None:
    """Where groups of channels are normalized as PyTorch writes it, the values before and behind.

    A Reshape makes a tensor [batch, groups, elements], and others make one [batch, channels, ...] of the node's
    result. With channels last, these elements do not lie side by side.
    """
    before, result = node.operand(0).producer, node.results[0]
    if before is None or before.op != "onnx.Reshape" or result.output_of or not result.uses:
        return None
    whole, dims = result.uses[0].node.results[0], facts.of(result).dims or ()
    own = facts.of(whole).dims or ()
    if len(dims) != 3 or len(own) < 3 or 0 in own or own[0] != dims[0] or own[1] % dims[1]:
        return None
    alike = all(
        use.index == 0 and use.node.op == "onnx.Reshape" and facts.of(use.node.results[0]).dims == own
        for use in result.uses
    )
    return (before.operand(0), whole) if alike else None


def _says_groups(site: Site, node: Node, epsilon: float) -> bool:
    """Give what the Reshapes after the node make of its result, too, channels last, if they are wanted or lie so."""
    ends, result = _around_groups(site.facts, node), node.results[0]
    if ends is None:
        return False
    source, whole = ends
    dims, groups = site.dims(whole), site.dims(result)[1]
    order = channels_last(len(dims))
    lying = reshaped_for(order, site.dims(source), dims)
    own = as_in_onnx(site.rank(source))
    # The first form is the one that the Reshape before did not ask for.
    found = (*site.orders(source), own)[0]
    if lying is None or moves_nothing(found, own, site.dims(source)):
        return False
    if site.wishes.get(whole) != order and not moves_nothing(found, lying, site.dims(source)):
        return False
    core = site.get(source, lying)
    parts = site.reshaped(core, (dims[0], int(np.prod(dims[2:])), groups, dims[1] // groups))
    scale, bias = (site.reshaped(site.get(node.operand(index)), (groups, 1)) for index in (1, 2))
    parts = _Normalizer(site, parts, [1, 3], epsilon).scaled(scale, bias)
    for each in dict.fromkeys(use.node.results[0] for use in result.uses):
        site.put(each, site.reshaped(parts, moved(dims, order), name=each.name), order)
    # Nobody reads this one.
    (turned,) = site.emit("transpose", [parts, site.ints("perm", (0, 2, 3, 1))])
    site.put(result, site.reshaped(turned, site.dims(result)), as_in_onnx(3))
    return True


def _group_normalization(site: Site, node: Node) -> None:
    """[batch, elements, groups, channels of a group], or with the elements last, is normalized over two of these."""
    data, result, attrs = node.operand(0), node.results[0], attributes(node)
    dims, groups = site.dims(data), attrs.integer("num_groups")
    if len(dims) < 3 or groups < 1 or dims[1] % groups:
        raise RefusedError(f"the channels of {list(dims)} must divide by num_groups {groups}")
    if attrs.integer("stash_type", 1) != 1:
        raise RefusedError("stash_type must be 1: mean and variance are of float32")
    _one_each(site, node, dims[1] if site.opset >= 21 else groups, "channels" if site.opset >= 21 else "groups")
    order = _order_for_groups(site, data)
    core = site.get(data, order)
    size = int(np.prod(dims[2:]))
    split = (groups, dims[1] // groups)
    is_last = order != as_in_onnx(len(dims))
    parts = site.reshaped(core, (dims[0], size, *split) if is_last else (dims[0], *split, size))
    of_parameter = split if site.opset >= 21 else (groups, 1)
    wanted = of_parameter if is_last else (*of_parameter, 1)
    scale, bias = (site.reshaped(site.get(node.operand(index)), wanted) for index in (1, 2))
    epsilon = attrs.number("epsilon", 1e-5)
    parts = _Normalizer(site, parts, [1, 3] if is_last else [2, 3], epsilon).scaled(scale, bias)
    site.put(result, site.reshaped(parts, core.type.dims, name=result.name), order)


def _layer_normalization(site: Site, node: Node) -> None:
    data, attrs, results = node.operand(0), attributes(node), node.results
    core, order, axes = _from_axis_on(site, node)
    if attrs.integer("stash_type", 1) != 1:
        raise RefusedError("stash_type must be 1: mean and variance are of float32")
    scale, bias = (
        None if (given := node.optional_operand(index)) is None else _spread(site, given, data, order)
        for index in (1, 2)
    )
    normalizer = _Normalizer(site, core, axes, attrs.number("epsilon", 1e-5))
    site.put(results[0], normalizer.scaled(scale, bias, results[0].name), order)
    for result, found in zip(results[1:], (normalizer.mean, normalizer.inverse), strict=False):
        site.put(result, found, order)


def _rms_normalization(site: Site, node: Node) -> None:
    data, attrs, result = node.operand(0), attributes(node), node.results[0]
    core, order, axes = _from_axis_on(site, node)
    if attrs.integer("stash_type", 1) != 1:
        raise RefusedError("stash_type must be 1: the mean of squares is of float32")
    (squares,) = site.emit("mul", [core, core])
    inverse = _inverse_root(site, _mean(site, squares, axes), attrs.number("epsilon", 1e-5))
    scale = _spread(site, node.operand(1), data, order)
    site.put(result, _affine(site, core, inverse, scale, None, result.name), order)


def _lrn(site: Site, node: Node) -> None:
    """Sums over channels are windows over images of one channel, with the channels for their width or height."""
    data, result, attrs = node.operand(0), node.results[0], attributes(node)
    dims, size = site.dims(data), attrs.integer("size")
    alpha, beta, bias = (attrs.number(name, usual) for name, usual in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0)))
    if len(dims) < 3 or size < 1 or not (alpha >= 0 and bias > 0):
        raise RefusedError(
            f"the input must have channels and spatial dimensions, size and bias must be positive and alpha at "
            f"least 0, but they are {list(dims)}, {size}, {bias:g} and {alpha:g}"
        )
    bounded(size, "the channels in one sum")
    order = _order_for_groups(site, data)
    core = site.get(data, order)
    is_last = order != as_in_onnx(len(dims))
    pixels = int(np.prod(dims[2:]))
    (squares,) = site.emit("mul", [core, core])
    squares = site.reshaped(squares, (dims[0], pixels, dims[1], 1) if is_last else (dims[0], dims[1], pixels, 1))
    around = ((size - 1) // 2, size // 2)
    margins = ((0, 0), around) if is_last else (around, (0, 0))
    weights = np.full((1, 1, size, 1) if is_last else (1, size, 1, 1), alpha / size, np.float32)
    padding = Padding.VALID if size == 1 else Padding.SAME if size % 2 else margins
    operands = [squares, site.const("shares", weights), site.const("bias", np.array([bias], np.float32))]
    (sums,) = site.emit("conv2d", operands, Conv2dAttrs(padding=padding))
    sums = site.reshaped(sums, core.type.dims)
    site.put(result, _over_power(site, core, sums, beta, result.name), order)


def _over_power(site: Site, core: Value, sums: Value, beta: float, name: str) -> Value:
    """`core / sums ** beta`."""
    if beta == 1:
        (core,) = site.emit("div", [core, sums], name=name)
    elif beta in _LRN_POWERS:
        (root,) = site.emit("rsqrt", [sums])
        if beta == 0.75:
            (fourth,) = site.emit("sqrt", [root])
            (root,) = site.emit("mul", [root, fourth])
        (core,) = site.emit("mul", [core, root], name=name)
    else:
        (power,) = site.emit("pow", [sums, site.const("beta", np.array([beta], np.float32))])
        (core,) = site.emit("div", [core, power], name=name)
    return core


class _Normalizer:
    """What is subtracted from a value of the core graph, and by what it is multiplied then.

    Attributes:
        mean: of the value, over some dimensions, which stay as 1.
        inverse: 1 / sqrt(variance + epsilon), in the same shape.
    """

    def __init__(self, site: Site, core: Value, axes: list[int], epsilon: float) -> None:
        self._site, self._core = site, core
        self.mean = _mean(site, core, axes)
        (squares,) = site.emit("squared_difference", [core, self.mean])
        self.inverse = _inverse_root(site, _mean(site, squares, axes), epsilon)

    def scaled(self, scale: Value | None, bias: Value | None, name: str = "") -> Value:
        """The value, normalized, times `scale`, plus `bias`."""
        (centred,) = self._site.emit("sub", [self._core, self.mean])
        return _affine(self._site, centred, self.inverse, scale, bias, name)


def _affine(site: Site, core: Value, inverse: Value, scale: Value | None, bias: Value | None, name: str) -> Value:
    """`core * inverse * scale + bias`, without what does nothing."""
    scale, bias = (None if _is_all(each, idle) else each for each, idle in ((scale, 1.0), (bias, 0.0)))
    last = "add" if bias is not None else "mul"
    if scale is not None:
        small = np.broadcast_shapes(inverse.type.dims, scale.type.dims) != core.type.dims
        # What is smaller than the value is multiplied first.
        first, second = (inverse, scale) if small else (core, inverse)
        (first,) = site.emit("mul", [first, second])
        core, inverse = (core, first) if small else (first, scale)
    (core,) = site.emit("mul", [core, inverse], name=name if last == "mul" else "")
    if bias is not None:
        (core,) = site.emit("add", [core, bias], name=name)
    return core


def _is_all(value: Value | None, number: float) -> bool:
    return value is not None and value.is_constant and bool((np.asarray(value.constant) == number).all())


def _mean(site: Site, core: Value, axes: list[int]) -> Value:
    (mean,) = site.emit("mean", [core, site.ints("axes", axes)], ReduceAttrs(keep_dims=True))
    return mean


def _inverse_root(site: Site, variance: Value, epsilon: float) -> Value:
    if epsilon < 0:
        raise RefusedError(f"epsilon must not be negative, but is {epsilon:g}")
    if epsilon:
        (variance,) = site.emit("add", [variance, site.const("epsilon", np.array([epsilon], np.float32))])
    (inverse,) = site.emit("rsqrt", [variance])
    return inverse


def _from_axis_on(site: Site, node: Node) -> tuple[Value, Order, list[int]]:
    """The operand as it lies, and which of its dimensions are normalized over: those from `axis` on.

    Raises:
        RefusedError: there is no such dimension.
    """
    data = node.operand(0)
    rank, axis = site.rank(data), attributes(node).integer("axis", -1)
    if not -rank <= axis < rank:
        raise RefusedError(f"axis must be one of {rank} dimensions, but is {axis}")
    core, order = site.lie(data)
    return core, order, [place for place, each in enumerate(order) if each != UNIT and each >= axis % rank]


def _spread(site: Site, parameter: Value, data: Value, order: Order) -> Value:
    """A scale or a bias, beside the operand as it lies.

    Raises:
        RefusedError: it does not broadcast to the operand.
    """
    own, dims = site.dims(parameter), site.dims(data)
    fits = len(own) <= len(dims) and all(one in (1, dim) for one, dim in zip(own[::-1], dims[::-1], strict=False))
    if not fits:
        raise RefusedError(f"scale and bias must broadcast to {list(dims)}, but '{parameter.name}' is {list(own)}")
    return site.broadcast(parameter, len(dims), order)


def _one_each(site: Site, node: Node, count: int, what: str) -> None:
    """Refuse a scale or a bias that has not one element each.

    Raises:
        RefusedError: it has not.
    """
    for index, role in ((1, "scale"), (2, "bias")):
        dims = site.dims(node.operand(index))
        if dims != (count,):
            raise RefusedError(f"the {role} must have one element for each of {count} {what}, but is {list(dims)}")


def _aligned(site: Site, value: Value, rank: int) -> Value:
    """One element per channel, where channels come `rank` dimensions from the end."""
    core = site.get(value)
    return site.reshaped(core, (*core.type.dims, *[1] * (rank - 1)))


def _order_for_groups(site: Site, data: Value) -> Order:
    """The order in which a value's channels are split: as it lies, if they are behind the batch or at the end."""
    rank, dims = site.rank(data), site.dims(data)
    lying = without_units(site.lie(data)[1])
    return as_in_onnx(rank) if moves_nothing(lying, as_in_onnx(rank), dims) else channels_last(rank)


RULES = (
    Rule(
        "BatchNormalization",
        _batch_normalization,
        Flow.THROUGH,
        "`mul`, `add`, where they are not part of a convolution already",
    ),
    Rule(
        "InstanceNormalization",
        _instance_normalization,
        Flow.THROUGH,
        "`mean`, `squared_difference`, `rsqrt` and arithmetic",
        _around_groups,
    ),
    Rule("GroupNormalization", _group_normalization, Flow.THROUGH, "as InstanceNormalization, of groups"),
    Rule("LayerNormalization", _layer_normalization, Flow.THROUGH, "as InstanceNormalization, of the last dimensions"),
    Rule("RMSNormalization", _rms_normalization, Flow.THROUGH, "`mean` of squares, `rsqrt`, `mul`"),
    Rule("LRN", _lrn, Flow.THROUGH, "`conv2d` of squares over channels, and arithmetic"),
)
