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
    folder = Path(chosen) if chosen else (Path(base) if base else Path.home() / ".cache") / "arenite"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolError(
            f"cannot make the cache folder {folder}: {error.strerror}; "
            "set ARENITE_CACHE to a folder that can be written"
        ) from error
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
    """
    path = cache_dir() / name
    if path.is_file():
        return path
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".build-") as folder:
        made = Path(folder) / path.name
        make(made)
        made.replace(path)
    return path
