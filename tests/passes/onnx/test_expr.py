"""Arithmetic on named sizes agrees with arithmetic on the numbers that the names stand for."""

from hypothesis import given
from hypothesis import strategies as st

from arenite.passes.onnx import expr
from arenite.passes.onnx.expr import Expr, Poly

SIZES = {"N": 3, "H": 7, "W": 5}


def value(item: Expr, sizes: dict[str, int]) -> int:
    if isinstance(item, int):
        return item
    total = 0
    for names, factor in item.terms:
        product = factor
        for name in names:
            product *= sizes[name]
        total += product
    return total


atoms = st.one_of(st.integers(-9, 9), st.sampled_from([expr.named(name) for name in SIZES]))
exprs: st.SearchStrategy[Expr] = st.recursive(
    atoms,
    lambda inner: st.builds(lambda f, a, b: f(a, b), st.sampled_from([expr.add, expr.sub, expr.mul]), inner, inner),
    max_leaves=6,
)
sizes = st.fixed_dictionaries({name: st.integers(0, 9) for name in SIZES})


@given(exprs, exprs, sizes)
def test_sums_and_products(a: Expr, b: Expr, known: dict[str, int]) -> None:
    x, y = value(a, known), value(b, known)
    assert value(expr.add(a, b), known) == x + y
    assert value(expr.sub(a, b), known) == x - y
    assert value(expr.mul(a, b), known) == x * y


@given(exprs, exprs)
def test_equal_polynomials_are_equal_objects(a: Expr, b: Expr) -> None:
    assert expr.add(a, b) == expr.add(b, a)
    assert expr.mul(a, b) == expr.mul(b, a)
    assert expr.sub(expr.add(a, b), b) == a


@given(exprs, exprs, sizes)
def test_exact_quotients(a: Expr, b: Expr, known: dict[str, int]) -> None:
    found = expr.divide_exactly(a, b)
    divisor = value(b, known)
    if found is not None and divisor:
        assert value(found, known) * divisor == value(a, known)


@given(exprs, exprs, sizes)
def test_the_smaller_and_the_larger(a: Expr, b: Expr, known: dict[str, int]) -> None:
    x, y = value(a, known), value(b, known)
    low, high = expr.lower(a, b), expr.higher(a, b)
    assert low is None or value(low, known) == min(x, y)
    assert high is None or value(high, known) == max(x, y)


@given(exprs, sizes)
def test_what_is_called_natural_is_not_negative(a: Expr, known: dict[str, int]) -> None:
    if expr.is_natural(a):
        assert value(a, known) >= 0


@given(st.integers(-50, 50), st.integers(-5, 5))
def test_floor_of_numbers(a: int, b: int) -> None:
    assert expr.floordiv(a, b) == (a // b if b > 0 else None)


def test_a_quotient_that_is_not_exact_gets_a_name() -> None:
    n = expr.named("N")
    half = expr.floordiv(expr.add(n, 1), 2)
    assert isinstance(half, Poly)
    assert str(half) == "floor((N + 1)/2)"
    assert expr.floordiv(expr.mul(n, 4), 2) == expr.mul(n, 2)
    # floor((N - 5) / 2) may be negative, and names are not.
    assert expr.floordiv(expr.sub(n, 5), 2) is None


def test_long_polynomials_get_a_name() -> None:
    total: Expr = 0
    for index in range(expr.MAX_TERMS + 2):
        total = expr.add(total, expr.named(f"D{index}"))
    assert isinstance(total, Poly)
    assert len(total.terms) <= expr.MAX_TERMS
    assert total.is_natural
    assert not expr.is_natural(expr.mul(total, -1))
