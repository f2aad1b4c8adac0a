"""What a compilation works with: ops, kernels, passes, headers; extended by packages that are installed beside."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from arenite import codegen
from arenite import kernels as c_kernels
from arenite._base.errors import ToolError
from arenite.ir.opdef import OpDef, Registry
from arenite.lower import kernels
from arenite.lower.kernel import Kernel
from arenite.lower.kernelset import KernelSet
from arenite.ops import core_registry
from arenite.passes.base import Pass
from arenite.passes.presets import default_passes, legalizing_passes

ENTRY_POINTS = "arenite.plugins"


@dataclass(frozen=True)
class Extension:
    """What a package adds to Arenite: the value of an entry point in the group `arenite.plugins`.

    Attributes:
        passes: run after our own, in order.
        header_folders: where the C headers of its kernels lie.
    """

    name: str
    ops: tuple[OpDef, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    passes: tuple[Pass, ...] = ()
    header_folders: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Toolbox:
    """Immutable; extended by making another one."""

    registry: Registry
    kernels: KernelSet
    passes: tuple[Pass, ...]
    header_folders: tuple[Path, ...]

    def extended_with(self, extension: Extension) -> "Toolbox":
        """A toolbox that has the extension's parts too.

        Raises:
            ToolError: it takes names that are taken.
        """
        try:
            return replace(
                self,
                registry=self.registry.extended_with(extension.ops),
                kernels=self.kernels.extended_with(extension.kernels),
                passes=(*self.passes, *extension.passes),
                header_folders=(*self.header_folders, *extension.header_folders),
            )
        except ValueError as error:
            raise ToolError(f"extension '{extension.name}' does not fit: {error}") from None

    def read_header(self, name: str) -> str:
        """The text of a kernel header.

        Raises:
            ToolError: no folder has it.
        """
        for folder in self.header_folders:
            if (folder / name).is_file():
                return (folder / name).read_text(encoding="utf-8")
        raise ToolError(f"no folder has the header '{name}' that a kernel asks for")


def own_toolbox() -> Toolbox:
    """What Arenite itself has."""
    folders = (c_kernels.include_dir(), codegen.include_dir())
    return Toolbox(core_registry(), kernels(), (*legalizing_passes(), *default_passes()), folders)


@cache
def default_toolbox() -> Toolbox:
    """What Arenite has, and what installed extensions add.

    Raises:
        ToolError: an extension cannot be loaded or does not fit.
    """
    return _extended(own_toolbox(), (_load(point.name) for point in entry_points(group=ENTRY_POINTS)))


def _extended(toolbox: Toolbox, extensions: Iterable[Extension]) -> Toolbox:
    for extension in extensions:
        toolbox = toolbox.extended_with(extension)
    return toolbox


def _load(name: str) -> Extension:
    (point,) = entry_points(group=ENTRY_POINTS, name=name)
    try:
        found = point.load()
    except Exception as error:
        raise ToolError(f"extension '{name}' cannot be loaded: {error}; uninstall it or mend it") from error
    if not isinstance(found, Extension):
        raise ToolError(f"extension '{name}' is {type(found).__name__}, not an arenite Extension")
    return found
