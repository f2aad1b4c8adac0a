"""VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE and CALL_ONCE. Versions: LiteRT's table of operator versions."""

from arenite.formats.tflite.codec import Codec, OptionMap, same
from arenite.ir.attrs import Attrs
from arenite.ir.opdef import OpCall
from arenite.ops.state import CallOnceAttrs, VarHandleAttrs


def _text(attr: str) -> OptionMap:
    return OptionMap(attr, (attr,), lambda record: record.text(attr) or "", lambda _, value: {attr: value})


def _first(call: OpCall) -> int:
    return 1


CODECS = (
    Codec(
        "VAR_HANDLE",
        "var_handle",
        VarHandleAttrs,
        "VarHandleOptions",
        (_text("container"), _text("shared_name")),
        1,
        _first,
    ),
    Codec("READ_VARIABLE", "read_variable", Attrs, "ReadVariableOptions", (), 1, _first),
    Codec("ASSIGN_VARIABLE", "assign_variable", Attrs, "AssignVariableOptions", (), 1, _first),
    Codec(
        "CALL_ONCE",
        "call_once",
        CallOnceAttrs,
        "CallOnceOptions",
        (same("subgraph", "init_subgraph_index"),),
        1,
        _first,
    ),
)
