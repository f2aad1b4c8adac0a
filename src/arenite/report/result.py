"""The records of report.json and trim.json (docs/report.md). Sizes in bytes; None where unknown."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum

SCHEMA = 1


@dataclass(frozen=True)
class PortRecord:
    """An input or output of the model; scale and zero point are None when it is not quantized."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float | None
    zero_point: int | None


@dataclass(frozen=True)
class ModelRecord:
    name: str
    sha256: str
    inputs: tuple[PortRecord, ...]
    outputs: tuple[PortRecord, ...]


@dataclass(frozen=True)
class BufferRecord:
    """A buffer of the arena, alive in the half-open [first, end) of schedule steps."""

    name: str
    offset: int
    nbytes: int
    first: int
    end: int


@dataclass(frozen=True)
class MemoryRecord:
    arena_nbytes: int
    lower_bound_nbytes: int
    optimal: bool
    alignment: int
    buffers: tuple[BufferRecord, ...]


@dataclass(frozen=True)
class FlashRecord:
    """weights: with biases. tables: multipliers, shifts, look-up tables. code: from the ELF, without start-up."""

    weights_nbytes: int
    tables_nbytes: int
    code_nbytes: int | None


@dataclass(frozen=True)
class RamRecord:
    """static: model state and other .data and .bss. stack: high-water mark of one invocation."""

    arena_nbytes: int
    static_nbytes: int | None
    stack_nbytes: int | None


@dataclass(frozen=True)
class SimulationRecord:
    cpu: str
    compiler: str
    instructions: int
    cycles_estimate: int | None


@dataclass(frozen=True)
class LayerRecord:
    name: str
    op: str
    kernel: str
    macs: int
    instructions: int | None
    cycles_estimate: int | None
    weights_nbytes: int
    scratch_nbytes: int
    origin: tuple[str, ...]
    variant: str
    why: str


@dataclass(frozen=True)
class PassRecord:
    name: str
    changed: bool
    nodes_before: int
    nodes_after: int
    milliseconds: float
    equivalence: str
    max_error: float | None


@dataclass(frozen=True)
class RemarkRecord:
    """`pass_name` is written as `pass`."""

    kind: str
    pass_name: str
    reason: str
    subject: str
    text: str
    origin: tuple[str, ...]


@dataclass(frozen=True)
class NodeRecord:
    """A node of a graph.

    Attributes:
        shape: of its first result, as text.
        inputs: indices of the nodes whose results it reads.
        origin: names of the operators of the model that it stands for.
        fate: of a node of the model: what became of it, when no node of the same op stands for it; else empty.
        reason: the slug of the remark that says why, when there is one.
        change: of a node that is in both graphs: what passes changed of it, and which; empty when nothing.
        inside: the node whose nested graph it is in; empty in the outermost graph.
    """

    name: str
    op: str
    shape: str
    inputs: tuple[int, ...]
    origin: tuple[str, ...]
    fate: str = ""
    reason: str = ""
    inside: str = ""
    change: str = ""


@dataclass(frozen=True)
class GraphsRecord:
    """The model as it was read, and what is left after the passes, both in schedule order."""

    before: tuple[NodeRecord, ...]
    after: tuple[NodeRecord, ...]


@dataclass(frozen=True)
class Report:
    """Everything that a compilation found out."""

    arenite: str
    files: tuple[str, ...]
    model: ModelRecord
    target: str
    memory: MemoryRecord
    flash: FlashRecord
    ram: RamRecord
    simulation: SimulationRecord | None
    layers: tuple[LayerRecord, ...]
    passes: tuple[PassRecord, ...]
    remarks: tuple[RemarkRecord, ...]
    graphs: GraphsRecord
    accuracy: None = None
    schema: int = SCHEMA

    def to_json(self) -> dict[str, object]:
        """The content of report.json."""
        content = _plain(self)
        assert isinstance(content, dict)
        return {"schema": content.pop("schema"), **content}


@dataclass(frozen=True)
class AlternativeRecord:
    """A variant that was not chosen; `nbytes` is None, since only what is linked has a size."""

    variant: str
    nbytes: int | None
    cost: float | None
    why_not: str


@dataclass(frozen=True)
class TrimKernel:
    """A kernel variant that the firmware links. `nbytes` comes from the linked ELF's symbols."""

    symbol: str
    variant: str
    nbytes: int | None
    scratch_nbytes: int
    layers: tuple[str, ...]
    why: str
    alternatives: tuple[AlternativeRecord, ...]


@dataclass(frozen=True)
class KeptRecord:
    """A kernel that the firmware keeps for later models: its symbol, the op it was kept for, its bytes of code."""

    symbol: str
    op: str
    nbytes: int | None


@dataclass(frozen=True)
class Trim:
    """The trimming list.

    Attributes:
        padding: bytes of code that no kernel accounts for, by what they are.
        full_build_nbytes: code of a build with every kernel of the target.
        kept: kernels for later models, which no layer calls.
        kept_nbytes: flash that they take together, with what they need.
        selftest_nbytes: flash that the self-test takes when it is called, in no other figure.
        tflm_arena_nbytes: estimate of the arena that TFLite-Micro wants for the model.
    """

    kernels: tuple[TrimKernel, ...]
    padding: Mapping[str, int]
    full_build_nbytes: int | None
    kept: tuple[KeptRecord, ...] = ()
    kept_nbytes: int | None = None
    selftest_nbytes: int | None = None
    tflm_arena_nbytes: int | None = None
    schema: int = SCHEMA

    def to_json(self) -> dict[str, object]:
        """The content of trim.json."""
        content = _plain(self)
        assert isinstance(content, dict)
        return {"schema": content.pop("schema"), **content}


_RENAMED = {"pass_name": "pass"}


def _plain(value: object) -> object:
    """Dataclasses, tuples and enums as what JSON has."""
    if is_dataclass(value) and not isinstance(value, type):
        return {_RENAMED.get(f.name, f.name): _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    return value
