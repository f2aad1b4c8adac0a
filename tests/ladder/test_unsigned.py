"""Whole networks of TFLite's first quantization: LiteRT == interpreter == poisoned arena == host C."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from arenite.driver.build import build
from arenite.driver.load import load_model
from arenite.driver.native import NativeEngine
from arenite.driver.options import CompileOptions
from arenite.formats.tflite import export_model
from arenite.interp.interpreter import Interpreter
from arenite.ir.model import Model
from arenite.lower import arena, kernels
from arenite.ops import core_registry
from oracle import run_litert

pytestmark = [pytest.mark.shared, pytest.mark.litert, pytest.mark.gcc, pytest.mark.slow]


def _agrees(model: Model, data: bytes, images: list[npt.NDArray[np.uint8]]) -> list[npt.NDArray[np.generic]]:
    """Every output of every engine is LiteRT's; gives those of the last image."""
    built = build(model, CompileOptions(), lambda _: None)
    interpreter = Interpreter(built.model.graph, core_registry())
    expected = run_litert(data, [[image] for image in images])
    with NativeEngine(built) as native:
        for image, wanted in zip(images, expected, strict=True):
            found = {
                "interpreter": interpreter.run([image]),
                "arena": arena.run(built.program, kernels(), [image]),
                "native": native.invoke([image]),
            }
            for engine, outputs in found.items():
                for output, reference in zip(outputs, wanted, strict=True):
                    np.testing.assert_array_equal(output, reference, engine, strict=True)
    return expected[-1]


def test_mobilenet(shared: Path) -> None:
    path = shared / "models" / "tflite" / "coral_mobilenet_v1_0.25_128_quant.tflite"
    shape = (1, 128, 128, 3)
    codes = (np.random.default_rng(3).integers(0, 256, shape), np.zeros(shape), np.full(shape, 255))
    _agrees(load_model(path), path.read_bytes(), [array.astype(np.uint8) for array in codes])


def test_deeplab(shared: Path) -> None:
    """Bilinear resizing to a class for each pixel; the scores, too, since noise is background everywhere."""
    model = load_model(shared / "models" / "tflite" / "coral_deeplabv3_dm05.tflite")
    (classes,) = model.graph.outputs
    assert classes.producer is not None
    assert classes.producer.op == "arg_max"
    model.graph.outputs = [classes, classes.producer.operand(0)]
    noise = np.random.default_rng(3).integers(0, 256, (1, 513, 513, 3)).astype(np.uint8)
    found, scores = _agrees(model, export_model(model), [noise])
    assert found.dtype == np.int64
    assert len(np.unique(scores)) > 50
