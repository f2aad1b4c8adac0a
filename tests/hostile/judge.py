"""Whether a damaged file that Arenite accepts is a model all the same.

Both LiteRT and TFLite-Micro read it by their own code. It is a model when one of them loads and prepares it; where
TFLite-Micro runs it, the interpreter's outputs must be the same bytes, so that an accepted file means what it says;
LiteRT's reference kernels decide on models of uint8, which TFLite-Micro does not run.
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.errors import AreniteError
from arenite.formats.tflite import import_model
from arenite.interp.interpreter import Interpreter
from arenite.ir.graph import Graph
from arenite.ops import core_registry
from hostile.forked import Answer

_ARENA_NBYTES = 32 << 20

Feeds = list[npt.NDArray[Any]]
Runner = Callable[[Feeds], Feeds]


def judge(data: bytes, *, run: bool) -> Answer:
    """What the others say: empty texts where they accept it.

    Args:
        data: the file.
        run: whether outputs are compared too.
    """
    litert: list[Runner] = []
    micro: list[Runner] = []
    answer: Answer = {"differs": "", "compared": False}
    answer["litert"] = _said(lambda: litert.append(_litert(data)))
    graph = import_model(data, "m").graph
    answer["micro"] = _said(lambda: micro.append(_micro(data, len(graph.outputs))))
    unsigned = any(value.type.dtype is DType.UINT8 for value in graph.inputs)
    judges = (litert if unsigned else micro) if run else []
    if judges:
        # TFLite-Micro looks at some types when it runs only; what it does not have, LiteRT may have.
        excused = bool(litert) and not unsigned
        answer["compared"], answer["differs"] = True, _difference(graph, judges[0], excused=excused)
    return answer


def _litert(data: bytes) -> Runner:
    from ai_edge_litert.interpreter import Interpreter as LiteRt
    from ai_edge_litert.interpreter import OpResolverType

    def prepared(resolver: OpResolverType) -> LiteRt:
        made = LiteRt(model_content=data, experimental_op_resolver_type=resolver)
        made.allocate_tensors()
        return made

    try:
        model = prepared(OpResolverType.BUILTIN_REF)
    except (RuntimeError, ValueError):
        # The reference kernels do not have the newest versions of all operators.
        model = prepared(OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)

    def run(feeds: Feeds) -> Feeds:
        for array, detail in zip(feeds, model.get_input_details(), strict=True):
            model.set_tensor(detail["index"], array)
        model.invoke()
        return [model.get_tensor(detail["index"]) for detail in model.get_output_details()]

    return run


def _micro(data: bytes, outputs: int) -> Runner:
    from tflite_micro import runtime

    model = runtime.Interpreter.from_bytes(data, arena_size=_ARENA_NBYTES)

    def run(feeds: Feeds) -> Feeds:
        for index, array in enumerate(feeds):
            model.set_input(array, index)
        model.invoke()
        return [np.array(model.get_output(index)) for index in range(outputs)]

    return run


def _difference(graph: Graph, judge: Runner, *, excused: bool) -> str:
    said = ""
    for feeds in (_random(graph), _all(graph, 0), _all(graph, 127)):
        theirs: Feeds = []
        # It may stop at indices outside a tensor, which zeros are not, or at roots of negative numbers.
        if said := _said(lambda feeds=feeds, theirs=theirs: theirs.extend(judge(feeds))):  # type: ignore[misc]
            continue
        try:
            ours = Interpreter(graph, core_registry()).run(feeds)
        except AreniteError as error:
            return f"the interpreter refuses: {error}"
        return _other_outputs(ours, theirs)
    return "" if excused else f"the judge fails when it runs: {said}"


def _all(graph: Graph, number: int) -> Feeds:
    return [np.full(value.type.dims, number, value.type.dtype.numpy) for value in graph.inputs]


def _random(graph: Graph) -> Feeds:
    rng = np.random.default_rng(5)
    feeds: Feeds = []
    for value in graph.inputs:
        dtype, dims = value.type.dtype, value.type.dims
        if dtype.is_integer:
            feeds.append(rng.integers(*dtype.limits, dims, endpoint=True).astype(dtype.numpy))
        elif dtype is DType.BOOL:
            feeds.append(rng.random(dims) < 0.5)
        else:
            feeds.append(rng.normal(0, 1, dims).astype(dtype.numpy))
    return feeds


def _other_outputs(ours: Feeds, theirs: Feeds) -> str:
    for index, (output, want) in enumerate(zip(ours, theirs, strict=True)):
        if want.dtype != output.dtype or want.shape != output.shape:
            return f"output {index} is {output.dtype}{output.shape}, not {want.dtype}{want.shape}"
        exact = not np.issubdtype(want.dtype, np.floating)
        same = np.array_equal(output, want) if exact else _close(output, want)
        if not same:
            return f"output {index}: {np.count_nonzero(output != want)} of {want.size} elements differ"
    return ""


def _said(action: Callable[[], object]) -> str:
    """What went wrong, with what the library itself wrote to stderr; empty when nothing did."""
    with _captured() as lines:
        try:
            action()
        except Exception as error:
            return re.sub(r"\s+", " ", f"{error} {' '.join(lines())}").strip() or type(error).__name__
    return ""


@contextmanager
def _captured() -> Iterator[Callable[[], list[str]]]:
    """What is written to the file descriptor of stderr."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)

        def lines() -> list[str]:
            file.seek(0)
            return file.read().decode(errors="replace").splitlines()[-3:]

        try:
            yield lines
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _close(ours: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> bool:
    """Whether floats agree, where small ones may be what is left of large ones: measured by the largest."""
    peak = float(np.max(np.abs(theirs), initial=1.0, where=np.isfinite(theirs)))
    return bool(np.allclose(ours, theirs, 1e-4, 1e-5 * peak, equal_nan=True))
