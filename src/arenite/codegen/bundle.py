"""All files of a compiled network."""

from collections.abc import Callable, Mapping, Sequence

from arenite.codegen.data import render_data_header, render_data_source
from arenite.codegen.header import render_header
from arenite.codegen.names import Names
from arenite.codegen.project import render_cmake, render_resolver
from arenite.codegen.source import render_source
from arenite.codegen.state import BYTES_HEADER
from arenite.kernels.manifest import KernelInfo
from arenite.lower.program import Program

PORT_HEADER = "arenite_port.h"


def render(
    program: Program,
    manifests: Mapping[str, KernelInfo],
    read_header: Callable[[str], str],
    *,
    resolver_methods: Sequence[str] = (),
) -> dict[str, str]:
    """The files of a program: name → contents, the same bytes for equal programs.

    Args:
        program: what to print.
        manifests: the C kernels by symbol; those that the program calls are enough.
        read_header: text of a kernel header by its file name.
        resolver_methods: methods of TFLite-Micro's op resolver that register the model's operators; without any there
            is no `<name>_op_resolver.h`.
    """
    names = Names(program.name)
    used = {call.kernel: manifests[call.kernel] for call in program.calls}
    files = {
        names.header: render_header(program),
        names.source: render_source(program, used),
        names.data_header: render_data_header(program),
        names.data_source: render_data_source(program),
        "CMakeLists.txt": render_cmake(names, used.values()),
    }
    headers = {PORT_HEADER, *(h for info in used.values() for h in (info.header, *info.headers))}
    headers |= {BYTES_HEADER} if program.states else set()
    files |= {header: read_header(header) for header in sorted(headers)}
    if resolver_methods:
        methods = sorted(set(resolver_methods))
        files[names.resolver_header] = render_resolver(names, methods)
    return files
