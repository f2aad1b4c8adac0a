"""The tool that takes preconditions away: what it takes for one, and what it says of those that no test needs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arenite.passes.presets import default_passes, legalizing_passes
from mutation.conditions import conditions
from mutation.plan import Equivalent, Plan, read_plan

HERE = Path(__file__).parent
PLAN = HERE / "plan.toml"
FORKED = pytest.mark.skipif(not hasattr(os, "fork"), reason="trials are forked, which this system cannot do")

RULES = """
def fuse(op, readers, is_output):
    if readers != 1:
        return None
    if is_output or op == "sub":
        return None
    return op + "-relu"
"""

TESTS = """
from tiny.rules import fuse

def test_fuses():
    assert fuse("add", 1, False) == "add-relu"

def test_precondition_no_output():
    assert fuse("add", 1, True) is None

def test_precondition_one_reader():
    assert fuse("add", 2, False) is None
"""


def texts(source: str) -> list[str]:
    return [each.text for each in conditions(source.encode())]


def without(source: str, text: str) -> str:
    (found,) = (each for each in conditions(source.encode()) if each.text == text)
    return found.removed_from(source.encode()).decode()


@pytest.mark.parametrize(
    ("source", "text", "changed"),
    [
        ("if a:\n    return None", "a", "if (False):\n    return None"),
        ("if a:\n    change()", "a", "if (True):\n    change()"),
        ("if a:\n    candidate.missed(R)\nelse:\n    b()", "a", "if (False):\n    candidate.missed(R)\nelse:\n    b()"),
        ("if a or b(c):\n    return", "b(c)", "if (a):\n    return"),
        ("return a and b and c", "b", "return (a and c)"),
        ("return None if a else b", "a", "return None if (False) else b"),
        ("return a if b else Mismatch(c)", "b", "return a if (True) else Mismatch(c)"),
        ("return [a for a in b if c]", "c", "return [a for a in b if (True)]"),
        ("return a == b == c", "b == c", "return (a == b)"),
        ("return (a, b) != (c, d)", "a != c", "return ((b,) != (d,))"),
        ("return a in ('b', 'c')", "a == 'b'", "return (a in ('c',))"),
    ],
)
def test_conditions_in_code(source: str, text: str, changed: str) -> None:
    def function(body: str) -> str:
        return "def f():\n    " + body.replace("\n", "\n    ")

    assert without(function(source), text) == function(changed)


def test_conditions_in_tables() -> None:
    source = "TABLE = (Rule(a), Rule(b))\nNAMES = (x, y)\nP = NodePattern('p', ops=S, sole=True)"
    assert texts(source) == ["Rule(a)", "Rule(b)", "ops=S", "sole=True"]
    assert without(source, "Rule(b)").splitlines()[0] == "TABLE = ((Rule(a),))"
    assert without(source, "sole=True").splitlines()[2] == "P = (NodePattern('p', ops=S))"


def test_conditions_of_sameness() -> None:
    source = "def key(node) -> Hashable:\n    return node.op, node.attrs"
    assert without(source, "node.op").splitlines()[1] == "    return ((node.attrs,))"


def test_messages_are_no_conditions() -> None:
    for line in ("assert a or b", "raise E(a or b)", "m.missed(R, x=a or b)", "return Mismatch(R, {'x': a or b})"):
        assert texts(f"def f():\n    {line}") == []


def test_conditions_alike_are_numbered() -> None:
    guard = "    if a:\n        return\n"
    source = f"def f():\n{guard}    g('é')\n{guard}def h():\n{guard}"
    assert texts(source) == ["a", "a #2", "a"]
    assert without(source, "a #2").splitlines()[4] == "    if (False):"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A package with one rule, whose tests know of two of its three preconditions."""
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tiny" / "__init__.py").touch()
    (tmp_path / "tiny" / "rules.py").write_text(RULES)
    (tmp_path / "tests" / "test_rules.py").write_text(TESTS)
    (tmp_path / "plan.toml").write_text('root = "."\npackage = "tiny"\n')
    return tmp_path


def mutate(plan: Path, *files: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-m", "mutation", "--plan", plan, *files],
        env={**os.environ, "PYTHONPATH": str(HERE.parent)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


@FORKED
def test_says_which_test_notices_and_what_none_does(project: Path) -> None:
    status, lines = mutate(project / "plan.toml", project / "tiny" / "rules.py")
    assert status == 1
    assert lines[:4] == [
        "rules.py:3 fuse: `readers != 1`: killed by tests/test_rules.py::test_precondition_one_reader",
        "rules.py:5 fuse: `is_output or op == 'sub'`: killed by tests/test_rules.py::test_precondition_no_output",
        "rules.py:5 fuse: `is_output`: killed by tests/test_rules.py::test_precondition_no_output",
        "rules.py:5 fuse: `op == 'sub'`: SURVIVED",
    ]
    assert lines[4].startswith("rules.py: 4 conditions, 3 killed, 1 unexplained")
    assert (project / "tiny" / "rules.py").read_text() == RULES


@FORKED
def test_what_is_said_to_make_no_difference_must_be_there_and_make_none(project: Path) -> None:
    entries = [("op == 'sub'", "nobody subtracts"), ("readers != 1", "wrong"), ("gone", "was there once")]
    with (project / "plan.toml").open("a") as plan:
        for condition, because in entries:
            plan.write(f'[[equivalent]]\nfile = "rules.py"\nwhere = "fuse"\ncondition = "{condition}"\n')
            plan.write(f'because = "{because}"\n')
    status, lines = mutate(project / "plan.toml", project / "tiny" / "rules.py")
    assert status == 1
    assert lines[0] == "stale: rules.py has no condition `gone` in fuse"
    assert "NOT EQUIVALENT" in lines[1]
    assert lines[4].endswith("`op == 'sub'`: equivalent: nobody subtracts")


def test_the_plan_speaks_of_what_there_is() -> None:
    plan = read_plan(PLAN)
    assert plan.stale() == []
    assert all(each.because.strip() for each in plan.equivalents)
    assert len({(e.file, e.where, e.condition) for e in plan.equivalents}) == len(plan.equivalents)
    for file in plan.tests:
        assert (plan.package / file).is_file()
        assert plan.tests_of(file)


def test_every_pass_of_the_core_dialect_is_proved() -> None:
    """A new pass belongs into the plan, too."""
    plan = read_plan(PLAN)
    assert len(set(plan.files)) == len(plan.files)
    assert all((plan.package / file).is_file() for file in plan.files)
    passes = {type(spec).__module__ for spec in (*legalizing_passes(), *default_passes())}
    assert {module.removeprefix("arenite.").replace(".", "/") + ".py" for module in passes} <= set(plan.files)


def test_files_without_tests_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="has no tests"):
        Plan(tmp_path, tmp_path).tests_of("rules.py")
    assert not Equivalent("a.py", "f", "x", "y").is_about("b.py", conditions(b"def f():\n    if x: return")[0])


@pytest.mark.slow
@FORKED
@pytest.mark.parametrize("file", ["dce.py", "cse.py"])
def test_each_precondition_of_small_passes_has_its_test(file: str) -> None:
    status, lines = mutate(PLAN, read_plan(PLAN).package / "passes" / file)
    assert status == 0, "\n".join(lines)
