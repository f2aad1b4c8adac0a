"""What rules of legalization work with: operands in the order that they ask for, and a graph that grows."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.content import in_sequence
from arenite.ir.graph import Array, Node, Value
from arenite.ir.opdef import OpCall, OpDef, OpError, QuantizationRule, Registry
from arenite.ir.types import Quantization, TensorType
from arenite.ops.movement import ReshapeAttrs
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.passes.legalize.orders import (
    UNIT,
    Order,
    as_in_onnx,
    moved,
    moves_nothing,
    through_transpose,
    without_units,
)
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.reshaping import MOST_SPREAD, Moving, how_to_move, widened, with_fewest
from arenite.passes.onnx.facts import Facts

SUPPORTED_DTYPES = frozenset(
    {DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64, DType.BOOL}
)


class Site:
    """The core graph while it is made from an onnx one.

    A value of the ONNX model may lie in several orders, each a value of the core graph: a transpose is made the first
    time that somebody asks for an order in which it does not lie.

    Attributes:
        facts: of the values of the onnx graph.
        builder: appends to the core graph.
        wishes: the order that the readers of a value want it in, where they want one.
    """

    def __init__(
        self, facts: Facts, core: Registry, name: str, wishes: Mapping[Value, Order] = MappingProxyType({})
    ) -> None:
        self.facts = facts
        self.wishes = wishes
        self.builder = GraphBuilder(name)
        self._core = core
        self._forms: dict[Value, dict[Order, Value]] = {}
        self._moves: dict[tuple[Value, Moving], Value] = {}
        self._node: Node | None = None
        self.transposes: dict[str, str] = {}

    @property
    def opset(self) -> int:
        return self.facts.opset

    def enter(self, node: Node) -> None:
        """From now on, what is emitted stands for this node of the ONNX model."""
        self._node = node

    # What is known of a value of the ONNX model.

    def dims(self, value: Value) -> tuple[int, ...]:
        """Its dimensions, as ONNX has them.

        Raises:
            RefusedError: they are not known.
        """
        dims = self.facts.of(value).dims
        if dims is None:
            raise RefusedError(f"the shape of '{value.name}' must be known, but it depends on data")
        return dims

    def rank(self, value: Value) -> int:
        return len(self.dims(value))

    def dtype(self, value: Value) -> DType:
        """Its element type.

        Raises:
            RefusedError: a .tflite model has no such tensors, or it is no tensor.
        """
        dtype = self.facts.of(value).dtype
        if dtype not in SUPPORTED_DTYPES or dtype is None:
            known = ", ".join(sorted(str(each) for each in SUPPORTED_DTYPES))
            remedy = "; save the model with float32 in its place" if dtype is not None and dtype.is_float else ""
            raise RefusedError(
                f"'{value.name}' must be of {known}, but is {dtype or 'not known to be a tensor'}{remedy}"
            )
        return dtype

    def constant(self, value: Value | None) -> Array | None:
        """Its elements, as ONNX has them; None where it is absent or not constant."""
        if value is None:
            return None
        if value.is_constant:
            return np.asarray(value.constant)
        for order, core in self._forms.get(value, {}).items():
            if core.constant is not None:
                flat = without_units(order)
                laid = np.asarray(core.constant).reshape(moved(self.dims(value), flat))
                return laid.transpose(np.argsort(flat)) if flat else laid
        return None

    def fix(self, value: Value, array: Array) -> None:
        """Say that a result of the ONNX model is constant."""
        order = as_in_onnx(array.ndim)
        self.put(value, self._stored(value, array, order, array.shape), order)

    def required_constant(self, node: Node, index: int, role: str) -> Array:
        """The elements of an operand.

        Raises:
            RefusedError: it is computed.
        """
        array = self.constant(node.optional_operand(index))
        if array is None:
            raise RefusedError(f"{role} must be constant, but is computed")
        return array

    def integers(self, node: Node, index: int, role: str) -> tuple[int, ...] | None:
        """A list of integers that is constant, or follows from shapes; None where it is absent.

        Raises:
            RefusedError: it is computed, or not of integers.
        """
        value = node.optional_operand(index)
        if value is None:
            return None
        if not value.is_constant and (known := self.facts.of(value).integers) is not None:
            return known
        array = self.required_constant(node, index, role)
        if array.dtype.kind not in "iu":
            raise RefusedError(f"{role} must be integers, but is {array.dtype}")
        return tuple(int(item) for item in array.ravel())

    # Where a value lies.

    def orders(self, value: Value) -> tuple[Order, ...]:
        """The orders in which it lies already: none for a constant, which may be had in each."""
        return () if self.constant(value) is not None else tuple(self._forms.get(value, ()))

    def lie(self, value: Value) -> tuple[Value, Order]:
        """A form of a value, for when its order does not matter: the one that is wished of the result, or the first."""
        forms = self._forms.get(value)
        if not forms:
            order = as_in_onnx(self.rank(value))
            return self.get(value, order), order
        wish = self._wish(self.rank(value))
        order = wish if wish is not None and wish in forms else next(iter(forms))
        return forms[order], order

    def lies(self, value: Value, order: Order) -> bool:
        """Whether it may be had in an order without a transpose."""
        dims = self.dims(value)
        if self.constant(value) is not None:
            return True
        return any(moves_nothing(known, order, dims) for known in self.orders(value))

    def with_last(self, value: Value, axes: Sequence[int]) -> Order:
        """An order without units that has some dimensions last, in this sequence: one in which it lies, if there is.

        If not, that of ONNX where it has them last, since readers that want no other want that one.
        """
        own = as_in_onnx(self.rank(value))
        orders = [without_units(order) for order in self.orders(value)] or [own]
        wanted = [(*(axis for axis in order if axis not in axes), *axes) for order in orders]
        otherwise = own if own[len(own) - len(axes) :] == tuple(axes) else wanted[0]
        return next((order for order in wanted if self.lies(value, order)), otherwise)

    def get(self, value: Value, order: Order | None = None) -> Value:
        """A value in an order (by default that of ONNX): as it lies, or transposed; a constant is moved here."""
        order = as_in_onnx(self.rank(value)) if order is None else order
        forms = self._forms.setdefault(value, {})
        if order not in forms:
            forms[order] = self._moved(value, order)
        return forms[order]

    def broadcast(self, value: Value, rank: int, order: Order) -> Value:
        """A value as an operand among others of `rank` dimensions, which lie in `order`."""
        return self.get(value, self.order_among(value, rank, order))

    def order_among(self, value: Value, rank: int, order: Order) -> Order:
        """The order of a value that is an operand among others of `rank` dimensions, which lie in `order`.

        Raises:
            RefusedError: it has more dimensions.
        """
        missing = rank - self.rank(value)
        if missing < 0:
            raise RefusedError(f"'{value.name}' must have at most {rank} dimensions, but has {self.rank(value)}")
        if missing == 0:
            return order
        # Dimensions that are not there count as if of size 1, in front.
        own = tuple(UNIT if axis < missing else axis - missing for axis in order)
        return own[next((i for i, axis in enumerate(own) if axis != UNIT), len(own)) :]

    def common_order(self, values: Sequence[Value], rank: int) -> Order:
        """The order in which the fewest elements must be moved for these values to lie alike, or to broadcast so.

        What the result is wished in counts: it would have to be moved, too.
        """
        lying = [value for value in values if self.orders(value) and self.constant(value) is None]
        computed = sorted(lying, key=self.rank, reverse=True)
        own, wish = as_in_onnx(rank), self._wish(rank)
        choices = dict.fromkeys(widened(order, rank - self.rank(v)) for v in computed for order in self.orders(v))
        choices |= {} if wish is None else {wish: None}
        dims = self.dims(self._node.results[0]) if self._node is not None and wish is not None else ()

        def price(order: Order) -> tuple[int, bool]:
            moving = [v for v in computed if not self.lies(v, self.order_among(v, rank, order))]
            nelem = sum([math.prod(self.dims(value)) for value in moving])
            if wish is not None and not moves_nothing(order, wish, dims):
                nelem += math.prod(dims)
            return nelem, order != own

        return min(choices, key=price, default=own)

    def _wish(self, rank: int) -> Order | None:
        """What the result of the node is wished in, if that has `rank` dimensions."""
        wish = None if self._node is None else self.wishes.get(self._node.results[0])
        return wish if wish is not None and len(wish) == rank else None

    def put(self, value: Value, core: Value, order: Order) -> None:
        """Say what a result of the ONNX model is in the core graph."""
        expected = moved(self.dims(value), order)
        if core.type.shape != expected:
            raise AssertionError(f"'{value.name}' in order {order} is {list(expected)}, not {core.type}")
        self._forms.setdefault(value, {})[order] = core

    def relabel(self, source: Value, result: Value, perm: Sequence[int]) -> None:
        """Let each form of one value be one of its transposed self."""
        if source.is_constant or not self.orders(source):
            self.get(source)
        forms = self._forms.setdefault(result, {})
        for order, core in self._forms[source].items():
            forms[through_transpose(order, perm)] = core

    # The core graph.

    def const(self, role: str, array: Array) -> Value:
        """A new constant; what it is for becomes its name, behind the node's."""
        return self.builder.constant(f"{self._owner()}/{role}", array)

    def ints(self, role: str, items: Sequence[int] | Sequence[Sequence[int]]) -> Value:
        """A new constant of int32.

        Raises:
            RefusedError: a number does not fit.
        """
        try:
            return self.const(role, np.array(items, np.int32))
        except OverflowError:
            raise RefusedError(f"{role} must be numbers of 32 bits, but are {list(items)}") from None

    def emit(
        self,
        op: str,
        operands: Sequence[Value | None],
        attrs: Attrs | None = None,
        *,
        dtype: DType | None = None,
        name: str = "",
        n_results: int = 1,
        quantization: Quantization | None = None,
    ) -> tuple[Value, ...]:
        """Append a node.

        Args:
            op: of the core dialect.
            operands: values of the core graph.
            attrs: of the node; its op's defaults if None.
            dtype: of the results; the first operand's if None.
            name: of the result; made from the ONNX node's and the op if empty.
            n_results: how many there are.
            quantization: of the results; where it is None, ops that leave scales as they are keep their operands'.

        Raises:
            RefusedError: the op does not take such operands.
        """
        definition = self._core[op]
        attrs = definition.attrs() if attrs is None else attrs
        first = next(value for value in operands if value is not None)
        types = tuple(None if value is None else value.type for value in operands)
        scales = quantization or _kept_quantization(definition, types)
        declared = (TensorType(dtype or first.type.dtype, None, scales),) * n_results
        constants = tuple(value.constant if value is not None and value.is_constant else None for value in operands)
        call = OpCall(self._owner(), op, attrs, types, declared, constants)
        try:
            for constraint in definition.constraints:
                if (found := constraint.holds(call)) is not True:
                    raise RefusedError(f"as {op}, {constraint.text}" + (f", but is {found}" if found else ""))
            results = definition.infer(call)
        except OpError as error:
            raise RefusedError(f"as {op}, {error}") from None
        wish = name or f"{self._owner()}/{op}"
        node = self.builder.node(op, operands, results, attrs, name=wish, origin=self._origin())
        return node.results

    def give(
        self,
        result: Value,
        op: str,
        operands: Sequence[Value | None],
        attrs: Attrs | None = None,
        *,
        order: Order | None = None,
        dtype: DType | None = None,
    ) -> None:
        """Append a node whose result is one of the ONNX model, in an order (by default that of ONNX)."""
        (core,) = self.emit(op, operands, attrs, dtype=dtype, name=result.name)
        self.put(result, core, as_in_onnx(self.rank(result)) if order is None else order)

    def reshaped(self, core: Value, dims: Sequence[int], *, name: str = "") -> Value:
        """A value of the core graph with other dimensions: itself, or what it was reshaped from, if that has them."""
        while core.producer is not None and core.producer.op == "reshape" and core.type.shape != tuple(dims):
            core = core.producer.operand(0)
        if core.type.shape == tuple(dims):
            return core
        if core.is_constant and core.constant is not None:
            return self.const("reshaped", np.asarray(core.constant).reshape(tuple(dims)))
        (result,) = self.emit("reshape", [core, self.ints("shape", dims)], ReshapeAttrs(tuple(dims)), name=name)
        return result

    def copied(self, core: Value) -> Value:
        """The same contents as a value of their own."""
        dims = core.type.dims
        (result,) = self.emit("reshape", [core, self.ints("shape", dims)], ReshapeAttrs(dims))
        return result

    def _moved(self, value: Value, order: Order) -> Value:
        dims = self.dims(value)
        array = self.constant(value)
        if array is not None:
            return self._stored(value, array, order, dims)
        if not self._forms[value]:
            raise AssertionError(f"'{value.name}' was asked for before it was made")
        for known, core in self._forms[value].items():
            if moves_nothing(known, order, dims):
                return self.reshaped(core, moved(dims, order), name=f"{value.name}/reshape")
        known, core = next(iter(self._forms[value].items()))
        return self.reshaped(self._transposed(value, core, how_to_move(known, order, dims)), moved(dims, order))

    def _transposed(self, value: Value, core: Value, move: Moving) -> Value:
        """A value of the core graph after a move; what another value of the ONNX model had moved alike is taken."""
        fewest = with_fewest(move)
        if (found := self._moves.get((core, fewest))) is not None:
            return found
        move = move if len(move.dims) <= MOST_SPREAD else fewest
        source = self.reshaped(core, move.dims)
        if source.is_constant:
            return self.const("transposed", np.asarray(source.constant).transpose(move.perm))
        name = f"{value.name}/transpose"
        self.transposes[name] = self._owner()
        (found,) = self.emit("transpose", [source, self.ints("perm", move.perm)], name=name)
        self._moves[core, fewest] = found
        return found

    def _stored(self, value: Value, array: Array, order: Order, dims: Sequence[int]) -> Value:
        self.dtype(value)
        laid = array.transpose(without_units(order)) if array.ndim > 1 else array
        return self.builder.constant(value.name, in_sequence(laid.reshape(moved(dims, order))))

    def _owner(self) -> str:
        return self._node.name if self._node is not None else self.builder.graph.name

    def _origin(self) -> tuple[str, ...]:
        return self._node.origin if self._node is not None else ()


def _kept_quantization(definition: OpDef, types: Sequence[TensorType | None]) -> Quantization | None:
    rule = definition.quantization
    if not isinstance(rule, QuantizationRule) or not rule.same_scale:
        return None
    return next((type_.quantization for type_ in types if type_ is not None and type_.quantization is not None), None)


def attributes(node: Node) -> OnnxAttrs:
    """The attributes of a node of the onnx dialect."""
    assert isinstance(node.attrs, OnnxAttrs)
    return node.attrs


def only_results(node: Node, least: int, absent: Mapping[int, str]) -> None:
    """Refuse a node of which somebody reads a result that has no counterpart.

    Args:
        node: of the onnx dialect.
        least: how many results it always has.
        absent: what each of the others is.

    Raises:
        RefusedError: one of them is read.
    """
    for index in range(least, len(node.results)):
        if node.results[index].is_read:
            raise RefusedError(f"its result '{absent.get(index, str(index))}' is read, which has no counterpart")
