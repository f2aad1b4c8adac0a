"""What TFLite-Micro's interpreter would want of RAM for the same model, for those who stay with it."""

from dataclasses import dataclass
from math import prod

from arenite._base.dtypes import DType
from arenite.ir.graph import Graph, Node, Value
from arenite.ir.model import Model

_ALIGNMENT = 16
# Bytes of what tflite::MicroAllocator keeps on a 32-bit core, from the sizes of its structs: TfLiteEvalTensor (three
# words), NodeAndRegistration (eight), a multiplier and a shift for each channel, a TfLiteTensor with its quantization
# for each input and output. Parameters and prepared data of an operator are at most about 128 bytes.
_PER_TENSOR, _PER_NODE, _PER_CHANNEL, _PER_PORT, _PER_OPERATOR = 12, 32, 8, 96, 128
_CHANNELS = {"conv2d": 0, "depthwise_conv2d": 3, "transpose_conv": 0}
"""Ops whose weights are quantized by channel, and the axis of the weights that counts them."""

_WITH_MORE = frozenset({"svdf", "unidirectional_sequence_lstm", "transpose_conv", "batch_matmul", "var_handle"})
"""Ops whose reference kernels want scratch, or whose state lies in the arena."""


@dataclass(frozen=True)
class _Lifetime:
    value: Value
    nbytes: int
    first: int
    last: int

    def meets(self, other: "_Lifetime") -> bool:
        return self.first <= other.last and other.first <= self.last


def planned_nbytes(model: Model) -> int:
    """Bytes of activations as its GreedyMemoryPlanner places them: the largest first, each at the first fit.

    Of equal ones, that which comes last among the file's tensors. Scratch of operators is not counted.
    """
    order = _order(model)
    placed: list[tuple[int, _Lifetime]] = []
    for buffer in sorted(_lifetimes(model.graph), key=lambda b: (-b.nbytes, -order.get(b.value.name, len(order)))):
        offset = 0
        for start, other in sorted(placed, key=lambda p: p[0]):
            if buffer.meets(other):
                if start - offset >= buffer.nbytes:
                    break
                offset = max(offset, start + other.nbytes)
        placed.append((offset, buffer))
    return max((offset + buffer.nbytes for offset, buffer in placed), default=0)


def estimated_arena_nbytes(model: Model) -> int | None:
    """An upper estimate of the arena on a 32-bit core: activations, and what the interpreter keeps beside them.

    With reference kernels; CMSIS-NN's want up to a few kilobytes of scratch more. None for models with operators whose
    reference kernels want scratch, too, or that keep state.
    """
    if any(node.op in _WITH_MORE for node in model.graph.nodes):
        return None
    graph = model.graph
    nodes = list(graph.nodes)
    values = {value.name: value for value in graph.values()}
    kept = (
        _PER_TENSOR * len(values)
        + (_PER_NODE + _PER_OPERATOR) * len(nodes)
        + _PER_CHANNEL * sum(map(_channels, nodes))
        + _PER_PORT * (len(graph.inputs) + len(graph.outputs))
    )
    return _aligned(planned_nbytes(model)) + _aligned(kept)


def _order(model: Model) -> dict[str, int]:
    """The place of each tensor in the file."""
    from arenite.formats.tflite.details import TfliteDetails  # noqa: PLC0415 - heavy

    if not isinstance(model.details, TfliteDetails):
        return {}
    return {tensor.value: index for index, tensor in enumerate(model.details.main.tensors)}


def _lifetimes(graph: Graph) -> list[_Lifetime]:
    first = dict.fromkeys(graph.inputs, 0)
    last: dict[Value, int] = dict(first)
    end = 0
    for step, node in enumerate(graph.nodes):
        end = step
        for value in node.present_operands:
            if not value.is_constant:
                last[value] = step
        for value in node.results:
            first[value] = last[value] = step
    last.update((value, end) for value in graph.outputs if value in first)
    return [_Lifetime(value, _aligned(_nbytes(value)), first[value], last[value]) for value in first]


def _nbytes(value: Value) -> int:
    return 0 if value.type.dtype is DType.STRING or not value.type.is_static else value.type.nbytes


def _channels(node: Node) -> int:
    axis = _CHANNELS.get(node.op)
    if axis is None:
        return 0
    return max((prod(v.type.dims[axis : axis + 1]) for v in node.present_operands[:2] if v.is_constant), default=0)


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT
