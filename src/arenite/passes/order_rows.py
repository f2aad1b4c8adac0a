"""Transposes of what matrix products give: rows of weights take their order."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from arenite._base.remarks import Reason
from arenite.ir.content import in_sequence, is_splat
from arenite.ir.graph import Node, Value
from arenite.ir.opdef import Trait
from arenite.ir.pattern import INTERMEDIATE_IS_OUTPUT, SEVERAL_READERS, Mismatch
from arenite.ir.types import Dim
from arenite.passes.absorb_transposes import MIXES_ROWS, Indices, columns_of
from arenite.passes.base import Pass, Work
from arenite.passes.reshaping import reshape_instead
from arenite.passes.transposes import COMPUTED, order_of
from arenite.passes.trim_taps import SHARED

ORDERED = Reason("ordered", "'{into}' gives what {subject} transposed in that order now: rows of its weights moved")
NO_PRODUCT = Reason("no-product", "%{value}, which {subject} is of, comes from no matrix product with constant weights")
PER_ROW = Reason("per-row", "%{value}, which '{into}' reads, is quantized per row")


@dataclass(frozen=True)
class OrderRows(Pass):
    """Removes transposes of what fully connected layers give, as where a decoder begins. Candidates are the transposes.

    Between may lie reshapes, and elementwise ops of one operand.
    """

    name: ClassVar[str] = "order-rows"
    summary: ClassVar[str] = "Permutes rows of weights in place of what they compute."
    reasons: ClassVar[tuple[Reason, ...]] = (
        ORDERED,
        COMPUTED,
        NO_PRODUCT,
        SEVERAL_READERS,
        INTERMEDIATE_IS_OUTPUT,
        PER_ROW,
        SHARED,
        MIXES_ROWS,
    )

    def apply(self, work: Work) -> None:
        for node in work.graph.nodes:
            if node.op != "transpose":
                continue
            candidate = work.consider(node)
            found = _found(node, work)
            if isinstance(found, Mismatch):
                candidate.missed(found.reason, **found.arguments)
                continue
            candidate.passed(ORDERED, into=found.layer.name)
            _give(node, found, work)


@dataclass(frozen=True)
class _Found:
    """A layer and what lies between it and a transpose; row `rows[i]` of its weights becomes row i."""

    layer: Node
    between: tuple[Node, ...]
    rows: Indices


def _found(transpose: Node, work: Work) -> _Found | Mismatch:
    order, value, between = order_of(transpose), transpose.operand(0), list[Node]()
    if order is None:
        return Mismatch(COMPUTED)
    while True:
        node = value.producer
        if node is None:
            return Mismatch(NO_PRODUCT, {"value": value.name})
        if value.output_of:
            return Mismatch(INTERMEDIATE_IS_OUTPUT, {"value": value.name})
        if len(value.uses) > 1:
            return Mismatch(SEVERAL_READERS, {"value": value.name, "count": len(value.uses)})
        if node.op == "fully_connected":
            break
        if not _keeps_elements(node, work):
            return Mismatch(NO_PRODUCT, {"value": value.name})
        between.insert(0, node)
        value = node.operand(0)
    if (refused := _refused(node)) is not None:
        return refused
    rows = columns_of(transpose.operand(0).type.dims, order, node.operand(1).type.dims[0])
    return Mismatch(MIXES_ROWS, {"reader": node.name}) if rows is None else _Found(node, tuple(between), rows)


def _keeps_elements(node: Node, work: Work) -> bool:
    """Whether each element of the result follows from the one at its place."""
    definition = work.registry.get(node.op)
    if definition is None or not (definition.has(Trait.VIEW) or definition.has(Trait.ELEMENTWISE)):
        return False
    source, result = node.operand(0).type, node.result.type
    if result.quantization is not None and not result.quantization.is_per_tensor:
        return False
    if definition.has(Trait.VIEW):
        return (source.dtype, source.quantization) == (result.dtype, result.quantization)
    return len(node.operands) == 1


def _refused(layer: Node) -> Mismatch | None:
    for value in layer.present_operands[1:]:
        names = {"value": value.name, "into": layer.name}
        if not value.is_constant:
            return Mismatch(NO_PRODUCT, names)
        if value.type.quantization is not None and not value.type.quantization.is_per_tensor:
            return Mismatch(PER_ROW, names)
        if len(value.uses) + len(value.output_of) > 1:
            return Mismatch(SHARED, {"value": value.name, "count": len(value.uses) + len(value.output_of)})
    return None


def _give(transpose: Node, found: _Found, work: Work) -> None:
    """Put a layer with other rows in the place of a layer and a transpose. Names go with what they stood for."""
    rewriter, layer = work.rewriter, found.layer
    operands = [layer.operand(0), *(_moved(value, found.rows, work) for value in layer.operands[1:])]
    value = _remade(layer, operands, layer.result.type.shape, (*layer.origin, *transpose.origin), work)
    for node in found.between:
        if not work.registry[node.op].has(Trait.VIEW):
            value = _remade(node, [value], value.type.shape, node.origin, work)
    reshape_instead(transpose, value, work)
    for node in (*reversed(found.between), layer):
        rewriter.erase(node)


def _remade(
    node: Node, operands: Sequence[Value | None], shape: tuple[Dim, ...] | None, origin: Sequence[str], work: Work
) -> Value:
    type_ = replace(node.result.type, shape=shape)
    return work.rewriter.insert(node, node.op, operands, [type_], node.attrs, name=node.name, origin=origin).result


def _moved(value: Value | None, rows: Indices, work: Work) -> Value | None:
    """Weights or biases, row by row in another order. A splat stays one element."""
    if value is None:
        return None
    array = np.asarray(value.constant)
    return work.rewriter.constant(value.name, array if is_splat(array) else in_sequence(array[rows]), value.type)
