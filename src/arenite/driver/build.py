"""From a model to a program and its C files: passes, lowering, code."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from arenite._base.errors import AreniteError, LimitError, ModelError
from arenite._base.remarks import Remark
from arenite.codegen.bundle import render
from arenite.codegen.names import Names
from arenite.driver.checks import check_compilable, float_problem, shortly
from arenite.driver.options import CompileOptions
from arenite.driver.toolbox import Toolbox, default_toolbox
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Graph
from arenite.ir.model import Model
from arenite.ir.opdef import Registry, Trait
from arenite.lower.lower import lower
from arenite.lower.program import Program
from arenite.lower.select import Objective
from arenite.passes.base import Pass
from arenite.passes.differential import Differential
from arenite.passes.fold import Fold
from arenite.passes.instruments import VerifyGraph
from arenite.passes.pipeline import PassRow, run_pipeline
from arenite.passes.resolve_state import ResolveState
from arenite.targets import Target, get, load_board

Step = Callable[[str], None]
"""Is told what is being done now."""

MOST_WORK = 2**30
"""Multiply-accumulates and bytes of a run that passes are checked by: some seconds."""


@dataclass(frozen=True)
class Build:
    """A model made into C.

    Attributes:
        graph: after all passes.
        files: name → contents: the network's own C files.
        tools: what it was made with.
    """

    model: Model
    options: CompileOptions
    target: Target
    graph: Graph
    program: Program
    passes: tuple[PassRow, ...]
    remarks: tuple[Remark, ...]
    files: dict[str, bytes]
    tools: Toolbox

    @property
    def names(self) -> Names:
        return Names(self.program.name)

    @property
    def public_symbols(self) -> tuple[str, ...]:
        """Every function that the header declares."""
        names = self.names
        inputs = (names.port("input", index) for index in range(len(self.program.inputs)))
        outputs = (names.port("output", index) for index in range(len(self.program.outputs)))
        return (names.invoke, names.reset, *inputs, *outputs)

    def write_sources(self, folder: Path, more: Mapping[str, bytes] | None = None) -> list[Path]:
        """Write the C files, and more of them, into a folder; the paths of those to compile."""
        files = {**self.files, **(more or {})}
        for name, data in files.items():
            (folder / name).write_bytes(data)
        return [folder / name for name in files if name.endswith(".c")]


def _passes(passes: tuple[Pass, ...], options: CompileOptions) -> list[Pass]:
    limit = options.fold_max_nbytes
    chosen = [
        replace(each, max_nbytes=limit) if isinstance(each, Fold) and limit is not None else each for each in passes
    ]
    return [each for each in chosen if each.name not in options.without]


def _in_pieces(error: AreniteError, options: CompileOptions, target: Target) -> Iterator[str]:
    """What the limit was, where a board has more RAM than that."""
    whole, largest = target.limit_nbytes("ram"), target.largest_nbytes("ram")
    if isinstance(error, LimitError) and options.ram_limit_nbytes is None and whole != largest:
        yield (
            f"{target.name} has {whole:,} bytes of RAM, but {largest:,} are the most that lie in one piece, as the "
            "arena must; --ram-limit sets another limit"
        )


def _not_started(graph: Graph, registry: Registry, remarks: Iterable[Remark]) -> Iterator[str]:
    """Why state has no first contents; without any, each of its handles would be named instead."""
    once = {node.name for node in graph.nodes if node.op in registry and registry[node.op].has(Trait.ONCE)}
    for remark in remarks:
        if remark.pass_name == ResolveState.name and remark.subject in once:
            yield (
                f"node '{remark.subject}': {remark.text}: compile a network in which it is first, and computes from "
                "constants alone"
            )


def find_target(name: str) -> Target:
    """A core by its name, or a board by the path of its .toml.

    Raises:
        UsageError: there is none.
    """
    return load_board(Path(name)) if name.endswith(".toml") else get(name)


def build(model: Model, options: CompileOptions, step: Step, toolbox: Toolbox | None = None) -> Build:
    """Optimise, lower and print a model. The model itself stays as it is.

    Raises:
        ModelError: operators that Arenite does not have, types that no kernel takes: all of them.
        LimitError: the arena does not fit the RAM.
        UsageError: unknown target.
    """
    target = find_target(options.target)
    tools = toolbox if toolbox is not None else default_toolbox()
    check_compilable(model, tools.registry)
    step("optimising the graph")
    graph = clone_graph(model.graph)
    instruments = (VerifyGraph(), Differential(n_random=1, edges=False, most_work=MOST_WORK))
    result = run_pipeline(graph, _passes(tools.passes, options), tools.registry, instruments=instruments)
    if problems := list(_not_started(graph, tools.registry, result.remarks)):
        raise ModelError(problems)
    step("choosing kernels, planning memory")
    # An array lies in one piece; what all memories hold together is checked when everything is known.
    limit = options.ram_limit_nbytes if options.ram_limit_nbytes is not None else target.largest_nbytes("ram")
    try:
        program = lower(
            graph,
            tools.registry,
            tools.kernels,
            name=options.name or model.name,
            objective=Objective(options.objective),
            ram_limit=limit,
        )
    except (ModelError, LimitError) as error:
        cause = float_problem(graph) if isinstance(error, ModelError) else None
        problems = [*([cause] if cause is not None else []), *shortly(graph, error.problems)]
        raise type(error)([*problems, *_in_pieces(error, options, target)]) from error
    step("writing C")
    texts = render(program, tools.kernels.manifests, tools.read_header)
    files = {name: text.encode() for name, text in texts.items()}
    return Build(model, options, target, graph, program, result.rows, result.remarks, files, tools)
