"""Functions of one byte in a row: where one op has the same result for each of the 256 values, it does for all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from arenite._base.dtypes import DType
from arenite._base.remarks import Reason
from arenite.ir.attrs import Attrs, TensorAttr
from arenite.ir.graph import Array, Node, Value
from arenite.ir.opdef import OpCall, OpDef, OpError, Registry, Trait
from arenite.ir.pattern import Mismatch
from arenite.ir.types import TensorType
from arenite.ops.lookup import LookupAttrs
from arenite.passes.base import Pass, Work

COMPOSED = Reason(
    "composed", "{subject} and {others} together do for each byte what one {op} does, which replaced them"
)
CANCELLED = Reason("cancelled", "{subject} and {others} together change no byte, so they vanished")
ROUNDS_TWICE = Reason(
    "rounds-twice",
    "{subject} rescales what '{producer}' ({op}) has rounded; rescaled at once, it would be rounded once",
)
SHARED = Reason("shared", "%{value} is read elsewhere, too, so '{producer}' must stay as it is")
INEXACT = Reason("inexact", "'{producer}' ({op}) works on floats, whose rounding is not the same everywhere")
WIDE = Reason("wide", "{subject} depends on %{value}, which has too many values to try")
TABULATED = Reason("tabulated", "what {others} and {subject} do for each byte became one table of 256 entries")
NO_SINGLE_OP = Reason("no-single-op", "no one op does for each byte what {others} and {subject} do")
OUTPUT_NAME = Reason("output-name", "{subject} changes nothing, but gives the output %{output} of the graph its name")

_EXACT_ON_FLOATS = frozenset({"quantize", "dequantize", "relu", "relu6", "relu_n1_to_1", "relu_0_to_1", "neg", "abs"})
_BYTES = (DType.INT8, DType.UINT8)


@dataclass(frozen=True)
class ComposeUnary(Pass):
    """Replaces two or more elementwise functions of one byte by one, or none.

    Candidates are those with a byte as a result that read the result of another, and each quantize of integers that are
    computed. Bit-exact: every value that a byte can have is tried.

    Attributes:
        tables: what no one op does may become a table, for which .tflite has no words.
    """

    tables: bool = True

    name: ClassVar[str] = "compose-unary"
    summary: ClassVar[str] = "Makes one function of one byte of several in a row, where one exists."
    reasons: ClassVar[tuple[Reason, ...]] = (
        COMPOSED,
        CANCELLED,
        TABULATED,
        ROUNDS_TWICE,
        SHARED,
        INEXACT,
        WIDE,
        NO_SINGLE_OP,
        OUTPUT_NAME,
    )

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            made: Node | None = node
            while made is not None:
                made = _visit(made, work, tables=self.tables)


def _visit(node: Node, work: Work, *, tables: bool) -> Node | None:
    """Compose a node with those before it; what took their place and is to be looked at in turn."""
    if not _is_unary(node, work.registry) or node.result.type.dtype not in _BYTES:
        return None
    producer = node.operand(0).producer
    if producer is not None and _is_unary(producer, work.registry):
        return _compose(node, work, tables=tables)
    if producer is not None and node.op == "quantize" and node.operand(0).type.dtype.is_integer:
        work.consider(node).missed(ROUNDS_TWICE, producer=producer.name, op=producer.op)
    return None


def _is_unary(node: Node, registry: Registry) -> bool:
    definition = registry.get(node.op)
    if definition is None or not definition.has(Trait.ELEMENTWISE) or not definition.is_foldable:
        return False
    single = len(node.operands) == 1 and len(node.results) == 1
    return single and not node.operand(0).is_variable and node.operand(0).type.shape == node.result.type.shape


def _compose(node: Node, work: Work, *, tables: bool) -> Node | None:
    candidate = work.consider(node)
    chain = _chain(node, work.registry)
    if isinstance(chain, Mismatch):
        candidate.missed(chain.reason, **chain.arguments)
        return None
    source, result = chain[0].operand(0), node.result
    table = _table(chain, work.registry)
    others = ", ".join(f"'{each.name}'" for each in chain[:-1])
    if source.type == result.type and np.array_equal(table, _codes(source.type)):
        if not work.rewriter.may_replace(result, source):
            candidate.missed(OUTPUT_NAME, output=result.name)
            return None
        heirs = [use.node for use in result.uses] if source.producer is None else [source.producer]
        _replace(chain, source, heirs, work)
        candidate.passed(CANCELLED, others=others)
        return None
    single = _single(chain, table, work.registry)
    if single is None and not tables:
        candidate.missed(NO_SINGLE_OP, others=others)
        return None
    op, attrs = single or ("lookup", LookupAttrs(TensorAttr(table)))
    made = work.rewriter.insert(node, op, [source], [result.type], attrs, name=node.name, origin=())
    _replace(chain, made.result, [made], work)
    candidate.passed(COMPOSED if single else TABULATED, others=others, op=op)
    return made


def _single(chain: Sequence[Node], table: Array, registry: Registry) -> tuple[str, Attrs] | None:
    """The one op, with its attributes, that has this table."""
    source, result = chain[0].operand(0).type, chain[-1].result.type
    alternatives = _alternatives(chain, rescales=source.quantization != result.quantization)
    return next((each for each in alternatives if _does(table, *each, source, result, registry)), None)


def _chain(node: Node, registry: Registry) -> list[Node] | Mismatch:
    """The node and those before it, from the first byte on; in schedule order."""
    chain = [node]
    while True:
        value = chain[0].operand(0)
        producer = value.producer
        if producer is None or not _is_unary(producer, registry):
            return Mismatch(WIDE, {"value": value.name})
        if value.output_of or len(value.uses) > 1:
            return Mismatch(SHARED, {"value": value.name, "producer": producer.name})
        floats = value.type.dtype.is_float
        for each in (chain[0], producer) if floats else ():
            if each.op not in _EXACT_ON_FLOATS:
                return Mismatch(INEXACT, {"producer": each.name, "op": each.op})
        chain.insert(0, producer)
        if producer.operand(0).type.dtype in _BYTES:
            return chain


def _codes(type_: TensorType) -> Array:
    """Every value that a byte can have."""
    return np.arange(256).astype(np.uint8).view(type_.dtype.numpy)


def _table(chain: Sequence[Node], registry: Registry) -> Array:
    values = _codes(chain[0].operand(0).type)
    for node in chain:
        values = _evaluated(
            registry[node.op], _call(node.op, node.attrs, node.operand(0).type, node.result.type), values
        )
    return values


def _call(op: str, attrs: Attrs, source: TensorType, result: TensorType) -> OpCall:
    """A call on all 256 values."""
    return OpCall(op, op, attrs, (replace(source, shape=(256,)),), (replace(result, shape=(256,)),), (None,))


def _evaluated(definition: OpDef, call: OpCall, values: Array) -> Array:
    (found,) = definition.evaluate(call, (values,))
    return found


def _alternatives(chain: Sequence[Node], *, rescales: bool) -> Iterator[tuple[str, Attrs]]:
    """What might do the work of all."""
    found = dict.fromkeys([("quantize", Attrs()), *((node.op, node.attrs) for node in chain)])
    # TFLite-Micro's RELU6 does not rescale, whatever its types say.
    yield from (each for each in found if each[0] != "relu6" or not rescales)


def _does(table: Array, op: str, attrs: Attrs, source: TensorType, result: TensorType, registry: Registry) -> bool:
    definition, call = registry[op], _call(op, attrs, source, result)
    if not all(constraint.holds(call) is True for constraint in definition.constraints):
        return False
    try:
        found = _evaluated(definition, call, _codes(source))
    except OpError:
        return False
    return np.array_equal(found, table)


def _replace(chain: Sequence[Node], value: Value, heirs: Sequence[Node], work: Work) -> None:
    last = chain[-1]
    for each in chain[:-1]:
        for heir in heirs:
            work.rewriter.add_origin(heir, each.origin)
    work.rewriter.replace(last, [value], carry_to=heirs, take_names=value.producer in heirs)
    for each in reversed(chain[:-1]):
        work.rewriter.erase(each)
