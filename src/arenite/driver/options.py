"""What a user may ask of a compilation."""

from dataclasses import dataclass
from typing import Literal

from arenite.codegen.project import BundleKind

Simulate = Literal["auto", "on", "off"]
ObjectiveName = Literal["speed", "flash", "ram"]


@dataclass(frozen=True)
class CompileOptions:
    """Options of `arenite compile`.

    Attributes:
        target: a core's name, or the path of a board's .toml.
        name: prefix of symbols and files; None: from the file's stem.
        ram_limit_nbytes, flash_limit_nbytes: limits; None: the board's, and a core has none.
        simulate: `auto` builds and runs the firmware when the tools are there.
        fold_max_nbytes: how many bytes of constants one folding may add; None: the pass's own limit.
        without: names of passes that do not run.
        bundle: for which build system the files are laid out.
        keep: ops whose kernels the firmware keeps for later models.
        debug_layers: the firmware logs what each layer computes.
        compiler: `zig`, or the path of a cross compiler; None: the first one found.
    """

    target: str = "cortex-m4"
    name: str | None = None
    objective: ObjectiveName = "speed"
    ram_limit_nbytes: int | None = None
    flash_limit_nbytes: int | None = None
    simulate: Simulate = "auto"
    compiler: str | None = None
    fold_max_nbytes: int | None = None
    without: tuple[str, ...] = ()
    bundle: BundleKind = "cmake"
    keep: tuple[str, ...] = ()
    debug_layers: bool = False
