"""Seeds for the fuzzers: generated models of one operator each, as files and as text."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

import choosing_cases
import function_cases
import moving_cases
import norm_cases
import state_cases
import weighted_cases
from arenite._base.dtypes import DType
from arenite.formats.tflite import export_model
from arenite.ir.model import Model
from arenite.ir.printer import print_graph

_EXAMPLES = 3
_LARGEST_NBYTES = 4096


def _strategies() -> Iterator[st.SearchStrategy[Any]]:
    plain: tuple[Mapping[str, st.SearchStrategy[Any]], ...] = (norm_cases.WHEEL_CASES, function_cases.WHEEL_CASES)
    for strategies in plain:
        yield from strategies.values()
    for moving in (moving_cases.MOVERS, choosing_cases.CHOOSERS):
        yield from (make(DType.INT8) for make in moving.values())
    yield from (weighted_cases.conv_cases(), weighted_cases.depthwise_cases(), weighted_cases.dense_cases())
    yield state_cases.svdf_cases(biased=True)


def models() -> list[Model]:
    """Some of each operator; always the same ones."""
    found: list[Model] = []
    for strategy in _strategies():

        @seed(1)
        @settings(
            max_examples=_EXAMPLES,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
        )
        @given(strategy)
        def collect(case: Any) -> None:
            found.append(case.model())

        collect()
    return found


def write_seeds(folder: Path) -> Mapping[str, Path]:
    """Seed corpora by target, in folders of their names."""
    folders = {"tflite-reader": folder / "tflite-reader", "text-parser": folder / "text-parser"}
    for path in folders.values():
        path.mkdir(parents=True, exist_ok=True)
    for model in models():
        text = print_graph(model.graph, self_contained=True).text
        for target, data in (("tflite-reader", export_model(model)), ("text-parser", text.encode())):
            if len(data) <= _LARGEST_NBYTES:
                (folders[target] / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    return folders
