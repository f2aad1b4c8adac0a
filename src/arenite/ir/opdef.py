"""Definitions of ops, and the registry that holds them.

An OpDef states what an op is and means, as facets: each a function, or NotApplicable with its reason. A test shows
the whole op × facet matrix, so that no cell is left to chance.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum, auto

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.graph import Array, Node
from arenite.ir.types import TensorType


class Trait(Enum):
    """A property that generic passes ask for, instead of names."""

    PURE = auto()  # results depend on operands and attributes alone, and nothing else happens
    DETERMINISTIC = auto()  # the same operands give the same results
    SIDE_EFFECT = auto()  # must stay, in order (state)
    ELEMENTWISE = auto()  # result element i depends on operand elements i only (after broadcasting)
    OF_TYPES = auto()  # results depend on the operands' types alone: known once these are
    VIEW = auto()  # the result's bytes are operand 0's bytes, in the same order
    COMMUTATIVE = auto()  # the first two operands may be exchanged
    SNAPSHOT = auto()  # the result is a copy of operand 0, which is state
    HANDLE = auto()  # its one result names state, as its attributes say; nothing is computed
    ONCE = auto()  # its one region runs at the first invocation only
    ACTIVATION = auto()  # clamps its one operand; may fuse into the op before


@dataclass(frozen=True)
class NotApplicable:
    """A facet that an op has no use for, and why."""

    reason: str


@dataclass(frozen=True)
class Operand:
    """An operand of an op: name, and whether it may be absent or stand for any number of values (last only)."""

    name: str
    optional: bool = False
    variadic: bool = False


@dataclass(frozen=True)
class OpCall:
    """What a facet sees of a node: attributes and types, no graph.

    Attributes:
        operands: type of each operand; None where absent.
        results: type of each result (in `infer`: what the file declares, for quantization).
        constants: array of each operand that is constant; None otherwise.
        name: the node's name, for messages.
    """

    name: str
    op: str
    attrs: Attrs
    operands: tuple[TensorType | None, ...]
    results: tuple[TensorType, ...]
    constants: tuple[Array | None, ...] = ()

    @staticmethod
    def of(node: Node) -> "OpCall":
        return OpCall(
            node.name,
            node.op,
            node.attrs,
            tuple(None if value is None else value.type for value in node.operands),
            tuple(value.type for value in node.results),
            tuple(value.constant if value is not None and value.is_constant else None for value in node.operands),
        )

    def operand(self, index: int) -> TensorType:
        """The type of an operand that must be there."""
        found = self.operands[index]
        assert found is not None, f"operand {index} of '{self.name}' was checked to be present"
        return found

    def has(self, index: int) -> bool:
        return index < len(self.operands) and self.operands[index] is not None

    def constant(self, index: int) -> Array | None:
        return self.constants[index] if index < len(self.constants) else None


Infer = Callable[[OpCall], tuple[TensorType, ...]]
"""Result types (dtype, shape; quantization as declared by the call's results). Raises OpError on a misfit."""

Evaluate = Callable[[OpCall, Sequence[Array | None]], tuple[Array, ...]]
"""Results of one execution, exact for integers."""

Canonicalize = Callable[[Node], "Attrs | None"]
"""Simpler, equivalent attributes for a node, or None."""


@dataclass(frozen=True)
class Cost:
    """What one execution costs, independent of any kernel: multiply-accumulates, and other arithmetic."""

    macs: int = 0
    ops: int = 0


@dataclass(frozen=True)
class QuantizationRule:
    """How an op's operands and results are quantized to int8 (TFLite's 8-bit specification), as data.

    Attributes:
        weight: index of the operand that is symmetric, per-channel along `weight_axis`; None when there is none.
        weight_axis: the channel dimension of that operand.
        bias: index of the int32 operand with scale = input scale * weight scale.
        same_scale: results share operand 0's scale and zero point (and so do all data operands).
        fixed_output: (scale, zero point) that the specification prescribes.
        float_operands: indices of operands that are not quantized (axes, shapes, paddings).
    """

    weight: int | None = None
    weight_axis: int | None = None
    bias: int | None = None
    same_scale: bool = False
    fixed_output: tuple[float, int] | None = None
    untouched: tuple[int, ...] = ()


class OpError(Exception):
    """A node does not fit its op: what was expected and what was found, without the node's name."""


@dataclass(frozen=True)
class Constraint:
    """A requirement on a node. Its text is the error, the explanation and the documentation.

    Attributes:
        text: what must hold, as a sentence.
        holds: the test; may return a string that says what was found instead.
        dtypes: those of leading operands and of the result that it allows, where these are what it is about.
    """

    text: str
    holds: Callable[[OpCall], bool | str]
    dtypes: tuple[tuple[tuple[DType, ...], DType], ...] = ()


@dataclass(frozen=True)
class OpDef:
    """The definition of an op. Facets that are functions may be NotApplicable with a reason.

    Attributes:
        name: snake_case; foreign dialects qualify it.
        summary: one sentence with shapes (NHWC, OHWI).
        attrs: the attribute dataclass.
        operands: in order; a variadic one only last.
        result_names: one each.
        state: indices of operands that are state: the op changes them in place.
        variadic_results: the last result stands for any number of them, one at least.
        constraints: checked by the verifier, in order, up to the first that fails; `infer` comes after all of them.
        evaluate_float: meaning on float32.
        evaluate_quantized: meaning on quantized integers, bit for bit as TFLite-Micro's reference kernel.
        quantized_signatures: dtypes of operands and results that `evaluate_quantized` takes, for documentation and
            for a clear refusal: tuples like (int8, int8, int32 → int8).
    """

    name: str
    summary: str
    attrs: type[Attrs]
    operands: tuple[Operand, ...]
    result_names: tuple[str, ...]
    traits: frozenset[Trait]
    infer: Infer
    evaluate_float: Evaluate | NotApplicable
    evaluate_quantized: Evaluate | NotApplicable
    cost: Callable[[OpCall], Cost] | NotApplicable
    quantization: QuantizationRule | NotApplicable
    canonicalize: Canonicalize | NotApplicable
    constraints: tuple[Constraint, ...] = ()
    fold: Evaluate | None = None  # when folding differs from evaluating
    state: tuple[int, ...] = ()
    variadic_results: bool = False
    n_results: tuple[int, int] | None = None  # fewest and most, where not every node has all of result_names

    def has(self, trait: Trait) -> bool:
        return trait in self.traits

    @property
    def is_foldable(self) -> bool:
        """Pure, deterministic, without side effects."""
        return {Trait.PURE, Trait.DETERMINISTIC} <= self.traits and Trait.SIDE_EFFECT not in self.traits

    def evaluate(self, call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        """Results of one execution, by the facet that the dtypes ask for.

        Raises:
            OpError: the op has no meaning on these dtypes.
        """
        floats = all(
            t is None or t.dtype in (DType.FLOAT32, DType.INT32, DType.INT64, DType.BOOL) for t in call.operands
        )
        floats = floats and all(t.quantization is None for t in call.results)
        facet = (
            self.evaluate_float
            if floats and not isinstance(self.evaluate_float, NotApplicable)
            else self.evaluate_quantized
        )
        if isinstance(facet, NotApplicable):
            raise OpError(f"{self.name} has no meaning on {signature_text(call)}: {facet.reason}")
        return facet(call, operands)


def signature_text(call: OpCall) -> str:
    """`(int8, int8, int32) -> int8`, for messages."""
    operands = ", ".join("none" if t is None else str(t.dtype) for t in call.operands)
    return f"({operands}) -> {', '.join(str(t.dtype) for t in call.results)}"


class Registry(Mapping[str, OpDef]):
    """Immutable name → OpDef. Passed along, never global.

    Attributes:
        dialect: `core` or `onnx`.
    """

    dialect = "core"

    def __init__(self, definitions: Iterable[OpDef] = ()) -> None:
        self._definitions: dict[str, OpDef] = {}
        for definition in definitions:
            if definition.name in self._definitions:
                raise ValueError(f"op '{definition.name}' is defined twice")
            self._definitions[definition.name] = definition

    def __getitem__(self, name: str) -> OpDef:
        return self._definitions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._definitions)

    def __len__(self) -> int:
        return len(self._definitions)

    def extended_with(self, definitions: Iterable[OpDef]) -> "Registry":
        """A registry with these too.

        Raises:
            ValueError: a name is taken.
        """
        return Registry((*self._definitions.values(), *definitions))

    def nearest(self, name: str) -> list[str]:
        """Known names that look like `name`."""
        return get_close_matches(name, self._definitions)


def as_arrays(operands: Sequence[Array | None]) -> tuple[npt.NDArray[np.generic], ...]:
    """The operands that are there, as arrays."""
    return tuple(np.asarray(value) for value in operands if value is not None)
