"""Takes the preconditions of files away, one at a time, and says which test notices.

python -m mutation [--plan FILE.toml] [--only NAME] [--list] [FILE...]      with `tests` on the path: `make mutate`

Exit status: 0 when a test notices each, or it is known why none can; 1 otherwise.
"""

import argparse
import contextlib
import importlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mutation.conditions import Condition, conditions
from mutation.plan import Plan, read_plan
from mutation.trial import Outcome, Package, copied, limit_seconds, run_tests

_FOREVER = 600.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="without any: those that the plan names")
    parser.add_argument("--plan", type=Path, default=Path(__file__).with_name("plan.toml"))
    parser.add_argument(
        "--only", default="", help="only conditions in functions or tables whose names have this in them"
    )
    parser.add_argument("--list", action="store_true", help="say what the conditions are, and run nothing")
    arguments = parser.parse_args()
    plan = read_plan(arguments.plan)
    stale = plan.stale()
    for each in stale:
        print(f"stale: {each.file} has no condition `{each.condition}` in {each.where}")
    files = [str(path.resolve().relative_to(plan.package)) for path in arguments.files] or plan.files
    if arguments.list:
        for file in files:
            for condition in conditions((plan.package / file).read_bytes()):
                print(_text(file, condition))
        return int(bool(stale))
    for name in plan.preloaded:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        package = copied(plan.package, Path(folder))
        failures = sum(_try_all(file, plan, package, arguments.only) for file in files)
    return int(bool(stale) or failures > 0)


def _try_all(file: str, plan: Plan, package: Package, only: str) -> int:
    """Try each condition of a file; how many nothing is known of."""
    tests = plan.tests_of(file)
    kept = _as_it_is(file, package, tests, plan)
    found = [c for c in conditions((package.folder / package.name / file).read_bytes()) if only in c.where]
    failures = killed = 0
    for condition in found:
        with package.without(file, condition):
            killer = run_tests(package, tests, plan.root, limit_seconds(kept)).killer
        because = plan.why_equivalent(file, condition)
        killed += killer is not None
        if because is not None and killer is None:
            verdict = f"equivalent: {because}"
        elif because is not None:
            verdict, failures = f"NOT EQUIVALENT, as {killer} shows", failures + 1
        elif killer is None:
            verdict, failures = "SURVIVED", failures + 1
        else:
            verdict = f"killed by {killer}"
        print(f"{_text(file, condition)}: {verdict}", flush=True)
    # Else whoever works on the tests meanwhile would seem to have a test for each of the conditions that were left.
    _as_it_is(file, package, tests, plan)
    print(
        f"{file}: {len(found)} conditions, {killed} killed, {failures} unexplained, {kept.seconds:.1f} s each",
        flush=True,
    )
    return failures


def _as_it_is(file: str, package: Package, tests: Sequence[Path], plan: Plan) -> Outcome:
    kept = run_tests(package, tests, plan.root, _FOREVER)
    if kept.killer is not None:
        raise SystemExit(f"{file}: with every condition in its place, this fails: {kept.killer}")
    return kept


def _text(file: str, condition: Condition) -> str:
    return f"{file}:{condition.line} {condition.where}: `{condition.text}`"


sys.exit(main())
