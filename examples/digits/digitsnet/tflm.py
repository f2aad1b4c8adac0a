"""The tflite-micro wheel as the judge of a .tflite: it shares no code with this project."""

import numpy as np
from numpy.typing import NDArray


def run(model: bytes, images: NDArray[np.int8]) -> NDArray[np.int8]:
    """Outputs int8 [N, classes] of TFLite-Micro's reference kernels for int8 images [N, H, W, C], one by one.

    Raises:
        ImportError: the wheel is not installed (it exists for Linux x86-64 only).
    """
    from tflite_micro import runtime  # noqa: PLC0415  one does not need it to train

    interpreter = runtime.Interpreter.from_bytes(model)
    outputs = []
    for image in images:
        interpreter.set_input(image[np.newaxis], 0)
        interpreter.invoke()
        outputs.append(np.array(interpreter.get_output(0), dtype=np.int8)[0])
    return np.stack(outputs)
