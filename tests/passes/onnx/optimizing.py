"""Graphs written in ONNX's text form, optimised under every check, and compared with what they were."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx.parser

from arenite._base.remarks import Remark, RemarkKind
from arenite.formats.onnx import export_model, import_model, model_registry
from arenite.interp.onnx import OnnxInterpreter
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Array, Graph
from arenite.ir.model import Model
from arenite.passes.base import Pass
from arenite.passes.differential import max_error
from arenite.passes.instruments import CheckClaims
from arenite.passes.onnx.facts import all_graphs
from arenite.passes.onnx.presets import onnx_passes, run_rounds


def model_of(text: str, *, opset: int = 17, domains: str = "", constants: Mapping[str, Array] | None = None) -> Model:
    """A model from the text of its graph; constants are added to what the text has."""
    header = f'<ir_version: 8, opset_import: ["": {opset}{domains}]>\n'
    proto = onnx.parser.parse_model(header + text)
    for name, array in (constants or {}).items():
        proto.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return import_model(proto.SerializeToString(), "test")


@dataclass
class Outcome:
    """What became of a model.

    Attributes:
        ops: operators left, nested ones included, in order.
    """

    model: Model
    remarks: tuple[Remark, ...]

    @property
    def ops(self) -> list[str]:
        return [node.op.removeprefix("onnx.") for graph in all_graphs(self.model.graph) for node in graph.nodes]

    def reasons(self, subject: str, kind: RemarkKind | None = None) -> list[str]:
        return [r.reason.slug for r in self.remarks if r.subject == subject and kind in (None, r.kind)]

    @property
    def constants(self) -> dict[str, Array]:
        found = {}
        for graph in all_graphs(self.model.graph):
            found.update({v.name: v.constant for v in graph.constants() if v.constant is not None})
        return found


def run(model: Model, graph: Graph, feeds: Mapping[str, Array], pure: Sequence[str] = ()) -> list[Array]:
    registry = model_registry(model, pure=pure)
    with np.errstate(all="ignore"):
        return OnnxInterpreter(graph, registry).run(feeds)


def optimized(
    model: Model,
    *feeds: Mapping[str, Array],
    passes: Sequence[Pass] | None = None,
    pure: Sequence[str] = (),
    tolerance: float = 0.0,
) -> Outcome:
    """Optimise a copy; its outputs on `feeds` are compared, bit for bit unless a tolerance is given.

    Every pass's claims are checked, and a second run must change nothing.
    """
    registry = model_registry(model, pure=pure)
    original = clone_graph(model.graph)
    chosen = onnx_passes() if passes is None else passes
    result = run_rounds(model.graph, chosen, registry, instruments=lambda: (CheckClaims(),))
    again = run_rounds(model.graph, chosen, registry)
    assert not any(row.changed for row in again.rows), "a second run changes something"
    exported = export_model(model)
    onnx.checker.check_model(onnx.load_from_string(exported))
    assert export_model(model) == exported
    for feed in feeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before, after = run(model, original, feed, pure), run(model, model.graph, feed, pure)
        for one, other in zip(before, after, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            if tolerance:
                assert max_error(one, other) <= tolerance
            else:
                assert one.tobytes() == other.tobytes(), (one, other)
    for remark in result.remarks:
        assert "{" not in remark.text
    return Outcome(replace(model), result.remarks)


def reals(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
