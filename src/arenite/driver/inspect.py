"""`inspect`: what is in a model."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from arenite._base.dtypes import DType
from arenite._base.errors import AreniteError
from arenite.driver.build import build
from arenite.driver.checks import compile_problems
from arenite.driver.load import load_model, registry_for
from arenite.driver.options import CompileOptions
from arenite.ir.graph import Graph
from arenite.ir.model import Model
from arenite.ir.opdef import NotApplicable, OpCall, Registry
from arenite.ir.printer import print_graph
from arenite.ir.verifier import unsupported, verify


@dataclass(frozen=True)
class Inspection:
    """Facts about a model.

    Attributes:
        histogram: nodes by op, most frequent first.
        dynamic: inputs whose shape is not static.
        notes: what importing has settled, such as dynamic dimensions.
        problems: why it cannot be compiled; empty when it can.
        weights_nbytes: of constants with at least one element.
    """

    model: Model
    histogram: tuple[tuple[str, int], ...]
    weights_nbytes: int
    macs: int | None
    floats: int
    dynamic: tuple[str, ...]
    notes: tuple[str, ...]
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        graph = self.model.graph
        return {
            "name": self.model.name,
            "format": self.model.format,
            "sha256": self.model.sha256,
            "inputs": [{"name": v.name, "type": str(v.type)} for v in graph.inputs],
            "outputs": [{"name": v.name, "type": str(v.type)} for v in graph.outputs],
            "nodes": len(graph),
            "operators": dict(self.histogram),
            "weights_nbytes": self.weights_nbytes,
            "macs": self.macs,
            "float_values": self.floats,
            "dynamic": list(self.dynamic),
            "notes": list(self.notes),
            "unsupported": list(self.problems),
        }

    def to_text(self, *, with_ir: bool) -> str:
        graph = self.model.graph
        macs = "unknown" if self.macs is None else f"{self.macs:,}"
        lines = [print_graph(graph).text, ""] if with_ir else []
        lines += [
            f"{self.model.name} ({self.model.format}): {len(graph)} nodes, "
            f"{self.weights_nbytes:,} bytes of constants, {macs} MACs",
            *(f"  input  {value.name}: {value.type}" for value in graph.inputs),
            *(f"  output {value.name}: {value.type}" for value in graph.outputs),
            "  operators: " + ", ".join(f"{op} {count}" for op, count in self.histogram),
        ]
        if self.floats:
            lines.append(f"  {self.floats} values are float32: this model, or part of it, is not quantized")
        lines += [f"  dynamic: {text}" for text in self.dynamic]
        lines += [f"  note: {text}" for text in self.notes]
        lines += [f"  cannot compile: {text}" for text in self.problems] or ["  can be compiled"]
        return "\n".join(lines)


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
    inner = [value for node in graph.nodes for value in node.results]
    return Inspection(
        model=model,
        histogram=tuple(Counter(node.op for node in graph.nodes).most_common()),
        weights_nbytes=sum(value.type.nbytes for value in graph.constants()),
        macs=None if unsound or is_onnx else _macs(model, registry),
        floats=sum(value.type.dtype is DType.FLOAT32 for value in inner),
        dynamic=tuple(f"{value.name}: {value.type}" for value in graph.inputs if not value.type.is_static),
        notes=tuple(getattr(model.details, "notes", ())),
        problems=tuple(unsound) or _why_not_compiled(model),
    )


def _onnx_problems(graph: Graph, registry: Registry) -> list[str]:
    """What is wrong with a graph of the onnx dialect."""
    missing = unsupported(graph, registry, listing=False)
    return [missing] if missing is not None else verify(graph, registry)


def _why_not_compiled(model: Model) -> tuple[str, ...]:
    try:
        build(model, CompileOptions(simulate="off"), lambda _: None)
    except AreniteError as error:
        return error.problems
    return ()


def _macs(model: Model, registry: Registry) -> int:
    total = 0
    for node in model.graph.nodes:
        cost = registry[node.op].cost
        if not isinstance(cost, NotApplicable):
            total += cost(OpCall.of(node)).macs
    return total
