"""Inputs and outputs of a run as .npz files: names, shapes, dtypes, sequences of invocations."""

import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from arenite._base.dtypes import DType
from arenite._base.errors import DataError
from arenite._base.files import check_is_file, written_whole
from arenite.driver.output import read_npy
from arenite.ir.graph import Value
from arenite.ir.types import Dim, Quantization

Array = npt.NDArray[np.generic]

MEMBER_LIMIT_NBYTES = 2**31
"""The largest array that an input file may hold."""

_KEY_LIMIT_NBYTES = 4096
"""A zip archive has room for 65,535, and cannot say so when there is none."""

_MOST_NAMED = 20
"""How many arrays or inputs that do not fit a message names."""

_UNREADABLE = (OSError, EOFError, ValueError, TypeError, RuntimeError)


@dataclass(frozen=True)
class PortSpec:
    """What an input or output of a model is called in a file, and what it holds.

    Attributes:
        shape: symbolic dimensions take any size; None takes any shape, of one invocation only.
        default: what an input holds that the file leaves out.
        quantization: what stored numbers stand for.
    """

    key: str
    dtype: DType
    shape: tuple[Dim, ...] | None
    default: Array | None = None
    quantization: Quantization | None = None

    def __str__(self) -> str:
        shape = "*" if self.shape is None else ", ".join(map(str, self.shape))
        return f"'{self.key}': {self.dtype}[{shape}]"

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether an array of this shape is one invocation's."""
        if self.shape is None:
            return True
        return len(shape) == len(self.shape) and all(
            isinstance(dim, str) or dim == size for dim, size in zip(self.shape, shape, strict=True)
        )


@dataclass(frozen=True)
class Feeds:
    """Inputs for invocations in a row.

    Attributes:
        steps: one list of arrays (in port order) per invocation.
        stacked: the file had one more leading axis, and so will the outputs.
    """

    steps: tuple[tuple[Array, ...], ...]
    stacked: bool


def port_keys(names: Sequence[str]) -> tuple[str, ...]:
    """The keys of ports in a file: their names as stored, or `arr_<position>` where a name can be no key.

    That is an empty or duplicate one, `file` (a parameter of numpy's savez), one that a zip archive cannot hold
    (not Unicode, with a null character, too long), and one that is the `arr_<position>` of another port.
    """
    counts = Counter(names)
    named = [_can_be_key(name) and counts[name] == 1 for name in names]
    while True:
        keys = [name if kept else f"arr_{at}" for at, (name, kept) in enumerate(zip(names, named, strict=True))]
        counts = Counter(keys)
        if max(counts.values(), default=1) == 1:
            return tuple(keys)
        named = [kept and counts[name] == 1 for name, kept in zip(names, named, strict=True)]


def port_specs(
    names: Sequence[str], values: Sequence[Value], defaults: Mapping[str, Array] | None = None
) -> list[PortSpec]:
    """What files call the inputs or outputs of a model, and what they hold.

    Args:
        names: as the model's file has them.
        values: of the graph, in the same order.
        defaults: what inputs hold that a file leaves out, by the values' names.
    """
    given = defaults or {}
    return [
        PortSpec(key, value.type.dtype, value.type.shape, given.get(value.name), value.type.quantization)
        for key, value in zip(port_keys(names), values, strict=True)
    ]


def _can_be_key(name: str) -> bool:
    try:
        return name not in ("", "file") and "\0" not in name and len(name.encode()) <= _KEY_LIMIT_NBYTES
    except UnicodeEncodeError:
        return False


def load_feeds(path: Path, ports: Sequence[PortSpec]) -> Feeds:
    """Read the inputs of one or several invocations.

    Each array has its port's shape, or all have one more leading axis of the same length: that many invocations in a
    row. float64 is taken for float32.

    Raises:
        DataError: the file is no .npz, keys are missing or too many, or shapes or dtypes do not fit: all of them.
    """
    given, arrays = _read_npz(path, ports)
    feeds = _given_feeds(path, arrays, given)
    if len(given) == len(ports):
        return feeds
    defaults = {port.key: port.default for port in ports if port.default is not None}
    steps = [defaults | {port.key: array for port, array in zip(given, step, strict=True)} for step in feeds.steps]
    return Feeds(tuple(tuple(step[port.key] for port in ports) for step in steps), feeds.stacked)


def _given_feeds(path: Path, arrays: Sequence[Array], ports: Sequence[PortSpec]) -> Feeds:
    converted = [_as_port_dtype(array, port) for array, port in zip(arrays, ports, strict=True)]
    problems = [
        f"{path}: input {port} got dtype {array.dtype}; {_cure(array, port)}"
        for array, port in zip(converted, ports, strict=True)
        if array.dtype != port.dtype.numpy
    ]
    single = [port.takes(array.shape) for array, port in zip(converted, ports, strict=True)]
    if all(single):
        _refuse(problems)
        return Feeds((tuple(converted),), stacked=False)
    lengths = {array.shape[0] for array in converted if array.ndim}
    stacked = [array.ndim > 0 and port.takes(array.shape[1:]) for array, port in zip(converted, ports, strict=True)]
    if all(stacked) and len(lengths) == 1:
        _refuse(problems)
        count = lengths.pop()
        return Feeds(tuple(tuple(array[step] for array in converted) for step in range(count)), stacked=True)
    if all(stacked):
        _refuse(
            [
                *problems,
                f"{path}: inputs give different numbers of invocations: {sorted(lengths)}; give as many of each",
            ]
        )
    problems += [
        f"{path}: input {port} got shape {list(array.shape)}; {_turned(array.shape, port)}give its shape, or on every "
        "input one more leading axis"
        for array, port, one, many in zip(converted, ports, single, stacked, strict=True)
        if not (one or many)
    ]
    if not problems:
        problems = [
            f"{path}: some inputs have one more leading axis and some have not; give it on every input or on none"
        ]
    raise DataError(problems)


def _turned(shape: tuple[int, ...], port: PortSpec) -> str:
    """What to do with an array whose channels stand on the other side than the model's, if it is one."""
    for order, from_ in (((0, 2, 3, 1), "channels first"), ((0, 3, 1, 2), "channels last")):
        if len(shape) == len(order) and port.takes(tuple(shape[axis] for axis in order)) and port.shape is not None:
            return f"if it has {from_}: array.transpose{order}; else "
    return ""


def _cure(array: Array, port: PortSpec) -> str:
    """What to do with an array of another dtype than the model takes."""
    q, dtype = port.quantization, port.dtype
    if array.dtype.kind == "f" and dtype.is_integer and q is not None and q.is_per_tensor:
        low, high = dtype.limits
        return (
            f"quantize it: q = round(x / {q.scale!r}) + {q.zero_point}, clamped to {low}..{high}, as {dtype}; "
            f"scale {q.scale!r}, zero point {q.zero_point}"
        )
    return f"if its numbers are what the model takes, convert them: array.astype(numpy.{dtype.numpy.name})"


def save_outputs(path: Path, ports: Sequence[PortSpec], steps: Sequence[Sequence[Array]], *, stacked: bool) -> None:
    """Write outputs under their keys, stacked along a new leading axis when the inputs were.

    A path that ends in .npy takes the array of the only output alone.
    """
    columns = list(zip(*steps, strict=True)) if steps else [() for _ in ports]
    arrays: dict[str, Array] = {}
    for port, column in zip(ports, columns, strict=True):
        if stacked:
            arrays[port.key] = _stack(path, port, column)
        else:
            arrays[port.key] = column[0]
        if arrays[port.key].dtype == object:
            arrays[port.key] = arrays[port.key].astype(np.str_)
    if path.suffix.lower() == ".npy":
        (only,) = arrays.values()
        with written_whole(path) as temporary, temporary.open("wb") as file:
            np.lib.format.write_array(file, only, allow_pickle=False)
        return
    # Not by savez, whose parameters cannot be keys.
    with written_whole(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for key, array in arrays.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _stack(path: Path, port: PortSpec, column: Sequence[Array]) -> Array:
    if not column:
        dims = [dim if isinstance(dim, int) else 0 for dim in port.shape or ()]
        return np.zeros((0, *dims), port.dtype.numpy)
    if len({array.shape for array in column}) > 1:
        raise DataError(f"cannot write {path}: output {port} has another shape in each invocation; run them one by one")
    return np.stack(column)


def _read_npz(path: Path, ports: Sequence[PortSpec]) -> tuple[list[PortSpec], list[Array]]:
    """The ports that a file has something for or that need it, and their arrays; nothing else is read."""
    try:
        check_is_file(path)
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            found = {info.filename.removesuffix(".npy"): info for info in members}
            if len(found) < len(members):
                counts = Counter(info.filename.removesuffix(".npy") for info in members)
                raise DataError(f"{path}: {n} arrays are called '{key}'" for key, n in counts.items() if n > 1)
            given = [port for port in ports if port.default is None or port.key in found]
            keys = _match_keys(path, found, given)
            return given, [_read_member(path, archive, found[key]) for key in keys]
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    # What zipfile, zlib, struct and numpy raise for a damaged archive is documented nowhere.
    except (zipfile.BadZipFile, zlib.error, struct.error, *_UNREADABLE) as error:
        raise DataError(f"{path}: not an .npz file ({error}); write it with numpy.savez") from None


def _read_member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    where = f"{path}: array '{info.filename.removesuffix('.npy')}'"
    if info.file_size > MEMBER_LIMIT_NBYTES:
        raise DataError(f"{where} has {info.file_size} bytes, more than the limit of {MEMBER_LIMIT_NBYTES}")
    return read_npy(lambda: archive.open(info), info.file_size, where)


def _match_keys(path: Path, found: Collection[str], ports: Sequence[PortSpec]) -> list[str]:
    """Which key each port has."""
    positional = [f"arr_{position}" for position in range(len(ports))]
    named = [port.key for port in ports]
    for keys in (named, positional):
        if set(found) == set(keys):
            return keys
    missing = [f"{path}: no array for input {port}" for port in ports if port.key not in found]
    known = set(named)
    strange = [key for key in found if key not in known]
    inputs = ", ".join([*map(str, ports[:_MOST_NAMED]), *_and_more(ports)])
    extra = [f"{path}: array '{key}' fits no input; the inputs are {inputs}" for key in strange[:_MOST_NAMED]]
    more = [f"{path}: {len(strange) - _MOST_NAMED} more arrays fit no input"] if len(strange) > _MOST_NAMED else []
    raise DataError(missing + extra + more)


def _and_more(ports: Sequence[PortSpec]) -> list[str]:
    return [f"and {len(ports) - _MOST_NAMED} more"] if len(ports) > _MOST_NAMED else []


def _as_port_dtype(array: Array, port: PortSpec) -> Array:
    if port.dtype is DType.FLOAT32 and array.dtype == np.float64:
        return array.astype(np.float32)
    if port.dtype is DType.STRING and array.dtype.kind == "U":
        return array.astype(object)
    return array.astype(array.dtype.newbyteorder("="))


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        raise DataError(problems)
