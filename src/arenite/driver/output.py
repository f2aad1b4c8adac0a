"""Files that appear whole or not at all."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from arenite._base.errors import DataError

Array = npt.NDArray[np.generic]


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that becomes it when the block ends well, and vanishes otherwise.

    Raises:
        DataError: the folder does not exist or cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from None
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_bundle(folder: Path, files: Mapping[str, bytes], *, listing: str = "report.json") -> None:
    """Write files into a folder, made when missing: first all beside it, then renamed into place.

    Only files that an earlier bundle in that folder lists as its own are replaced or removed.

    Raises:
        DataError: the folder cannot be written, or a file is in the way that no earlier bundle lists.
    """
    owned = _listed(folder / listing)
    foreign = sorted(name for name in files if (folder / name).exists() and name not in owned)
    if foreign:
        raise DataError(
            f"{folder / name}: this file is not arenite's; choose another folder with -o, or remove it"
            for name in foreign
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    except OSError as error:
        raise DataError(f"cannot write into {folder.parent}: {error.strerror}") from None
    try:
        for name, data in files.items():
            (staging / name).write_bytes(data)
        _move_into(staging, folder, files, stale=owned - set(files))
    except OSError as error:
        raise DataError(f"cannot write {folder}: {error.strerror}") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _move_into(staging: Path, folder: Path, files: Mapping[str, bytes], stale: set[str]) -> None:
    if not folder.exists():
        staging.chmod(0o777 & ~_umask())
        staging.rename(folder)
        return
    for name in files:
        (staging / name).replace(folder / name)
    for name in stale:
        (folder / name).unlink(missing_ok=True)


def _listed(report: Path) -> set[str]:
    """File names that an earlier report lists; names with a path in them are not believed."""
    try:
        content = json.loads(report.read_text(encoding="utf-8"))
        names = content["files"]
        return {name for name in names if isinstance(name, str) and Path(name).name == name}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def read_file(path: Path, *, limit_nbytes: int = 2**31) -> bytes:
    """The bytes of a file.

    Raises:
        DataError: it cannot be read, or is larger than the limit.
    """
    try:
        size = path.stat().st_size
        if size > limit_nbytes:
            raise DataError(f"{path}: {size} bytes, more than the limit of {limit_nbytes}")
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None


def read_array(path: Path) -> Array:
    """The array in a .npy file.

    Raises:
        DataError: it cannot be read, or is no array of numbers.
    """
    try:
        array: Array = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path}: not an .npy file ({error}); write it with numpy.save") from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
        raise DataError(f"{path}: not an array of numbers")
    return array
