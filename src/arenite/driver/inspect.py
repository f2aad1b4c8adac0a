"""`inspect`: what is in a model."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import wrap

from arenite._base.dtypes import DType
from arenite._base.errors import AreniteError, ModelError
from arenite._base.text import counted
from arenite.driver.build import build
from arenite.driver.checks import compile_problems, hybrid_nodes
from arenite.driver.load import load_model, registry_for
from arenite.driver.options import CompileOptions
from arenite.formats.tflite.layouts import Layout, Layouts, read_layouts
from arenite.ir.graph import Graph, Value
from arenite.ir.model import Model
from arenite.ir.opdef import NotApplicable, OpCall, OpError, Registry
from arenite.ir.printer import print_graph
from arenite.ir.types import TensorType
from arenite.ir.verifier import misused, unsupported, verify

_MOST_LISTED = 6
_WIDTH = 100


@dataclass(frozen=True)
class Inspection:
    """Facts about a model.

    Attributes:
        histogram: nodes by op, nested graphs included, most frequent first.
        macs: of one invocation; None where shapes are not known, or operators are not.
        floats: results of nodes that are float32.
        typed: results whose type is known.
        dynamic: inputs whose shape is not static.
        notes: what importing has settled, such as dynamic dimensions.
        problems: why it cannot be compiled; empty when it can.
        weights_nbytes: of constants with at least one element.
        layouts: in which order dimensions lie, of a file that was made from an onnx model; else None.
    """

    model: Model
    histogram: tuple[tuple[str, int], ...]
    weights_nbytes: int
    macs: int | None
    floats: int
    typed: int
    dynamic: tuple[str, ...]
    notes: tuple[str, ...]
    problems: tuple[str, ...]
    layouts: Layouts | None = None

    def to_json(self) -> dict[str, object]:
        graph = self.model.graph
        return {
            "name": self.model.name,
            "format": self.model.format,
            "sha256": self.model.sha256,
            "inputs": _ports_json(graph.inputs, self.layouts.inputs if self.layouts else ()),
            "outputs": _ports_json(graph.outputs, self.layouts.outputs if self.layouts else ()),
            "nodes": len(graph),
            "operators": dict(self.histogram),
            "weights_nbytes": self.weights_nbytes,
            "macs": self.macs,
            "float_values": self.floats,
            "dynamic": list(self.dynamic),
            "notes": list(self.notes),
            "unsupported": list(self.problems),
        }

    def to_text(self, *, with_ir: bool = False) -> str:
        """A screen that ends with the verdict; after the graph as text IR, if that is asked for."""
        graph = self.model.graph
        rows = [
            ("inputs", self._ports(graph.inputs, self.layouts.inputs if self.layouts else ())),
            ("outputs", self._ports(graph.outputs, self.layouts.outputs if self.layouts else ())),
            ("operators", self._operators()),
            ("weights", [f"{self.weights_nbytes:,} bytes"]),
            ("MACs", [self._macs_text()]),
            ("floats", [self._floats_text()] if self.floats else []),
            ("notes", _few(self.notes)),
            ("verdict", self._verdict()),
        ]
        lines = [print_graph(graph).text, ""] if with_ir else []
        nested = sum(count for _, count in self.histogram) - len(graph)
        inside = f" and {nested:,} in nested graphs" if nested > 0 else ""
        lines.append(f"{self.model.name} ({self.model.format}): {counted(len(graph), 'node')}{inside}")
        for title, texts in rows:
            lines += [f"  {title if not row else '':<10} {text}" for row, text in enumerate(texts)]
        return "\n".join(lines)

    def _ports(self, values: Sequence[Value], layouts: Sequence[Layout]) -> list[str]:
        ports = [f"{v.name}: {v.type}{'' if v.type.is_static else ' (dynamic)'}" for v in values]
        moved = {number: layout.letters for number, layout in enumerate(layouts) if layout.is_moved}
        told = [f"{port}, {moved[number]}" if number in moved else port for number, port in enumerate(ports)]
        return _few(told) or ["none"]

    def _operators(self) -> list[str]:
        # A number stays on the line of its operator.
        glued = ", ".join(f"{op}\N{NO-BREAK SPACE}{count}" for op, count in self.histogram)
        return [line.replace("\N{NO-BREAK SPACE}", " ") for line in wrap(glued, _WIDTH)] or ["none"]

    def _macs_text(self) -> str:
        if self.macs is not None:
            return f"{self.macs:,}"
        return "unknown: shapes are dynamic" if self.dynamic else "unknown: not every operator is known and sound"

    def _floats_text(self) -> str:
        total = sum(len(node.results) for graph in _graphs(self.model.graph) for node in graph.nodes)
        if self.floats == total:
            return "every result is float32: activations are not quantized"
        of = f"{self.typed:,} results{'' if self.typed == total else f' whose type is known ({total:,} in all)'}"
        return f"{self.floats:,} of {of} {'is' if self.floats == 1 else 'are'} float32"

    def _verdict(self) -> list[str]:
        if not self.problems:
            return ["can be compiled"]
        few = _few(self.problems)
        mark = "- " if len(few) > 1 else ""
        return [line for text in ("cannot be compiled:", *(mark + each for each in few)) for line in text.splitlines()]


def _few(texts: Sequence[str]) -> list[str]:
    more = len(texts) - _MOST_LISTED
    return [*texts[:_MOST_LISTED], *([f"and {more:,} more, which --json lists"] if more > 0 else [])]


def _graphs(graph: Graph) -> list[Graph]:
    """A graph and all nested in it."""
    return [graph, *(inner for node in graph.nodes for region in node.regions for inner in _graphs(region))]


def inspect_model(path: Path) -> Inspection:
    """Look into a model file; operators that Arenite does not have are shown, not refused.

    Raises:
        DataError: the file cannot be read.
        ModelError: it is damaged.
    """
    model = load_model(path)
    graph = model.graph
    registry = registry_for(model)
    is_onnx = model.format == "onnx"
    unsound = _onnx_problems(graph, registry) if is_onnx else compile_problems(graph, registry)
    constants = dict.fromkeys(value for each in _graphs(graph) for value in each.constants())
    layouts, doubts = _layouts(model)
    macs, dtypes = _of_onnx(graph, registry) if is_onnx else (_macs(graph, registry), _dtypes(graph))
    return Inspection(
        model=model,
        histogram=tuple(Counter(node.op for each in _graphs(graph) for node in each.nodes).most_common()),
        weights_nbytes=sum(value.type.nbytes for value in constants),
        macs=None if is_onnx and unsound else macs,
        floats=dtypes.count(DType.FLOAT32),
        typed=len(dtypes) - dtypes.count(DType.OPAQUE),
        dynamic=tuple(f"{value.name}: {value.type}" for value in graph.inputs if not value.type.is_static),
        notes=(*getattr(model.details, "notes", ()), *doubts),
        problems=tuple(unsound) or _why_not_compiled(model),
        layouts=layouts,
    )


def _layouts(model: Model) -> tuple[Layouts | None, tuple[str, ...]]:
    """How dimensions lie, and what is wrong with what the file says of that, which matters to `compare` only."""
    try:
        return read_layouts(model), ()
    except ModelError as error:
        return None, error.problems


def _ports_json(values: Sequence[Value], layouts: Sequence[Layout]) -> list[dict[str, object]]:
    orders: list[list[int] | None] = [*(list(layout.order) for layout in layouts)] or [None] * len(values)
    return [
        {"name": value.name, "type": str(value.type), "order": order}
        for value, order in zip(values, orders, strict=True)
    ]


def model_macs(model: Model) -> int | None:
    """Of one invocation of a model as it is in its file; None where shapes are not known, or operators are not."""
    graph, registry = model.graph, registry_for(model)
    if model.format != "onnx":
        return _macs(graph, registry)
    return None if _onnx_problems(graph, registry) else _of_onnx(graph, registry)[0]


def _onnx_problems(graph: Graph, registry: Registry) -> list[str]:
    """What is wrong with a graph of the onnx dialect."""
    from arenite.ops.onnx.dialect import OnnxRegistry  # noqa: PLC0415 - heavy
    from arenite.ops.onnx.required import unfit_attributes  # noqa: PLC0415 - heavy

    missing = unsupported(graph, registry, listing=False)
    if missing is not None:
        return [missing]
    absent = unfit_attributes(graph, registry) if isinstance(registry, OnnxRegistry) else []
    return [*verify(graph, registry), *absent]


def _why_not_compiled(model: Model) -> tuple[str, ...]:
    try:
        build(model, CompileOptions(simulate="off"), lambda _: None)
    except AreniteError as error:
        return error.problems
    return ()


def _dtypes(graph: Graph) -> list[DType]:
    return [value.type.dtype for each in _graphs(graph) for node in each.nodes for value in node.results]


def _of_onnx(graph: Graph, registry: Registry) -> tuple[int | None, list[DType]]:
    """Multiply-accumulates, and the types of all results: files of this format do not say them."""
    from arenite.passes.onnx.facts import Facts  # noqa: PLC0415 - heavy
    from arenite.passes.onnx.measures import measured  # noqa: PLC0415 - heavy

    facts = Facts(graph, registry)
    results = [value for each in _graphs(graph) for node in each.nodes for value in node.results]
    dtypes = [facts.of(value).type.dtype for value in results]
    return measured(graph, registry).macs, dtypes


def _macs(graph: Graph, registry: Registry) -> int | None:
    """Of all nodes, compiled or not; None if one is unknown, or its types misfit by more than hybrid weights."""
    hybrid = set(hybrid_nodes(graph))
    explained = tuple(f"node '{node.name}' ({node.op})" for node in hybrid)
    if any(not problem.startswith(explained) for problem in verify(graph, registry)) or misused(graph, registry):
        return None
    total = 0
    for node in graph.nodes:
        cost = registry[node.op].cost
        call = OpCall.of(node)
        if node in hybrid:
            call = replace(call, operands=tuple(type_ and _as_float(type_) for type_ in call.operands))
        if isinstance(cost, NotApplicable):
            continue
        if node in hybrid and not _fits(call, registry):
            return None
        total += cost(call).macs
    return total


def _as_float(type_: TensorType) -> TensorType:
    small = type_.dtype in (DType.INT4, DType.INT8, DType.UINT8)
    return TensorType(DType.FLOAT32, type_.shape) if small else type_


def _fits(call: OpCall, registry: Registry) -> bool:
    infer = registry[call.op].infer
    try:
        return [t.shape for t in infer(call)] == [t.shape for t in call.results]
    except OpError:
        return False
