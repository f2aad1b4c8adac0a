"""The demo's figures from a report, complete and with unknown parts."""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import demo
from demo import figures

REPORT: dict[str, Any] = {
    "ram": {"arena_nbytes": 3000, "static_nbytes": 20, "stack_nbytes": 400},
    "flash": {"weights_nbytes": 15000, "tables_nbytes": 1000, "code_nbytes": 6000},
    "simulation": {"cpu": "cortex-m4", "compiler": "zig", "instructions": 1_000_000, "cycles_estimate": 1_600_000},
}


def test_totals_and_latency() -> None:
    ram, flash, instructions, latency = figures(REPORT, clock_mhz=80.0)
    assert "3,420 bytes (arena 3,000, static 20, stack 400)" in ram
    assert "22,000 bytes (weights 15,000, tables 1,000, code 6,000)" in flash
    assert "1,000,000 per invocation" in instructions
    assert "20.00 ms at 80 MHz" in latency  # 1.6 M cycles at 80 cycles per microsecond


@pytest.mark.parametrize("simulation", [None, {**REPORT["simulation"], "cycles_estimate": None}])
def test_null_is_unknown_and_never_zero(simulation: dict[str, Any] | None) -> None:
    report = {**REPORT, "ram": {**REPORT["ram"], "stack_nbytes": None}, "simulation": simulation}
    ram, _, instructions, latency = figures(report, clock_mhz=80.0)
    assert "unknown (arena 3,000, static 20, stack unknown)" in ram
    assert ("unknown" in instructions) == (simulation is None)
    assert "unknown" in latency


@pytest.mark.wheel
@pytest.mark.zig
@pytest.mark.unicorn
def test_the_firmware_reads_the_held_out_digits_as_tflite_micro_does(tmp_path: Path) -> None:
    script = Path(demo.__file__)
    finished = subprocess.run(
        [sys.executable, script, "-o", tmp_path / "two words"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=tmp_path,
    )
    assert finished.returncode == 0, finished.stderr
    said = dict(line.split(maxsplit=1) for line in finished.stdout.splitlines() if line[:14].strip())
    assert said["TFLite-Micro"] == "every output byte is the same"
    assert said["accuracy"].startswith("99.17% (357 of 360 ")
    assert "unknown" not in finished.stdout
    assert Path(said["report"]).is_file()
    # What was shown can be typed again.
    (shown,) = [line for line in finished.stdout.splitlines() if line.startswith("$ arenite run ")]
    outputs = tmp_path / "two words" / "outputs.npz"
    first = outputs.read_bytes()
    outputs.unlink()
    again = subprocess.run(
        [sys.executable, "-m", *shlex.split(shown)[1:]], capture_output=True, timeout=300, check=False, cwd=tmp_path
    )
    assert again.returncode == 0, again.stderr
    assert outputs.read_bytes() == first
