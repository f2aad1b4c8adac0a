"""`arenite plan`."""

import csv
import json
from pathlib import Path

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


def test_a_damaged_file_names_its_lines(tmp_path: Path) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text("id,lower,upper,size\na,0,x,10\nb,1,3,-4\n")
    done = arenite("plan", problem)
    assert done.returncode == 1
    assert "line 2" in done.stderr
    assert "line 3" in done.stderr
