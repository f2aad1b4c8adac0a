"""A pass that did wrong leaves a folder that shows it again."""

import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from arenite._base.errors import DataError, SelfCheckError
from arenite._base.remarks import Reason
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph
from arenite.ops import core_registry
from arenite.passes.base import Pass, Work
from arenite.passes.instruments import all_checks
from arenite.passes.pipeline import run_pipeline
from arenite.passes.presets import all_passes
from arenite.passes.reproduce import Reproduce, replay
from ir.support import REGISTRY, ScaleAttrs, f32

DONE = Reason("done", "{subject} was scaled")


@dataclass(frozen=True)
class Rescale(Pass):
    """Wrong unless `by` is what the graph has."""

    by: float = 2.0

    name: ClassVar[str] = "rescale"
    summary: ClassVar[str] = "Sets scales."
    reasons: ClassVar[tuple[Reason, ...]] = (DONE,)

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            if node.op == "t.scale" and node.attrs != ScaleAttrs(self.by):
                work.consider(node).passed(DONE)
                work.rewriter.set_attrs(node, ScaleAttrs(self.by))


def model() -> Graph:
    b = GraphBuilder()
    x = b.input("x/é:0", f32(40))
    c = b.constant("big", np.arange(40, dtype=np.float32))
    s = b.node("t.sum", [x, c], [f32(40)], name="s")
    return b.output(b.node("t.scale", [s.result], [f32(40)], ScaleAttrs(2.0), name="y").result)


def test_reproducer_shows_the_fault_again(tmp_path: Path) -> None:
    samples = [[np.ones(40, np.float32)]]
    instruments = (*all_checks(samples), Reproduce(tmp_path / "r", samples))
    with pytest.raises(SelfCheckError) as first:
        run_pipeline(model(), [Rescale(3.0)], REGISTRY, instruments=instruments)
    assert str(first.value).endswith(f"to reproduce it: python -m arenite.passes.reproduce {tmp_path / 'r'}")
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == [
        "before.ir",
        "error.txt",
        "inputs.npz",
        "pass.json",
    ]
    with pytest.raises(SelfCheckError) as again:
        replay(tmp_path / "r", REGISTRY, [Rescale()])
    assert again.value.problems == first.value.problems[:-1]
    assert (tmp_path / "r" / "error.txt").read_text(encoding="utf-8") == f"{again.value}\n"


def test_nothing_is_written_when_all_is_well(tmp_path: Path) -> None:
    run_pipeline(model(), [Rescale(2.0)], REGISTRY, instruments=(*all_checks(), Reproduce(tmp_path / "r")))
    assert not (tmp_path / "r").exists()


def test_a_pass_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SelfCheckError):
        run_pipeline(model(), [Rescale(3.0)], REGISTRY, instruments=(*all_checks(), Reproduce(tmp_path)))
    with pytest.raises(DataError, match="no pass is called 'rescale'"):
        replay(tmp_path, REGISTRY, all_passes())


def test_the_command_names_folders_with_blanks_whole(tmp_path: Path) -> None:
    folder = tmp_path / "a folder; of mine"
    with pytest.raises(SelfCheckError) as caught:
        run_pipeline(model(), [Rescale(3.0)], REGISTRY, instruments=(*all_checks(), Reproduce(folder)))
    assert shlex.split(caught.value.problems[-1])[-1] == str(folder)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("pass.json", b"{"),
        ("pass.json", b"[]"),
        ("pass.json", b'{"name": "fold"}'),
        ("pass.json", b'{"name": "fold", "options": {"colour": 1}}'),
        ("pass.json", b"\xff"),
        ("before.ir", b"\xff"),
        ("inputs.npz", b"no archive"),
        ("inputs.npz", b"PK\x03\x04 half of one"),
    ],
)
def test_damaged_folders_are_said_to_be(file: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "before.ir").write_text("graph @g(%x: float32[2]) -> (%y) {\n  %y: float32[2] = relu(%x)\n}\n")
    (tmp_path / "pass.json").write_text('{"name": "fold", "options": {}}')
    np.savez(tmp_path / "inputs.npz", **{"0_0": np.ones(2, np.float32)})  # type: ignore[arg-type]
    replay(tmp_path, core_registry(), all_passes())
    (tmp_path / file).write_bytes(content)
    with pytest.raises(DataError, match="is not a whole reproducer"):
        replay(tmp_path, core_registry(), all_passes())
    (tmp_path / file).unlink()
    with pytest.raises(DataError, match="is not a whole reproducer"):
        replay(tmp_path, core_registry(), all_passes())


def test_command_line(tmp_path: Path) -> None:
    (tmp_path / "before.ir").write_text("graph @g(%x: float32[2]) -> (%y) {\n  %y: float32[2] = relu(%x)\n}\n")
    (tmp_path / "pass.json").write_text('{"name": "fold", "options": {"max_nbytes": 5}}')
    np.savez(tmp_path / "inputs.npz")
    command = [sys.executable, "-m", "arenite.passes.reproduce", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "the pass does nothing wrong on this graph\n", "")
    (tmp_path / "before.ir").write_text("graph @g(%x: float32[2]) -> (%y) {}")
    damaged = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (damaged.returncode, damaged.stderr) == (1, "1:30: %y is not defined before it is read\n")
    none = subprocess.run(command[:-1], capture_output=True, text=True, timeout=60, check=False)
    assert (none.returncode, none.stderr.count("\n")) == (2, 1)
