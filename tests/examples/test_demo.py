"""The demo's figures from a report, complete and with unknown parts."""

from typing import Any

import pytest

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
