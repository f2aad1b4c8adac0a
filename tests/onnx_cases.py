"""The tests that the onnx package carries: models, inputs, and the outputs that they must give."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, OptionalProto, SequenceProto, TensorProto, ValueInfoProto, numpy_helper
from onnx.backend.test.loader import load_model_tests

# Here the expected values are the fused operator's, rounded once; its expansion rounds after each node.
HALF = ("_fp16_expanded", "_bf16_expanded")
_KINDS: dict[str, type] = {
    "tensor_type": TensorProto,
    "sequence_type": SequenceProto,
    "optional_type": OptionalProto,
}


@dataclass(frozen=True)
class Case:
    """One model, with pairs of inputs and outputs: arrays, lists (sequences) or None (empty optionals)."""

    name: str
    model: ModelProto
    data: Sequence[tuple[list[Any], list[Any]]]
    rtol: float
    atol: float


def node_cases() -> list[Case]:
    """The models of one operator each, and those that spell operators out; made when asked for, which takes seconds."""
    return [
        Case(
            case.name,
            case.model,
            [(_arrays(inputs), _arrays(outputs)) for inputs, outputs in case.data_sets or ()],
            case.rtol,
            case.atol,
        )
        for case in load_model_tests(kind="node")
        if case.model is not None
    ]


def stored_cases() -> Iterator[Case]:
    """The small models that the package stores as files."""
    for kind in ("simple", "pytorch-operator", "pytorch-converted"):
        for case in load_model_tests(kind=kind):
            if case.model_dir is None:
                continue
            model = onnx.load(Path(case.model_dir, "model.onnx"))
            graph = model.graph
            data = [
                (_stored(folder, "input", graph.input), _stored(folder, "output", graph.output))
                for folder in sorted(Path(case.model_dir).glob("test_data_set_*"))
            ]
            yield Case(case.name, model, data, case.rtol, case.atol)


def _stored(folder: Path, what: str, infos: Sequence[ValueInfoProto]) -> list[Any]:
    found = []
    for index, info in enumerate(infos):
        path = folder / f"{what}_{index}.pb"
        # Initialisers are among the inputs of old files, and have no data.
        if path.exists():
            proto = _KINDS[info.type.WhichOneof("value") or ""]()
            proto.ParseFromString(path.read_bytes())
            found.append(_plain(proto))
    return found


def _arrays(items: Any) -> list[Any]:
    return [_plain(item) for item in items]


def _plain(item: Any) -> Any:
    if isinstance(item, TensorProto):
        return numpy_helper.to_array(item)
    if isinstance(item, SequenceProto):
        return numpy_helper.to_list(item)
    return numpy_helper.to_optional(item) if isinstance(item, OptionalProto) else item


def same(expected: Any, found: Any, case: Case) -> bool:
    """Whether a result is as near to the expected one as the case asks."""
    if expected is None or isinstance(expected, list):
        if not isinstance(expected, list) or not isinstance(found, list):
            return expected is found
        return len(expected) == len(found) and all(same(a, b, case) for a, b in zip(expected, found, strict=True))
    expected, found = np.asarray(expected), np.asarray(found)
    if (expected.dtype, expected.shape) != (found.dtype, found.shape):
        return False
    if expected.dtype == object:
        return [str(item) for item in expected.flat] == [str(item) for item in found.flat]
    if expected.dtype.kind in "iub":
        return np.array_equal(expected, found)
    rtol = max(case.rtol, 0.02) if case.name.endswith(HALF) else case.rtol
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    return np.allclose(found.astype(wide), expected.astype(wide), rtol, max(case.atol, 1e-7), equal_nan=True)
