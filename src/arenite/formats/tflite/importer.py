"""From a .tflite file to a model: one operator in, one node out."""

import hashlib
from collections.abc import Sequence

from arenite.formats.tflite.details import Signature, Subgraph, TfliteDetails
from arenite.formats.tflite.file import TfliteFile
from arenite.formats.tflite.flat import Record
from arenite.formats.tflite.subgraph import SubgraphReader
from arenite.formats.tflite.tensors import TensorReader
from arenite.formats.tflite.words import raise_for, shown
from arenite.ir.model import Model
from arenite.ops import core_registry

_MAX_UNKNOWN = 20


def import_model(data: bytes, name: str) -> Model:
    """Read a .tflite file.

    Operators that are no op of ours become `tflite.<NAME>` (`tflite.custom.<code>`) with ForeignAttrs. Constants are
    read-only views of `data`. Dimensions that the file leaves dynamic are frozen to the shape that it gives.

    Args:
        data: the whole file. It may be damaged or hostile.
        name: what to call the model.

    Raises:
        ModelError: the file cannot be read as a model; all problems of one kind at once.
    """
    file = TfliteFile(data)
    subgraphs = _read_subgraphs(file)
    others = {index: subgraph.build() for index, subgraph in enumerate(subgraphs) if index}
    # What the main graph runs are copies: it may be changed, and the file's subgraphs are written back as they are.
    graphs = [subgraphs[0].build({index: graph for index, (graph, _) in others.items()}), *others.values()]
    notes = [note for subgraph in subgraphs for note in subgraph.notes]
    notes += [f"{field} is newer than Arenite and was dropped" for field in file.unknown_fields]
    return Model(
        name,
        graphs[0][0],
        "tflite",
        TfliteDetails(
            file.model.text("description"),
            graphs[0][1],
            tuple(Subgraph(graph, facts) for graph, facts in graphs[1:]),
            _read_signatures(file, subgraphs),
            *_read_metadata(file),
            tuple(notes),
        ),
        hashlib.sha256(data).hexdigest(),
    )


def _read_subgraphs(file: TfliteFile) -> list[SubgraphReader]:
    tensors = TensorReader(file)
    codes = file.operator_codes()
    records = file.model.records("subgraphs")
    readers = [SubgraphReader(file, codes, record, index, tensors) for index, record in enumerate(records)]
    raise_for([*tensors.problems, *_problems(readers, damaged=bool(tensors.problems))])
    return readers


def _problems(readers: Sequence[SubgraphReader], *, damaged: bool) -> list[str]:
    """Everything that is wrong beyond tensors; when there is anything, what keeps the file from being run as well."""
    if found := [problem for reader in readers for problem in reader.check_indices()]:
        return found
    wiring = [problem for reader in readers for problem in reader.check_producers()]
    states = [problem for reader in readers for problem in reader.check_states()]
    found = states + wiring + [problem for reader in readers for problem in reader.check_operators()]
    if not found and not damaged:
        return []
    if not wiring:
        registry = core_registry()
        found += [problem for reader in readers for problem in reader.graph_problems(registry)]
    unknown = [title for reader in readers for title in reader.unknown_operators()]
    if unknown:
        listed = ", ".join(unknown[:_MAX_UNKNOWN])
        more = f" and {len(unknown) - _MAX_UNKNOWN} more" if len(unknown) > _MAX_UNKNOWN else ""
        found.append(f"Arenite does not have these operators: {listed}{more}")
    return found


def _read_metadata(file: TfliteFile) -> tuple[tuple[tuple[str | None, bytes], ...], tuple[bytes, ...]]:
    problems = []
    named: list[tuple[str | None, bytes]] = []
    unnamed: list[bytes] = []
    for record in file.model.records("metadata"):
        try:
            named.append((record.text("name"), file.contents(record.integer("buffer"))))
        except ValueError as error:
            problems.append(f"metadata {shown(record.text('name'))}: {error}")
    for index in file.model.integers("metadata_buffer"):
        try:
            unnamed.append(file.contents(index))
        except ValueError as error:
            problems.append(f"metadata without a name: {error}")
    raise_for(problems)
    return tuple(named), tuple(unnamed)


def _read_signatures(file: TfliteFile, subgraphs: Sequence[SubgraphReader]) -> tuple[Signature, ...]:
    problems: list[str] = []
    signatures = []
    for record in file.model.records("signature_defs"):
        key, index = record.text("signature_key"), record.integer("subgraph_index")
        if index >= len(subgraphs):
            problems.append(f"signature {shown(key)}: subgraph {index} does not exist: the file has {len(subgraphs)}")
            continue
        names = [_signature_names(record, side, subgraphs[index], problems) for side in ("inputs", "outputs")]
        signatures.append(Signature(key, names[0], names[1], index))
    raise_for(problems)
    return tuple(signatures)


def _signature_names(
    record: Record, side: str, subgraph: SubgraphReader, problems: list[str]
) -> tuple[tuple[str | None, str], ...]:
    names = []
    for item in record.records(side):
        index = item.integer("tensor_index")
        if index >= subgraph.n_tensors:
            problems.append(
                f"signature {shown(record.text('signature_key'))}: {side} {shown(item.text('name'))}: tensor {index} "
                f"does not exist: the subgraph has {subgraph.n_tensors} tensors"
            )
        elif subgraph.value_name(index) is not None:
            names.append((item.text("name"), subgraph.value_name(index) or ""))
    return tuple(names)
