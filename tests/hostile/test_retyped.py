"""Each tensor of small models, with another type or shape: whoever accepts it is not alone.

Where operands of an op may be of several types, its rules are easily too lenient: an axis of int8, a mixture of int8
and uint8, a scalar in the place of a list.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import settings

from arenite._base.errors import AreniteError
from arenite.driver.checks import compile_problems
from arenite.formats.tflite import export_model, import_model
from arenite.formats.tflite.file import TfliteFile
from arenite.formats.tflite.flat import Record
from arenite.ops import core_registry
from fuzz.seeds import models
from hostile.drafts import Draft, written
from hostile.forked import Answer, forked
from hostile.judge import judge

REGISTRY = core_registry()
DTYPES = {0: np.float32, 2: np.int32, 3: np.uint8, 4: np.int64, 6: np.bool_, 7: np.int16, 9: np.int8}
"""By the number that the file has for them."""

pytestmark = [pytest.mark.wheel, pytest.mark.litert]


def seeds() -> list[bytes]:
    """One file for each op, in the ci profile for each op and its element types."""
    by_type = settings().max_examples > 100
    found: dict[object, bytes] = {}
    for model in models():
        node = list(model.graph.nodes)[-1]
        types = tuple(value.type.dtype for value in (*node.present_operands, *node.results))
        found.setdefault((node.op, types if by_type else ()), export_model(model))
    return list(found.values())


def variants(data: bytes) -> Iterator[bytes]:
    model = TfliteFile(data).model
    for index, tensor in enumerate(model.records("subgraphs")[0].records("tensors")):
        for change in (*_quantizations(tensor), *_shapes(tensor), *_types(tensor, model)):
            draft = Draft.of(model)
            change(draft, draft.drafts("subgraphs")[0].drafts("tensors")[index])
            yield written(draft)


Change = Callable[[Draft, Draft], None]


def _quantizations(tensor: Record) -> Iterator[Change]:
    q = tensor.record("quantization")
    if q is None or not q.has("scale"):
        return
    points = np.array(q.integers("zero_point"), np.int64)
    yield lambda _, t: t.values.update(quantization=None)
    for by in (3, -3):
        moved = Draft.of(Record(q.table, {**{f.name: value for f, value in q.items()}, "zero_point": points + by}))
        yield lambda _, t, moved=moved: t.values.update(quantization=moved)  # type: ignore[misc]


def _shapes(tensor: Record) -> Iterator[Change]:
    dims = tensor.integers("shape")
    nelem = math.prod(dims)
    shapes = {(1, *dims), (*dims, 1), (nelem,), dims[::-1], *([(), (1, 1)] if nelem == 1 else [])}
    for shape in sorted(shapes - {dims}):
        yield lambda _, t, shape=shape: t.values.update(shape=np.array(shape, np.int32))  # type: ignore[misc]


def _types(tensor: Record, model: Record) -> Iterator[Change]:
    was = tensor.integer("type")
    data = model.records("buffers")[tensor.integer("buffer")].array("data")
    for number, dtype in DTYPES.items():
        if number != was and was in DTYPES:
            new = None if data is None else data.view(DTYPES[was]).astype(dtype).view(np.uint8)
            yield lambda m, t, number=number, new=new: _retype(m, t, number, new)  # type: ignore[misc]


def _retype(model: Draft, tensor: Draft, number: int, data: object) -> None:
    tensor.values["type"] = number
    if data is not None:
        buffers = model.drafts("buffers")
        tensor.values["buffer"] = len(buffers)
        buffers.append(Draft(buffers[0].table, {"data": data}))


def _is_accepted(data: bytes) -> bool:
    try:
        return not compile_problems(import_model(data, "m").graph, REGISTRY)
    except AreniteError:
        return False


def test_what_is_accepted_is_accepted_by_others_too() -> None:
    files = seeds()

    def work(number: int) -> Answer:
        accepted = [data for data in variants(files[number]) if _is_accepted(data)]
        answers = [judge(data, run=False) for data in accepted]
        alone = [answer for answer in answers if answer["litert"] and answer["micro"]]
        return {"accepted": len(accepted), "alone": alone}

    answers = [answer for _, answer in forked(work, range(len(files)), lambda: None)]
    assert [answer for answer in answers if answer.get("alone", ["died"])] == []
    assert sum(answer["accepted"] for answer in answers) > 2 * len(files)
