"""The page on folding: each command in it prints what it says."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from arenite.cli.main import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "folding.md"


def commands() -> Iterator[tuple[str, list[str]]]:
    """Each command of the page, and the lines after it."""
    for block in re.findall(r"^```\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            yield command, lines


def alike(line: str) -> str:
    """Without the last digits of an error, which machines round each in their way."""
    return re.sub(r"difference [0-9.]+e-0[67]", "difference tiny", line)


@pytest.mark.shared
@pytest.mark.parametrize(("command", "expected"), [pytest.param(c, e, id=c) for c, e in commands()])
def test_a_command_prints_what_the_page_says(
    command: str,
    expected: list[str],
    shared: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    program, *arguments = shlex.split(command)
    assert program == "arenite"
    name = next(argument for argument in arguments if argument.endswith(".onnx"))
    (model,) = (shared / "models").rglob(name)
    (tmp_path / name).write_bytes(model.read_bytes())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert not end.value.code
    said = capsys.readouterr()
    found = [alike(line) for line in (said.err + said.out).splitlines()]
    wanted = [alike(line) for line in expected]
    if wanted[-1] == "...":
        assert found[: len(wanted) - 1] == wanted[:-1]
    else:
        assert found == wanted
