"""Inputs and outputs as .npz files."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite._base.errors import DataError
from arenite.driver.arrays import PortSpec, load_feeds, port_keys, save_outputs

A = PortSpec("a/b:0", DType.INT8, (1, 3))
B = PortSpec("arr_1", DType.FLOAT32, (2,))


def saved(tmp_path: Path, **arrays: np.ndarray) -> Path:  # type: ignore[type-arg]
    path = tmp_path / "in.npz"
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


def test_keys_are_names_unless_they_cannot_be() -> None:
    assert port_keys(["x", "", "y", "y", "file", "a b:0"]) == ("x", "arr_1", "arr_2", "arr_3", "arr_4", "a b:0")


def test_named_and_positional_arrays_are_the_same(tmp_path: Path) -> None:
    a, b = np.array([[1, 2, 3]], np.int8), np.array([0.5, 1.5], np.float32)
    named = load_feeds(saved(tmp_path, **{"a/b:0": a, "arr_1": b}), [A, B])
    positional = load_feeds(saved(tmp_path, arr_0=a, arr_1=b), [A, B])
    for feeds in (named, positional):
        assert not feeds.stacked
        assert [array.tolist() for array in feeds.steps[0]] == [a.tolist(), b.tolist()]


def test_one_more_axis_is_invocations_in_a_row(tmp_path: Path) -> None:
    a = np.arange(12, dtype=np.int8).reshape(4, 1, 3)
    feeds = load_feeds(saved(tmp_path, **{"a/b:0": a}), [A])
    assert feeds.stacked
    assert [step[0].tolist() for step in feeds.steps] == a.tolist()


def test_float64_is_taken_for_float32(tmp_path: Path) -> None:
    feeds = load_feeds(saved(tmp_path, arr_0=np.array([0.1, 0.2])), [PortSpec("x", DType.FLOAT32, (2,))])
    assert feeds.steps[0][0].dtype == np.float32


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"a/b:0": np.zeros((1, 3), np.int8)}, ["no array for input 'arr_1'"]),
        ({"c": np.zeros(1)}, ["no array for input 'a/b:0'", "no array for input 'arr_1'", "array 'c' fits no input"]),
        ({"a/b:0": np.zeros((1, 4), np.int8), "arr_1": np.zeros(3, np.float32)}, ["[1, 4]", "got shape [3]"]),
        ({"a/b:0": np.zeros((1, 3), np.int16), "arr_1": np.zeros(2, np.int32)}, ["dtype int16", "dtype int32"]),
        ({"a/b:0": np.zeros((2, 1, 3), np.int8), "arr_1": np.zeros((3, 2), np.float32)}, ["different numbers"]),
        ({"a/b:0": np.zeros((2, 1, 3), np.int8), "arr_1": np.zeros(2, np.float32)}, ["on every input or on none"]),
    ],
)
def test_every_misfit_is_told(tmp_path: Path, arrays: dict[str, np.ndarray], words: list[str]) -> None:  # type: ignore[type-arg]
    with pytest.raises(DataError) as caught:
        load_feeds(saved(tmp_path, **arrays), [A, B])
    for word in words:
        assert any(word in problem for problem in caught.value.problems), caught.value.problems


def test_pickles_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, **{"a/b:0": np.array([{"x": 1}], dtype=object)})
    with pytest.raises(DataError, match="Python objects"):
        load_feeds(path, [A])


def test_a_header_that_promises_too_much_is_refused_before_allocating(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|i1", "fortran_order": False, "shape": (1 << 40,)})
    path = tmp_path / "in.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/b:0.npy", header.getvalue() + b"123")
    with pytest.raises(DataError, match="declares 1099511627776 bytes but 3 follow"):
        load_feeds(path, [A])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 damaged", b"not a zip"])
def test_what_is_no_npz_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "in.npz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"not an \.npz file"):
        load_feeds(path, [A])


def test_outputs_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    steps = [[np.full((1, 3), step, np.int8)] for step in range(2)]
    save_outputs(path, [A], steps, stacked=True)
    with np.load(path, allow_pickle=False) as archive:
        assert archive["a/b:0"].tolist() == [[[0, 0, 0]], [[1, 1, 1]]]
    save_outputs(path, [A], steps[:1], stacked=False)
    with np.load(path, allow_pickle=False) as archive:
        assert archive["a/b:0"].shape == (1, 3)
    assert [file.name for file in tmp_path.iterdir()] == ["out.npz"]
