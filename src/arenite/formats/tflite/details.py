"""What a TFLite file says besides the graph, kept to write it back."""

from dataclasses import dataclass, field

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs, AttrValue
from arenite.ir.graph import Graph, Node
from arenite.ir.model import Details, Model
from arenite.ir.types import TensorType

# Stored text that is not UTF-8 holds its bytes as lone surrogates (`surrogateescape`), so that it can be written back.


@dataclass(frozen=True)
class TensorFacts:
    """Facts of a tensor that its value does not hold.

    Attributes:
        value: the value's name in the graph.
        stored_name: the name in the file; None when it has none.
        type: the value's type when read; the facts below hold as long as it is the same.
        shape_signature: the shape with -1 for dimensions that were dynamic; the graph has them frozen.
        has_rank: the file's flag.
        minimum, maximum: the range that calibration found.
        quantization_axis: as stored, which says nothing when there is but one scale.
        idle_quantization: (scales, zero points) of a tensor of floats, which have no meaning.
    """

    value: str
    stored_name: str | None
    type: TensorType
    shape_signature: tuple[int, ...] | None = None
    has_rank: bool = False
    minimum: tuple[float, ...] = ()
    maximum: tuple[float, ...] = ()
    quantization_axis: int = 0
    idle_quantization: tuple[tuple[float, ...], tuple[int, ...]] | None = None


@dataclass(frozen=True)
class OperatorFacts:
    """Facts of an operator that its node does not hold; they hold as long as the node is as it was read.

    Attributes:
        node, op, attrs, dtypes: the node as it was read, to know it by.
        version: the operator's version in the file.
        has_options: whether it has a table of options; without one every option is the default.
        options: options without meaning for what Arenite computes, and their values.
        debug_metadata_index: as stored.
        intermediates: name and type of each tensor that is for the operator's own use.
    """

    node: str
    op: str
    attrs: Attrs
    dtypes: tuple[DType | None, ...]
    version: int
    has_options: bool = True
    options: tuple[tuple[str, AttrValue], ...] = ()
    debug_metadata_index: int = -1
    intermediates: tuple[tuple[str | None, TensorType] | None, ...] = ()


@dataclass(frozen=True)
class GraphFacts:
    """Facts of one subgraph.

    Attributes:
        stored_name: the name in the file; None when it has none.
    """

    stored_name: str | None = None
    debug_metadata_index: int = -1
    tensors: tuple[TensorFacts, ...] = ()
    operators: tuple[OperatorFacts, ...] = ()


@dataclass(frozen=True)
class Subgraph:
    """A subgraph that is not the main one; operators refer to it by its index."""

    graph: Graph
    facts: GraphFacts


@dataclass(frozen=True)
class Signature:
    """A named entry point: pairs of the signature's name for a tensor and the value's name in the subgraph."""

    key: str | None
    inputs: tuple[tuple[str | None, str], ...]
    outputs: tuple[tuple[str | None, str], ...]
    subgraph_index: int = 0


@dataclass(frozen=True)
class TfliteDetails(Details):
    """Details of a model that was read from a .tflite file.

    Attributes:
        description: the file's own words on itself.
        main: facts of the main graph.
        subgraphs: the other subgraphs, of indices 1 and up.
        signatures: entry points.
        metadata: (name, contents), as stored.
        metadata_buffers: contents of the unnamed metadata that old files have.
        notes: what was frozen, dropped or left unknown on reading, as sentences.
    """

    description: str | None = None
    main: GraphFacts = field(default_factory=GraphFacts)
    subgraphs: tuple[Subgraph, ...] = ()
    signatures: tuple[Signature, ...] = ()
    metadata: tuple[tuple[str | None, bytes], ...] = ()
    metadata_buffers: tuple[bytes, ...] = ()
    notes: tuple[str, ...] = ()


def node_dtypes(node: Node) -> tuple[DType | None, ...]:
    """Element types of operands and results: what an operator's version depends on, besides attributes."""
    operands = (None if value is None else value.type.dtype for value in node.operands)
    return (*operands, *(value.type.dtype for value in node.results))


def stored_names(model: Model) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the model's inputs and outputs exactly as the file has them: they may be empty or occur twice."""
    facts = model.details.main.tensors if isinstance(model.details, TfliteDetails) else ()
    known = {fact.value: fact.stored_name or "" for fact in facts}
    graph = model.graph
    return (
        tuple(known.get(value.name, value.name) for value in graph.inputs),
        tuple(known.get(value.name, value.name) for value in graph.outputs),
    )
