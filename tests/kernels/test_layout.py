"""The manifest says what the C files say: structs, signatures, files."""

import ctypes
from collections.abc import Iterator
from pathlib import Path

import pytest

from arenite.kernels import include_dir, manifests, source_dir
from arenite.kernels.manifest import KernelInfo, Role
from arenite.toolchain import build_host_library, host_compiler
from arenite.toolchain.host import WARNINGS
from arenite.toolchain.process import run_tool
from kernels.host import params_type


def _checks(infos: tuple[KernelInfo, ...]) -> Iterator[str]:
    """C that does not compile when a signature differs, and tells the layout of each struct."""
    yield "#include <stddef.h>"
    for info in infos:
        yield f'#include "{info.header}"'
    for info in infos:
        struct = f"{info.symbol}_params"
        pointers = (f"{'const ' if a.role in (Role.INPUT, Role.CONSTANT) else ''}{a.ctype} *" for a in info.arguments)
        yield f"void (*const check_{info.symbol})({', '.join((f'const {struct} *', *pointers))}) = {info.symbol};"
        members = (f"offsetof({struct}, {f.name}), sizeof((({struct} *)0)->{f.name})" for f in info.fields)
        yield f"const size_t layout_{info.symbol}[] = {{{', '.join((f'sizeof({struct})', *members))}}};"


@pytest.mark.gcc
def test_structs_and_signatures_are_the_manifests(tmp_path: Path) -> None:
    infos = tuple(info for info in manifests() if info.fields)
    source = tmp_path / "checks.c"
    source.write_text("\n".join(_checks(infos)) + "\n")
    # Compiled, not run: without optimisation.
    built = build_host_library(
        [source], [include_dir()], tmp_path / "checks.so", compiler=host_compiler("gcc"), flags=("-O0",)
    )
    library = ctypes.CDLL(str(built))
    for info in infos:
        struct = params_type(info)
        expected = [ctypes.sizeof(struct)]
        for field in info.fields:
            member = getattr(struct, field.name)
            expected += [member.offset, member.size]
        found = (ctypes.c_size_t * len(expected)).in_dll(library, f"layout_{info.symbol}")
        assert list(found) == expected, info.symbol


def test_every_kernel_has_its_files_and_no_file_is_left_over() -> None:
    infos = manifests()
    assert {info.source for info in infos} == {path.name for path in source_dir().glob("*.c")}
    named = {name for info in infos for name in (info.header, *info.headers)}
    assert named == {path.name for path in include_dir().glob("*.h")}
    assert len({info.symbol for info in infos}) == len(infos)


def test_headers_of_a_kernel_are_transitively_complete() -> None:
    for info in manifests():
        included, waiting = set(), [info.header]
        while waiting:
            text = (include_dir() / waiting.pop()).read_text()
            names = [line.split('"')[1] for line in text.splitlines() if line.startswith('#include "')]
            waiting += [name for name in names if name not in included]
            included |= set(names)
        assert included == set(info.headers), info.symbol


@pytest.mark.gcc
@pytest.mark.parametrize("compiler", ["g++", pytest.param("clang++", marks=pytest.mark.clang)])
def test_headers_are_cxx_too(compiler: str, tmp_path: Path) -> None:
    source = tmp_path / "all.cpp"
    source.write_text("".join(f'#include "{path.name}"\n' for path in sorted(include_dir().glob("*.h"))))
    warnings = [flag for flag in WARNINGS if not flag.startswith("-std")]
    command = (compiler, "-std=c++11", *warnings, "-fsyntax-only", f"-I{include_dir()}", str(source))
    run_tool(command, what="compiling the headers as C++")


@pytest.mark.gcc
def test_each_header_stands_alone(tmp_path: Path) -> None:
    for path in sorted(include_dir().glob("*.h")):
        source = tmp_path / f"{path.stem}.c"
        source.write_text(f'#include "{path.name}"\n#include "{path.name}"\n')
        command = ("gcc", *WARNINGS, "-fsyntax-only", f"-I{include_dir()}", str(source))
        run_tool(command, what=f"compiling {path.name}")
