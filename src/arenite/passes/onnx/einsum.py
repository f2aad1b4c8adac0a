"""Equations of ONNX's Einsum: which dimensions of its operands are one, and which are left."""

from collections.abc import Sequence
from dataclasses import dataclass

from arenite.ir.opdef import OpError

Letters = tuple[str, ...]
"""The dimensions of a tensor by name: a letter, or a number for one of those that an ellipsis stands for."""


@dataclass(frozen=True)
class Equation:
    """The dimensions of the operands, and of the result."""

    operands: tuple[Letters, ...]
    result: Letters


def read_equation(text: str, ranks: Sequence[int]) -> Equation:
    """An equation, with ellipses written out, aligned at their ends.

    Args:
        text: such as `bij,bjk->bik`; without an arrow, the result has the letters that come once, in alphabetical
            order, behind the ellipsis.
        ranks: of the operands.

    Raises:
        OpError: it is no equation, or does not fit the operands.
    """
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise OpError(f"the equation '{text}' is of {len(terms)} operands, found {len(ranks)}")
    hidden = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks, strict=True)]
    for term, rank, count in zip(terms, ranks, hidden, strict=True):
        if count < 0 or (count and "..." not in term):
            raise OpError(f"the term '{term}' of the equation does not fit {rank} dimensions")
    most = max(hidden, default=0)
    operands = tuple(_letters(term, count, most) for term, count in zip(terms, hidden, strict=True))
    if arrow:
        result = _letters(right, most, most)
    else:
        every = [letter for letters in operands for letter in letters]
        once = sorted(letter for letter in set(every) if letter.isalpha() and every.count(letter) == 1)
        result = (*(str(index) for index in range(most)), *once)
    unknown = [letter for letter in result if not any(letter in letters for letters in operands)]
    if unknown or len(set(result)) != len(result):
        raise OpError(f"the result of the equation '{text}' must have dimensions of its operands, each once")
    return Equation(operands, result)


def _letters(term: str, count: int, most: int) -> Letters:
    before, dots, after = term.partition("...")
    if any(not ("a" <= letter.lower() <= "z") for letter in before + after):
        raise OpError(f"the term '{term}' of the equation must be of letters and at most one ellipsis")
    return (*before, *(str(index) for index in range(most - count, most) if dots), *after)
