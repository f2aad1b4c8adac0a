"""Runs graphs in Python: the meaning that everything else is compared with."""

from typing import TYPE_CHECKING

from arenite.interp.interpreter import Interpreter
from arenite.ir.graph import Graph
from arenite.ir.opdef import Registry

if TYPE_CHECKING:
    from arenite.interp.onnx import OnnxInterpreter


def interpreter_for(graph: Graph, registry: Registry) -> "Interpreter | OnnxInterpreter":
    """The interpreter of a graph's dialect, which is that of the registry.

    Raises:
        ModelError: the graph is not sound, or uses ops that the registry lacks; with every problem.
    """
    if registry.dialect == "onnx":
        from arenite.interp.onnx import OnnxInterpreter  # noqa: PLC0415 - loads onnx
        from arenite.ops.onnx.dialect import OnnxRegistry  # noqa: PLC0415

        assert isinstance(registry, OnnxRegistry)
        return OnnxInterpreter(graph, registry)
    return Interpreter(graph, registry)
