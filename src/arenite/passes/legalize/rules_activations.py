"""Activation functions, as formulas of what the core dialect has."""

import math
from collections.abc import Callable

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.graph import Array, Node, Value
from arenite.ops.rectifiers import LeakyReluAttrs
from arenite.passes.legalize.formulas import NARROW, as_wide, say, say_narrowed, say_result
from arenite.passes.legalize.orders import Order
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.rules_views import same
from arenite.passes.legalize.site import Site, attributes

Formula = Callable[[Site, Node, Value, Order], None]

ERF_COEFFICIENTS = (1.1283724, 0.10282152, -2.9034430e-4, -5.4979348e-4, 6.5875676e-5, -2.7110372e-6)
"""erf(x) = tanh(x p(min(x², ERF_LIMIT))) within 1.1e-6, and x erf(x / sqrt(2)) likewise.

p has these coefficients, of powers of x² from 0 up: fit to atanh(erf(x)) / x with the least error in erf(x) max(1, x).
"""
ERF_LIMIT = 12.5
_SELU_ALPHA, _SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875
_MISH_LIMIT = 20.0
"""From it on tanh(softplus(x)) is 1 in float32."""


def _of_floats(formula: Formula) -> Callable[[Site, Node], None]:
    def apply(site: Site, node: Node) -> None:
        formula(site, node, *site.lie(node.operand(0)))

    return apply


def _relu(site: Site, node: Node) -> None:
    core, order = site.lie(node.operand(0))
    if core.type.dtype is DType.FLOAT32:
        say_result(site, node, order, "relu", core)
    else:
        say_narrowed(site, node, order, "maximum", as_wide(site, core), 0)


def _leaky_relu(site: Site, node: Node, x: Value, order: Order) -> None:
    say_result(site, node, order, "leaky_relu", x, attrs=LeakyReluAttrs(attributes(node).number("alpha", 0.01)))


def _prelu(site: Site, node: Node) -> None:
    """The slopes broadcast to the input in the order in which it lies."""
    x, order = site.lie(node.operand(0))
    slope = site.broadcast(node.operand(1), site.rank(node.operand(0)), order)
    say_result(site, node, order, "prelu", x, slope)


def _elu(site: Site, node: Node, x: Value, order: Order) -> None:
    """The core's elu has alpha 1; its results below 0 are multiplied by alpha by a leaky_relu."""
    alpha = attributes(node).number("alpha", 1.0)
    if alpha == 1:
        say_result(site, node, order, "elu", x)
    else:
        say_result(site, node, order, "leaky_relu", say(site, "elu", x), attrs=LeakyReluAttrs(alpha))


def _selu(site: Site, node: Node, x: Value, order: Order) -> None:
    attrs = attributes(node)
    alpha, gamma = attrs.number("alpha", _SELU_ALPHA), attrs.number("gamma", _SELU_GAMMA)
    below = say(site, "leaky_relu", say(site, "elu", x), attrs=LeakyReluAttrs(alpha))
    say_result(site, node, order, "mul", below, gamma)


def _celu(site: Site, node: Node, x: Value, order: Order) -> None:
    """It is alpha elu(x / alpha)."""
    alpha = attributes(node).number("alpha", 1.0)
    if not alpha > 0:
        raise RefusedError(f"alpha must be positive, but is {alpha}")
    if alpha == 1:
        say_result(site, node, order, "elu", x)
    else:
        say_result(site, node, order, "mul", say(site, "elu", say(site, "div", x, alpha)), alpha)


def _thresholded_relu(site: Site, node: Node, x: Value, order: Order) -> None:
    above = say(site, "greater", x, attributes(node).number("alpha", 1.0), dtype=DType.BOOL)
    say_result(site, node, order, "select_v2", above, x, site.const("zero", np.zeros((), np.float32)))


def _shrink(site: Site, node: Node, x: Value, order: Order) -> None:
    """It is x - bias above lambd, x + bias below -lambd, else 0."""
    attrs = attributes(node)
    bias, limit = attrs.number("bias", 0.0), attrs.number("lambd", 0.5)
    zero = site.const("zero", np.zeros((), np.float32))
    below = say(site, "less", x, -limit, dtype=DType.BOOL)
    above = say(site, "greater", x, limit, dtype=DType.BOOL)
    low, high = (x, x) if bias == 0 else (say(site, "add", x, bias), say(site, "sub", x, bias))
    rest = say(site, "select_v2", above, high, zero, dtype=DType.FLOAT32)
    say_result(site, node, order, "select_v2", below, low, rest)


def _hard_sigmoid(site: Site, node: Node, x: Value, order: Order) -> None:
    """relu6(6 alpha x + 6 beta) / 6: where alpha is 1/6, as networks have it, that is no multiplication before."""
    attrs = attributes(node)
    alpha, beta = attrs.number("alpha", 0.2), attrs.number("beta", 0.5)
    slope = float(np.float32(6 * alpha))
    scaled = x if math.isclose(slope, 1, rel_tol=1e-6) else say(site, "mul", x, slope)
    shifted = say(site, "add", scaled, 6 * beta)
    say_result(site, node, order, "mul", say(site, "relu6", shifted), 1 / 6)


def _swish(site: Site, node: Node, x: Value, order: Order) -> None:
    alpha = attributes(node).number("alpha", 1.0)
    scaled = x if alpha == 1 else say(site, "mul", x, alpha)
    say_result(site, node, order, "mul", x, say(site, "logistic", scaled))


def _mish(site: Site, node: Node, x: Value, order: Order) -> None:
    """It is x tanh(log(1 + e)) = x n / (n + 2) with e = exp(x), n = e (e + 2)."""
    e = say(site, "exp", say(site, "minimum", x, _MISH_LIMIT))
    n = say(site, "mul", e, say(site, "add", e, 2.0))
    say_result(site, node, order, "mul", x, say(site, "div", n, say(site, "add", n, 2.0)))


def _softplus(site: Site, node: Node, x: Value, order: Order) -> None:
    """log(1 + exp(x)) = max(x, 0) - log(logistic(|x|)), which overflows nowhere."""
    tail = say(site, "log", say(site, "logistic", say(site, "abs", x)))
    say_result(site, node, order, "sub", say(site, "relu", x), tail)


def _softsign(site: Site, node: Node, x: Value, order: Order) -> None:
    say_result(site, node, order, "div", x, say(site, "add", say(site, "abs", x), 1.0))


def _erf(site: Site, node: Node, x: Value, order: Order) -> None:
    """Within 1.1e-6: see ERF_COEFFICIENTS."""
    say_result(site, node, order, "tanh", _erf_argument(site, x, 1.0, 1.0))


def _erf_argument(site: Site, x: Value, inside: float, outside: float) -> Value:
    """It is outside * (inside x) * p((inside x)²)."""
    square = say(site, "minimum", say(site, "square", x), ERF_LIMIT / inside**2)
    factors = [outside * inside ** (2 * power + 1) * each for power, each in enumerate(ERF_COEFFICIENTS)]
    total: Value | float = factors[-1]
    for factor in reversed(factors[:-1]):
        total = say(site, "add", say(site, "mul", square, total), factor)
    return say(site, "mul", x, total)


def _exact_gelu(site: Site, node: Node, x: Value, order: Order) -> None:
    """It is x (1 + erf(x / sqrt(2))) / 2 = x logistic(2 y), where tanh(y) is that erf."""
    gate = say(site, "logistic", _erf_argument(site, x, math.sqrt(0.5), 2.0))
    say_result(site, node, order, "mul", x, gate)


def _tanh_gelu(site: Site, node: Node, x: Value, order: Order) -> None:
    """It is x (1 + tanh(y)) / 2 = x logistic(2 y) with y = sqrt(2 / pi) (x + 0.044715 x³)."""
    slope = 2 * math.sqrt(2 / math.pi)
    inner = say(site, "add", say(site, "mul", say(site, "square", x), 0.044715 * slope), slope)
    say_result(site, node, order, "mul", x, say(site, "logistic", say(site, "mul", x, inner)))


def _gelu(site: Site, node: Node, x: Value, order: Order) -> None:
    form = attributes(node).text("approximate", "none")
    if form not in ("none", "tanh"):
        raise RefusedError(f"approximate must be none or tanh, but is '{form}'")
    (_exact_gelu if form == "none" else _tanh_gelu)(site, node, x, order)


def _quick_gelu(site: Site, node: Node, x: Value, order: Order) -> None:
    scaled = say(site, "mul", x, attributes(node).number("alpha", 1.702))
    say_result(site, node, order, "mul", x, say(site, "logistic", scaled))


def _biased(formula: Formula) -> Callable[[Site, Node], None]:
    """A function of the sum of two operands, the second of which may be absent."""

    def apply(site: Site, node: Node) -> None:
        x, order = site.lie(node.operand(0))
        bias = node.optional_operand(1)
        if bias is not None:
            x = say(site, "add", x, site.broadcast(bias, site.rank(node.operand(0)), order))
        formula(site, node, x, order)

    return apply


_CLAMPS = {
    (0.0, math.inf): "relu",
    (0.0, 6.0): "relu6",
    (-1.0, 1.0): "relu_n1_to_1",
    (0.0, 1.0): "relu_0_to_1",
}


def _clip(site: Site, node: Node) -> None:
    """min(max(x, low), high): one of the core dialect's clamps, else what bounds there are."""
    data = node.operand(0)
    core, order = site.lie(data)
    bounds = [_bound(site, node, index) for index in (0, 1)]
    low, high = bounds
    if core.type.dtype is DType.FLOAT32 and not isinstance(low, Value) and not isinstance(high, Value):
        key = (-math.inf if low is None else float(low), math.inf if high is None else float(high))
        if key in _CLAMPS:
            say_result(site, node, order, _CLAMPS[key], core)
            return
    wide = as_wide(site, core)
    steps: list[tuple[str, Value]] = []
    for op, bound in (("maximum", low), ("minimum", high)):
        if bound is not None:
            steps.append((op, _as_operand(site, bound, wide.type.dtype)))
    if not steps:
        same(site, node)
        return
    for op, operand in steps[:-1]:
        wide = say(site, op, wide, operand)
    say_narrowed(site, node, order, steps[-1][0], wide, steps[-1][1])


def _bound(site: Site, node: Node, index: int) -> Value | Array | None:
    """A bound of a Clip: None where it bounds nothing.

    Raises:
        RefusedError: it is no number.
    """
    name = ("min", "max")[index]
    if site.opset < 11:
        number = attributes(node).number(name) if attributes(node).has(name) else (-math.inf, math.inf)[index]
        array: Array | None = np.asarray(number, np.float32)
    else:
        bound = node.optional_operand(index + 1)
        if bound is None:
            return None
        array = site.constant(bound)
        if array is None:
            if math.prod(site.dims(bound)) != 1:
                raise RefusedError(f"{name} must be one number, but is {list(site.dims(bound))}")
            return site.reshaped(site.get(bound), ())
    assert array is not None
    if array.size != 1:
        raise RefusedError(f"{name} must be one number, but is {list(array.shape)}")
    array = array.reshape(())
    if array.dtype.kind != "f":
        return array
    if math.isnan(float(array)):
        raise RefusedError(f"{name} must be a number, but is nan")
    least = float(array) == -math.inf if index == 0 else float(array) == math.inf
    return None if least else array


def _as_operand(site: Site, bound: Value | Array, dtype: DType) -> Value:
    if isinstance(bound, Value):
        return as_wide(site, bound)
    return site.const("bound", bound.astype(np.int32) if DType.of(bound.dtype) in NARROW else bound.astype(dtype.numpy))


_EXACT_GELU = "x times `logistic` of a polynomial: within 1.1e-6 of the exact function"
_TANH_GELU = "x times `logistic` of the formula that ONNX gives"

_FORMULAS: dict[str, tuple[Formula, str]] = {
    "LeakyRelu": (_leaky_relu, "`leaky_relu`"),
    "Elu": (_elu, "`elu`; with another alpha than 1 then `leaky_relu`"),
    "Selu": (_selu, "`elu`, `leaky_relu`, `mul`"),
    "Celu": (_celu, "`elu`; with another alpha than 1 between `div` and `mul`"),
    "ThresholdedRelu": (_thresholded_relu, "`greater`, `select_v2`"),
    "Shrink": (_shrink, "two comparisons, two `select_v2`"),
    "HardSigmoid": (_hard_sigmoid, "`relu6` between `add` and `mul`"),
    "Swish": (_swish, "`logistic`, `mul`"),
    "Mish": (_mish, "`exp` and rational arithmetic: 7 ops"),
    "Softplus": (_softplus, "`relu` minus `log` of `logistic` of `abs`"),
    "Softsign": (_softsign, "`abs`, `add`, `div`"),
    "Erf": (_erf, "`tanh` of a polynomial: within 1.1e-6 of the exact function"),
    "Gelu": (_gelu, f"{_EXACT_GELU}; approximate: {_TANH_GELU}"),
    "com.microsoft::Gelu": (_exact_gelu, _EXACT_GELU),
    "com.microsoft::QuickGelu": (_quick_gelu, "`mul`, `logistic`, `mul`"),
}

RULES = (
    *(Rule(operator, _of_floats(formula), Flow.THROUGH, says) for operator, (formula, says) in _FORMULAS.items()),
    Rule("com.microsoft::FastGelu", _biased(_tanh_gelu), Flow.THROUGH, f"`add`, then {_TANH_GELU}"),
    Rule("com.microsoft::BiasGelu", _biased(_exact_gelu), Flow.THROUGH, f"`add`, then {_EXACT_GELU}"),
    Rule("Relu", _relu, Flow.THROUGH, "`relu`; of integers `maximum`"),
    Rule("PRelu", _prelu, Flow.THROUGH, "`prelu`"),
    Rule(
        "Clip",
        _clip,
        Flow.THROUGH,
        "`relu`, `relu6`, `relu_n1_to_1` or `relu_0_to_1` where these are the bounds, else `maximum`, `minimum`",
    ),
)
