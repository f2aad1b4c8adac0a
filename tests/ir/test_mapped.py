"""Arrays that view a mapped file."""

import mmap
from pathlib import Path

import numpy as np

from arenite.ir.content import content_hash
from arenite.ir.mapped import drop_pages, mapping_of


def mapped(tmp_path: Path, nelem: int) -> np.ndarray:
    path = tmp_path / "data"
    path.write_bytes(np.arange(nelem, dtype=np.float32).tobytes())
    with path.open("rb") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.float32)


def test_views_know_their_file(tmp_path: Path) -> None:
    array = mapped(tmp_path, 100)
    assert mapping_of(array[3:50].reshape(47, 1)) is not None
    assert mapping_of(np.array(array)) is None
    assert mapping_of(np.frombuffer(b"1234", np.uint8)) is None


def test_dropped_pages_are_read_again(tmp_path: Path) -> None:
    array = mapped(tmp_path, 50_000)
    for part in (array, array[1000:40_000], array[7:9], array[::2], np.arange(3)):
        drop_pages(part)
    assert np.array_equal(array, np.arange(50_000, dtype=np.float32))


def test_the_hash_of_a_mapped_array_is_that_of_its_contents(tmp_path: Path) -> None:
    array = mapped(tmp_path, 5_000_000)
    assert content_hash(array) == content_hash(np.arange(5_000_000, dtype=np.float32))
    assert content_hash(array) != content_hash(array[::-1])
