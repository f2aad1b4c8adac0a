"""One subgraph of a file: checked, then built as a graph."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType

from arenite.formats.tflite.codec import Codec
from arenite.formats.tflite.codecs import codecs_by_builtin
from arenite.formats.tflite.details import GraphFacts, OperatorFacts, node_dtypes
from arenite.formats.tflite.file import OperatorCode, TfliteFile
from arenite.formats.tflite.flat import Record, Table
from arenite.formats.tflite.foreign import Intermediate, foreign_op, option_values, read_foreign
from arenite.formats.tflite.tensors import Tensor, TensorReader
from arenite.formats.tflite.words import clean, shown
from arenite.ir.attrs import Attrs, ForeignAttrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph, Node, Value
from arenite.ir.names import NamePool
from arenite.ir.opdef import Registry
from arenite.ir.verifier import verify
from arenite.ops.state import CallOnceAttrs

_ABSENT = -1
_DAMAGED = "tflite.damaged"
_NO_OPTIONS = Record(Table("none", (), 0), {})


def _subgraphs_of(attrs: Attrs) -> tuple[int, ...]:
    return (attrs.subgraph,) if isinstance(attrs, CallOnceAttrs) else ()


class SubgraphReader:
    """Reads one subgraph. The checks go first, in the order in which they stand here; `build` relies on them.

    Attributes:
        notes: what was frozen or left unknown, as sentences.
    """

    def __init__(
        self,
        file: TfliteFile,
        codes: Sequence[OperatorCode],
        record: Record,
        index: int,
        reader: TensorReader,
    ) -> None:
        self._file = file
        self._codes = codes
        self._record = record
        self._where = f"subgraph {index}: " if index else ""
        records = record.records("tensors")
        self.n_tensors = len(records)
        self._operators = record.records("operators")
        self._inputs = record.integers("inputs")
        self._outputs = record.integers("outputs")
        found = (reader.read(tensor, i, self._where) for i, tensor in enumerate(records))
        self._tensors = self._without_empty_data(list(found))
        self._foreign: set[int] = set()
        self._damaged: set[int] = set()
        self._meanings: dict[int, tuple[str, Attrs]] = {}
        self.notes: list[str] = []

    def _without_empty_data(self, tensors: list[Tensor]) -> tuple[Tensor, ...]:
        """A tensor without elements is constant only when it has no other source."""
        computed = {index for operator in self._operators for index in operator.integers("outputs")}
        computed.update(self._inputs)
        return tuple(
            replace(tensor, constant=None)
            if tensor.constant is not None and tensor.constant.size == 0 and tensor.index in computed
            else tensor
            for tensor in tensors
        )

    # Checks

    def check_indices(self) -> Iterator[str]:
        """Every index of a tensor or an operator code."""
        for side, indices in (("inputs", self._inputs), ("outputs", self._outputs)):
            yield from self._outside(indices, f"{self._where}the graph's {side}", absent_allowed=False)
        for number, operator in enumerate(self._operators):
            code = operator.integer("opcode_index")
            if code >= len(self._codes):
                yield (
                    f"{self._where}operator {number}: operator code {code} does not exist: "
                    f"the file has {len(self._codes)}"
                )
                continue
            title = self._title(number)
            yield from self._outside(operator.integers("inputs"), f"{title}: operands", absent_allowed=True)
            yield from self._outside(operator.integers("outputs"), f"{title}: results", absent_allowed=False)
            yield from self._outside(operator.integers("intermediates"), f"{title}: intermediates", absent_allowed=True)

    def check_states(self) -> Iterator[str]:
        """State starts at zero: runtimes refuse it with data (LiteRT), or do not look at the data (TFLite-Micro)."""
        for tensor in self._tensors:
            if tensor.is_variable and tensor.constant is not None:
                yield (
                    f"{self._tensor_title(tensor.index)} is marked as state and has data, with which runtimes do not "
                    "start: expected one of both; store the data as a constant, or let the state start at zero"
                )

    def check_producers(self) -> Iterator[str]:
        """Every tensor that is read has one source, and has it before it is read."""
        known = {t.index for t in self._tensors if t.constant is not None or t.is_variable}
        for index in self._inputs:
            if self._tensors[index].constant is not None:
                yield f"{self._tensor_title(index)} is an input of the graph and has data"
        for index, count in Counter(self._inputs).items():
            if count > 1:
                yield f"{self._tensor_title(index)} is {count} inputs of the graph; expected it once"
        known.update(self._inputs)
        produced = {i: n for n, operator in enumerate(self._operators) for i in operator.integers("outputs")}
        for number, operator in enumerate(self._operators):
            for index in dict.fromkeys(operator.integers("inputs")):
                if index != _ABSENT and index not in known and not self._tensors[index].damaged:
                    yield self._not_known(index, f"{self._title(number)} reads it", produced)
            for index in operator.integers("outputs"):
                if index in known:
                    yield f"{self._tensor_title(index)} has a value already where {self._title(number)} computes it"
                known.add(index)
        for index in dict.fromkeys(self._outputs):
            if index not in known and not self._tensors[index].damaged:
                yield self._not_known(index, "it is an output of the graph", produced)

    def check_operators(self) -> Iterator[str]:
        """Versions and options; what each operator means is known from here on."""
        for number, operator in enumerate(self._operators):
            code, codec = self._code(operator), self._codec(operator)
            if codec is not None and code.version > codec.max_version:
                self._give_up(number)
                yield (
                    f"{self._title(number)} has version {code.version}; Arenite knows {code.builtin} up to version "
                    f"{codec.max_version}: convert the model for an older runtime, or use a newer Arenite"
                )
                continue
            try:
                self._meanings[number] = self._meaning(number, operator)
            except ValueError as error:
                self._give_up(number)
                yield f"{self._title(number)}: {error}"

    def _give_up(self, number: int) -> None:
        """Something is wrong with an operator: the others can be checked all the same."""
        self._damaged.add(number)
        self._foreign.add(number)
        self._meanings[number] = (_DAMAGED, ForeignAttrs())

    def unknown_operators(self) -> Iterator[str]:
        """Titles of the operators that are no op of ours; the damaged ones left out."""
        for number, operator in enumerate(self._operators):
            if number not in self._damaged and (number in self._foreign or self._codec(operator) is None):
                yield self._title(number)

    def graph_problems(self, registry: Registry) -> Iterator[str]:
        """What is wrong with the operators that are not damaged, and work on no damaged tensors."""
        graph, _ = self.build()
        bad = {self._value_names.get(tensor.index) for tensor in self._tensors if tensor.damaged}
        passed = [f"%{name}:" for name in bad]
        passed += [f"node '{node.name}' ({node.op})" for node in graph.nodes if self._is_passed(node, bad)]
        for problem in verify(graph, registry, allow_unknown=True):
            if not problem.startswith(tuple(passed)):
                yield f"{self._where}{problem}"

    @staticmethod
    def _is_passed(node: Node, bad: Set[str | None]) -> bool:
        if node.op == _DAMAGED or _subgraphs_of(node.attrs):
            return True
        return any(value.name in bad for value in (*node.present_operands, *node.results))

    def _obstacle(self, operator: Record, codec: Codec) -> str | None:
        """What keeps an operator from being the op of its codec."""
        if len(operator.integers("intermediates")) > 0 and not codec.has_intermediates:
            return "intermediates"
        if any(operator.integers("mutating_variable_inputs")):
            return "mutating_variable_inputs"
        if operator.record("builtin_options2") is not None:
            return "builtin_options2"
        return codec.inexpressible(self._options(operator, codec))

    def _outside(self, indices: Sequence[int], what: str, *, absent_allowed: bool) -> Iterator[str]:
        lowest = _ABSENT if absent_allowed else 0
        for index in dict.fromkeys(indices):
            if not lowest <= index < self.n_tensors:
                yield f"{what}: tensor {index} does not exist: the subgraph has {self.n_tensors} tensors"

    def _not_known(self, index: int, reader: str, produced: dict[int, int]) -> str:
        if index in produced:
            return f"{self._tensor_title(index)}: {reader} before {self._title(produced[index])} computes it"
        return f"{self._tensor_title(index)}: {reader}, but it has no data, is no input, and no operator computes it"

    # Names

    def _title(self, number: int) -> str:
        code = self._code(self._operators[number])
        name = f"CUSTOM {shown(code.custom_code)}" if code.custom_code is not None else str(code.builtin)
        return f"{self._where}operator {number} ({name})"

    def _tensor_title(self, index: int) -> str:
        return f"{self._where}tensor {index} {shown(self._tensors[index].name)}"

    @cached_property
    def _value_names(self) -> dict[int, str]:
        """Names of the tensors that are used, unique; the first tensor of a name has it unchanged."""
        indices: dict[int, None] = dict.fromkeys(self._inputs)
        for operator in self._operators:
            indices.update(dict.fromkeys(i for i in operator.integers("inputs") if i != _ABSENT))
            indices.update(dict.fromkeys(operator.integers("outputs")))
        indices.update(dict.fromkeys(self._outputs))
        names: dict[int, str] = {}
        taken: set[str] = set()
        for index in indices:
            wish = clean(self._tensors[index].name or "")
            if wish and wish not in taken:
                names[index] = wish
                taken.add(wish)
        pool = NamePool(taken)
        for index in indices:
            if index not in names:
                names[index] = pool.unique(clean(self._tensors[index].name or "") or "tensor")
        return {index: names[index] for index in indices}

    def value_name(self, tensor: int) -> str | None:
        """Name of the value of a tensor; None when nothing in the graph uses it."""
        return self._value_names.get(tensor)

    # Building

    def build(self, subgraphs: Mapping[int, Graph] = MappingProxyType({})) -> tuple[Graph, GraphFacts]:
        """The graph, once every check has passed. Operators may have copies of `subgraphs` as their regions."""
        builder = GraphBuilder(clean(self._record.text("name") or "") or "main")
        values: dict[int, Value] = {}
        for index in self._inputs:
            values[index] = builder.input(self._value_names[index], self._tensors[index].type)
            if self._tensors[index].is_variable:
                self.notes.append(f"{self._tensor_title(index)} is marked as state but is an input; taken as an input")
        # Each has one reader at most, so that a graph of many nodes is not copied many times.
        left = dict(subgraphs)
        facts = [self._build_node(builder, values, number, left) for number in range(len(self._operators))]
        builder.output(*(self._value(builder, values, index) for index in self._outputs))
        self.notes += [
            f"{self._tensor_title(tensor.index)}: dynamic dimensions were frozen to {list(tensor.type.dims)}"
            for tensor in (self._tensors[index] for index in self._inputs)
            if tensor.frozen
        ]
        return builder.graph, GraphFacts(
            self._record.text("name"),
            self._record.integer("debug_metadata_index"),
            tuple(self._tensors[index].facts(name) for index, name in self._value_names.items()),
            tuple(fact for fact in facts if fact is not None),
        )

    def _value(self, builder: GraphBuilder, values: dict[int, Value], index: int) -> Value:
        """The value of a tensor; constants and variables come to be at their first use."""
        if index not in values:
            tensor, name = self._tensors[index], self._value_names[index]
            values[index] = self._source(builder, tensor, name)
        return values[index]

    def _source(self, builder: GraphBuilder, tensor: Tensor, name: str) -> Value:
        if tensor.constant is None:
            return builder.variable(name, tensor.type)
        return builder.constant(name, tensor.constant, tensor.type.quantization)

    def _build_node(
        self, builder: GraphBuilder, values: dict[int, Value], number: int, subgraphs: dict[int, Graph]
    ) -> OperatorFacts | None:
        operator = self._operators[number]
        code, codec = self._code(operator), self._codec(operator)
        operands = [
            None if index == _ABSENT else self._value(builder, values, index) for index in operator.integers("inputs")
        ]
        results = operator.integers("outputs")
        op, attrs = self._meanings[number]
        node = builder.node(
            op,
            operands,
            [self._tensors[index].type for index in results],
            attrs,
            result_names=[self._value_names[index] for index in results],
            regions=[clone_graph(subgraphs.pop(i)) for i in _subgraphs_of(attrs) if i in subgraphs],
        )
        values.update(zip(results, node.results, strict=True))
        if codec is None or number in self._foreign:
            return None
        return OperatorFacts(
            node.name,
            op,
            attrs,
            node_dtypes(node),
            code.version,
            operator.has("builtin_options"),
            option_values(self._options(operator, codec), {name for m in codec.maps for name in m.options}),
            operator.integer("debug_metadata_index"),
            tuple(self._intermediate(index) for index in operator.integers("intermediates")),
        )

    def _meaning(self, number: int, operator: Record) -> tuple[str, Attrs]:
        code, codec = self._code(operator), self._codec(operator)
        if codec is not None:
            obstacle = self._obstacle(operator, codec)
            if obstacle is None:
                return codec.op, codec.decode(self._options(operator, codec))
            self._foreign.add(number)
            self.notes.append(f"{self._title(number)} was kept as it is: Arenite does not have its {obstacle}")
        attrs = read_foreign(
            operator,
            code.version,
            code.custom_code,
            self._custom_options(operator),
            [self._intermediate(index) for index in operator.integers("intermediates")],
        )
        return foreign_op(code.builtin, code.custom_code), attrs

    def _intermediate(self, index: int) -> Intermediate | None:
        return None if index == _ABSENT else (self._tensors[index].name, self._tensors[index].type)

    def _custom_options(self, operator: Record) -> bytes | None:
        offset, size = (operator.integer(f"large_custom_options_{what}") for what in ("offset", "size"))
        if offset > 1:
            return self._file.outside(offset, size).tobytes()
        array = operator.array("custom_options")
        return None if array is None else array.tobytes()

    def _code(self, operator: Record) -> OperatorCode:
        return self._codes[operator.integer("opcode_index")]

    def _codec(self, operator: Record) -> Codec | None:
        builtin = self._code(operator).builtin
        return codecs_by_builtin().get(builtin) if isinstance(builtin, str) else None

    def _options(self, operator: Record, codec: Codec) -> Record:
        """The operator's options; all defaults when it has none.

        Raises:
            ValueError: they are another operator's.
        """
        found = operator.record("builtin_options")
        if codec.options is None:
            return _NO_OPTIONS
        if found is None:
            return Record(self._file.schema.tables[codec.options], {})
        if found.table.name != codec.options:
            raise ValueError(f"expected options of the kind {codec.options}, found {found.table.name}")
        return found
