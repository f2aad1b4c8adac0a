"""All C files of a compiled network, and what those who ask for it get besides."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from arenite.codegen.data import render_data_header, render_data_source
from arenite.codegen.debug import DEBUG_HEADER, LayerLog, render_debug_header, render_debug_source
from arenite.codegen.header import render_header
from arenite.codegen.helpers import REAL_HEADER, is_quantized, render_helpers
from arenite.codegen.kept import render_kept_header, render_kept_source
from arenite.codegen.names import Names
from arenite.codegen.selftest import SELFTEST_HEADER, Vector, render_selftest_header, render_selftest_source
from arenite.codegen.source import render_source
from arenite.codegen.state import BYTES_HEADER
from arenite.kernels.manifest import KernelInfo
from arenite.lower.program import Program

PORT_HEADER = "arenite_port.h"

ReadHeader = Callable[[str], str]
"""The text of a header by its file name."""


def include_dir() -> Path:
    """The folder of the headers that belong to no kernel."""
    return Path(__file__).parent / "include"


def render(program: Program, manifests: Mapping[str, KernelInfo], read_header: ReadHeader) -> dict[str, str]:
    """The C files of a program: name → contents, the same bytes for equal programs.

    Args:
        program: what to print.
        manifests: the C kernels by symbol; those that the program calls are enough.
        read_header: text of a kernel header by its file name.
    """
    names = Names(program.name)
    used = {call.kernel: manifests[call.kernel] for call in program.calls}
    files = {
        names.header: render_header(program),
        names.source: render_source(program, used),
        names.data_header: render_data_header(program),
        names.data_source: render_data_source(program),
    }
    headers = {PORT_HEADER, *_headers(used.values())}
    headers |= {BYTES_HEADER} if program.states else set()
    files |= {header: read_header(header) for header in sorted(headers)}
    return files


def render_helper_files(program: Program, read_header: ReadHeader) -> dict[str, str]:
    """Conversions of quantized inputs and outputs; nothing where there are none."""
    if not any(map(is_quantized, (*program.inputs, *program.outputs))):
        return {}
    return {Names(program.name).helpers_header: render_helpers(program), REAL_HEADER: read_header(REAL_HEADER)}


def render_selftest_files(program: Program, vector: Vector, read_header: ReadHeader) -> dict[str, str]:
    """The self-test."""
    names = Names(program.name)
    return {
        names.selftest_header: render_selftest_header(program, vector),
        names.selftest_source: render_selftest_source(program, vector),
        SELFTEST_HEADER: read_header(SELFTEST_HEADER),
    }


def render_debug_files(
    program: Program, manifests: Mapping[str, KernelInfo], read_header: ReadHeader, options: Sequence[str]
) -> dict[str, str]:
    """What a debug build has in place of the same files, and besides."""
    names = Names(program.name)
    return {
        names.source: render_source(program, manifests, LayerLog(program, manifests, options)),
        names.debug_header: render_debug_header(names),
        names.debug_source: render_debug_source(names),
        DEBUG_HEADER: read_header(DEBUG_HEADER),
    }


def render_kept_files(program: Program, kernels: Sequence[KernelInfo], read_header: ReadHeader) -> dict[str, str]:
    """Kernels for later models; nothing without any."""
    if not kernels:
        return {}
    names = Names(program.name)
    return {
        names.kept_header: render_kept_header(names, kernels),
        names.kept_source: render_kept_source(names, kernels),
        **{header: read_header(header) for header in sorted({PORT_HEADER, *_headers(kernels)})},
    }


def _headers(kernels: Iterable[KernelInfo]) -> set[str]:
    return {header for kernel in kernels for header in (kernel.header, *kernel.headers)}
