"""`compile`: a model file becomes a folder of C99 and reports."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from os import PathLike
from pathlib import Path

from arenite._base.errors import LimitError, ToolError
from arenite._base.files import check_folder
from arenite._base.text import counted
from arenite.driver.build import Build, Step, build, find_target
from arenite.driver.explain_text import ROUTINE
from arenite.driver.extras import lay_out, make_extras
from arenite.driver.load import load_model
from arenite.driver.measure import Measurement, measure, why_not_measurable
from arenite.driver.options import CompileOptions
from arenite.driver.output import write_bundle
from arenite.driver.records import make_report, make_trim
from arenite.ir.model import Model
from arenite.report.html import CLOCK_HZ, render_html
from arenite.report.result import Report, Trim

REPORTS = ("report.json", "trim.json", "report.html")


@dataclass(frozen=True)
class CompileResult:
    """A compiled model.

    Attributes:
        files: name → contents of the whole bundle, reports included.
        note: why the firmware was not built or simulated; empty when it was.
    """

    build: Build
    report: Report
    trim: Trim
    files: Mapping[str, bytes]
    note: str

    def write(self, folder: str | PathLike[str], *, inputs: Sequence[Path] = ()) -> None:
        """Write the bundle into a folder: all of it, or nothing.

        Args:
            folder: made when it is missing.
            inputs: files that are never replaced.

        Raises:
            DataError: the folder cannot be written, or holds files of others under these names.
        """
        write_bundle(Path(folder), self.files, inputs=inputs)

    def summary(self, folder: Path) -> str:
        """What a person wants to know first."""
        report = self.report
        memory, flash, ram = report.memory, report.flash, report.ram
        proof = "optimal" if memory.optimal else f"lower bound {memory.lower_bound_nbytes:,}"
        lines = [
            f"{report.model.name} for {report.target}: {counted(len(report.layers), 'layer')}, {folder}/",
            f"  arena   {memory.arena_nbytes:>10,} bytes ({proof})",
        ]
        if ram.stack_nbytes is not None:
            lines.append(f"  stack   {ram.stack_nbytes:>10,} bytes, static {ram.static_nbytes:,}")
        lines.append(f"  weights {flash.weights_nbytes:>10,} bytes, tables {flash.tables_nbytes:,}")
        if flash.code_nbytes is not None:
            lines.append(f"  code    {flash.code_nbytes:>10,} bytes")
        if report.simulation is not None:
            cycles = report.simulation.cycles_estimate
            about = (
                f"; no time: Arm publishes no cycles of {self.build.target.core}"
                if cycles is None
                else f", about {cycles / CLOCK_HZ * 1000:.2f} ms at {CLOCK_HZ // 10**6} MHz"
            )
            lines.append(f"  runs    {report.simulation.instructions:>10,} instructions{about}")
        if self.trim.kept:
            kept = ", ".join(dict.fromkeys(record.op for record in self.trim.kept))
            price = "" if self.trim.kept_nbytes is None else f" {self.trim.kept_nbytes:>10,} bytes of flash,"
            lines.append(f"  kept   {price} for {kept}")
        if self.build.options.debug_layers:
            lines.append("  logs    what each layer computes; the figures are those of the build without")
        lines.append(f"  report  {folder / 'report.html'}")
        return "\n".join(lines)


def compile_file(path: Path, folder: Path | None, options: CompileOptions, step: Step) -> tuple[CompileResult, Path]:
    """Compile a model file and write the bundle; the folder defaults to `./<stem>-arenite`.

    Raises:
        AreniteError: see `compile_loaded` and `load_model`.
    """
    find_target(options.target)
    destination = folder if folder is not None else Path(f"{path.stem}-arenite")
    step(f"reading {path.name}")
    model = load_model(path)
    check_folder(destination)
    result = compile_loaded(model, options, step)
    result.write(destination, inputs=(path, Path(options.target)))
    return result, destination


def compile_loaded(model: Model, options: CompileOptions, step: Step) -> CompileResult:
    """Compile a model in memory.

    Raises:
        ModelError: operators or types that Arenite does not have.
        LimitError: RAM or flash exceed the limits.
        ToolError: simulation was asked for and is not possible, or a tool failed.
        SelfCheckError: our own result failed its check.
    """
    built = build(model, options, step)
    extras = make_extras(built)
    note, measured = "", None
    if options.simulate != "off":
        note = why_not_measurable(built.target, options.compiler) or ""
        if note and options.simulate == "on":
            raise ToolError(note)
        measured = None if note else measure(built, extras, step)
        if measured and measured.run is None:
            note = f"not simulated on {built.target.name}: {built.target.cannot_simulate}"
            if options.simulate == "on":
                raise ToolError(note)
    note = "; ".join(filter(None, (note, _check_limits(built, measured))))
    step("writing reports")
    bundle = lay_out(built, extras)
    report = make_report(built, measured, tuple(sorted((*bundle, *REPORTS))), version("arenite"))
    trim = make_trim(built, extras, measured)
    files = {
        **bundle,
        "report.json": _json(report.to_json()),
        "trim.json": _json(trim.to_json()),
        "report.html": _text(render_html(report, trim, ROUTINE)),
    }
    return CompileResult(built, report, trim, files, note)


def _json(content: object) -> bytes:
    return _text(json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def _text(text: str) -> bytes:
    """UTF-8. Names that are none hold lone surrogates: those are escaped, as JSON would escape them."""
    return text.encode("utf-8", "backslashreplace")


def _check_limits(built: Build, measured: Measurement | None) -> str:
    """What the limits could not be held against, as it was not measured; empty when all was.

    Raises:
        LimitError: what is known is more than a limit.
    """
    options, target = built.options, built.target
    flash_limit = options.flash_limit_nbytes if options.flash_limit_nbytes is not None else target.limit_nbytes("flash")
    ram_limit = options.ram_limit_nbytes if options.ram_limit_nbytes is not None else target.limit_nbytes("ram")
    constants = sum(constant.data.nbytes for constant in built.program.constants)
    weights = max(constants, measured.rodata_nbytes if measured else 0)
    flash = {
        "code": measured.code_nbytes if measured else None,
        "weights and tables": weights,
        **({"kept kernels": measured.kept_nbytes} if measured and measured.kept_nbytes else {}),
    }
    ram = {
        "arena": built.program.placement.arena_nbytes,
        "static": measured.static_nbytes if measured else None,
        "stack": measured.run.stack_nbytes if measured and measured.run else None,
    }
    advice = "a smaller model" if flash_limit is not None and weights > flash_limit else "--optimize flash"
    problems = [*_excess("flash", flash, flash_limit, f"; try {advice}"), *_excess("RAM", ram, ram_limit, "")]
    if problems:
        raise LimitError(problems)
    left_out = [*_unmeasured("flash", flash, flash_limit), *_unmeasured("RAM", ram, ram_limit)]
    return "; ".join(left_out)


def _excess(memory: str, parts: Mapping[str, int | None], limit: int | None, advice: str) -> list[str]:
    needed = sum(nbytes or 0 for nbytes in parts.values())
    if limit is None or needed <= limit:
        return []
    listed = ", ".join(
        f"{part} {'not measured' if nbytes is None else f'{nbytes:,}'}" for part, nbytes in parts.items()
    )
    least = "at least " if None in parts.values() else ""
    return [f"{memory}: {least}{needed:,} bytes are needed ({listed}), {limit:,} are allowed{advice}"]


def _unmeasured(memory: str, parts: Mapping[str, int | None], limit: int | None) -> list[str]:
    missing = [part for part, nbytes in parts.items() if nbytes is None]
    if limit is None or not missing:
        return []
    were = "was" if len(missing) == 1 else "were"
    return [f"the {memory} limit holds without {' and '.join(missing)}, which {were} not measured"]
