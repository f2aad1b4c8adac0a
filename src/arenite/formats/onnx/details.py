"""What an ONNX file says besides the graph, kept to write it back.

Messages are kept as bytes, since a message keeps all of the file that it came from in memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from arenite.ir.graph import Array
from arenite.ir.model import Details
from arenite.ir.types import TensorType


@dataclass(frozen=True)
class ValueFacts:
    """What the file declares of a value.

    Attributes:
        type: what was read of its type; `declared` holds as long as the value has it.
        declared: its TypeProto, where it says more than `type` does; else empty.
        extra: the rest of its ValueInfoProto (description, metadata).
    """

    type: TensorType
    declared: bytes = b""
    extra: bytes = b""


@dataclass(frozen=True)
class NodeFacts:
    """What the file says of a node that the node does not hold.

    Attributes:
        op: the node's op; the facts hold as long as it has it.
        stored_name: its name in the file, which may be empty or another node's too.
        extra: the rest of its NodeProto (description, metadata, overload, devices).
    """

    op: str
    stored_name: str
    extra: bytes = b""


@dataclass(frozen=True)
class GraphFacts:
    """What the file says of a graph, by the names of its values.

    Attributes:
        stored_name: its name in the file.
        extra: the rest of its GraphProto (description, metadata, annotations of quantization).
        values: of inputs, outputs and whatever else it declares.
        declared: values of `values` that value_info lists.
        initializers: constants of this graph that initialisers hold, and the rest of their TensorProto.
        constant_nodes: constants that `Constant` nodes hold, and the names of these.
        sparse: values that sparse initialisers hold.
        input_order: names of all inputs, those included that are constants (IR version 3).
    """

    stored_name: str
    extra: bytes = b""
    values: Mapping[str, ValueFacts] = field(default_factory=dict)
    declared: frozenset[str] = frozenset()
    initializers: Mapping[str, bytes] = field(default_factory=dict)
    constant_nodes: Mapping[str, str] = field(default_factory=dict)
    sparse: frozenset[str] = frozenset()
    input_order: tuple[str, ...] = ()


@dataclass(frozen=True)
class OnnxDetails(Details):
    """What an ONNX file says besides the graph.

    Attributes:
        ir_version: of the format.
        opsets: (domain, version); the default domain is "".
        header: the ModelProto without its graph: producer, metadata, functions, training.
        functions: (domain, name) of the functions that the model defines itself.
        defaults: values of inputs that the caller may leave out (IR version 4 and up), by the inputs' names.
        graphs: by the names of Graph objects.
        nodes: by the names of nodes, which are unique in the whole model.
        external: the files that hold data, as paths from the folder of this one.
        unused: initialisers that nothing reads, and their bytes.
        notes: what was odd about the file.
    """

    ir_version: int = 8
    opsets: tuple[tuple[str, int], ...] = (("", 17),)
    header: bytes = b""
    functions: tuple[tuple[str, str], ...] = ()
    defaults: Mapping[str, Array] = field(default_factory=dict)
    graphs: Mapping[str, GraphFacts] = field(default_factory=dict)
    nodes: Mapping[str, NodeFacts] = field(default_factory=dict)
    external: tuple[str, ...] = ()
    unused: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
