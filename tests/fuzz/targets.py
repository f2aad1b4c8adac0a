"""What is fuzzed: each target takes any bytes, and raises when something happens that must not.

A file is refused by a ModelError that people can read; what is accepted keeps its meaning when it is written and read.
"""

from collections.abc import Callable, Mapping

from arenite._base.errors import ModelError
from arenite.formats.tflite import export_model, import_model
from arenite.ir.graph import Graph
from arenite.ir.parser import parse_graph
from arenite.ir.printer import print_graph
from arenite.ir.verifier import verify
from arenite.ops import core_registry

_REGISTRY = core_registry()


class Finding(Exception):  # noqa: N818 - what a fuzzer looks for
    """Something that must not happen."""


def tflite_reader(data: bytes) -> bool:
    """Whether a file is accepted."""
    try:
        model = import_model(data, "fuzz")
    except ModelError as error:
        _check_message(error)
        return False
    verify(model.graph, _REGISTRY, allow_unknown=True)
    _check_text(model.graph)
    try:
        written = export_model(model)
    except ModelError as error:
        _check_message(error)
        raise Finding(f"what was read cannot be written: {error}") from error
    if export_model(import_model(written, "fuzz")) != written:
        raise Finding("what was written is another model")
    return True


def text_parser(data: bytes) -> bool:
    """Whether a text is accepted."""
    try:
        graph = parse_graph(data.decode("utf-8", "surrogateescape"), _REGISTRY)
    except ModelError as error:
        _check_message(error)
        return False
    verify(graph, _REGISTRY)
    _check_text(graph)
    return True


TARGETS: Mapping[str, Callable[[bytes], bool]] = {"tflite-reader": tflite_reader, "text-parser": text_parser}


def _check_message(error: ModelError) -> None:
    problems = [line for problem in error.problems for line in problem.split("\n")]
    if not problems or not all(line.strip() and line.isprintable() for line in problems):
        raise Finding(f"not a message for a person: {error.problems!r}") from error


def _check_text(graph: Graph) -> None:
    printed = print_graph(graph)
    again = print_graph(parse_graph(printed.text, _REGISTRY, printed.constants))
    if again.text != printed.text:
        raise Finding("the text of a graph is read as another graph")
