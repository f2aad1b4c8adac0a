"""Limits of RAM and flash, and figures that nobody can measure: what is not known is said, not taken as nothing."""

import re
from pathlib import Path

import pytest

from cli.test_cli import DIGITS, arenite


def test_a_limit_is_not_said_to_hold_for_what_was_not_measured(tmp_path: Path) -> None:
    done = arenite("compile", DIGITS, "-o", tmp_path / "out", "--simulate", "off", "--ram-limit", 2600)
    assert done.returncode == 0
    assert "the RAM limit holds without static and stack, which were not measured" in done.stderr


@pytest.mark.zig
@pytest.mark.unicorn
def test_a_limit_counts_the_stack_where_it_is_measured(tmp_path: Path) -> None:
    done = arenite("compile", DIGITS, "-o", tmp_path / "out", "--ram-limit", 2600)
    assert done.returncode == 1
    assert "arena 2,560, static 0, stack" in done.stderr


def test_code_that_was_not_measured_is_no_code_of_0_bytes(tmp_path: Path) -> None:
    done = arenite("compile", DIGITS, "-o", tmp_path / "out", "--simulate", "off", "--flash-limit", 1000)
    assert done.returncode == 1
    assert re.search(r"at least ([\d,]+) bytes are needed \(code not measured, weights and tables \1\)", done.stderr)
    assert done.stderr.rstrip().endswith("try a smaller model")


@pytest.mark.zig
@pytest.mark.unicorn
def test_a_core_without_published_cycles_is_named(tmp_path: Path) -> None:
    done = arenite("compile", DIGITS, "-o", tmp_path / "out", "--target", "cortex-m33")
    assert done.returncode == 0
    assert "no time: Arm publishes no cycles of cortex-m33" in done.stdout
    assert "Arm publishes no cycles of " in (tmp_path / "out" / "report.html").read_text()
