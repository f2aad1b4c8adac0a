"""`compare model.tflite board.log`: what the board computed, layer by layer, against what it should have."""

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from arenite._base.ctype import NUMPY_OF_CTYPE
from arenite._base.errors import AreniteError, DataError
from arenite._base.text import short_name
from arenite.codegen.debug import Record, debug_records, fingerprint
from arenite.driver.arrays import load_feeds, port_specs
from arenite.driver.board_log import BoardLog, LoggedRecord, LoggedRun, read_board_log
from arenite.driver.build import Build, build
from arenite.driver.extras import options_of_log
from arenite.driver.load import load_model, port_names
from arenite.ir.model import Model
from arenite.lower.arena import States, Traced, run
from arenite.lower.program import BufferRef
from arenite.passes.differential import max_error

Array = npt.NDArray[np.generic]
Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Status = Literal["equal", "differs", "incomplete", "missing"]

_MOST_BUILDS = 16
"""How many firmwares a log may be of: the network is compiled for each until one fits."""

_FLOAT_TOLERANCE = 1e-4
"""Compilers and C libraries do not agree on the last bits of floats."""


@dataclass(frozen=True)
class LayerVerdict:
    """What the log says of one record of one invocation.

    Attributes:
        run: which invocation of the log.
        what: `input 0 'image'`, `layer 3 conv2d 'stem'`.
        layer: the C function; empty for an input.
        status: incomplete: what is there is equal, the rest is not in the log.
        differing, nelem: elements.
        element: indices of the first that differs; empty when the log has checksums alone.
        expected, found: that element as it is stored.
    """

    run: int
    what: str
    layer: str
    kernel: str
    origin: tuple[str, ...]
    status: Status
    error: float
    differing: int
    nelem: int
    element: tuple[int, ...] = ()
    expected: float | int | None = None
    found: float | int | None = None

    @property
    def text(self) -> str:
        if self.status != "differs":
            return {
                "equal": "equal",
                "incomplete": "equal as far as the log goes",
                "missing": "not in the log",
            }[self.status]
        if self.expected is None:
            return "DIFFERS (the log has no elements of it that do, but another checksum)"
        where = f"[{', '.join(map(str, self.element))}]"
        return (
            f"DIFFERS in {self.differing:,} of {self.nelem:,} elements; the first is {where}: "
            f"expected {self.expected}, found {self.found}"
        )


@dataclass(frozen=True)
class LogComparison:
    """Verdicts of every record, in the log's order, and what could not be told."""

    model: Path
    log: Path
    runs: int
    damaged: int
    verdicts: tuple[LayerVerdict, ...]
    outputs: frozenset[str]
    notes: tuple[str, ...]

    @property
    def first_divergent(self) -> LayerVerdict | None:
        return next((v for v in self.verdicts if v.status == "differs"), None)

    @property
    def worst_output(self) -> float:
        """The largest error of what holds an output; infinite when the log has nothing that could tell it."""
        last = [v for v in self.verdicts if v.what in self.outputs]
        unknown = any(v.status in ("missing", "incomplete") for v in last) or not self.verdicts
        return max([v.error for v in last] + [float("inf")] * unknown, default=0.0)

    @property
    def nothing_compared(self) -> bool:
        """Whether the log tells nothing of any layer; inputs that it gives itself are no comparison."""
        return not any(v.status == "differs" or (v.layer and v.status != "missing") for v in self.verdicts)

    def problem(self, limit: float | None) -> str:
        """Why the log does not show what was asked for; empty when it does."""
        if self.nothing_compared:
            return "nothing could be compared: the log tells of no layer; log again, from the start of the firmware on"
        worst = self.worst_output
        if limit is None or worst <= limit:
            return ""
        outputs = [v for v in self.verdicts if v.what in self.outputs]
        known = max((v.error for v in outputs if np.isfinite(v.error)), default=0.0)
        if known > limit:
            return f"an output differs by {known:.3g}, more than {limit:g}"
        if any(v.status == "differs" for v in outputs):
            return "an output differs, by how much is not known"
        return "an output is not whole in the log, so that nobody knows whether it differs"

    def to_json(self) -> dict[str, object]:
        first = self.first_divergent
        worst = self.worst_output
        return {
            "model": str(self.model),
            "log": str(self.log),
            "invocations": self.runs,
            "damaged_lines": self.damaged,
            "nothing_compared": self.nothing_compared,
            "worst_output_error": worst if np.isfinite(worst) else None,
            "first_divergent": None if first is None else _plain(first),
            "records": [_plain(verdict) for verdict in self.verdicts],
            "notes": list(self.notes),
        }

    def to_text(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.model} against {self.log}: {self.runs} invocations, {self.damaged} damaged lines"
        yield from (f"note: {note}" for note in self.notes)
        for index in dict.fromkeys(verdict.run for verdict in self.verdicts):
            mine = [verdict for verdict in self.verdicts if verdict.run == index]
            if all(verdict.status == "equal" for verdict in mine):
                yield f"invocation {index}: all {len(mine)} records are equal"
            else:
                yield f"invocation {index}:"
                yield from (f"  {verdict.what}: {verdict.text}" for verdict in mine)
        first = self.first_divergent
        if first is None:
            compared = len({verdict.run for verdict in self.verdicts})
            if self.nothing_compared:
                yield "nothing could be compared"
            elif any(v.status != "equal" for v in self.verdicts):
                yield "nothing that the log has differs"
            elif compared < self.runs:
                yield f"all of {compared} invocations are equal; {self.runs - compared} could not be compared"
            else:
                yield "all are equal"
            return
        yield f"the first that differs: {first.what}, invocation {first.run}"
        if first.layer:
            yield f"  function {first.layer}, kernel {first.kernel}"
            yield f"  from {', '.join(short_name(name, 80) for name in first.origin[:5])}"
        yield f"  {first.text}"
        before = [v.what for v in self.verdicts[: self.verdicts.index(first)] if v.status in ("missing", "incomplete")]
        if before:
            yield f"  the fault may lie earlier: the log lacks {', '.join(before[-5:])}"


def compare_log(model_path: Path, log_path: Path, inputs: Path | None) -> LogComparison:
    """Compute what the board should have computed from the inputs in its log, and compare.

    Args:
        model_path: the model that the firmware was compiled from.
        log_path: what a debug build wrote.
        inputs: an .npz file as `run` takes it: of each invocation in the log; None: as the log says.

    Raises:
        DataError: the log is none, or of another model or another version of Arenite.
        ModelError: the model cannot be compiled.
    """
    model = load_model(model_path)
    log = read_board_log(log_path)
    built = _build_of(model, log, log_path)
    runs = [each for each in log.runs if each.build == fingerprint(built.program)]
    comparer = _Comparer(built, _given(model, inputs))
    for each in runs:
        comparer.take(each)
    return LogComparison(
        model_path,
        log_path,
        len(runs),
        log.damaged,
        tuple(comparer.verdicts),
        comparer.outputs,
        tuple(comparer.notes),
    )


def _build_of(model: Model, log: BoardLog, path: Path) -> Build:
    """The model, compiled as the log says."""
    names: dict[str, set[str]] = {}
    for each in log.runs:
        if each.words is not None:
            names.setdefault(json.dumps(each.words), set()).add(each.build)
    if not names:
        raise DataError(f"{path}: no line that begins an invocation is whole; log from the start of the firmware on")
    if len(names) > _MOST_BUILDS:
        raise DataError(
            f"{path}: the log tells of {len(names)} ways to compile the network, at most {_MOST_BUILDS} are tried; "
            "cut it into one log for each firmware"
        )
    problems = []
    for text, known in names.items():
        words = json.loads(text)
        try:
            built = build(model, options_of_log(words), lambda _: None)
        except (KeyError, ValueError, AreniteError) as error:
            problems.append(f"{path}: the options in the log do not fit the model: {error}")
            continue
        if fingerprint(built.program) in known:
            return built
        prints = ", ".join(sorted(known)[:3])
        problems.append(
            f"{path}: the log is of a network '{words.get('name', ['?'])[0]}' with the fingerprint {prints}, and "
            f"this model compiles to {fingerprint(built.program)}: give the model that the firmware was compiled from, "
            "by the same version of Arenite"
        )
    raise DataError(problems)


def _given(model: Model, inputs: Path | None) -> Sequence[Sequence[Array]] | None:
    if inputs is None:
        return None
    return load_feeds(inputs, port_specs(port_names(model)[0], model.graph.inputs)).steps


class _Comparer:
    """Takes invocations in the log's order, since state goes from one to the next."""

    def __init__(self, built: Build, given: Sequence[Sequence[Array]] | None) -> None:
        self._built, self._program = built, built.program
        self._records = debug_records(built.program, built.tools.kernels.manifests)
        self._given = given
        self._types = {value.name: value.type for value in built.graph.values()}
        self._states: States | None = None
        self._next_number = 0
        self._taken = 0
        self.verdicts: list[LayerVerdict] = []
        self.notes: list[str] = []

    @property
    def outputs(self) -> frozenset[str]:
        """What the last records that hold an output are called."""
        last = {}
        for record in self._records:
            if isinstance(record.ref, BufferRef):
                last[record.ref.value] = self._what(record)
        names = [port.ref.value for port in self._program.outputs if isinstance(port.ref, BufferRef)]
        return frozenset(last[name] for name in names if name in last)

    def take(self, logged: LoggedRun) -> None:
        index = self._taken
        self._taken += 1
        if not logged.ended:
            self.notes.append(f"invocation {index} has no end in the log: it is truncated, or a line is lost")
        if self._program.states and logged.number != 0 and (self._states is None or logged.number != self._next_number):
            self._states = None
            self.notes.append(f"invocation {index} is passed over: what the network kept before it is not known")
            return
        inputs = self._inputs(logged, index)
        if inputs is None:
            self._states = None
            self.notes.append(f"invocation {index} is passed over: its inputs are not whole in the log; use --inputs")
            return
        if self._states is None or logged.number == 0:
            self._states = States(self._program)
        self._next_number = logged.number + 1
        seen: list[Traced] = []
        run(self._program, self._built.tools.kernels, inputs, seen.append, self._states)
        expected = [(a, np.full(a.nbytes, True)) for a in (np.ascontiguousarray(x).reshape(-1) for x in inputs)]
        expected += [(traced.data, traced.written) for traced in seen]
        for number, (record, (data, written)) in enumerate(zip(self._records, expected, strict=True)):
            found = logged.records.get(number, LoggedRecord())
            self.verdicts.append(self._verdict(index, record, found, data, written))

    def _inputs(self, logged: LoggedRun, index: int) -> list[Array] | None:
        if self._given is not None:
            if index >= len(self._given):
                return None
            return [np.asarray(array) for array in self._given[index]]
        found = []
        for number, port in enumerate(self._program.inputs):
            data = logged.records.get(number, LoggedRecord()).complete()
            if data is None or len(data) != port.nbytes:
                return None
            found.append(np.frombuffer(data, port.dtype.numpy).reshape(port.shape))
        return found

    def _what(self, record: Record) -> str:
        if record.step is None:
            (index,) = (i for i, port in enumerate(self._program.inputs) if port.ref == record.ref)
            return f"input {index} '{short_name(record.name)}'"
        call = self._program.calls[record.step]
        several = sum(other.step == record.step for other in self._records) > 1
        return f"layer {record.step} {call.op} '{short_name(call.name)}'" + (f", {record.name}" if several else "")

    def _verdict(self, index: int, record: Record, logged: LoggedRecord, data: Array, written: Mask) -> LayerVerdict:
        call = None if record.step is None else self._program.calls[record.step]
        dtype, shape = self._layout(record, data)
        expected = data.view(np.uint8)
        found, known = _overlay(logged, expected)
        known &= written
        width = dtype.itemsize
        whole = known.reshape(-1, width).all(axis=1)
        a, b = expected.view(dtype), found.view(dtype)
        wrong = np.flatnonzero(whole & _unequal(a, b))
        all_known = bool((known | ~written).all())
        summed = bool(written.all()) and logged.crc is not None
        same_sum = summed and logged.crc == zlib.crc32(expected.tobytes())
        error = max_error(a[whole], b[whole]) if len(wrong) else 0.0
        status: Status = "equal" if all_known or same_sum else "incomplete"
        if not known.any() and not same_sum:
            status = "missing"
        if len(wrong) or (summed and not same_sum and dtype.kind != "f" and not all_known):
            status, error = "differs", error if len(wrong) else float("inf")
        first = int(wrong[0]) if len(wrong) else None
        return LayerVerdict(
            index,
            self._what(record),
            "" if record.step is None else self._built.names.layer(record.step),
            call.kernel if call else "",
            call.origin if call else (),
            status,
            error,
            len(wrong),
            a.size,
            () if first is None else tuple(int(i) for i in np.unravel_index(first, shape)),
            None if first is None else a[first].item(),
            None if first is None else b[first].item(),
        )

    def _layout(self, record: Record, data: Array) -> tuple[np.dtype[np.generic], tuple[int, ...]]:
        """Dtype and shape: the value's, unless the record is a part of it or a state."""
        if record.step is None:
            (port,) = (port for port in self._program.inputs if port.ref == record.ref)
            return port.dtype.numpy, port.shape or (1,)
        type_ = self._types.get(record.ref.value) if isinstance(record.ref, BufferRef) else None
        if type_ is not None and type_.is_static and type_.nbytes == data.nbytes and data.size:
            return type_.dtype.numpy, type_.dims or (1,)
        call = self._program.calls[record.step]
        info = self._built.tools.kernels.manifests[call.kernel]
        (ctype,) = (argument.ctype for argument in info.arguments if argument.name == record.name)
        dtype = NUMPY_OF_CTYPE[ctype]
        return dtype, (data.nbytes // dtype.itemsize,)


def _overlay(logged: LoggedRecord, expected: Bytes) -> tuple[Bytes, Mask]:
    """What the log has, put over what is expected; and which bytes it has."""
    found, known = expected.copy(), np.zeros(expected.size, np.bool_)
    for offset, piece in logged.pieces.items():
        if offset + len(piece) <= expected.size:
            found[offset : offset + len(piece)] = np.frombuffer(piece, np.uint8)
            known[offset : offset + len(piece)] = True
    return found, known


def _unequal(a: Array, b: Array) -> Mask:
    if a.dtype.kind != "f":
        return np.asarray(a != b, np.bool_)
    x, y = a.astype(np.float64), b.astype(np.float64)
    near = np.abs(x - y) <= _FLOAT_TOLERANCE * max(float(np.max(np.abs(x), initial=0.0)), 1e-30)
    return np.asarray(~(near | (x == y) | (np.isnan(x) & np.isnan(y))), np.bool_)


def _plain(verdict: LayerVerdict) -> dict[str, object]:
    content = {**vars(verdict), "element": list(verdict.element), "origin": list(verdict.origin)}
    for key in ("error", "expected", "found"):
        value = content[key]
        if isinstance(value, float) and not np.isfinite(value):
            content[key] = None
    return content
