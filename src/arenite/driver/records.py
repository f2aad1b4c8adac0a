"""From a build and its measurement to the records of the report."""

from collections.abc import Mapping

from arenite.driver.build import Build
from arenite.driver.extras import Extras
from arenite.driver.graph_records import graphs_record, node_records
from arenite.driver.measure import LayerRun, Measurement
from arenite.driver.tflm_arena import estimated_arena_nbytes
from arenite.lower.program import ConstantKind, ConstantRef, KernelCall, Port
from arenite.report.result import (
    AlternativeRecord,
    BufferRecord,
    FlashRecord,
    KeptRecord,
    LayerRecord,
    MemoryRecord,
    ModelRecord,
    PassRecord,
    PortRecord,
    RamRecord,
    RemarkRecord,
    Report,
    SimulationRecord,
    Trim,
    TrimKernel,
)


def make_report(build: Build, measured: Measurement | None, files: tuple[str, ...], version: str) -> Report:
    """The content of report.json."""
    run = measured.run if measured else None
    program = build.program
    return Report(
        arenite=version,
        files=files,
        model=ModelRecord(
            name=build.model.name,
            sha256=build.model.sha256,
            inputs=tuple(map(_port, program.inputs)),
            outputs=tuple(map(_port, program.outputs)),
        ),
        target=build.target.name,
        memory=_memory(build),
        flash=_flash(build, measured),
        ram=RamRecord(
            arena_nbytes=program.placement.arena_nbytes,
            static_nbytes=measured.static_nbytes if measured else None,
            stack_nbytes=run.stack_nbytes if run else None,
        ),
        simulation=SimulationRecord(run.cpu, measured.compiler, run.instructions, run.cycles_estimate)
        if measured and run
        else None,
        layers=tuple(
            _layer(build, call, run.layers[index] if run else None) for index, call in enumerate(program.calls)
        ),
        passes=tuple(
            PassRecord(
                name=row.name,
                changed=row.changed,
                nodes_before=row.nodes_before,
                nodes_after=row.nodes_after,
                milliseconds=round(row.milliseconds, 3),
                equivalence=str(row.equivalence),
                max_error=row.max_error,
            )
            for row in build.passes
        ),
        remarks=tuple(
            RemarkRecord(r.kind.value, r.pass_name, r.reason.slug, r.subject, r.text, r.origin) for r in build.remarks
        ),
        graphs=graphs_record(node_records(build.model.graph), node_records(build.graph), build.remarks),
    )


def make_trim(build: Build, extras: Extras, measured: Measurement | None) -> Trim:
    """The content of trim.json: the kernels that ship, and what they cost."""
    groups: dict[tuple[str, str], list[int]] = {}
    for index, call in enumerate(build.program.calls):
        groups.setdefault((call.kernel, call.variant), []).append(index)
    sizes = _code_by_group(build, groups, measured.functions) if measured else {}
    kernels = tuple(_trim_kernel(build, key, indices, sizes.get(key)) for key, indices in groups.items())
    padding: dict[str, int] = {}
    if measured:
        mine = sum(nbytes for name, nbytes in measured.functions.items() if _is_interface(build, name))
        known = sum(sizes.values())
        helpers = sum(measured.functions.values()) - known - mine
        rest = measured.code_nbytes - known - mine - helpers
        padding = {
            "invoke_and_accessors_nbytes": mine,
            "helpers_nbytes": helpers,
            "literals_and_alignment_nbytes": rest,
        }
    return Trim(
        kernels,
        padding,
        measured.full_build_nbytes if measured else None,
        kept=tuple(
            KeptRecord(symbol, op, measured.kept[symbol] if measured else None)
            for symbol, op in extras.kept_kernels.items()
        ),
        kept_nbytes=measured.kept_nbytes if measured else None,
        selftest_nbytes=measured.selftest_nbytes if measured else None,
        tflm_arena_nbytes=estimated_arena_nbytes(build.model),
    )


def _code_by_group(
    build: Build, groups: Mapping[tuple[str, str], list[int]], functions: Mapping[str, int]
) -> dict[tuple[str, str], int]:
    """Bytes of code of each kernel: its layers' functions, and its own when the compiler left it a function.

    A function of a kernel that several variants use is charged to the first.
    """
    sizes = {key: sum(functions.get(build.names.layer(i), 0) for i in indices) for key, indices in groups.items()}
    charged: set[str] = set()
    for symbol, variant in groups:
        own = {name for name in functions if name == symbol or name.startswith(f"{symbol}_")} - charged
        sizes[symbol, variant] += sum(functions[name] for name in own)
        charged |= own
    return sizes


def _is_interface(build: Build, function: str) -> bool:
    return function in build.public_symbols


def _trim_kernel(build: Build, key: tuple[str, str], indices: list[int], nbytes: int | None) -> TrimKernel:
    calls = [build.program.calls[index] for index in indices]
    first = calls[0]
    return TrimKernel(
        symbol=key[0],
        variant=key[1],
        nbytes=nbytes,
        scratch_nbytes=max(call.scratch_nbytes for call in calls),
        layers=tuple(call.name for call in calls),
        why=first.why,
        alternatives=tuple(AlternativeRecord(a.kernel, None, a.cost, a.why_not) for a in first.alternatives),
    )


def _port(port: Port) -> PortRecord:
    return PortRecord(port.name, port.shape, str(port.dtype), port.scale, port.zero_point)


def _memory(build: Build) -> MemoryRecord:
    placement = build.program.placement
    return MemoryRecord(
        arena_nbytes=placement.arena_nbytes,
        lower_bound_nbytes=placement.lower_bound_nbytes,
        optimal=placement.optimal,
        alignment=placement.alignment,
        buffers=tuple(
            BufferRecord(b.name, placement.offsets[b.name], b.nbytes, b.first, b.end) for b in build.program.buffers
        ),
    )


def _flash(build: Build, measured: Measurement | None) -> FlashRecord:
    constants = build.program.constants
    weights = sum(c.data.nbytes for c in constants if c.kind is ConstantKind.WEIGHTS)
    tables = sum(c.data.nbytes for c in constants if c.kind is ConstantKind.TABLE)
    if measured is None:
        return FlashRecord(weights, tables, None)
    return FlashRecord(weights, max(0, measured.rodata_nbytes - weights), measured.code_nbytes)


def _layer(build: Build, call: KernelCall, run: LayerRun | None) -> LayerRecord:
    constants = {constant.name: constant for constant in build.program.constants}
    weights = {
        ref.constant: constants[ref.constant].data.nbytes
        for ref in call.arguments.values()
        if isinstance(ref, ConstantRef) and constants[ref.constant].kind is ConstantKind.WEIGHTS
    }
    return LayerRecord(
        name=call.name,
        op=call.op,
        kernel=call.kernel,
        macs=call.macs,
        instructions=run.instructions if run else None,
        cycles_estimate=run.cycles_estimate if run else None,
        weights_nbytes=sum(weights.values()),
        scratch_nbytes=call.scratch_nbytes,
        origin=call.origin,
        variant=call.variant,
        why=call.why,
    )
