"""Facts of Einsum."""

from arenite.ir.opdef import OpError
from arenite.passes.onnx.einsum import read_equation
from arenite.passes.onnx.expr import Expr
from arenite.passes.onnx.fact import Asked, Fact, Infer
from arenite.passes.onnx.shapes import shape_of


def _einsum(asked: Asked) -> list[Fact]:
    shapes = [shape_of(asked.operand(index)) for index in range(len(asked.operands))]
    equation = read_equation(asked.attrs.text("equation"), [len(shape) for shape in shapes])
    sizes: dict[str, Expr] = {}
    for letters, shape in zip(equation.operands, shapes, strict=True):
        for letter, size in zip(letters, shape, strict=True):
            known = sizes.setdefault(letter, size)
            if known == 1:
                sizes[letter] = size
            elif size not in (1, known):
                raise OpError(f"dimension '{letter}' of the equation is {known} and {size}")
    return [Fact(asked.operand(0).dtype, tuple(sizes[letter] for letter in equation.result))]


RULES: dict[str, Infer] = {"Einsum": _einsum}
