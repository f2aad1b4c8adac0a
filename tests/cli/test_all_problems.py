"""A model with something wrong of every kind is refused by one message that names all of it."""

from pathlib import Path

import numpy as np
import pytest

from cli.test_cli import arenite
from formats.tflite.small import SCHEMA, buffer, code, file, operator, quantization, subgraph, tensor

CONV = SCHEMA.record("Conv2DOptions", stride_h=1, stride_w=1)
FINE = quantization([0.5], [0])


def whole(*, damaged: bool) -> bytes:
    """A chain of operators, most of which have something wrong; the damaged file has more that no reader can take."""
    shape = (1, 4, 4, 2)
    dynamic = np.array([-1, 4, 4, 2], np.int32)
    tensors = [
        tensor("image", shape, quantization=FINE, has_rank=True, shape_signature=dynamic),
        tensor("weights", (2, 1, 1, 2), buffer=1, quantization=FINE),
        tensor("unquantized", shape),
        tensor("strange", shape, quantization=FINE),
        tensor("odd", shape, quantization=FINE),
        tensor("result", shape, quantization=FINE),
        tensor("huge", (1 << 15, 1 << 12), quantization=FINE),
    ]
    operators = [
        operator(0, [0, 1, -1], [2], builtin_options=CONV),
        operator(1, [2], [3]),
        operator(2, [3], [4]),
        operator(3, [4], [5]),
        operator(3, [6], [7]),
    ]
    tensors.append(tensor("hugest", (1 << 15, 1 << 12), quantization=FINE))
    if damaged:
        tensors += [
            tensor("zero", shape, quantization=quantization([0.0], [0])),
            tensor("negative", shape, quantization=quantization([-0.5], [0])),
            tensor("open", (-1, 4)),
            tensor("later", shape, quantization=FINE),
        ]
        operators += [
            operator(3, [5], [8]),
            operator(3, [8], [9]),
            operator(3, [9], [10]),
            operator(4, [5], [11], builtin_options=SCHEMA.record("Pool2DOptions")),
        ]
    codes = [
        code("CONV_2D", 3),
        code("CUSTOM", 1, "Foo"),
        code("CUSTOM", 1, "Bar"),
        code("RELU"),
        code("MAX_POOL_2D", 77),
    ]
    outputs = [5, 7]
    return file([subgraph(tensors, operators, [0, 6], outputs)], codes, [buffer(bytes(4))])


@pytest.mark.parametrize("command", [["compile", "--simulate", "off"], ["inspect"]])
@pytest.mark.parametrize("damaged", [False, True])
def test_every_kind_is_told_at_once(command: list[str], damaged: bool, tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(whole(damaged=damaged))
    done = arenite(*command, path, cwd=tmp_path)
    shown = command == ["inspect"] and not damaged
    text = done.stdout if shown else done.stderr
    assert done.returncode == (0 if shown else 1)
    expected = ["Foo", "Bar", "the result has none"]
    if damaged:
        expected += [
            "tensor 8 'zero': expected scales that are finite and > 0, found 0.0: quantize the model again",
            "tensor 9 'negative': expected scales that are finite and > 0, found -0.5: quantize the model again",
            "tensor 10 'open': expected dimensions of at least 0, found the shape [-1, 4]: give its dimensions",
            "operator 8 (MAX_POOL_2D) has version 77; Arenite knows MAX_POOL_2D up to version",
            "Arenite does not have these operators: operator 1 (CUSTOM 'Foo'), operator 2 (CUSTOM 'Bar')",
        ]
    else:
        expected += [
            "2 operators in this model are not supported",
            "quantization is missing: 'unquantized' are integers without scale and zero point; convert the model",
            "'huge' 134,217,728, 'hugest' 134,217,728",
        ]
    for words in expected:
        assert words in text
    if shown:
        assert "notes      tensor 0 'image': dynamic dimensions were frozen to [1, 4, 4, 2]" in text
    # Nothing that only follows from the rest.
    assert "damaged" not in text
    assert [p.name for p in tmp_path.iterdir()] == ["m.tflite"]
