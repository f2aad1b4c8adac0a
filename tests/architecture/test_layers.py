"""Who may import whom. Function-local imports count."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "arenite"

_BELOW_LOWER = {"_base", "ir", "ops", "interp", "targets", "memory", "kernels"}
_ALL_BUT_TOP = _BELOW_LOWER | {"passes", "formats", "lower", "codegen", "toolchain", "simulator", "report"}

# package → the packages it may import, besides itself
MAY_IMPORT: dict[str, set[str]] = {
    "_base": set(),
    "ir": {"_base"},
    "ops": {"_base", "ir"},
    "interp": {"_base", "ir", "ops"},
    "passes": {"_base", "ir", "ops", "interp"},
    "formats": {"_base", "ir", "ops"},
    "memory": {"_base"},
    "targets": {"_base"},
    "kernels": {"_base"},
    "lower": _BELOW_LOWER,
    "codegen": {"_base", "lower.program", "kernels", "targets"},
    "toolchain": {"_base", "targets"},
    "simulator": {"_base", "targets"},
    "report": {"_base"},
    "driver": _ALL_BUT_TOP,
    "api": _ALL_BUT_TOP | {"driver"},
    "cli": {"_base", "driver", "api"},
    "": {"_base", "api"},
    "__main__": {"cli"},
}

# third-party package → the places that may import it
ONLY_IN: dict[str, tuple[str, ...]] = {
    "flatbuffers": ("formats.tflite",),
    "unicorn": ("simulator",),
    "elftools": ("toolchain", "simulator"),
    "capstone": ("toolchain", "simulator"),
    "jinja2": ("report",),
    "markupsafe": ("report",),
    "typer": ("cli",),
    "rich": ("cli",),
    "onnx": ("formats.onnx", "ops.onnx"),
    "onnxruntime": ("ops.onnx.engine",),
    "torch": ("formats.torch", "quantize.qat"),
    "ml_dtypes": ("_base",),
}


def _modules() -> list[tuple[str, Path]]:
    """(dotted name below arenite, file)."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


def _imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, `from package import module` as package.module too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write the whole name"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _within(name: str, places: set[str] | tuple[str, ...]) -> bool:
    return any(name == place or name.startswith(f"{place}.") for place in places)


MODULES = _modules()


def test_every_package_is_placed() -> None:
    assert {name.split(".")[0] for name, _ in MODULES} <= set(MAY_IMPORT)


@pytest.mark.parametrize(("name", "path"), MODULES, ids=[name or "arenite" for name, _ in MODULES])
def test_imports_point_downwards(name: str, path: Path) -> None:
    package = name.split(".", maxsplit=1)[0]
    allowed = MAY_IMPORT[package] | ({package} if package else set())
    wrong = [
        target
        for target in _imports(path)
        if target.startswith("arenite.") and not _within(target.removeprefix("arenite."), allowed)
    ]
    assert not wrong, f"arenite.{name} may not import {wrong}"


@pytest.mark.parametrize(("name", "path"), MODULES, ids=[name or "arenite" for name, _ in MODULES])
def test_third_parties_stay_in_their_place(name: str, path: Path) -> None:
    wrong = [
        target
        for target in _imports(path)
        if (places := ONLY_IN.get(target.split(".")[0])) is not None and not _within(name, places)
    ]
    assert not wrong, f"arenite.{name} may not import {wrong}"


def test_no_cycles() -> None:
    """Modules import each other in one direction only."""
    names = {name for name, _ in MODULES}
    edges: dict[str, set[str]] = {}
    for name, path in MODULES:
        targets = set()
        for target in _imports(path):
            inner = target.removeprefix("arenite.") if target.startswith("arenite.") else None
            while inner is not None and inner not in names:
                inner = inner.rpartition(".")[0] or None
            if inner is not None and inner != name:
                targets.add(inner)
        edges[name] = targets
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, f"import cycle: {' -> '.join((*trail[trail.index(name) :], name))}"
        if name not in done:
            for target in sorted(edges[name]):
                visit(target, (*trail, name))
            done.add(name)

    for name in edges:
        visit(name, ())
