"""Loops of a small file that never end are ended."""

from typing import Any

import numpy as np
import onnx.parser
import pytest

from arenite.ops.onnx.watched import watched

onnxruntime = pytest.importorskip("onnxruntime")

ENDLESS = """<ir_version: 8, opset_import: ["": 17]>
g (float[64, 64] x) => (float[A, B, C] y) <int64 trips = {9223372036854775807}, bool on = {1}> {
    y = Loop (trips, on) <body = b (int64 i, bool c) => (bool going, float[D, E] r) {
        going = Identity (c)
        r = Neg (x)
    }>
}"""


def session(text: str) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(onnx.parser.parse_model(text).SerializeToString(), options)


@pytest.mark.parametrize(
    ("seconds", "nbytes", "reason"),
    [(0.2, 2**40, "it runs for more than 0.2 s"), (60.0, 2**25, "it takes more than 33,554,432 bytes of memory")],
)
def test_what_never_ends_is_ended(seconds: float, nbytes: int, reason: str) -> None:
    endless, feed = session(ENDLESS), {"x": np.ones((64, 64), np.float32)}
    with pytest.raises(TimeoutError, match=reason):
        watched(lambda options: endless.run(None, feed, options), onnxruntime.RunOptions(), seconds, nbytes)


def test_what_ends_and_what_fails_is_as_it_was() -> None:
    short = session(ENDLESS.replace("9223372036854775807", "3"))
    feed = {"x": np.ones((64, 64), np.float32)}
    (found,) = watched(lambda options: short.run(None, feed, options), onnxruntime.RunOptions())
    assert found.shape == (3, 64, 64)
    with pytest.raises(Exception, match=r"(?i)invalid"):
        watched(lambda options: short.run(None, {"x": np.ones(3, np.float32)}, options), onnxruntime.RunOptions())
