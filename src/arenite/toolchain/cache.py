"""Where builds that are worth keeping live, and how they are named: by the hash of all that goes into them."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from arenite._base.errors import ToolError


def cache_dir() -> Path:
    """The cache folder: `ARENITE_CACHE`, else `arenite` in `XDG_CACHE_HOME`, else in `~/.cache`.

    Raises:
        ToolError: the folder cannot be made.
    """
    chosen = os.environ.get("ARENITE_CACHE")
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        folder = Path(chosen) if chosen else (Path(base) if base else Path.home() / ".cache") / "arenite"
        folder.mkdir(parents=True, exist_ok=True)
    except RuntimeError as error:
        raise ToolError("there is no home folder to keep builds in; set ARENITE_CACHE to a folder") from error
    except OSError as error:
        raise _unwritable("make", folder, error) from error
    return folder


def content_key(texts: Iterable[str], files: Iterable[Path]) -> str:
    """A name for a build: a hash of its command and of the names and contents of its files."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(f"{len(text)}:{text}".encode())
    for file in files:
        data = file.read_bytes()
        digest.update(f"{file.name}:{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()[:24]


def cached_file(name: str, make: Callable[[Path], object]) -> Path:
    """The cached file of this name; `make` writes it when it is not there.

    Two processes may make it at once: each writes its own file, and the renames are atomic.

    Raises:
        ToolError: the folder cannot be written.
    """
    path = cache_dir() / name
    if path.is_file():
        return path
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".build-") as folder:
            made = Path(folder) / path.name
            make(made)
            made.replace(path)
    except OSError as error:
        raise _unwritable("write", path.parent, error) from error
    return path


def _unwritable(verb: str, folder: Path, error: OSError) -> ToolError:
    return ToolError(
        f"cannot {verb} the cache folder {folder}: {error.strerror}; set ARENITE_CACHE to a folder that can be written"
    )
