"""Files that appear whole or not at all."""

import json
from pathlib import Path

import pytest

from arenite._base.errors import DataError
from arenite.driver.output import write_bundle, written_whole


def bundle(*names: str, text: str = "x") -> dict[str, bytes]:
    return {
        **dict.fromkeys(names, text.encode()),
        "report.json": json.dumps({"files": [*names, "report.json"]}).encode(),
    }


def test_a_bundle_makes_its_folder(tmp_path: Path) -> None:
    write_bundle(tmp_path / "deep" / "out", bundle("a.c"))
    assert {p.name for p in (tmp_path / "deep" / "out").iterdir()} == {"a.c", "report.json"}
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["out"]


def test_a_second_bundle_replaces_the_first_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    write_bundle(folder, bundle("a.c", "old.h"))
    (folder / "mine.txt").write_text("keep")
    write_bundle(folder, bundle("a.c", "new.h", text="y"))
    assert {p.name for p in folder.iterdir()} == {"a.c", "new.h", "report.json", "mine.txt"}
    assert (folder / "a.c").read_text() == "y"


def test_files_of_others_are_not_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "a.c").write_text("mine")
    (folder / "b.c").write_text("mine")
    with pytest.raises(DataError) as caught:
        write_bundle(folder, bundle("a.c", "b.c", "c.c"))
    assert len(caught.value.problems) == 2
    assert {p.name for p in folder.iterdir()} == {"a.c", "b.c"}
    assert (folder / "a.c").read_text() == "mine"


def test_a_listing_cannot_reach_outside_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (tmp_path / "precious").write_text("keep")
    (folder / "report.json").write_text(json.dumps({"files": ["../precious", "report.json"]}))
    write_bundle(folder, bundle("a.c"))
    assert (tmp_path / "precious").read_text() == "keep"


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out.npz"

    def fail() -> None:
        with written_whole(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot write"), written_whole(tmp_path / "no" / "out.npz"):
        pass
