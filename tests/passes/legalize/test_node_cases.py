"""The tests of the onnx package, legalized: each gives its expected outputs, or is refused in a sentence."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto

from arenite._base.errors import ModelError
from arenite.formats.onnx import import_model, model_registry
from arenite.formats.tflite import export_model
from arenite.formats.tflite import import_model as import_tflite
from arenite.interp.interpreter import Interpreter
from arenite.ir.graph import Array
from arenite.ir.model import Model
from arenite.ops import core_registry
from arenite.passes.legalize import Legalized, Placement, legalize
from arenite.passes.legalize.legalize import legalization_rules
from arenite.passes.onnx.interface import Interface, apply_interface
from onnx_cases import Case, node_cases, same, stored_cases

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


# Operators that have a rule, and none of the package's cases in a form that converts.
UNTRIED = {
    "ConstantOfShape": "its shape is computed, or of 0",
    "OneHot": "its depth is of floats, or computed",
}
QUANTIZED = ("QLinear", "ConvInteger", "MatMulInteger", "DynamicQuantize")


class Tally:
    """What became of cases: what agrees, by operator, what is refused and why, and what went wrong."""

    def __init__(self) -> None:
        self.agreed: Counter[str] = Counter()
        self.compared = 0
        self.refused: dict[str, list[str]] = defaultdict(list)
        self.wrong: dict[str, str] = {}

    def add(self, cases: Iterable[Case]) -> None:
        for case in cases:
            proto = _in_float32(case.model)
            for given, expected in case.data:
                inputs, outputs = ([_narrowed(item) for item in items] for items in (given, expected))
                # With everything computed, and with everything constant but the first input.
                for pinned in (0, len(inputs) - 1) if len(inputs) > 1 else (0,):
                    try:
                        said = self._verdict(case, proto, inputs, outputs, pinned)
                    except ModelError as error:
                        self.refused[case.name].append(str(error))
                        continue
                    if said:
                        self.wrong[f"{case.name}, {pinned} inputs pinned"] = said

    def _verdict(self, case: Case, proto: ModelProto, inputs: list[object], outputs: list[object], pinned: int) -> str:
        model = import_model(proto.SerializeToString(), case.name)
        ops = [node.op for node in model.graph.nodes]
        feeds = dict(zip((value.name for value in model.graph.inputs), inputs, strict=False))
        pins = {name: np.asarray(feeds[name]) for name in list(feeds)[len(feeds) - pinned :] if _is_tensor(feeds[name])}
        apply_interface(model.graph, Interface({}, pins))
        legalized = legalize(model.graph, model_registry(model), core_registry())
        found = _computed(legalized, feeds)
        for placement, ours, theirs in zip(legalized.outputs, found, outputs, strict=True):
            expected = np.asarray(theirs)
            if expected.shape != placement.dims:
                return f"{placement.name} is {placement.dims}, not {expected.shape}"
            if not same(_laid(expected, placement), ours, case):
                return f"{placement.name} is {ours.ravel()[:8]}, not {_laid(expected, placement).ravel()[:8]}"
        self.agreed.update(set(ops))
        self.compared += 1
        return ""


def _assert_readable(tally: Tally) -> None:
    """Each line of a refusal says where."""
    lines = [line for problems in tally.refused.values() for problem in problems for line in problem.splitlines()]
    assert [line for line in lines if not line.startswith(("node '", "operator ", "input '"))] == []
    assert [line for line in lines if "None" in line or "<" in line] == []


def _in_float32(model: ModelProto) -> ModelProto:
    """The model with float32 for inputs and outputs of float64, so that these are tried, too."""
    changed = ModelProto()
    changed.CopyFrom(model)
    for value in (*changed.graph.input, *changed.graph.output, *changed.graph.value_info):
        if value.type.tensor_type.elem_type == TensorProto.DOUBLE:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    return changed


def _narrowed(content: object) -> object:
    wide = isinstance(content, np.ndarray | np.generic) and content.dtype == np.float64
    return np.asarray(content, np.float32) if wide else content


def _is_tensor(content: object) -> bool:
    return isinstance(content, np.ndarray | np.generic)


def _laid(array: Array, placement: Placement) -> Array:
    return array.transpose(placement.order)


def _computed(legalized: Legalized, feeds: dict[str, Any]) -> list[Array]:
    """What the .tflite file gives."""
    graph = import_tflite(export_model(Model("case", legalized.graph)), "case").graph
    arrays = [_laid(np.asarray(feeds[placement.name]), placement).copy() for placement in legalized.inputs]
    return [np.asarray(output) for output in Interpreter(graph, core_registry()).run(arrays)]


def test_stored_models_agree_or_are_refused() -> None:
    tally = Tally()
    tally.add(stored_cases())
    assert tally.wrong == {}
    assert tally.compared > 60
    _assert_readable(tally)


@pytest.mark.slow
def test_node_cases_agree_or_are_refused() -> None:
    tally = Tally()
    tally.add(node_cases())
    assert tally.wrong == {}
    rules = {op.removeprefix("onnx.") for op in legalization_rules()}
    own = {operator for operator in rules if "::" not in operator and not operator.startswith(QUANTIZED)}
    converted = {op.removeprefix("onnx.") for op in tally.agreed}
    assert own - converted == set(UNTRIED)
    assert converted <= rules
    assert tally.compared > 900
    _assert_readable(tally)
    assert all("the model is quantized" in problem for problem in tally.refused["test_qlinearconv"])
