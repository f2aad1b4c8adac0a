"""Damaged .onnx files are converted right, or refused: never an error of our own, and nothing half-written."""

import functools
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from arenite._base.errors import AreniteError
from arenite.driver.convert import convert_file
from arenite.driver.convert_result import ConvertOptions
from arenite.driver.optimize_result import OptimizeOptions
from arenite.formats.tflite import import_model
from convert_cases import NET, net

OPTIONS = ConvertOptions(OptimizeOptions(check=1))


@functools.cache
def whole() -> bytes:
    """A net; its nodes come first in the file, `n_y` last of them."""
    return bytes(net(NET.replace("[N,", "[1,")).SerializeToString())


@given(
    st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=3),
    st.booleans(),
    st.integers(0, 3),
)
def test_bytes_that_are_others_or_gone(changes: list[tuple[int, int]], nodes_only: bool, gone: int) -> None:
    data = bytearray(whole())
    end = data.index(b"n_y") if nodes_only else len(data)
    for place, value in changes:
        data[place % end] = value
    first = changes[0][0] % end
    del data[first : first + gone]
    with tempfile.TemporaryDirectory() as name:
        path, out = Path(name, "m.onnx"), Path(name, "m.tflite")
        path.write_bytes(data)
        status, said = converted(path, out)
        assert status in (0, 1, 2), said
        assert {item.name for item in Path(name).iterdir()} == {"m.onnx", *(["m.tflite"] if status == 0 else [])}


def converted(path: Path, out: Path) -> tuple[int, str]:
    """The status that the command line would end with, and what it would say."""
    try:
        convert_file(path, out, OPTIONS)
    except AreniteError as error:
        return error.exit_status, str(error)
    import_model(out.read_bytes(), "m")
    return 0, ""
