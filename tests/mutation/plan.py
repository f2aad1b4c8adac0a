"""Which tests a file has, and which of its conditions are known to make no difference."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mutation.conditions import Condition, conditions


@dataclass(frozen=True)
class Equivalent:
    """A condition without which everything is as it was.

    Attributes:
        file: relative to the package.
        where: the function or table.
        condition: its text.
        because: why no test can tell.
    """

    file: str
    where: str
    condition: str
    because: str

    def is_about(self, file: str, condition: Condition) -> bool:
        return (self.file, self.where, self.condition) == (file, condition.where, condition.text)


@dataclass(frozen=True)
class Plan:
    """What `plan.toml` says.

    Attributes:
        root: the folder with pytest's configuration.
        package: the package's folder.
        tests: for files of the package, patterns of files of tests, relative to the root; where there are none, those
            in the mirrored folder whose names begin as the file's does.
        files: of the package, all of whose preconditions have tests, or are equivalent.
        preloaded: modules that take long to import, and are the same whatever is removed.
        equivalents: what makes no difference.
    """

    root: Path
    package: Path
    tests: dict[str, list[str]] = field(default_factory=dict)
    equivalents: Sequence[Equivalent] = ()
    files: Sequence[str] = ()
    preloaded: Sequence[str] = ()

    def tests_of(self, file: str) -> list[Path]:
        """The files of tests of a file, in the order of the patterns."""
        path = Path(file)
        patterns = self.tests.get(file, [f"tests/{path.parent}/test_{path.stem}*.py"])
        found = dict.fromkeys(each for pattern in patterns for each in sorted(self.root.glob(pattern)))
        if not found:
            raise SystemExit(f"{file} has no tests: none is called as {', '.join(patterns)}")
        return list(found)

    def why_equivalent(self, file: str, condition: Condition) -> str | None:
        return next((each.because for each in self.equivalents if each.is_about(file, condition)), None)

    def stale(self) -> list[Equivalent]:
        """What is said of conditions that are there no more."""
        there = {file: conditions((self.package / file).read_bytes()) for file in {e.file for e in self.equivalents}}
        return [each for each in self.equivalents if not any(each.is_about(each.file, c) for c in there[each.file])]


def read_plan(path: Path) -> Plan:
    """Read a plan; its folders are relative to its own."""
    text = tomllib.loads(path.read_text(encoding="utf-8"))
    root = (path.parent / text["root"]).resolve()
    equivalents = [Equivalent(**each) for each in text.get("equivalent", [])]
    files, preloaded = (text.get(name, []) for name in ("files", "preloaded"))
    return Plan(root, root / text["package"], text.get("tests", {}), equivalents, files, preloaded)
