"""Names of operators and of results that are not there."""

from arenite.ir.graph import Value

DEFAULT_DOMAIN = ""
PREFIX = "onnx."
ABSENT_PREFIX = "(absent) "
"""Begins the name of a result that the file leaves out (its name there is empty): it is counted, but never read."""


def op_name(domain: str, operator: str) -> str:
    """`onnx.Conv`; `onnx.com.microsoft::Gelu` outside the default domain, whose other name is `ai.onnx`."""
    return f"{PREFIX}{operator}" if domain in (DEFAULT_DOMAIN, "ai.onnx") else f"{PREFIX}{domain}::{operator}"


def is_onnx(op: str) -> bool:
    return op.startswith(PREFIX)


def split_op(op: str) -> tuple[str, str]:
    """Domain and operator of an op's name.

    Raises:
        ValueError: it is no op of the onnx dialect.
    """
    if not is_onnx(op):
        raise ValueError(f"'{op}' is no operator of ONNX")
    domain, separator, operator = op.removeprefix(PREFIX).rpartition("::")
    return (domain, operator) if separator else (DEFAULT_DOMAIN, operator)


def is_absent(value: Value) -> bool:
    """Whether a result only stands where the file has an empty name."""
    return value.name.startswith(ABSENT_PREFIX) and not value.is_read
