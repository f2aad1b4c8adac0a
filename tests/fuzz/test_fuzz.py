"""The fuzzers find what they are for, and nothing in their seeds or in some inputs made at random."""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

import fuzz.targets
from arenite._base.errors import ModelError
from arenite.formats.tflite import import_model
from arenite.ir.graph import Graph
from arenite.ir.printer import Printed, print_graph
from fuzz.__main__ import mutated
from fuzz.seeds import write_seeds
from fuzz.targets import TARGETS, Finding, text_parser, tflite_reader

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[bytes]]:
    folders = write_seeds(tmp_path_factory.mktemp("seeds"))
    return {name: [path.read_bytes() for path in sorted(folder.iterdir())] for name, folder in folders.items()}


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_accepted(seeds: dict[str, list[bytes]], name: str) -> None:
    assert len(seeds[name]) > 100
    assert all(TARGETS[name](data) for data in seeds[name])


def test_seeds_reach_most_operators(seeds: dict[str, list[bytes]]) -> None:
    ops = {node.op for data in seeds["tflite-reader"] for node in import_model(data, "m").graph.nodes}
    assert len(ops) > 50


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_made_at_random(seeds: dict[str, list[bytes]], name: str) -> None:
    rng = random.Random(1)
    count = 4 * settings().max_examples
    accepted = sum(TARGETS[name](mutated(seeds[name], rng)) for _ in range(count))
    assert 0 < accepted < count


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        (ModelError("a\x07bell"), Finding),
        (ModelError([]), Finding),
        (ModelError("fine\n \nbut for an empty line"), Finding),
        (KeyError("no message"), KeyError),
        (RecursionError(), RecursionError),
    ],
)
@pytest.mark.parametrize(("target", "function"), [(tflite_reader, "import_model"), (text_parser, "parse_graph")])
def test_what_must_not_happen_is_raised(
    monkeypatch: pytest.MonkeyPatch,
    target: Callable[[bytes], bool],
    function: str,
    planted: Exception,
    found: type[Exception],
) -> None:
    def fails(*_: object) -> None:
        raise planted

    monkeypatch.setattr(fuzz.targets, function, fails)
    with pytest.raises(found):
        target(b"")


def test_another_text_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = iter(("", "another"))

    def changed(graph: Graph) -> Printed:
        printed = print_graph(graph)
        return Printed(printed.text + "# " + next(texts), printed.constants)

    monkeypatch.setattr(fuzz.targets, "print_graph", changed)
    with pytest.raises(Finding, match="read as another graph"):
        text_parser(b"graph @g() -> () {\n}\n")


def test_the_driver_without_coverage_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", "text-parser", "--seconds", "1", "--at-random"],
        cwd=TESTS,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("nothing found\n")
