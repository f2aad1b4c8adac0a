"""Reads a model file, whatever its format."""

import hashlib
from pathlib import Path

from arenite._base.errors import DataError, ModelError
from arenite.driver.output import read_file
from arenite.ir.model import Model

SUFFIXES = (".tflite", ".onnx")


def load_model(path: Path) -> Model:
    """The model in a file; nothing is optimised, and operators that Arenite does not know are kept as they are.

    Raises:
        DataError: the file cannot be read, or its suffix is not that of a model.
        ModelError: the file is damaged.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise DataError(f"{path}: the suffix '{path.suffix}' is not that of a model; expected {' or '.join(SUFFIXES)}")
    data = read_file(path)
    if suffix == ".onnx":
        raise ModelError(f"{path}: ONNX models are not read yet; convert it to .tflite")
    from arenite.formats.tflite import import_model  # noqa: PLC0415 - heavy

    try:
        model = import_model(data, path.stem)
    except ModelError as error:
        raise ModelError(f"{path}: {problem}" for problem in error.problems) from None
    model.sha256 = hashlib.sha256(data).hexdigest()
    return model


def port_names(model: Model) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the inputs and of the outputs exactly as the file has them: they may be empty or occur twice."""
    from arenite.formats.tflite.details import stored_names  # noqa: PLC0415 - heavy

    return stored_names(model)
