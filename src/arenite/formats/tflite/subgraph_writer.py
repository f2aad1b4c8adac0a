"""One graph as a subgraph of a file that is being written."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import numpy as np

from arenite.formats.tflite.buffers import BufferPool
from arenite.formats.tflite.codecs import codecs_by_op
from arenite.formats.tflite.constants import ELEMENT_TYPES
from arenite.formats.tflite.details import GraphFacts, OperatorFacts, TensorFacts, node_dtypes
from arenite.formats.tflite.flat import Record, Schema
from arenite.formats.tflite.foreign import (
    CUSTOM_PREFIX,
    builtin_of,
    intermediates_of,
    stored_options,
    version_and_code,
    write_foreign,
)
from arenite.formats.tflite.quantization import write_quantization
from arenite.ir.attrs import ForeignAttrs
from arenite.ir.graph import Graph, Node, Value
from arenite.ir.opdef import OpCall
from arenite.ir.types import TensorType

_ABSENT = -1
_PLACEHOLDER = 127  # stands in the old one-byte field for every greater code


class OperatorCodes:
    """Collects the kinds of operators, in order of first use."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._indices: dict[tuple[int, str | None, int], int] = {}

    def index(self, builtin: int, custom_code: str | None, version: int) -> int:
        return self._indices.setdefault((builtin, custom_code, version), len(self._indices))

    def records(self) -> tuple[Record, ...]:
        """The file's operator codes."""
        return tuple(
            self._schema.record(
                "OperatorCode",
                deprecated_builtin_code=min(builtin, _PLACEHOLDER),
                custom_code=code,
                version=version,
                builtin_code=builtin,
            )
            for builtin, code, version in self._indices
        )


class SubgraphWriter:
    """Writes one graph.

    Attributes:
        graph: what to write.
        indices: tensor index by value name.
    """

    def __init__(
        self, schema: Schema, graph: Graph, facts: GraphFacts, buffers: BufferPool, codes: OperatorCodes
    ) -> None:
        self._schema = schema
        self._facts = facts
        self._buffers = buffers
        self._codes = codes
        self._tensor_facts = {fact.value: fact for fact in facts.tensors}
        self._operator_facts = {fact.node: fact for fact in facts.operators}
        self._intermediates: list[Record] = []
        self.graph = graph

    @cached_property
    def _values(self) -> tuple[Value, ...]:
        return self.graph.values()

    @cached_property
    def indices(self) -> Mapping[str, int]:
        return {value.name: index for index, value in enumerate(self._values)}

    def problems(self) -> Iterator[str]:
        """What a .tflite file cannot hold, one sentence each."""
        for name, count in Counter(value.name for value in self._values).items():
            if count > 1:
                yield f"value '{name}': {count} values of the graph have this name"
        for value in self._values:
            if value.type.dtype not in ELEMENT_TYPES:
                yield f"value '{value.name}': a .tflite file has no element type {value.type.dtype}"
            if not value.type.is_static:
                yield f"value '{value.name}': expected a static shape, found {value.type}"
            elif any(dim >= 1 << 31 for dim in value.type.dims):
                yield f"value '{value.name}': a .tflite file has no dimensions beyond 2147483647, found {value.type}"
        known = codecs_by_op()
        for node in self.graph.nodes:
            foreign = isinstance(node.attrs, ForeignAttrs) and builtin_of(self._schema, node.op) is not None
            if node.op not in known and not foreign:
                yield f"node '{node.name}': a .tflite file has no operator for {node.op}"
            for name, value in () if foreign else vars(node.attrs).items():
                numbers = value if isinstance(value, tuple) else (value,)
                if any(isinstance(each, int) and not -(1 << 31) <= each < 1 << 31 for each in numbers):
                    yield f"node '{node.name}': its {name} must be within 32 bits, but is {value}"
            if isinstance(getattr(node.attrs, "padding", None), tuple):
                yield f"node '{node.name}': a .tflite file has no {node.op} with explicit padding: use SAME or VALID"

    def record(self) -> Record:
        """The subgraph, when there are no problems."""
        operators = tuple(self._operator(node) for node in self.graph.nodes)
        tensors = tuple(self._tensor(value) for value in self._values)
        return self._schema.record(
            "SubGraph",
            tensors=tensors + tuple(self._intermediates),
            inputs=self._references(self.graph.inputs),
            outputs=self._references(self.graph.outputs),
            operators=operators,
            name=self._facts.stored_name,
            debug_metadata_index=self._facts.debug_metadata_index,
        )

    def _references(self, values: Iterable[Value | None]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        return np.array([_ABSENT if v is None else self.indices[v.name] for v in values], np.int32)

    # Tensors

    def _tensor(self, value: Value) -> Record:
        facts = self._tensor_facts.get(value.name)
        name = value.name if facts is None else facts.stored_name
        buffer = 0 if value.constant is None else self._buffers.add(value.constant, value.type.dtype)
        if facts is None or facts.type != value.type:
            facts = TensorFacts(value.name, name, value.type)
        return self._tensor_record(value.type, name, facts, buffer, is_variable=value.is_variable)

    def _tensor_record(
        self, type_: TensorType, name: str | None, facts: TensorFacts, buffer: int, *, is_variable: bool = False
    ) -> Record:
        signature = facts.shape_signature
        return self._schema.record(
            "Tensor",
            shape=np.array(type_.dims, np.int32),
            type=self._schema.enums["TensorType"].value(type_.dtype.name),
            buffer=buffer,
            name=name,
            quantization=write_quantization(
                self._schema,
                type_.quantization,
                idle=facts.idle_quantization,
                minimum=facts.minimum,
                maximum=facts.maximum,
                axis=facts.quantization_axis,
            ),
            is_variable=is_variable,
            shape_signature=None if signature is None else np.array(signature, np.int32),
            has_rank=facts.has_rank,
        )

    # Operators

    def _operator(self, node: Node) -> Record:
        values = self._foreign(node, node.attrs) if isinstance(node.attrs, ForeignAttrs) else self._known(node)
        return self._schema.record(
            "Operator",
            inputs=self._references(node.operands),
            outputs=self._references(node.results),
            **values,
        )

    def _foreign(self, node: Node, attrs: ForeignAttrs) -> dict[str, object]:
        builtin = builtin_of(self._schema, node.op)
        assert builtin is not None
        version, code = version_and_code(attrs)
        if node.op.startswith(CUSTOM_PREFIX) and code is None:
            code = node.op.removeprefix(CUSTOM_PREFIX)
        values = write_foreign(self._schema, attrs)
        values["opcode_index"] = self._codes.index(builtin, code, version)
        intermediates = [self._intermediate(item) for item in intermediates_of(attrs)]
        values["intermediates"] = np.array(intermediates, np.int32) if intermediates else None
        return values

    def _intermediate(self, item: tuple[str | None, TensorType] | None) -> int:
        if item is None:
            return _ABSENT
        name, type_ = item
        self._intermediates.append(self._tensor_record(type_, name, TensorFacts("", name, type_), 0))
        return len(self._values) + len(self._intermediates) - 1

    def _known(self, node: Node) -> dict[str, object]:
        codec = codecs_by_op()[node.op]
        facts = self._facts_of(node)
        options = None
        if codec.options is not None and (facts is None or facts.has_options):
            table = self._schema.tables[codec.options]
            kept = {} if facts is None else stored_options(table, facts.options)
            options = Record(table, kept | codec.encode(table, node.attrs))
        version = codec.min_version(OpCall.of(node)) if facts is None else facts.version
        builtin = self._schema.enums["BuiltinOperator"].value(codec.builtin)
        intermediates = [] if facts is None else [self._intermediate(item) for item in facts.intermediates]
        return {
            "opcode_index": self._codes.index(builtin, None, version),
            "builtin_options": options,
            "intermediates": np.array(intermediates, np.int32) if intermediates else None,
            "debug_metadata_index": -1 if facts is None else facts.debug_metadata_index,
        }

    def _facts_of(self, node: Node) -> OperatorFacts | None:
        """Facts of the operator that this node was, if it still is."""
        facts = self._operator_facts.get(node.name)
        if facts is None or (facts.op, facts.attrs, facts.dtypes) != (node.op, node.attrs, node_dtypes(node)):
            return None
        return facts
