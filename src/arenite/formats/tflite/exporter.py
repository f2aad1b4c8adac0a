"""From a model to a .tflite file."""

from collections.abc import Mapping

import numpy as np

from arenite.formats.tflite.buffers import BufferPool
from arenite.formats.tflite.details import GraphFacts, Signature, TfliteDetails
from arenite.formats.tflite.explicit_padding import with_pad_operators
from arenite.formats.tflite.flat import Record, Schema
from arenite.formats.tflite.reader import MAX_TABLES
from arenite.formats.tflite.schema import FILE_IDENTIFIER, FILE_VERSION, tflite_schema
from arenite.formats.tflite.subgraph_writer import OperatorCodes, SubgraphWriter
from arenite.formats.tflite.words import raise_for
from arenite.formats.tflite.writer import MAX_FILE_NBYTES, write
from arenite.ir.graph import Graph
from arenite.ir.model import Model

_ALIGNMENTS = {("Buffer", "data"): 16}


def export_model(model: Model) -> bytes:
    """The model as a .tflite file: the same bytes for the same model.

    What a file said besides the graph (see TfliteDetails) is written back where it still holds.

    Raises:
        ModelError: ops, types or sizes that a .tflite file cannot hold; all of one kind at once.
    """
    schema = tflite_schema()
    given = model.details if isinstance(model.details, TfliteDetails) else None
    details = given or TfliteDetails(main=GraphFacts(model.graph.name))
    graphs: list[tuple[Graph, GraphFacts]] = [(with_pad_operators(model.graph), details.main)]
    graphs += [(subgraph.graph, subgraph.facts) for subgraph in details.subgraphs]
    buffers, codes = BufferPool(schema), OperatorCodes(schema)
    writers = [SubgraphWriter(schema, graph, facts, buffers, codes) for graph, facts in graphs]
    raise_for(problem for writer in writers for problem in writer.problems())
    subgraphs = tuple(writer.record() for writer in writers)
    metadata = tuple(
        schema.record("Metadata", name=name, buffer=buffers.add_bytes(data)) for name, data in details.metadata
    )
    unnamed = [buffers.add_bytes(data) for data in details.metadata_buffers]
    raise_for(_too_large(buffers.nbytes))
    root = schema.record(
        "Model",
        version=FILE_VERSION,
        operator_codes=codes.records(),
        subgraphs=subgraphs,
        description=details.description,
        buffers=buffers.records(),
        metadata_buffer=np.array(unnamed, np.int32) if unnamed else None,
        metadata=metadata or None,
        signature_defs=_signatures(schema, details.signatures, [writer.indices for writer in writers]) or None,
    )
    raise_for(_too_many(root.n_tables))
    return write(root, FILE_IDENTIFIER, _ALIGNMENTS, buffers.nbytes + (1 << 16))


def _too_large(nbytes: int) -> list[str]:
    if nbytes <= MAX_FILE_NBYTES:
        return []
    return [f"the model's constants take {nbytes} bytes; a .tflite file holds at most {MAX_FILE_NBYTES}"]


def _too_many(n_tables: int) -> list[str]:
    if n_tables <= MAX_TABLES:
        return []
    return [f"the file would have {n_tables} tables; a .tflite file that Arenite reads has at most {MAX_TABLES}"]


def _signatures(
    schema: Schema, signatures: tuple[Signature, ...], indices: list[Mapping[str, int]]
) -> tuple[Record, ...]:
    records = []
    for signature in signatures:
        known = indices[signature.subgraph_index]
        # A value that a pass removed is in no signature any more.
        sides = [
            tuple(
                schema.record("TensorMap", name=name, tensor_index=known[value])
                for name, value in side
                if value in known
            )
            for side in (signature.inputs, signature.outputs)
        ]
        records.append(
            schema.record(
                "SignatureDef",
                inputs=sides[0],
                outputs=sides[1],
                signature_key=signature.key,
                subgraph_index=signature.subgraph_index,
            )
        )
    return tuple(records)
