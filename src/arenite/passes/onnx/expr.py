"""Integers of which some are not known before the model runs: numbers, and polynomials over named sizes."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from arenite.ir.types import Dim

MAX_TERMS = 16
"""A longer polynomial gets a name of its own: what is compared stays small."""

Term = tuple[tuple[str, ...], int]


@dataclass(frozen=True)
class Poly:
    """A sum of terms, each a product of named sizes with a coefficient that is not 0; never a plain number.

    Equal names are equal numbers. None is negative, except those that begin with `~`; `floor(...)` names a quotient.
    """

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        text = ""
        for names, factor in self.terms:
            product = "*".join((*names, *([str(abs(factor))] if abs(factor) != 1 or not names else [])))
            sign = "-" if factor < 0 else "+" if text else ""
            text += f" {sign} {product}" if text else f"{sign}{product}"
        return text

    @property
    def is_natural(self) -> bool:
        """Whether it is seen not to be negative."""
        return all(factor > 0 and not any(name.startswith("~") for name in names) for names, factor in self.terms)


Expr = int | Poly


def named(name: str) -> Poly:
    """The size that a name stands for."""
    return Poly((((name,), 1),))


def expr_of(dim: Dim) -> Expr:
    """A dimension of a type."""
    return dim if isinstance(dim, int) else named(dim)


def dim_of(expr: Expr) -> Dim:
    """An expression as a dimension of a type."""
    return expr if isinstance(expr, int) else str(expr)


def _terms(expr: Expr) -> tuple[Term, ...]:
    if isinstance(expr, Poly):
        return expr.terms
    return (((), expr),) if expr else ()


def _made(terms: list[Term]) -> Expr:
    """The expression that terms add up to."""
    terms.sort(key=lambda term: (-len(term[0]), term[0]))
    summed = [
        (names, total)
        for names, group in groupby(terms, key=lambda term: term[0])
        if (total := sum(factor for _, factor in group))
    ]
    if not summed:
        return 0
    if len(summed) == 1 and not summed[0][0]:
        return summed[0][1]
    poly = Poly(tuple(summed))
    if len(summed) <= MAX_TERMS:
        return poly
    return named(f"({poly})" if poly.is_natural else f"~({poly})")


def add(a: Expr, b: Expr) -> Expr:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return _made([*_terms(a), *_terms(b)])


def sub(a: Expr, b: Expr) -> Expr:
    return add(a, mul(b, -1))


def mul(a: Expr, b: Expr) -> Expr:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    return _made([(tuple(sorted((*m, *n))), f * g) for m, f in _terms(a) for n, g in _terms(b)])


def product(factors: "tuple[Expr, ...] | list[Expr]") -> Expr:
    total: Expr = 1
    for factor in factors:
        total = mul(total, factor)
    return total


def divide_exactly(a: Expr, b: Expr) -> Expr | None:
    """A / b when b divides every term of a; None when that is not seen."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b if b and a % b == 0 else None
    divisor = _terms(b)
    if len(divisor) != 1:
        return 1 if a == b else None
    names, factor = divisor[0]
    quotient: list[Term] = []
    for of_term, coefficient in _terms(a):
        rest = list(of_term)
        for name in names:
            if name not in rest:
                return None
            rest.remove(name)
        if coefficient % factor:
            return None
        quotient.append((tuple(rest), coefficient // factor))
    return _made(quotient)


def floordiv(a: Expr, b: Expr) -> Expr | None:
    """floor(a / b); None when b may be 0 or negative."""
    if isinstance(b, Poly) or b <= 0:
        return None
    if isinstance(a, int):
        return a // b
    exact = divide_exactly(a, b)
    # A quotient of something negative would be a name that is not natural.
    return exact if exact is not None else named(f"floor(({a})/{b})") if a.is_natural else None


def lower(a: Expr, b: Expr) -> Expr | None:
    """The smaller one, when it is seen which."""
    return _either(a, b, lambda difference: difference >= 0)


def higher(a: Expr, b: Expr) -> Expr | None:
    """The larger one, when it is seen which."""
    return _either(a, b, lambda difference: difference <= 0)


def _either(a: Expr, b: Expr, first: Callable[[int], bool]) -> Expr | None:
    difference = sub(b, a)
    if isinstance(difference, int):
        return a if first(difference) else b
    if difference.is_natural:
        return a if first(1) else b
    opposite = mul(difference, -1)
    assert isinstance(opposite, Poly)
    if opposite.is_natural:
        return a if first(-1) else b
    return None


def is_natural(expr: Expr) -> bool:
    """Whether an expression is seen not to be negative."""
    return expr >= 0 if isinstance(expr, int) else expr.is_natural
