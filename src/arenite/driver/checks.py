"""What must hold before a model is run or compiled: every problem is told, before any work is done."""

from collections.abc import Iterator, Sequence

from arenite._base.dtypes import DType
from arenite._base.errors import ModelError
from arenite._base.text import shortened
from arenite.driver.node_names import short_names
from arenite.ir.graph import Graph, Node
from arenite.ir.model import Model
from arenite.ir.opdef import OpCall, Registry
from arenite.ir.verifier import unsupported, verify

LARGEST_NBYTES = 2**26
"""The largest tensor that is run or compiled: more than the boards have that this is for. What stands behind it in a
damaged file is no model, and would take this computer's memory and time."""

LARGEST_WORK = 2**38
"""Of one invocation, in multiply-accumulates and other operations: hours on the fastest of those boards."""

_MAX_NAMED = 5
_SMALL = (DType.INT4, DType.INT8, DType.UINT8)
_QUANTIZABLE = (*_SMALL, DType.INT16)


def check_runnable(model: Model, registry: Registry) -> None:
    """Refuse a model of the onnx dialect, with operators that are not there, with misfit nodes, or too large tensors.

    Raises:
        ModelError: all problems, of whatever kind.
    """
    _refuse_onnx(model)
    if found := run_problems(model.graph, registry):
        raise ModelError(found)


def check_compilable(model: Model, registry: Registry) -> None:
    """Refuse what `check_runnable` does, and weights of 16-bit floats.

    Raises:
        ModelError: all problems, of whatever kind.
    """
    _refuse_onnx(model)
    if found := compile_problems(model.graph, registry):
        raise ModelError(found)


def run_problems(graph: Graph, registry: Registry) -> list[str]:
    """Why a graph cannot be run: operators that are not there, types that do not fit, sizes, quantization."""
    return _problems(graph, registry, hybrid_nodes(graph), [hybrid_problem(graph)])


def compile_problems(graph: Graph, registry: Registry) -> list[str]:
    """Why a graph cannot be compiled, as far as it is known before lowering."""
    return _problems(graph, registry, hybrid_nodes(graph), [hybrid_problem(graph), half_problem(graph)])


def _refuse_onnx(model: Model) -> None:
    if model.format == "onnx":
        raise ModelError(
            f"{model.name} is an ONNX model: it can be run by the interpreter, but not compiled; give a .tflite of "
            "full integer quantization, made from the same network by other tools ('arenite convert' makes one, but of "
            "floats: Arenite does not quantize yet)"
        )


def _problems(graph: Graph, registry: Registry, explained: Sequence[Node], kinds: Sequence[str | None]) -> list[str]:
    """All problems; what the verifier says of nodes that are explained already is left out."""
    found = [unsupported(graph, registry), *kinds]
    misfits = verify(graph, registry, allow_unknown=True)
    told = tuple(f"node '{node.name}' ({node.op})" for node in explained)
    misfits = [problem for problem in misfits if not problem.startswith(told)]
    found += [*misfits, _unquantized_problem(graph, misfits), size_problem(graph)]
    if not any(found):
        found.append(work_problem(graph, registry))
    return shortly(graph, [problem for problem in found if problem])


def shortly(graph: Graph, problems: Sequence[str]) -> list[str]:
    """Sentences about a graph with its long names made short: `explain` finds each by its short one."""
    short = short_names(value.name for value in graph.values()) | short_names(node.name for node in graph.nodes)
    return [shortened(problem, short) for problem in problems]


def _unquantized_problem(graph: Graph, misfits: Sequence[str]) -> str | None:
    """One sentence on all tensors that misfit nodes have as small integers without quantization."""
    bad = [node for node in graph.nodes if any(p.startswith(f"node '{node.name}' ({node.op})") for p in misfits)]
    values = dict.fromkeys(
        value.name
        for node in bad
        for value in (*node.present_operands, *node.results)
        if value.type.dtype in _QUANTIZABLE and value.type.quantization is None
    )
    if not values:
        return None
    names = list(values)
    listed = ", ".join(f"'{name}'" for name in names[:_MAX_NAMED])
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return (
        f"quantization is missing: {listed}{more} are integers without scale and zero point; convert the model with "
        "full integer quantization (a representative dataset)"
    )


def hybrid_nodes(graph: Graph) -> list[Node]:
    """The nodes that multiply floats with quantized weights."""
    return [node for node in graph.nodes if _is_hybrid(node)]


def hybrid_problem(graph: Graph) -> str | None:
    """One sentence on all nodes that multiply floats with quantized weights; None when there is none."""
    hybrid = hybrid_nodes(graph)
    if not hybrid:
        return None
    return (
        "dynamic range quantization (quantized weights, float activations) needs float arithmetic on the device for "
        "each layer; convert the model with full integer quantization (a representative dataset), or without "
        f"quantization; it is at {_nodes(hybrid)}"
    )


def half_problem(graph: Graph) -> str | None:
    """One sentence on all weights of 16-bit floats; None when there is none."""
    widening = list(_of_halves(graph))
    if not widening:
        return None
    return (
        "weights of 16-bit floats, for float32 arithmetic, would take twice the flash, or be widened at each "
        "invocation; convert the model with full integer quantization (a representative dataset), or without float16; "
        f"they are at {_nodes(widening)}"
    )


def float_problem(graph: Graph) -> str | None:
    """One sentence on a network that mostly computes with floats: what to do when kernels are missing for that."""
    computing = [node for node in graph.nodes if node.results and node.op not in ("quantize", "dequantize")]
    floats = sum(any(value.type.dtype is DType.FLOAT32 for value in node.results) for node in computing)
    if 2 * floats <= len(computing):
        return None
    return (
        f"the model computes with floats at {floats:,} of {len(computing):,} nodes; few operators have kernels for "
        "that (docs/ops.md), and Arenite does not quantize yet: quantize the network by other tools, weights and "
        "activations (full integer quantization, by a representative dataset), and compile that .tflite; 'arenite run' "
        "runs this one"
    )


def size_problem(graph: Graph) -> str | None:
    """One sentence on all tensors that are larger than any device's memory; None when there is none."""
    large = [v for v in graph.values() if v.type.is_static and v.type.nbytes > LARGEST_NBYTES]
    if not large:
        return None
    listed = ", ".join(f"'{value.name}' {value.type.nbytes:,}" for value in large[:_MAX_NAMED])
    more = f" and {len(large) - _MAX_NAMED} more" if len(large) > _MAX_NAMED else ""
    return (
        f"tensors of more than {LARGEST_NBYTES:,} bytes are neither run nor compiled, no microcontroller has the "
        f"memory: {listed}{more}; give the model a smaller input"
    )


def work_problem(graph: Graph, registry: Registry) -> str | None:
    """One sentence on the nodes that take the most work, when all take too much; None when they do not.

    The graph has no other problems: shapes are as the ops say.
    """
    work = [(node, _work(node, registry)) for node in graph.nodes]
    total = sum(operations for _, operations in work)
    if total <= LARGEST_WORK:
        return None
    most = sorted(work, key=lambda pair: -pair[1])[:_MAX_NAMED]
    listed = ", ".join(f"'{node.name}' {operations:,}" for node, operations in most if operations)
    return (
        f"one invocation takes {total:,} operations, more than the {LARGEST_WORK:,} that are run or compiled; most are "
        f"in {listed}; give the model a smaller input"
    )


def _work(node: Node, registry: Registry) -> int:
    cost = registry[node.op].cost
    if not callable(cost) or not all(value.type.is_static for value in (*node.present_operands, *node.results)):
        return 0
    found = cost(OpCall.of(node))
    return found.macs + found.ops


def _is_hybrid(node: Node) -> bool:
    first = node.optional_operand(0)
    if first is None or first.is_constant or first.type.dtype is not DType.FLOAT32 or not node.results:
        return False
    return node.results[0].type.dtype is DType.FLOAT32 and any(
        value.is_constant and value.type.dtype in _SMALL and value.type.quantization is not None
        for value in node.present_operands[1:]
    )


def _of_halves(graph: Graph) -> Iterator[Node]:
    for node in graph.nodes:
        constants = [value for value in node.present_operands if value.is_constant]
        if any(value.type.dtype in (DType.FLOAT16, DType.BFLOAT16) for value in constants):
            yield node


def _nodes(nodes: Sequence[Node]) -> str:
    listed = ", ".join(f"'{node.name}'" for node in nodes[:_MAX_NAMED])
    more = f" and {len(nodes) - _MAX_NAMED} more" if len(nodes) > _MAX_NAMED else ""
    return f"{len(nodes)} nodes: {listed}{more}" if len(nodes) > 1 else f"node {listed}"
