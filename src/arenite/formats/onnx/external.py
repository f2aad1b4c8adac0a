"""Data beside the model's file: read by mapping, written in pieces, never outside the file's folder."""

import mmap
from pathlib import Path, PurePosixPath, PureWindowsPath

import numpy as np
from onnx import TensorProto

from arenite.ir.graph import Array
from arenite.ir.mapped import drop_pages
from arenite.ops.onnx.tensors import Bytes, TensorError, raw_bytes

_ALIGNMENT = 4096
_PIECE_NBYTES = 1 << 22


class ExternalFiles:
    """The files with data of one model. `read` is a `ReadExternal`.

    Attributes:
        used: locations that tensors named.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._files: dict[str, Bytes] = {}

    @property
    def used(self) -> tuple[str, ...]:
        return tuple(self._files)

    def read(self, proto: TensorProto, needed: int) -> Bytes:
        """The bytes of a tensor.

        Raises:
            TensorError: the location leaves the model's folder, there is no such file, or it is too short.
        """
        keys = {entry.key: entry.value for entry in proto.external_data}
        if not all(isinstance(text, str) for pair in keys.items() for text in pair):
            raise TensorError("where its data is, is not UTF-8 text")
        location = keys.get("location", "")
        data = self._open(location)
        offset, length = _integer(keys, "offset", 0), _integer(keys, "length", needed)
        if length != needed:
            raise TensorError(f"it has {length} bytes in '{location}', needs {needed}")
        if offset + length > len(data):
            raise TensorError(f"its bytes [{offset}, {offset + length}) are not in '{location}', which has {len(data)}")
        return data[offset : offset + length]

    def _open(self, location: str) -> Bytes:
        if location not in self._files:
            self._files[location] = _map(self._path(location), location)
        return self._files[location]

    def _path(self, location: str) -> Path:
        if self._folder is None:
            raise TensorError(f"its data is in the file '{location}'; load the model by its path")
        parts = PurePosixPath(location).parts
        windows = PureWindowsPath(location)
        bad = not parts or ".." in parts or ".." in windows.parts or "\0" in location
        if bad or PurePosixPath(location).is_absolute() or windows.drive or windows.root:
            raise TensorError(f"its location '{location[:200]}' is not a path inside the model's folder")
        folder = self._folder.resolve()
        try:
            path = (folder / location).resolve()
        except (OSError, RuntimeError) as error:
            raise TensorError(f"its location '{location[:200]}' cannot be followed ({error})") from None
        if not path.is_relative_to(folder):
            raise TensorError(f"its location '{location[:200]}' leads out of the model's folder")
        return path


def _integer(keys: dict[str, str], key: str, default: int) -> int:
    text = keys.get(key, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise TensorError(f"its {key} is '{text[:40]}', not a number of bytes")
    return int(text)


def _map(path: Path, location: str) -> Bytes:
    try:
        if not path.is_file():
            raise TensorError(f"its data file '{location}' is not beside the model")
        if path.stat().st_size == 0:
            return np.empty(0, np.uint8)
        with path.open("rb") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except OSError as error:
        raise TensorError(f"its data file '{location}' cannot be read ({error.strerror})") from None


class ExternalWriter:
    """Writes one data file.

    Attributes:
        location: what the file will be called, as tensors give it.
    """

    def __init__(self, path: Path, location: str) -> None:
        self.location = location
        self._file = path.open("wb")

    def add(self, array: Array, proto: TensorProto) -> None:
        """Write an array's elements, and say in its message where they are."""
        offset = -(-self._file.tell() // _ALIGNMENT) * _ALIGNMENT
        self._file.write(b"\0" * (offset - self._file.tell()))
        flat = array.reshape(-1) if array.flags.c_contiguous else None
        if flat is None or array.nbytes <= _PIECE_NBYTES or array.itemsize == 0:
            self._file.write(raw_bytes(array))
        else:
            step = _PIECE_NBYTES // array.itemsize
            for start in range(0, flat.size, step):
                # Of a mapped file, only the piece at hand stays in memory.
                self._file.write(raw_bytes(flat[start : start + step]))
                drop_pages(flat[start : start + step])
        proto.data_location = TensorProto.EXTERNAL
        for key, value in (
            ("location", self.location),
            ("offset", str(offset)),
            ("length", str(self._file.tell() - offset)),
        ):
            proto.external_data.add(key=key, value=value)

    def close(self) -> None:
        """Nothing is added any more."""
        self._file.close()
