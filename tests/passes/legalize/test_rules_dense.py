"""Products of matrices, Gemm and Einsum: few nodes, and exact, however the operands lie."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passes.legalize.moves import FEW, after_transpose, ops_of, permuted
from passes.legalize.spatial import node, numbers, one, refusal, run
from passes.legalize.support import model_of

SHAPES_OF_C = [None, (), (1,), (5,), (1, 5), (4, 1), (4, 5)]


@FEW
@given(st.data())
def test_gemm(data: Any) -> None:
    attrs = {
        "transA": data.draw(st.integers(0, 1)),
        "transB": data.draw(st.integers(0, 1)),
        "alpha": data.draw(st.sampled_from([1.0, 0.5])),
        "beta": data.draw(st.sampled_from([1.0, 2.0, 0.0])),
    }
    a, b = (6, 4) if attrs["transA"] else (4, 6), (5, 6) if attrs["transB"] else (6, 5)
    c, constant = (
        data.draw(st.sampled_from(SHAPES_OF_C)),
        {"b": data.draw(st.booleans()), "c": data.draw(st.booleans())},
    )
    dims = {"b": b, **({} if c is None else {"c": c})}
    constants = {name: numbers(*each) for name, each in dims.items() if constant[name]}
    inputs = {name: (np.float32, each) for name, each in dims.items() if not constant[name]}
    of = node("Gemm", "t b" if c is None else "t b c", **attrs)
    ops = ops_of(after_transpose([of], a, data.draw(permuted(2)), constants=constants, others=inputs))
    assert ops.count("fully_connected" if constant["b"] else "batch_matmul") == 1
    row = c is None or attrs["beta"] == 0 or (constant["c"] and (len(c) < 2 or c[0] == 1))
    assert "add" not in ops or not (row and constant["b"])


SHAPES = [
    ((4, 6), (6, 5)),
    ((6,), (6, 5)),
    ((2, 3, 4, 6), (6, 5)),
    ((2, 3, 4, 6), (6,)),
    ((6,), (6,)),
    ((2, 3, 4, 6), (3, 6, 5)),
    ((2, 3, 4, 6), (2, 1, 6, 5)),
    ((6,), (2, 6, 5)),
    ((4, 6), (2, 3, 6, 5)),
    ((2, 4, 6), (1, 6, 5)),
    ((2, 4, 1), (1, 5)),
]


@pytest.mark.parametrize("constant", ["", "a", "b"])
@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_matmul(a: tuple[int, ...], b: tuple[int, ...], constant: str) -> None:
    dims = {"a": a, "b": b}
    inputs = {name: (np.float32, each) for name, each in dims.items() if name != constant}
    constants = {constant: numbers(*dims[constant])} if constant else {}
    ops = run(model_of([node("MatMul", "a b")], inputs, ["y"], constants))
    assert [op for op in ops if op != "reshape"] in (["fully_connected"], ["batch_matmul"])


@FEW
@given(st.sampled_from(SHAPES), st.sampled_from(["none", "left", "right"]), st.data())
def test_matmul_of_what_lies_in_another_order(
    dims: tuple[tuple[int, ...], tuple[int, ...]], constant: str, data: Any
) -> None:
    other = {"none": None, "left": 0, "right": 1}[constant]
    moved = 1 if other == 0 else 0
    of = node("MatMul", "t o" if moved == 0 else "o t")
    constants = {} if other is None else {"o": numbers(*dims[other])}
    inputs = {"o": (np.float32, dims[1 - moved])} if other is None else {}
    perm = data.draw(permuted(len(dims[moved])))
    ops = ops_of(after_transpose([of], dims[moved], perm, constants=constants, others=inputs))
    assert ops.count("transpose") <= 3


def test_weights_on_either_side_of_what_lies_so() -> None:
    """No transpose: the sum runs over what lies last, and the result lies as it comes."""
    right = after_transpose([node("MatMul", "t w")], (2, 3, 4, 6), (1, 0, 2, 3), constants={"w": numbers(6, 5)})
    assert run(right) == ["fully_connected", "transpose"]
    nodes = [node("MatMul", "w t", "m"), node("Transpose", "m", perm=[0, 2, 1]), node("Relu", "y", "z")]
    left = after_transpose(nodes, (2, 6, 4), (0, 2, 1), ["z"], {"w": numbers(5, 6)})
    assert run(left) == ["fully_connected", "relu"]


def test_heads_of_attention() -> None:
    """Matrices lie either way round, so that only what splits heads is moved."""
    split = [("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1])]
    nodes = [node("Transpose", name, f"{name}t", perm=perm) for name, perm in split]
    inputs = {name: (np.float32, [1, 7, 2, 4]) for name, _ in split}
    ops = run(model_of([*nodes, node("MatMul", "qt kt", "y")], inputs, ["y"]))
    assert ops == ["transpose", "transpose", "batch_matmul"]


def test_steps_that_are_dequantized_first() -> None:
    stored = np.random.default_rng(4).integers(-128, 128, (5, 6)).astype(np.int8)
    nodes = [node("DequantizeLinear", "w s", "d"), node("Transpose", "d", "t"), node("MatMul", "x t")]
    assert run(model_of(nodes, {"x": (np.float32, [3, 6])}, ["y"], {"w": stored, "s": np.float32(0.1)})) == [
        "fully_connected"
    ]


@pytest.mark.parametrize("operator", ["MatMul", "Gemm"])
def test_integers_have_no_counterpart(operator: str) -> None:
    message = refusal(one(node(operator, "x w"), [2, 3], {"w": np.ones((3, 2), np.int32)}, dtype=np.int32))
    assert "float32" in message
    assert "int32" in message


EQUATIONS: list[tuple[str, tuple[int, ...], tuple[int, ...] | None]] = [
    ("ij->ji", (2, 3), None),
    ("ij->i", (2, 3), None),
    ("ijk->", (2, 3, 4), None),
    ("...i->...", (2, 3, 4), None),
    ("ba", (2, 3), None),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("ij,jk", (2, 3), (3, 4)),
    ("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("bchw,bchw->bchw", (2, 3, 4, 5), (2, 3, 4, 5)),
    ("bchw,bc->bchw", (2, 3, 4, 5), (2, 3)),
    ("i,j->ij", (2,), (3,)),
    ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)),
    ("bhwc,hkc->bhwk", (2, 3, 4, 5), (3, 6, 5)),
    ("i,i", (3,), (3,)),
    ("ijz,jk->ik", (2, 3, 2), (3, 4)),
    ("ij,jkz->ki", (2, 3), (3, 4, 2)),
    ("bcd,ce->bde", (2, 3, 4), (3, 5)),
    ("bnij,bnjk->bink", (2, 3, 4, 5), (2, 3, 5, 6)),
]


@pytest.mark.parametrize("constant", ["", "a", "b"])
@pytest.mark.parametrize(("equation", "a", "b"), EQUATIONS)
def test_einsum(equation: str, a: tuple[int, ...], b: tuple[int, ...] | None, constant: str) -> None:
    dims = {"a": a} if b is None else {"a": a, "b": b}
    constant = constant if len(dims) > 1 else ""
    inputs = {name: (np.float32, each) for name, each in dims.items() if name != constant}
    constants = {constant: numbers(*dims[constant])} if constant else {}
    ops = run(model_of([node("Einsum", " ".join(dims), equation=equation)], inputs, ["y"], constants))
    assert len([op for op in ops if op not in ("reshape", "transpose", "sum")]) == len(dims) - 1


@FEW
@given(st.sampled_from([each for each in EQUATIONS if each[2] is not None]), st.data())
def test_einsum_of_what_lies_in_another_order(
    equation: tuple[str, tuple[int, ...], tuple[int, ...]], data: Any
) -> None:
    text, a, b = equation
    model = after_transpose(
        [node("Einsum", "t o", equation=text)], a, data.draw(permuted(len(a))), others={"o": (np.float32, b)}
    )
    ops_of(model)


@pytest.mark.parametrize(
    ("equation", "message"),
    [
        ("ii->i", "the equation 'ii->i' takes a diagonal, which has no counterpart"),
        ("ij,jk,kl->il", "the equation must have one operand or two, but 'ij,jk,kl->il' has 3"),
    ],
)
def test_equations_that_have_no_counterpart(equation: str, message: str) -> None:
    names = [f"x{index}" for index in range(equation.count(",") + 1)]
    of = node("Einsum", " ".join(names), equation=equation)
    assert refusal(model_of([of], {name: (np.float32, [3, 3]) for name in names}, ["y"])) == message
