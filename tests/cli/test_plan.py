"""`arenite plan`."""

import csv
import json
import time
from pathlib import Path

import pytest

from arenite.driver.plan import _over
from arenite.memory import Buffer, Lifetime, Problem, Solution
from cli.test_cli import arenite

PROBLEM = "id,lower,upper,size\na,0,2,10\nb,1,3,20\nc,2,4,10\n"


def test_a_plan_is_written_with_every_offset(tmp_path: Path) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text(PROBLEM)
    done = arenite("plan", problem, "-o", tmp_path / "out.csv", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["arena_nbytes"], found["lower_bound_nbytes"], found["optimal"]) == (30, 30, True)
    with (tmp_path / "out.csv").open() as file:
        rows = {row["id"]: int(row["offset"]) for row in csv.DictReader(file)}
    assert rows == {buffer["name"]: buffer["offset"] for buffer in found["buffers"]}
    assert rows["a"] + 10 <= rows["b"] or rows["b"] + 20 <= rows["a"]


def test_a_capacity_that_cannot_be_met_names_the_step(tmp_path: Path) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text(PROBLEM)
    done = arenite("plan", problem, "-o", tmp_path / "out.csv", "--capacity", 29)
    assert done.returncode == 1
    assert "no plan can: at step 1 alone 30 bytes are alive: 'b' 20, 'a' 10" in done.stderr
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("rows", "capacity", "reason"),
    [
        ("a,0,3,5,1,100\nb,0,3,5,1,\n", 50, "these are pinned beyond it: 'a' to 105"),
        (
            "a,0,3,5,16,\nb,0,3,5,16,\n",
            20,
            "10 bytes are the most that are alive at once, at step 0: 'a' 5, 'b' 5; but",
        ),
        ("a,1,3,0,1,100\nb,0,3,5,1,\n", 4, "at step 0 alone 5 bytes are alive: 'b' 5"),
    ],
)
def test_the_reason_why_no_plan_can_is_true(tmp_path: Path, rows: str, capacity: int, reason: str) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text(f"id,lower,upper,size,alignment,offset\n{rows}")
    done = arenite("plan", problem, "--capacity", capacity)
    assert done.returncode == 1
    assert f"no plan can: {reason}" in done.stderr


def test_the_peak_of_many_buffers_is_told_in_time_that_grows_with_their_number() -> None:
    buffers = [Buffer(f"b{i}", 1 + i % 7, Lifetime(i, i + 2)) for i in range(50_000)]
    problem = Problem((*buffers, Buffer("last", 100, Lifetime(70_000, 70_001))), 99)
    solution = Solution({}, 100, 100, "by hand", 0.0, 0)
    began = time.process_time()
    assert "at step 70000 alone 100 bytes are alive: 'last' 100" in _over(problem, solution, 99)
    assert time.process_time() - began < 10


def test_a_damaged_file_names_its_lines(tmp_path: Path) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text("id,lower,upper,size\na,0,x,10\nb,1,3,-4\n")
    done = arenite("plan", problem)
    assert done.returncode == 1
    assert "line 2" in done.stderr
    assert "line 3" in done.stderr


def test_regions_share_the_buffers_out(tmp_path: Path) -> None:
    problem, out = tmp_path / "p.csv", tmp_path / "out.csv"
    problem.write_text(PROBLEM)
    regions = ("--region", "0x24000000:1K", "--region", "0x20000000:24")
    done = arenite("plan", problem, "-o", out, "--json", *regions)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["optimal"]
    assert found["regions"] == [
        {"origin": 0x20000000, "nbytes": 24, "used_nbytes": 20},
        {"origin": 0x24000000, "nbytes": 1024, "used_nbytes": 10},
    ]
    with out.open() as file:
        assert {row["id"]: int(row["offset"]) for row in csv.DictReader(file)}["b"] == 0x20000000
    assert arenite("plan", out, *regions).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [
        (
            ("--region", "0x100:24", "--region", "0x200:9"),
            1,
            "lack 1 bytes at the end of the last: no plan can do with",
        ),
        (("--region", "0x100:24", "--region", "0x110:24"), 1, "regions [0x100, 0x118) and [0x110, 0x128) overlap"),
        (("--region", "sram"), 2, "--region takes ORIGIN:N"),
        (("--region", "0x100:64", "--capacity", "64"), 2, "--capacity is of one arena"),
    ],
)
def test_regions_that_do_not_do(tmp_path: Path, arguments: tuple[str, ...], status: int, word: str) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text(PROBLEM)
    done = arenite("plan", problem, *arguments)
    assert done.returncode == status
    assert word in done.stderr
