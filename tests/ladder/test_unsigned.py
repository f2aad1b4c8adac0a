"""A whole network of TFLite's first quantization: LiteRT == interpreter == poisoned arena == host C."""

from pathlib import Path

import numpy as np
import pytest

from arenite.driver.build import build
from arenite.driver.load import load_model
from arenite.driver.native import NativeEngine
from arenite.driver.options import CompileOptions
from arenite.interp.interpreter import Interpreter
from arenite.lower import arena, kernels
from arenite.ops import core_registry
from oracle import run_litert


@pytest.mark.shared
@pytest.mark.litert
@pytest.mark.gcc
@pytest.mark.slow
def test_mobilenet(shared: Path) -> None:
    path = shared / "models" / "tflite" / "coral_mobilenet_v1_0.25_128_quant.tflite"
    built = build(load_model(path), CompileOptions(), lambda _: None)
    (port,) = built.program.inputs
    rng = np.random.default_rng(3)
    codes = (rng.integers(0, 256, port.shape), np.zeros(port.shape), np.full(port.shape, 255))
    feeds = [[array.astype(np.uint8)] for array in codes]
    interpreter = Interpreter(built.model.graph, core_registry())
    with NativeEngine(built) as native:
        for feed, (wanted,) in zip(feeds, run_litert(path.read_bytes(), feeds), strict=True):
            assert wanted.dtype == np.uint8
            np.testing.assert_array_equal(interpreter.run(feed)[0], wanted)
            np.testing.assert_array_equal(arena.run(built.program, kernels(), feed)[0], wanted)
            np.testing.assert_array_equal(native.invoke(feed)[0], wanted)
