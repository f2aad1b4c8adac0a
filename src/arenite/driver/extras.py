"""What a bundle holds besides the network: helpers, self-test, kept kernels, logs, files of a build system."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from arenite._base.errors import UsageError
from arenite.codegen.bundle import render_debug_files, render_helper_files, render_kept_files, render_selftest_files
from arenite.codegen.project import Parts, code_path, project_files
from arenite.codegen.resolver import render_resolver
from arenite.codegen.selftest import Vector
from arenite.driver.build import Build
from arenite.driver.options import CompileOptions, ObjectiveName
from arenite.driver.resolver import resolver_methods
from arenite.driver.selftest import make_vector
from arenite.driver.tflm_arena import estimated_arena_nbytes
from arenite.driver.toolbox import Toolbox
from arenite.kernels.manifest import KernelInfo

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Extras:
    """Files by name, before they are laid out as a build system wants them.

    Attributes:
        vector: of the self-test; None when there is none.
        kept_kernels: those of `--keep`, with the op that each is for.
    """

    vector: Vector | None
    selftest: Files
    kept: Files
    kept_kernels: Mapping[str, str]
    other: Files


def make_extras(build: Build) -> Extras:
    """Everything that goes with a network.

    Raises:
        UsageError: an op that was to be kept is not there.
    """
    program, tools, options = build.program, build.tools, build.options
    kept = kept_kernels(options.keep, tools)
    infos = [tools.kernels.manifests[symbol] for symbol in kept]
    vector = make_vector(build)
    other = render_helper_files(program, tools.read_header)
    if methods := resolver_methods(build.model.graph):
        arena = estimated_arena_nbytes(build.model)
        other[build.names.resolver_header] = render_resolver(build.names, methods, arena)
    if options.debug_layers:
        other |= render_debug_files(program, tools.kernels.manifests, tools.read_header, log_options(build))
    return Extras(
        vector,
        _encoded(render_selftest_files(program, vector, tools.read_header) if vector else {}),
        _encoded(render_kept_files(program, infos, tools.read_header)),
        kept,
        _encoded(other),
    )


def lay_out(build: Build, extras: Extras) -> dict[str, bytes]:
    """All files of the bundle, where the kind of bundle wants them: path → contents."""
    kind, names = build.options.bundle, build.names
    code = {**build.files, **extras.selftest, **extras.kept, **extras.other}
    sources = [name for name in code if name.endswith(".c") and name != names.selftest_source]
    manifests = build.tools.kernels.manifests
    used = {*(call.kernel for call in build.program.calls), *extras.kept_kernels}
    parts = Parts(
        names,
        sources,
        names.selftest_source if names.selftest_source in code else "",
        any(manifests[symbol].uses_libm for symbol in used),
    )
    files = {code_path(kind, name): data for name, data in code.items()}
    return files | _encoded(project_files(kind, parts))


def kept_kernels(ops: tuple[str, ...], tools: Toolbox) -> dict[str, str]:
    """The kernels of ops, by symbol, with the op that they were asked for.

    Raises:
        UsageError: no such op, or one that needs no kernel; the nearest names are suggested.
    """
    known: dict[str, list[KernelInfo]] = {}
    for kernel in tools.kernels:
        known.setdefault(kernel.op, []).append(kernel.info)
    plain = {_plain(op): op for op in known}
    missing = [op for op in ops if _plain(op) not in plain]
    if missing:
        raise UsageError(f"--keep: {_unknown(op, plain)}" for op in missing)
    wanted = [plain[_plain(op)] for op in ops]
    return dict(sorted((info.symbol, op) for op in wanted for info in known[op]))


def log_options(build: Build) -> list[str]:
    """How a model was compiled, as far as it decides on the program: words that `options_of_log` reads."""
    options = build.options
    limit = options.ram_limit_nbytes if options.ram_limit_nbytes is not None else build.target.largest_nbytes("ram")
    words = [f"target={build.target.core}", f"optimize={options.objective}"]
    words += [f"ram={limit}"] if limit is not None else []
    words += [f"fold-max={options.fold_max_nbytes}"] if options.fold_max_nbytes is not None else []
    return [*words, *(f"without={name}" for name in options.without)]


def options_of_log(words: Mapping[str, list[str]]) -> CompileOptions:
    """The options that `log_options` wrote.

    Raises:
        ValueError, KeyError: they are none.
    """
    objectives: tuple[ObjectiveName, ...] = ("speed", "flash", "ram")
    return CompileOptions(
        target=words["target"][0],
        name=words["name"][0],
        objective=objectives[objectives.index(words["optimize"][0])],
        ram_limit_nbytes=int(words["ram"][0]) if "ram" in words else None,
        fold_max_nbytes=int(words["fold-max"][0]) if "fold-max" in words else None,
        simulate="off",
        without=tuple(words.get("without", ())),
    )


def _plain(op: str) -> str:
    """TFLite's CONV_2D is our conv2d."""
    return op.lower().replace("_", "")


def _unknown(op: str, plain: Mapping[str, str]) -> str:
    near = [plain[each] for each in get_close_matches(_plain(op), list(plain), n=3)]
    return f"no kernel is there for '{op}'" + (f"; did you mean {', '.join(near)}?" if near else "; see 'arenite ops'")


def _encoded(texts: Mapping[str, str]) -> dict[str, bytes]:
    return {name: text.encode() for name, text in texts.items()}
