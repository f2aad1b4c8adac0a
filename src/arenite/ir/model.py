"""A model: a graph and what the file says besides."""

from dataclasses import dataclass, field

from arenite.ir.graph import Graph


@dataclass(frozen=True)
class Details:
    """Base of what a format keeps beside the graph (description, signatures, metadata) to write it back."""


@dataclass
class Model:
    """A loaded network.

    Attributes:
        name: from the file's stem, or given.
        graph: the network.
        format: `tflite` or `onnx`.
        details: the format's own facts.
        sha256: of the file it was read from; empty when it came from none.
    """

    name: str
    graph: Graph
    format: str = "tflite"
    details: Details = field(default_factory=Details)
    sha256: str = ""


def check_loaded(model: object) -> None:
    """Refuse what is no model, such as the path of one.

    Raises:
        TypeError: says how to load it.
    """
    if not isinstance(model, Model):
        raise TypeError(f"expected a Model, found {type(model).__name__}; load a file with arenite.load(path)")
