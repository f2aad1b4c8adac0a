"""Inputs and outputs as .npz files."""

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite._base.errors import DataError
from arenite.driver.arrays import PortSpec, load_feeds, port_keys, save_outputs
from arenite.driver.output import read_array

A = PortSpec("a/b:0", DType.INT8, (1, 3))
B = PortSpec("arr_1", DType.FLOAT32, (2,))


def saved(tmp_path: Path, **arrays: Any) -> Path:
    path = tmp_path / "in.npz"
    np.savez(path, **arrays)
    return path


def test_keys_are_names_unless_they_cannot_be() -> None:
    assert port_keys(["x", "", "y", "y", "file", "a b:0"]) == ("x", "arr_1", "arr_2", "arr_3", "arr_4", "a b:0")


def test_what_a_zip_archive_cannot_hold_is_no_key() -> None:
    assert port_keys(["a\0b", "a\0c", "\udcff", "x" * 70_000, "é"]) == ("arr_0", "arr_1", "arr_2", "arr_3", "é")


@given(st.lists(st.sampled_from(["", "file", "x", "y", *(f"arr_{i}" for i in range(5))]), max_size=5))
def test_keys_are_never_the_same(names: list[str]) -> None:
    keys = port_keys(names)
    assert len(set(keys)) == len(names)
    for position, (name, key) in enumerate(zip(names, keys, strict=True)):
        assert key in (name, f"arr_{position}")


def test_a_name_that_is_another_ports_position_gives_way(tmp_path: Path) -> None:
    keys = port_keys(["arr_1", ""])
    assert keys == ("arr_0", "arr_1")
    ports = [PortSpec(key, DType.INT8, (1,)) for key in keys]
    save_outputs(tmp_path / "out.npz", ports, [[np.array([5], np.int8), np.array([6], np.int8)]], stacked=False)
    with np.load(tmp_path / "out.npz") as archive:
        assert {key: archive[key].tolist() for key in archive.files} == {"arr_0": [5], "arr_1": [6]}


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
def test_every_misfit_is_told(tmp_path: Path, arrays: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        load_feeds(saved(tmp_path, **arrays), [A, B])
    for word in words:
        assert any(word in problem for problem in caught.value.problems), caught.value.problems


@pytest.mark.parametrize(
    ("shape", "cure"),
    [
        ((1, 3, 8, 8), "array.transpose(0, 2, 3, 1)"),
        ((1, 8, 8, 4), None),
        ((8, 3, 8), None),
    ],
)
def test_arrays_in_the_other_layout_are_told_how_to_turn(
    tmp_path: Path, shape: tuple[int, ...], cure: str | None
) -> None:
    with pytest.raises(DataError) as caught:
        load_feeds(saved(tmp_path, x=np.zeros(shape, np.float32)), [PortSpec("x", DType.FLOAT32, (1, 8, 8, 3))])
    (problem,) = caught.value.problems
    assert (cure in problem) if cure else "transpose" not in problem


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
    with pytest.raises(
        DataError, match=r"declares the shape \[1099511627776\] of int8, 1099511627776 bytes, but 3 follow"
    ):
        load_feeds(path, [A])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 damaged", b"not a zip"])
def test_what_is_no_npz_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "in.npz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"not an \.npz file"):
        load_feeds(path, [A])


def member(shape: str, data: bytes, descr: str = "'|i1'") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


@pytest.mark.parametrize(
    "data",
    [
        member("(-1, -1)", b"x"),
        member("(True, 1)", b"x"),
        member("(10**22,)", b"x"),
        member("(1" + "0" * 22 + ",)", b"x"),
        member("(1000000000000,)", b"", "'<U0'"),
        member("(" + "1," * 65 + ")", b"x"),
        member("(1,)", b"x" * 64, "('|i1', (8, 8))"),
        member("(1,)", b"x", "(((("),
        member("(1,)", b"x", "'''"),
        member("(1,)", b"x", "5"),
        b"",
    ],
)
def test_arrays_with_impossible_headers_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "in.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/b:0.npy", data)
    with pytest.raises(DataError):
        load_feeds(path, [A])
    (tmp_path / "in.npy").write_bytes(data)
    with pytest.raises(DataError, match=r"in\.npy: "):
        read_array(tmp_path / "in.npy")


def test_what_fits_no_input_is_not_read_and_few_of_it_are_named(tmp_path: Path) -> None:
    path = tmp_path / "in.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(500):
            archive.writestr(f"x{number}.npy", b"no array")
    ports = [replace(A, key=f"in{number}") for number in range(30)]
    with pytest.raises(DataError) as caught:
        load_feeds(path, ports)
    assert len(caught.value.problems) == 30 + 20 + 1
    assert caught.value.problems[-1].endswith("480 more arrays fit no input")
    assert "and 10 more" in caught.value.problems[30]


def test_two_arrays_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "in.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/b:0.npy", member("(1, 3)", b"abc"))
        archive.writestr("a/b:0", member("(1, 3)", b"xyz"))
    with pytest.raises(DataError, match="2 arrays are called 'a/b:0'"):
        load_feeds(path, [A])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_damaged_archives_are_refused_or_read(tmp_path: Path, save: Callable[..., None]) -> None:
    path = tmp_path / "in.npz"
    save(path, arr_0=np.arange(3, dtype=np.int8).reshape(1, 3))
    whole = path.read_bytes()
    refused = 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
        try:
            load_feeds(path, [A])
        except DataError:
            refused += 1
    assert refused > len(whole) // 2


@pytest.mark.parametrize("key", ["file", "allow_pickle", "args", "a/b", "x.npy"])
def test_any_name_can_be_an_outputs(tmp_path: Path, key: str) -> None:
    save_outputs(tmp_path / "out.npz", [PortSpec(key, DType.INT8, (1,))], [[np.array([7], np.int8)]], stacked=False)
    feeds = load_feeds(tmp_path / "out.npz", [PortSpec(key, DType.INT8, (1,))])
    assert feeds.steps[0][0].tolist() == [7]


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
