"""Runs tests against a copy of a package from which a condition was removed."""

import contextlib
import os
import resource
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from mutation.conditions import Condition

_MEMORY_NBYTES = 6 << 30
_LEAST_SECONDS = 20.0


@dataclass(frozen=True)
class Outcome:
    """What tests made of a package.

    Attributes:
        killer: the first test that failed, or what else went wrong; None when all passed.
        seconds: how long they took.
    """

    killer: str | None
    seconds: float


@dataclass(frozen=True)
class Package:
    """A copy of a package that may be changed.

    Attributes:
        folder: what is put on the path; the package lies in it.
        name: of the package.
    """

    folder: Path
    name: str

    @contextlib.contextmanager
    def without(self, file: str, condition: Condition) -> Iterator[None]:
        """Remove a condition from a file of the package, for a while."""
        path = self.folder / self.name / file
        source = path.read_bytes()
        # Python would take compiled code of the same size and second for current.
        shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)
        path.write_bytes(condition.removed_from(source))
        try:
            yield
        finally:
            path.write_bytes(source)


def copied(package: Path, folder: Path) -> Package:
    """A copy of a package in a folder."""
    shutil.copytree(package, folder / package.name)
    return Package(folder, package.name)


def limit_seconds(all_kept: Outcome) -> float:
    """How long tests may take that took so long with every condition in its place."""
    return max(_LEAST_SECONDS, 5 * all_kept.seconds)


def run_tests(package: Package, tests: Sequence[Path], root: Path, seconds: float) -> Outcome:
    """Run tests against a package, up to the first failure, in a process of its own.

    Args:
        package: what `import` finds.
        tests: files of tests.
        root: the folder with pytest's configuration.
        seconds: when to give up.
    """
    began = time.monotonic()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.setsid()
        _be_the_child(package, tests, root, writer)
    os.close(writer)
    try:
        killer = _told(reader, child, seconds)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reader)
    return Outcome(killer, time.monotonic() - began)


def _told(reader: int, child: int, seconds: float) -> str | None:
    """What the child writes before it ends."""
    text, deadline = b"", time.monotonic() + seconds
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([reader], [], [], left)[0]:
            return f"no end after {seconds:.0f} s"
        if not (read := os.read(reader, 4096)):
            return text.decode() or "the process ended"
        text += read
        if text.endswith(b"\n"):
            return text.decode().strip() if text != b"survived\n" else None


class _FirstFailure:
    def __init__(self) -> None:
        self.killer: str | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self.killer is None:
            self.killer = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and self.killer is None:
            self.killer = f"{report.nodeid} (on import)"


def _be_the_child(package: Package, tests: Sequence[Path], root: Path, writer: int) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_NBYTES, _MEMORY_NBYTES))
    void = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(void, stream)
    os.chdir(root)
    sys.path.insert(0, str(package.folder))
    sys.dont_write_bytecode = True
    os.environ.update(
        PYTHONPATH=str(package.folder), PYTHONDONTWRITEBYTECODE="1", ARENITE_PROFILE="mutation", OMP_NUM_THREADS="1"
    )
    # The same examples each time, and no time spent on making a failing one smaller.
    settings.register_profile(
        "mutation",
        max_examples=25,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
        phases=(Phase.explicit, Phase.generate),
    )
    settings.load_profile("mutation")
    first = _FirstFailure()
    arguments = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--rootdir", str(root), *map(str, tests)]
    status = pytest.main(arguments, plugins=[first])
    if status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED):
        said = first.killer or "survived"
    else:
        said = f"pytest ended with {status!r}"
    if sys.modules[package.name].__file__ != str(package.folder / package.name / "__init__.py"):
        said = f"the tests imported another {package.name}"
    os.write(writer, said.replace("\n", " ").encode() + b"\n")
    os._exit(0)
