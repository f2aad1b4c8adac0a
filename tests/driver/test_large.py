"""Small files that ask for much: what they compute takes bounded memory, or they are refused for their work."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.formats.tflite import import_model
from arenite.formats.tflite.flat import Record
from formats.tflite.small import SCHEMA, buffer, one_op, quantization, tensor
from hostile.commands import Ended, command, limit_memory
from hostile.forked import Answer, forked, limit_time

FINE, COARSE = quantization([0.5], [0]), quantization([1e6], [0])
FAR = {"dilation_h_factor": 20_000, "dilation_w_factor": 20_000}
WIDE = {"filter_height": 30_000, "filter_width": 30_000}


def _options(table: str, values: Mapping[str, Any]) -> Record:
    return SCHEMA.record(table, stride_h=1, stride_w=1, padding=0, **values)


def _weighted(op: str, version: int, shape: Sequence[int], taps: tuple[int, int], **options: int) -> bytes:
    """One channel, SAME padding, weights of zeros."""
    table = {"CONV_2D": "Conv2DOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions"}[op]
    extra = {"depth_multiplier": 1} if op == "DEPTHWISE_CONV_2D" else {}
    tensors = [
        tensor("x", shape, quantization=FINE),
        tensor("w", (1, *taps, 1), buffer=1, quantization=FINE),
        tensor("y", shape, quantization=COARSE),
    ]
    data = [buffer(bytes(taps[0] * taps[1]))]
    return one_op(op, tensors, [0, 1, -1], data, version=version, builtin_options=_options(table, extra | options))


def _conv(shape: Sequence[int], taps: tuple[int, int], **options: int) -> bytes:
    return _weighted("CONV_2D", 3, shape, taps, **options)


def _depthwise(shape: Sequence[int], taps: tuple[int, int], **options: int) -> bytes:
    return _weighted("DEPTHWISE_CONV_2D", 4, shape, taps, **options)


def _pool(op: str, shape: Sequence[int], **options: int) -> bytes:
    tensors = [tensor("x", shape, quantization=FINE), tensor("y", shape, quantization=FINE)]
    return one_op(op, tensors, [0], version=2, builtin_options=_options("Pool2DOptions", options))


BOUNDED = {
    "taps far beyond the image": _conv((1, 8, 8, 1), (3, 3), **FAR),
    "depthwise taps far beyond the image": _depthwise((1, 8, 8, 1), (3, 3), **FAR),
    "many pixels": _conv((1, 2048, 2048, 1), (5, 5)),
    "as many taps as pixels": _depthwise((1, 96, 96, 1), (96, 96)),
    "a window far larger than the image": _pool("MAX_POOL_2D", (1, 8, 8, 1), **WIDE),
    "a mean far larger than the image": _pool("AVERAGE_POOL_2D", (1, 8, 8, 1), **WIDE),
}
TOO_MUCH = {
    "convolution": _conv((1, 1024, 1024, 1), (1024, 1024)),
    "depthwise": _depthwise((1, 1024, 1024, 1), (1024, 1024)),
    "pool": _pool("MAX_POOL_2D", (1, 1024, 1024, 1), filter_height=1000, filter_width=1000),
}


def _run(data: bytes) -> Ended:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "m.tflite").write_bytes(data)
        (value,) = import_model(data, "m").graph.inputs
        np.savez(folder / "in.npz", np.ones(value.type.dims, np.int8))
        arguments = ("--inputs", str(folder / "in.npz"), "--outputs", str(folder / "out.npz"))
        return command("run", str(folder / "m.tflite"), *arguments)


@pytest.mark.parametrize("name", BOUNDED)
def test_large_work_takes_bounded_memory(name: str) -> None:
    def work(_: int) -> Answer:
        limit_time(10, 120)
        return {"status": _run(BOUNDED[name]).status}

    assert list(forked(work, [0], limit_memory)) == [(0, {"status": 0})]


@pytest.mark.parametrize("name", TOO_MUCH)
def test_endless_work_is_refused(name: str) -> None:
    ended = _run(TOO_MUCH[name])
    assert ended.status == 1
    assert "more than the 274,877,906,944 that are run or compiled; most are in 'y' 1,0" in ended.err
