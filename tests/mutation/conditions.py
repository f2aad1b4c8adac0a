"""Finds the preconditions in a source file, and makes for each the source that does without it.

A precondition is what the code asks before it changes something:

* the condition of an `if`, of a conditional expression and of a comprehension: it is taken to be fulfilled. What
  refuses (returns, goes on to the next, reports a miss) never happens then, and what does something always does;
* each operand of an `and` or `or`, each link of a chain of comparisons, each pair of elements of two tuples that are
  compared, and each alternative of an `in (...)`: it is left out;
* each element of the tuple that a function gives as a `Hashable`, by which things count as the same: it is left out;
* each entry of a table at the top of a module whose entries are calls or tuples, and each keyword of a `NodePattern`.

Assertions, messages and what reports them are none: their text decides nothing.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

_REPORTS = frozenset({"Mismatch", "Reason", "Remark", "missed", "passed", "note"})


@dataclass(frozen=True)
class Condition:
    """A precondition, and how to do without it.

    Attributes:
        line: where it is.
        where: the function, or the table.
        text: what it asks, as Python's unparser writes it; followed by `#2` for the second alike in one function.
        start: the first byte of what is replaced.
        end: the byte after the last one.
        replacement: the text that takes its place.
    """

    line: int
    where: str
    text: str
    start: int
    end: int
    replacement: str

    def removed_from(self, source: bytes) -> bytes:
        """The source without the condition."""
        return source[: self.start] + self.replacement.encode() + source[self.end :]


def conditions(source: bytes) -> list[Condition]:
    """The preconditions of a file, in order."""
    finder = _Finder(source)
    found = sorted(finder.module(ast.parse(source)), key=lambda each: (each.line, each.start))
    seen: Counter[tuple[str, str]] = Counter()
    numbered = []
    for each in found:
        seen[each.where, each.text] += 1
        number = seen[each.where, each.text]
        numbered.append(replace(each, text=f"{each.text} #{number}") if number > 1 else each)
    return numbered


class _Finder:
    def __init__(self, source: bytes) -> None:
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def module(self, tree: ast.Module) -> Iterator[Condition]:
        for statement in tree.body:
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
                yield from self._table(statement.value, ast.unparse(target))
            yield from self._within(statement, "")

    def _made(self, node: ast.expr, instead: ast.expr, text: str, where: str) -> Condition:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[node.end_lineno - 1] + node.end_col_offset
        return Condition(node.lineno, where, text, start, end, f"({ast.unparse(instead)})")

    # Tables

    def _table(self, value: ast.expr, where: str) -> Iterator[Condition]:
        for node in ast.walk(value):
            if isinstance(node, ast.Tuple | ast.List):
                entries = node.elts
                if not (
                    all(isinstance(e, ast.Call) for e in entries) or all(isinstance(e, ast.Tuple) for e in entries)
                ):
                    continue
                for index, entry in enumerate(entries):
                    kept = [*entries[:index], *entries[index + 1 :]]
                    yield self._made(node, ast.Tuple(kept, ast.Load()), ast.unparse(entry), where)
            elif isinstance(node, ast.Call) and _name(node.func) == "NodePattern":
                for keyword in node.keywords:
                    if keyword.arg in ("ops", "trait", "sole"):
                        fewer = ast.Call(node.func, node.args, [each for each in node.keywords if each is not keyword])
                        yield self._made(node, fewer, ast.unparse(keyword), where)

    # Code

    def _within(self, node: ast.AST, where: str) -> Iterator[Condition]:
        if isinstance(node, ast.Assert | ast.Raise | ast.JoinedStr | ast.Dict):
            return
        if isinstance(node, ast.Call) and _name(node.func) in _REPORTS:
            return
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            where = f"{where}.{node.name}".lstrip(".")
        if isinstance(node, ast.FunctionDef) and node.returns is not None and ast.unparse(node.returns) == "Hashable":
            yield from self._elements(node, where)
        if isinstance(node, ast.If):
            yield from self._whole(node.test, where, holds=not _refuses(node.body))
        elif isinstance(node, ast.IfExp):
            yield from self._choice(node, where)
        elif isinstance(node, ast.comprehension):
            for test in node.ifs:
                yield from self._whole(test, where, holds=True)
        elif isinstance(node, ast.BoolOp):
            yield from self._operands(node, where)
        elif isinstance(node, ast.Compare):
            yield from self._links(node, where)
        for child in ast.iter_child_nodes(node):
            yield from self._within(child, where)

    def _whole(self, test: ast.expr, where: str, *, holds: bool) -> Iterator[Condition]:
        yield self._made(test, ast.Constant(holds), ast.unparse(test), where)

    def _choice(self, node: ast.IfExp, where: str) -> Iterator[Condition]:
        """Of two results, one may be a refusal: then the other one is given always."""
        for refuses in (_reports_mismatch, _is_nothing):
            for branch, holds in ((node.body, False), (node.orelse, True)):
                if refuses(branch):
                    yield from self._whole(node.test, where, holds=holds)
                    return

    def _operands(self, node: ast.BoolOp, where: str) -> Iterator[Condition]:
        for index, value in enumerate(node.values):
            if isinstance(value, ast.Dict | ast.Constant):
                continue
            kept = [*node.values[:index], *node.values[index + 1 :]]
            yield self._made(node, kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept), ast.unparse(value), where)

    def _elements(self, function: ast.FunctionDef, where: str) -> Iterator[Condition]:
        for given in ast.walk(function):
            if isinstance(given, ast.Return) and isinstance(given.value, ast.Tuple):
                for index, element in enumerate(given.value.elts):
                    kept = [each for i, each in enumerate(given.value.elts) if i != index]
                    yield self._made(given.value, ast.Tuple(kept, ast.Load()), ast.unparse(element), where)

    def _links(self, node: ast.Compare, where: str) -> Iterator[Condition]:
        sides = [node.left, *node.comparators]
        if len(node.ops) > 1:
            for index in range(len(node.ops)):
                links = [ast.Compare(sides[i], [op], [sides[i + 1]]) for i, op in enumerate(node.ops) if i != index]
                instead = links[0] if len(links) == 1 else ast.BoolOp(ast.And(), list(links))
                text = ast.unparse(ast.Compare(sides[index], [node.ops[index]], [sides[index + 1]]))
                yield self._made(node, instead, text, where)
            return
        left, right, op = sides[0], sides[1], node.ops[0]
        if isinstance(op, ast.In | ast.NotIn) and isinstance(right, ast.Tuple | ast.List | ast.Set):
            for index, element in enumerate(right.elts):
                kept = ast.Tuple([*right.elts[:index], *right.elts[index + 1 :]], ast.Load())
                text = ast.unparse(ast.Compare(left, [ast.Eq()], [element]))
                yield self._made(node, ast.Compare(left, [op], [kept]), text, where)
        if isinstance(left, ast.Tuple) and isinstance(right, ast.Tuple) and len(left.elts) == len(right.elts):
            for index, pair in enumerate(zip(left.elts, right.elts, strict=True)):
                fewer = [ast.Tuple([*side.elts[:index], *side.elts[index + 1 :]], ast.Load()) for side in (left, right)]
                text = ast.unparse(ast.Compare(pair[0], [op], [pair[1]]))
                yield self._made(node, ast.Compare(fewer[0], [op], [fewer[1]]), text, where)


def _name(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _refuses(body: Sequence[ast.stmt]) -> bool:
    """Whether a block leaves without doing anything more, or says that something was not done."""
    if isinstance(body[-1], ast.Return | ast.Continue | ast.Break | ast.Raise):
        return True
    calls = (each.value for each in body if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call))
    return any(_name(call.func) == "missed" for call in calls)


def _reports_mismatch(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and _name(value.func) == "Mismatch"


def _is_nothing(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value in (None, False)
