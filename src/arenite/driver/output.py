"""Bundles that appear whole or not at all, and files that are read."""

import json
import os
import re
import shutil
import tempfile
import tokenize
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from arenite._base.errors import DataError
from arenite._base.files import check_folder, check_is_file, is_read_only, reason, same_file, umask

Array = npt.NDArray[np.generic]

_LISTING_LIMIT_NBYTES = 1 << 28
# What bundles are made of: C-safe names and suffixes.
_PLAIN_NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}/){0,3}[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}")


def write_bundle(
    folder: Path, files: Mapping[str, bytes], *, inputs: Sequence[Path] = (), listing: str = "report.json"
) -> None:
    """Write files into a folder and folders in it, made when missing: first all into a hidden one, then renamed.

    Only files that an earlier bundle in that folder lists as its own are replaced or removed. Whoever is stopped
    between two renames leaves a listing of old and new files, so that the next bundle replaces them all.

    Args:
        folder: where to.
        files: contents by name, the listing's among them; `/` sets folders apart.
        inputs: files that the same command read: whatever a listing says, they are none of an earlier bundle.
        listing: which file lists, under "files", what is in the bundle.

    Raises:
        DataError: the folder cannot be written, or a file is in the way that is read-only or that no earlier bundle
            lists.
    """
    check_folder(folder)
    try:
        content = _read_listing(folder / listing)
        listed = _owned(folder, content)
        owned = {name for name in listed if not any(same_file(folder / name, path) for path in inputs)}
        locked = sorted(name for name in owned if is_read_only(folder / name))
        foreign = sorted({_in_the_way(folder, name) for name in files if name not in owned} - {""})
    except OSError as error:
        raise DataError(f"cannot write {folder}: {reason(error)}") from None
    if foreign or locked:
        raise DataError(
            [f"{folder / name}: this is not arenite's; choose another folder with -o, or remove it" for name in foreign]
            + [f"{folder / name}: it is read-only; choose another folder with -o" for name in locked]
        )
    try:
        # A folder that is there may be another file system, into which nothing can be renamed from outside.
        place = folder if folder.is_dir() else folder.parent
        place.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(dir=place, prefix=f".{folder.name[:100]}."))
    except OSError as error:
        raise DataError(f"cannot write {folder}: {reason(error)}") from None
    try:
        for name, data in files.items():
            (staging / name).parent.mkdir(parents=True, exist_ok=True)
            (staging / name).write_bytes(data)
        if not folder.exists():
            staging.chmod(0o777 & ~umask())
            staging.rename(folder)
            return
        interim = json.dumps({**content, "files": sorted(owned | set(files))}).encode() if owned else files[listing]
        _move_into(staging, folder, set(files) - {listing}, owned - set(files), listing, interim)
    except OSError as error:
        raise DataError(f"cannot write {folder}: {reason(error)}") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _move_into(staging: Path, folder: Path, names: set[str], stale: set[str], listing: str, interim: bytes) -> None:
    """Rename files into a folder that is there: the listing last, and before all others one of old and new files."""
    first = staging / "first"
    first.write_bytes(interim)
    first.replace(folder / listing)
    for name in sorted(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (staging / name).replace(folder / name)
    for name in sorted(stale):
        (folder / name).unlink(missing_ok=True)
    for parent in sorted({parent for name in stale for parent in _parents(name)}, reverse=True):
        if not any((folder / parent).iterdir()):
            (folder / parent).rmdir()
    (staging / listing).replace(folder / listing)


def _read_listing(report: Path) -> dict[str, object]:
    """An earlier report; empty when there is none that can be read."""
    try:
        if report.stat().st_size > _LISTING_LIMIT_NBYTES:
            return {}
        content = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _owned(folder: Path, content: Mapping[str, object]) -> set[str]:
    """The files that an earlier report lists and that are there; what is no plain file name is not believed."""
    names = content.get("files")
    listed = names if isinstance(names, list) else []
    plain = {name for name in listed if isinstance(name, str) and _PLAIN_NAME.fullmatch(name)}
    return {name for name in plain if (folder / name).is_file() and not _leads_elsewhere(folder, name)}


def _parents(name: str) -> list[str]:
    """`a/b` of `a/b/c`, then `a`."""
    parts = name.split("/")[:-1]
    return ["/".join(parts[:length]) for length in range(len(parts), 0, -1)]


def _leads_elsewhere(folder: Path, name: str) -> bool:
    return any((folder / each).is_symlink() for each in (name, *_parents(name)))


def _in_the_way(folder: Path, name: str) -> str:
    """What is there already where a file is to be written, or where a folder for it; empty when nothing is."""
    for parent in reversed(_parents(name)):
        if os.path.lexists(folder / parent) and ((folder / parent).is_symlink() or not (folder / parent).is_dir()):
            return parent
    return name if os.path.lexists(folder / name) else ""


def read_array(path: Path) -> Array:
    """The array in a .npy file.

    Raises:
        DataError: it cannot be read, or is no array of numbers.
    """
    try:
        check_is_file(path)
        array = read_npy(lambda: path.open("rb"), path.stat().st_size, f"{path}: it")
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path}: not an .npy file ({error}); write it with numpy.save") from None
    if array.dtype.kind not in "biuf":
        raise DataError(f"{path}: not an array of numbers")
    return array


def read_npy(opened: Callable[[], IO[bytes]], nbytes: int, where: str) -> Array:
    """One array, its header checked against the size before anything is allocated.

    Args:
        opened: opens what holds it.
        nbytes: its size, header included.
        where: begins messages.

    Raises:
        DataError: it is no array, holds Python objects, or has more or fewer bytes than its header says.
    """
    with opened() as file:
        try:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(file)
            if any(isinstance(dim, bool) for dim in shape):
                raise TypeError(f"its shape is {shape}")
        except (ValueError, TypeError, tokenize.TokenError) as error:
            raise DataError(f"{where} is not a numpy array ({error}); write it with numpy.save") from None
        rest = nbytes - file.tell()
    if dtype.hasobject:
        raise DataError(f"{where} holds Python objects; only plain numbers are read")
    expected = int(np.prod([int(dim) for dim in shape], dtype=object)) * dtype.itemsize
    if min(shape, default=0) < 0 or dtype.itemsize == 0 or expected != rest:
        raise DataError(f"{where} declares the shape {list(shape)} of {dtype}, {expected} bytes, but {rest} follow")
    with opened() as file:
        array: Array = np.lib.format.read_array(file, allow_pickle=False)
        return array
