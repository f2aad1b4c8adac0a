"""Damaged files end as a ModelError or as a model, in bounded time and memory: never as anything else."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from arenite._base.errors import ModelError
from arenite.formats.tflite import export_model, import_model
from formats.tflite import small
from formats.tflite.small import SCHEMA, buffer, code, file, operator, quantization, subgraph, tensor

WORKER = Path(__file__).with_name("fuzz_worker.py")
MODELS = Path(__file__).resolve().parents[4] / "shared" / "models" / "tflite"
# Small ones, and with unlike contents: state, custom operators, several subgraphs, intermediates.
SHARED = (
    "tflm_hello_world_int8",
    "mltk_fingerprint_signature",
    "tflm_audio_preprocessor_int8",
    "coral_keras_lstm_mnist_ptq",
    "mww_okay_nabu_v2",
    "mlperf_kws_int8",
)
MEMORY_MB = 1200  # of address space, numpy's own share included
LONGEST_SECONDS = 5.0


def fuzz(paths: list[Path], seed: int) -> dict[str, float]:
    full = settings().max_examples > 100
    count = 200 if full else 20
    command = [sys.executable, str(WORKER), str(count), str(seed), str(MEMORY_MB), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found.pop("failures") == []
    assert found["accepted"] + found["refused"] == 3 * count * len(paths)
    assert found["longest_seconds"] < LONGEST_SECONDS
    return dict(found)


def everything() -> bytes:
    """A file that has something of each kind."""
    tensors = [
        tensor("x", (1, 4, 4, 2), quantization=quantization([0.5], [1], min=np.array([-1], np.float32))),
        tensor("w", (3, 1, 1, 2), buffer=1, quantization=quantization([0.5, 0.25, 0.5], [0, 0, 0])),
        tensor("y", (1, 4, 4, 3), has_rank=True, shape_signature=np.array([-1, 4, 4, 3], np.int32)),
        tensor("i", (3,), "INT16"),
        tensor("s", (2,), "STRING", buffer=2),
        tensor("z", (1, 4, 4, 3), is_variable=False),
        tensor("state", (4,), is_variable=True),
    ]
    operators = [
        operator(0, [0, 1, -1], [2], builtin_options=SCHEMA.record("Conv2DOptions", stride_h=1, stride_w=1)),
        operator(
            1,
            [2, 4, 6],
            [5],
            custom_options=np.frombuffer(b"abc", np.uint8),
            intermediates=np.array([3], np.int32),
            mutating_variable_inputs=np.array([0, 0, 1], np.uint8),
        ),
    ]
    strings = np.array([2, 16, 18, 20], "<i4").tobytes() + b"abcd"
    entry = SCHEMA.record("TensorMap", name="in", tensor_index=0)
    return file(
        [subgraph(tensors, operators, [0], [5]), subgraph([tensor("a", (1,))], [], [0], [0])],
        [code("CONV_2D", 3), code("CUSTOM", 1, "Odd")],
        [buffer(bytes(6)), buffer(strings), buffer(b"1.2.3")],
        signature_defs=(SCHEMA.record("SignatureDef", signature_key="k", inputs=(entry,)),),
        metadata=(SCHEMA.record("Metadata", name="m", buffer=3),),
        description="all kinds",
    )


def test_damaged_copies_of_a_made_file(tmp_path: Path) -> None:
    data = everything()
    assert export_model(import_model(export_model(import_model(data, "m")), "m")) == export_model(
        import_model(data, "m")
    )
    path = tmp_path / "everything.tflite"
    path.write_bytes(data)
    found = fuzz([path], 1)
    # The damage must be such that both ends are reached.
    assert found["accepted"] > 0
    assert found["refused"] > 0


@pytest.mark.shared
def test_damaged_copies_of_real_models() -> None:
    found = fuzz([MODELS / f"{name}.tflite" for name in SHARED], 2)
    assert found["accepted"] > 0
    assert found["refused"] > 0


def test_every_truncation_of_a_small_file() -> None:
    data = small.relu()
    for size in range(len(data)):
        with pytest.raises(ModelError, match="truncated or is not a TFLite model"):
            import_model(data[:size], "m")
