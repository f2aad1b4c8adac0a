"""Files that are read, and files that appear whole or not at all, never in place of what was read or is read-only."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from arenite._base.errors import DataError

_WRITE_BITS = 0o222


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that becomes it when the block ends well, and vanishes otherwise.

    A symbolic link stays, and what it leads to is written.

    Raises:
        DataError: as `check_outputs` says, or the folder cannot be written, or the disk is full.
    """
    check_outputs([path])
    try:
        target = Path(os.path.realpath(path))
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
        os.close(handle)
    except (OSError, ValueError) as error:
        raise DataError(f"cannot write {path}: {reason(error)}") from None
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~umask())
        temporary.replace(target)
    except OSError as error:
        raise DataError(f"cannot write {path}: {reason(error)}") from None
    finally:
        temporary.unlink(missing_ok=True)


def read_file(path: Path, *, limit_nbytes: int = 2**31) -> bytes:
    """The bytes of a file.

    Raises:
        DataError: it cannot be read, or is larger than the limit.
    """
    try:
        check_is_file(path)
        size = path.stat().st_size
        if size > limit_nbytes:
            raise DataError(f"{path}: {size} bytes, more than the limit of {limit_nbytes}")
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {reason(error)}") from None


def check_is_file(path: Path) -> None:
    """Refuse what is there and is no file: reading from a pipe or a device may never end.

    Raises:
        DataError: it is a folder, a pipe or a device.
    """
    if path.exists() and not path.is_file():
        raise DataError(f"cannot read {path}: it is a folder or a device, not a file")


def check_outputs(outputs: Iterable[Path], inputs: Iterable[Path] = ()) -> None:
    """Refuse, before anything is done, what cannot be written or must not be replaced.

    Args:
        outputs: files to be written.
        inputs: files that the same command reads.

    Raises:
        DataError: an output is an input (by whatever name) or another output; it is there and no file, or read-only;
            its folder is missing. All of them.
    """
    read, taken, problems = list(inputs), list[Path](), []
    for path in outputs:
        if why := _refusal(path, read, taken):
            problems.append(f"cannot write {path}: {why}")
        taken.append(path)
    if problems:
        raise DataError(problems)


def check_folder(folder: Path) -> None:
    """Refuse a folder that is none, or cannot be made where it shall be.

    Raises:
        DataError: a file, a device or a link that leads nowhere stands in its way.
    """
    try:
        obstacle = _in_the_way(folder)
    except (OSError, ValueError) as error:
        obstacle = reason(error)
    if obstacle:
        raise DataError(f"cannot write {folder}: {obstacle}; choose another folder")


def is_read_only(path: Path) -> bool:
    """Whether nobody may write a file that is there: renaming another one onto it would not ask."""
    return path.is_file() and not path.stat().st_mode & _WRITE_BITS


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, be it there or not."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return os.path.realpath(one) == os.path.realpath(other)


def reason(error: OSError | ValueError) -> str:
    """What the system says, without its number."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def umask() -> int:
    """The bits that new files do not get."""
    current = os.umask(0)
    os.umask(current)
    return current


def _refusal(path: Path, inputs: Iterable[Path], outputs: Iterable[Path]) -> str:
    """Why a file is not written; empty when nothing speaks against it."""
    try:
        if any(same_file(path, other) for other in inputs):
            return "it is the file that is read; choose another path"
        if any(same_file(path, other) for other in outputs):
            return "something else is written there; choose another path"
        if path.exists() and not path.is_file():
            return "it is there, and is no file"
        if is_read_only(path):
            return "it is read-only; choose another path"
        folder = (Path(os.path.realpath(path)) if path.is_symlink() else path).parent
        return _in_the_way(folder) or ("" if folder.is_dir() else f"the folder {folder} does not exist")
    except (OSError, ValueError) as error:
        return reason(error)


def _in_the_way(folder: Path) -> str:
    """What is where a folder, or one that it lies in, is or should be; empty when nothing is."""
    there = next((each for each in (folder, *folder.parents) if os.path.lexists(each)), None)
    if there is None or there.is_dir():
        return ""
    if there.is_symlink() and not there.exists():
        return f"{there} is a link that leads nowhere"
    return f"{there} is there, and is no folder"
