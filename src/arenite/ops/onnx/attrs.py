"""Attributes of nodes of the onnx dialect: a map of typed values, as the operator's schema says."""

from dataclasses import dataclass

from arenite.ir.attrs import AttrValue, ForeignAttrs, ProtoAttr, RegionRef, TensorAttr
from arenite.ir.graph import Array
from arenite.ir.opdef import OpError

__all__ = ["OnnxAttrs", "ProtoAttr", "RegionRef", "TensorAttr", "empty_list"]


def empty_list(kind: str) -> AttrValue:
    """An empty list as an attribute's value: `kind` is FLOATS, INTS, STRINGS..., which a list of none does not show."""
    return () if kind == "INTS" else ProtoAttr(kind, b"")


@dataclass(frozen=True)
class OnnxAttrs(ForeignAttrs):
    """Attributes of one node, sorted by name; `fields` holds (name, value).

    A value is an int, a float (of float32), a str (bytes where it is not UTF-8), a TensorAttr, a RegionRef (graph), a
    ProtoAttr (type, sparse tensor), or a tuple of such. A list of none that is not of ints is a ProtoAttr too.
    The accessors read an attribute by the type that it must have.
    """

    @staticmethod
    def of(**values: AttrValue) -> "OnnxAttrs":
        return OnnxAttrs(tuple(sorted(values.items())))

    def get(self, name: str) -> AttrValue:
        """The value of an attribute; None when it is not given. A list of none is ()."""
        for field, value in self.fields:
            if field == name:
                return () if isinstance(value, ProtoAttr) and value.kind.endswith("S") and not value.data else value
        return None

    def has(self, name: str) -> bool:
        return any(field == name for field, _ in self.fields)

    def with_value(self, name: str, value: AttrValue) -> "OnnxAttrs":
        """A copy where one attribute is set."""
        return OnnxAttrs(tuple(sorted([*(f for f in self.fields if f[0] != name), (name, value)], key=lambda f: f[0])))

    def without(self, *names: str) -> "OnnxAttrs":
        """A copy where some attributes are not given."""
        return OnnxAttrs(tuple(field for field in self.fields if field[0] not in names))

    def integer(self, name: str, default: int | None = None) -> int:
        """An attribute of type INT.

        Raises:
            OpError: it is of another type, or is missing and has no default.
        """
        value = self.get(name)
        if value is None and default is not None:
            return default
        if type(value) is not int:
            raise self._misfit(name, "an integer", value)
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """An attribute of type FLOAT. Raises as `integer` does."""
        value = self.get(name)
        if value is None and default is not None:
            return default
        if type(value) is not float:
            raise self._misfit(name, "a float", value)
        return value

    def text(self, name: str, default: str | None = None) -> str:
        """An attribute of type STRING. Raises as `integer` does."""
        value = self.get(name)
        if value is None and default is not None:
            return default
        if type(value) is not str:
            raise self._misfit(name, "a string", value)
        return value

    def integers(self, name: str) -> tuple[int, ...] | None:
        """An attribute of type INTS; None when it is not given. Raises as `integer` does."""
        value = self.get(name)
        if value is None:
            return None
        found = tuple(v for v in value if type(v) is int) if isinstance(value, tuple) else ()
        if not isinstance(value, tuple) or len(found) != len(value):
            raise self._misfit(name, "a list of integers", value)
        return found

    def numbers(self, name: str) -> tuple[float, ...] | None:
        """An attribute of type FLOATS; None when it is not given. Raises as `integer` does."""
        value = self.get(name)
        if value is None:
            return None
        found = tuple(v for v in value if type(v) is float) if isinstance(value, tuple) else ()
        if not isinstance(value, tuple) or len(found) != len(value):
            raise self._misfit(name, "a list of floats", value)
        return found

    def texts(self, name: str) -> tuple[str, ...] | None:
        """An attribute of type STRINGS; None when it is not given. Raises as `integer` does."""
        value = self.get(name)
        if value is None:
            return None
        found = tuple(v for v in value if type(v) is str) if isinstance(value, tuple) else ()
        if not isinstance(value, tuple) or len(found) != len(value):
            raise self._misfit(name, "a list of strings", value)
        return found

    def tensor(self, name: str) -> Array | None:
        """An attribute of type TENSOR; None when it is not given. Raises as `integer` does."""
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, TensorAttr):
            raise self._misfit(name, "a tensor", value)
        return value.array

    def region(self, name: str) -> int:
        """The index among the node's regions of an attribute of type GRAPH. Raises as `integer` does."""
        value = self.get(name)
        if not isinstance(value, RegionRef):
            raise self._misfit(name, "a graph", value)
        return value.index

    @staticmethod
    def _misfit(name: str, expected: str, found: AttrValue) -> OpError:
        if found is None:
            return OpError(f"attribute '{name}' ({expected}) is missing")
        shown = repr(found)
        return OpError(
            f"attribute '{name}' must be {expected}, found {shown if len(shown) < 60 else shown[:57] + '...'}"
        )
