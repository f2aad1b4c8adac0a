"""Files that appear whole or not at all."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from arenite._base.errors import DataError, UsageError
from arenite._base.files import read_file, written_whole
from arenite.driver.load import load_model
from arenite.driver.output import read_array, write_bundle
from arenite.memory.csvfile import read_csv
from arenite.targets import load_board


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


@pytest.mark.parametrize(
    "listed",
    [
        ["", ".", "..", "sub"],
        ["\0"],
        ["\ud800"],
        ["x" * 5000],
        ["a\\b", "a/b", "/etc/passwd"],
        [[]],
        5,
        {"a": 1},
        None,
    ],
)
def test_a_hostile_listing_does_no_harm(tmp_path: Path, listed: object) -> None:
    names = ["report.json", *listed] if isinstance(listed, list) else listed
    (tmp_path / "sub").mkdir()
    (tmp_path / "report.json").write_text(json.dumps({"files": names}))
    if isinstance(listed, list):
        write_bundle(tmp_path, bundle("a.c"))
        assert {p.name for p in tmp_path.iterdir()} == {"a.c", "report.json", "sub"}
    else:
        with pytest.raises(DataError, match="not arenite's"):
            write_bundle(tmp_path, bundle("a.c"))
        assert {p.name for p in tmp_path.iterdir()} == {"report.json", "sub"}


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "[]", "nul", "\x00"])
def test_a_report_of_others_is_not_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(DataError, match="not arenite's"):
        write_bundle(tmp_path, bundle("a.c"))
    assert (tmp_path / "report.json").read_text() == text


def test_folders_and_links_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.c").symlink_to("nowhere")
    (tmp_path / "b.c").mkdir()
    with pytest.raises(DataError) as caught:
        write_bundle(tmp_path, bundle("a.c", "b.c"))
    assert len(caught.value.problems) == 2
    assert {p.name for p in tmp_path.iterdir()} == {"a.c", "b.c"}


@pytest.mark.parametrize("renames", range(5))
def test_after_being_stopped_the_next_bundle_replaces_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    folder = tmp_path / "out"
    write_bundle(folder, bundle("a.c", "old.h"))
    real, done = Path.replace, iter(range(renames))

    def stopped(self: Path, target: Path) -> Path:
        if next(done, None) is None:
            raise KeyboardInterrupt
        return real(self, target)

    with monkeypatch.context() as context:
        context.setattr(Path, "replace", stopped)
        if renames < 4:
            with pytest.raises(KeyboardInterrupt):
                write_bundle(folder, bundle("a.c", "new.h", text="y"))
        else:
            write_bundle(folder, bundle("a.c", "new.h", text="y"))
    assert json.loads((folder / "report.json").read_text())["files"]
    write_bundle(folder, bundle("a.c", "third.h", text="z"))
    assert {p.name for p in folder.iterdir()} == {"a.c", "third.h", "report.json"}
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_link_is_kept_and_what_it_leads_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    with written_whole(tmp_path / "link") as temporary:
        temporary.write_text("x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "x"


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path(os.devnull)):
        with pytest.raises(DataError, match="is no file"), written_whole(path):
            pass
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
def test_impossible_names_are_told(tmp_path: Path, name: str) -> None:
    def write() -> None:
        with written_whole(tmp_path / name) as temporary:
            temporary.write_text("x")

    with pytest.raises(DataError, match="cannot write"):
        write()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    def write() -> None:
        with written_whole(tmp_path / "out"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(DataError, match=r"cannot write .*No space left"):
        write()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("read", [read_file, read_array, read_csv, load_board])
def test_pipes_and_devices_are_not_read(tmp_path: Path, read: Callable[[Path], object]) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path(os.devnull)):
        with pytest.raises((DataError, UsageError), match="not a file"):
            read(path)


@pytest.mark.parametrize("suffix", [".tflite", ".onnx"])
def test_a_model_that_is_a_pipe_is_not_waited_for(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"pipe{suffix}"
    os.mkfifo(path)
    with pytest.raises(DataError, match="not a file"):
        load_model(path)


def test_a_folder_that_is_there_may_lie_on_another_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mounted"
    folder.mkdir()
    real = Path.replace

    def within(self: Path, target: Path) -> Path:
        if (folder in self.parents) != (folder in Path(target).parents):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return real(self, target)

    monkeypatch.setattr(Path, "replace", within)
    write_bundle(folder, bundle("a.c"))
    assert {p.name for p in folder.iterdir()} == {"a.c", "report.json"}


def test_files_in_folders_are_written_replaced_and_removed(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    write_bundle(folder, bundle("src/a.c", "examples/x/x.ino", "b.c"))
    (folder / "src" / "mine.c").write_text("keep")
    write_bundle(folder, bundle("src/a.c", "b.c", text="y"))
    assert (folder / "src" / "a.c").read_text() == "y"
    assert {p.name for p in folder.iterdir()} == {"src", "b.c", "report.json"}
    write_bundle(folder, bundle("b.c"))
    assert [p.name for p in (folder / "src").iterdir()] == ["mine.c"]


def test_a_folder_that_leads_elsewhere_is_not_written_through(tmp_path: Path) -> None:
    folder, other = tmp_path / "out", tmp_path / "other"
    for each in (folder, other):
        each.mkdir()
    (folder / "src").symlink_to(other)
    (other / "a.c").write_text("precious")
    (folder / "report.json").write_text(json.dumps({"files": ["src/a.c", "report.json"]}))
    with pytest.raises(DataError, match=r"src: this is not arenite's"):
        write_bundle(folder, bundle("src/a.c"))
    write_bundle(folder, bundle("b.c"))
    assert (other / "a.c").read_text() == "precious"


def test_a_file_where_a_folder_is_to_be_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "src").write_text("mine")
    with pytest.raises(DataError, match=r"src: this is not arenite's"):
        write_bundle(tmp_path, bundle("src/a.c"))
    assert (tmp_path / "src").read_text() == "mine"
