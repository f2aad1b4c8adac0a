"""Named state of a graph: which values are handles of it, and what it holds before the first invocation."""

from collections.abc import Iterable, Iterator

import numpy as np

from arenite._base.errors import ModelError
from arenite.ir.graph import Array, Graph, Node, Value
from arenite.ir.names import NamePool
from arenite.ir.opdef import Registry, Trait
from arenite.ir.types import TensorType
from arenite.ops.state import CONTENTS, VarHandleAttrs

Key = tuple[str, str]
"""Container and shared name."""


class Resources:
    """The named states of a graph and of its regions.

    Attributes:
        keys: what each handle names.
        types: of what each state holds, as its first reader or writer says.
        names: of each state, none of which another state or a value of these graphs has.

    Raises:
        ModelError: readers and writers do not agree on a type, or a handle is used otherwise; every such problem.
    """

    def __init__(self, graph: Graph, registry: Registry) -> None:
        self.keys: dict[Value, Key] = {}
        self.types: dict[Key, TensorType] = {}
        nodes = list(graph.all_nodes)
        for node in nodes:
            definition = registry.get(node.op)
            if definition is not None and definition.has(Trait.HANDLE):
                assert isinstance(node.attrs, VarHandleAttrs)
                self.keys[node.result] = (node.attrs.container, node.attrs.shared_name)
        problems = [problem for node in nodes for problem in self._problems(node, registry)]
        problems += [f"output '{value.name}' is a handle of state" for value in graph.outputs if value in self.keys]
        if problems:
            raise ModelError(problems)
        # As TFLM prepares nodes: those of the graph itself come first.
        self._assigned = self._first_assigned((*graph.nodes, *nodes))
        inner = (value for node in nodes for value in (*node.present_operands, *node.results))
        pool = NamePool(value.name for value in (*graph.values(), *inner))
        self.names = {key: pool.unique("/".join(filter(None, key)) or "state") for key in self.types}

    def _problems(self, node: Node, registry: Registry) -> Iterator[str]:
        for index, value in enumerate(node.operands):
            if value is None or value not in self.keys:
                continue
            definition = registry.get(node.op)
            if definition is None or index not in definition.state:
                yield f"node '{node.name}' ({node.op}) takes the handle '{value.name}', but not as state"
                continue
            key = self.keys[value]
            found = node.result.type if node.results else node.operand(CONTENTS).type
            known = self.types.setdefault(key, found)
            if (known.dtype, known.nelem) != (found.dtype, found.nelem):
                yield f"node '{node.name}' ({node.op}) takes the state '{key[1]}' for {found}, others for {known}"

    def _first_assigned(self, nodes: Iterable[Node]) -> dict[Key, TensorType]:
        found: dict[Key, TensorType] = {}
        for node in nodes:
            key = self.keys.get(node.present_operands[0]) if node.present_operands else None
            if key is not None and not node.results:
                found.setdefault(key, node.operand(CONTENTS).type)
        return found

    def initial(self) -> dict[Key, Array]:
        """What states hold before anything is assigned: as TFLM, the zero point of 8 bits, 0 of all else.

        What is assigned first has that zero point; where nothing is, the reader's has to do.
        """
        return {
            key: np.full(t.dims, _start(self._assigned.get(key, t)), t.dtype.numpy) for key, t in self.types.items()
        }


def _start(type_: TensorType) -> int:
    quantized = type_.quantization is not None and type_.dtype.is_integer and type_.dtype.itemsize == 1
    return type_.quantization.zero_points[0] if type_.quantization is not None and quantized else 0
