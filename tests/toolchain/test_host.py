"""Compilers, host libraries, the cache, and how failures are told."""

import ctypes
import os
import sys
import time
from pathlib import Path

import pytest

from arenite._base.errors import ToolError
from arenite.toolchain import (
    Compiler,
    build_host_library,
    cached_host_library,
    find_compilers,
    firmware_compiler,
    host_compiler,
)
from arenite.toolchain.process import run_tool

SOURCE = '#include "twice.h"\nint f(int a);\nint f(int a) {\n    return TWICE(a) + OFFSET;\n}\n'
HOST = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("gcc", "clang", "zig")]


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "a folder"
    (folder / "include").mkdir(parents=True)
    (folder / "f.c").write_text(SOURCE)
    (folder / "include" / "twice.h").write_text("#define TWICE(x) (2 * (x))\n")
    return folder


def named(name: str) -> Compiler:
    return next(compiler for compiler in find_compilers() if compiler.name == name)


def load(library: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(library))


@pytest.mark.parametrize("name", HOST)
def test_each_host_compiler_builds(name: str, sources: Path, tmp_path: Path) -> None:
    compiler = named(name)
    assert compiler.builds_host
    assert any(part.isdigit() for part in compiler.version())
    output = tmp_path / "made here" / "library.so"
    made = build_host_library(
        [sources / "f.c"], [sources / "include"], output, compiler=compiler, defines={"OFFSET": "7"}
    )
    assert made == output
    assert load(made).f(5) == 17
    assert list(output.parent.iterdir()) == [output]


@pytest.mark.gcc
def test_a_broken_source_shows_the_compilers_words(tmp_path: Path) -> None:
    broken = tmp_path / "broken.c"
    broken.write_text("int f(void);\nint f(void) {\n    return missing_name;\n}\n" + "nonsense;\n" * 50)
    output = tmp_path / "out" / "library.so"
    with pytest.raises(ToolError, match=r"compiling broken\.c for this computer with gcc") as caught:
        build_host_library([broken], [], output, compiler=named("gcc"))
    message = str(caught.value)
    assert "broken.c:3" in message
    assert "missing_name" in message
    assert "more lines" in message
    assert len(message.splitlines()) < 20
    assert list(output.parent.iterdir()) == []


@pytest.mark.gcc
def test_warnings_are_errors(tmp_path: Path) -> None:
    source = tmp_path / "narrow.c"
    source.write_text("signed char f(int a);\nsigned char f(int a) {\n    return a;\n}\n")
    with pytest.raises(ToolError, match="conversion"):
        build_host_library([source], [], tmp_path / "library.so", compiler=named("gcc"))
    relaxed = ["-Wno-conversion"]
    made = build_host_library([source], [], tmp_path / "library.so", compiler=named("gcc"), flags=relaxed)
    assert load(made).f(3) == 3


@pytest.mark.gcc
def test_the_cache_builds_once_per_content(sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))

    def build(offset: str = "1") -> Path:
        return cached_host_library(
            "twice", [sources / "f.c"], [sources / "include"], compiler=named("gcc"), defines={"OFFSET": offset}
        )

    first = build()
    assert first.parent == tmp_path / "cache"
    assert load(first).f(4) == 9
    stamp = first.stat().st_mtime_ns
    assert build() == first
    assert first.stat().st_mtime_ns == stamp
    other = build("2")
    (sources / "include" / "twice.h").write_text("#define TWICE(x) (20 * (x))\n")
    changed = build()
    assert len({first, other, changed}) == 3
    assert load(changed).f(4) == 81
    assert sorted(first.parent.iterdir()) == sorted([first, other, changed])


def test_a_cache_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(ToolError, match=r"cannot make the cache folder .*set ARENITE_CACHE"):
        run_tool((sys.executable, "--version"), what="starting Python")


def test_tools_that_fail() -> None:
    with pytest.raises(ToolError, match="trying it: no-such-program-here cannot be started"):
        run_tool(("no-such-program-here",), what="trying it")
    with pytest.raises(ToolError, match=r"trying it: .* failed with status 3\n  a word"):
        run_tool((sys.executable, "-c", "import sys; print('a word', file=sys.stderr); sys.exit(3)"), what="trying it")
    begin = time.monotonic()
    # Its child holds the pipes open.
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    with pytest.raises(ToolError, match="trying it: stopped after 0 s"):
        run_tool((sys.executable, "-c", child), what="trying it", time_limit=0.4)
    assert time.monotonic() - begin < 30


def test_compilers_that_are_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"the compiler tcc-9000 is not there.*found on this computer"):
        host_compiler("tcc-9000")
    plain = tmp_path / "plain.txt"
    plain.write_text("")
    with pytest.raises(ToolError, match="is not there, or cannot be run"):
        firmware_compiler(str(plain))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("arenite.toolchain.compilers._find_zig", lambda: None)
    assert find_compilers() == ()
    with pytest.raises(ToolError, match="install gcc or clang, or `pip install ziglang`"):
        host_compiler()
    with pytest.raises(ToolError, match="`pip install ziglang`, or install arm-none-eabi-gcc"):
        firmware_compiler()


@pytest.mark.gcc
def test_a_compiler_by_its_path() -> None:
    path = named("gcc").command[0]
    assert host_compiler(path).builds_host
    with pytest.raises(ToolError, match="does not build firmware"):
        firmware_compiler(path)
    assert host_compiler("gcc") == named("gcc")


@pytest.mark.arm_gcc
def test_a_cross_compiler_by_its_path() -> None:
    path = named("arm-none-eabi-gcc").command[0]
    assert firmware_compiler(path) == Compiler(path, "gcc", (path,), builds_host=False, builds_firmware=True)
    with pytest.raises(ToolError, match="does not build libraries for this computer"):
        host_compiler(path)


@pytest.mark.zig
def test_zig_by_its_path() -> None:
    path = named("zig").command[0]
    assert firmware_compiler(path).kind == "zig"
    assert firmware_compiler().name == "zig"
    assert os.access(path, os.X_OK)
