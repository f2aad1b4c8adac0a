"""The tests of the onnx package, optimised with their inputs pinned, so that all folds that may: outputs stay."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import onnx
import pytest

from arenite._base.errors import AreniteError
from arenite.formats.onnx import OnnxDetails, export_model, import_model, model_registry
from arenite.interp.onnx import OnnxInterpreter
from arenite.ir.graph import Array
from arenite.ir.model import Model
from arenite.ops.onnx.dialect import OLDEST_OPSET
from arenite.passes.instruments import CheckClaims, VerifyGraph
from arenite.passes.onnx.interface import Interface, apply_interface
from arenite.passes.onnx.presets import onnx_passes, run_rounds
from onnx_cases import Case, node_cases, same, stored_cases

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

# What does not give the expected outputs, by the beginning of its name, and why.
KNOWN = {
    "test_bernoulli": "its results are random, before and after",
    "test_gradient_of_add": "nothing here evaluates Gradient",
}
_TOO_OLD = f"is older than {OLDEST_OPSET}, the oldest that can be evaluated"
ALL = 1 << 30
"""Bytes that folding may add where everything should fold."""


class Tally:
    """What became of cases: how many were compared, how many fold wholly, and what went wrong."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.wrong: dict[str, str] = {}

    def add(self, cases: Iterable[Case], limit: int | None) -> None:
        for case in cases:
            for inputs, outputs in case.data:
                try:
                    said = self._verdict(case, inputs, outputs, limit)
                except AreniteError as error:
                    said = f"{type(error).__name__}: {error}"
                if _TOO_OLD in said:
                    self.counts["too old"] += 1
                elif said:
                    self.wrong[case.name] = said

    def _verdict(self, case: Case, inputs: list[object], outputs: list[object], limit: int | None) -> str:
        model = import_model(case.model.SerializeToString(), case.name)
        assert isinstance(model.details, OnnxDetails)
        rest = _pinned(model, inputs)
        registry, passes = model_registry(model), onnx_passes(fold_max_nbytes=limit)
        run_rounds(model.graph, passes, registry, instruments=lambda: (CheckClaims(), VerifyGraph()))
        if any(row.changed for row in run_rounds(model.graph, passes, registry).rows):
            return "a second run changes something"
        written = export_model(model)
        if _is_valid(case.model):
            onnx.checker.check_model(onnx.load_from_string(written))
        found = OnnxInterpreter(import_model(written, case.name).graph, registry, model.details.defaults).run(rest)
        if not all(same(a, b, case) for a, b in zip(outputs, found, strict=True)):
            return "another result"
        self.counts["compared"] += 1
        self.counts["folded"] += not len(model.graph)
        return ""

    def unexplained(self) -> dict[str, str]:
        return {name: said for name, said in self.wrong.items() if not name.startswith(tuple(KNOWN))}


def _pinned(model: Model, inputs: list[object]) -> dict[str, Any]:
    """Pin all inputs that are tensors; the others, with what they hold."""
    pins: dict[str, Array] = {}
    rest: dict[str, Any] = {}
    for value, content in zip(model.graph.inputs, inputs, strict=False):
        is_tensor = isinstance(content, np.ndarray | np.generic) and value.type.dtype.value != "opaque"
        if is_tensor:
            pins[value.name] = np.asarray(content)
        else:
            rest[value.name] = content
    apply_interface(model.graph, Interface({}, pins))
    return rest


def _is_valid(proto: onnx.ModelProto) -> bool:
    try:
        onnx.checker.check_model(proto)
    except onnx.checker.ValidationError:
        return False
    return True


def test_stored_models_fold_to_what_they_must_give() -> None:
    tally = Tally()
    tally.add(stored_cases(), None)
    assert tally.unexplained() == {}
    assert tally.counts["compared"] > 90
    assert tally.counts["folded"] > 60
    assert tally.counts["too old"] < 45


@pytest.mark.slow
@pytest.mark.parametrize("limit", [None, ALL], ids=["where it pays", "everything"])
def test_node_cases_fold_to_what_they_must_give(limit: int | None) -> None:
    tally = Tally()
    tally.add(node_cases(), limit)
    assert tally.unexplained() == {}
    assert tally.counts["compared"] > 1800
    # What stays: random operators, sequences and optionals, quantized constants, what gives NaN or infinities.
    assert tally.counts["folded"] > 1750
    assert any(name.startswith("test_bernoulli") for name in tally.wrong)
