"""Reads a model file, whatever its format."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from arenite._base.errors import DataError, ModelError
from arenite._base.files import check_is_file, read_file
from arenite.ir.graph import Array
from arenite.ir.model import Model
from arenite.ir.opdef import Registry

SUFFIXES = (".tflite", ".onnx")


def load_model(path: Path) -> Model:
    """The model in a file; nothing is optimised, and operators that Arenite does not know are kept as they are.

    Raises:
        DataError: the file cannot be read, or its suffix is not that of a model.
        ModelError: the file is damaged.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        found = f"the suffix '{path.suffix}' is not that of a model" if path.suffix else "not a model"
        raise DataError(f"{path}: {found}; expected a file that ends in {' or '.join(SUFFIXES)}")
    check_is_file(path)
    try:
        return _load_onnx(path) if suffix == ".onnx" else _load_tflite(path)
    except ModelError as error:
        raise ModelError(f"{path}: {problem}" for problem in error.problems) from None


def _load_tflite(path: Path) -> Model:
    data = read_file(path)
    from arenite.formats.tflite import import_model  # noqa: PLC0415 - heavy

    model = import_model(data, path.stem)
    model.sha256 = hashlib.sha256(data).hexdigest()
    return model


def _load_onnx(path: Path) -> Model:
    from arenite.formats.onnx import import_model  # noqa: PLC0415 - heavy

    return import_model(path, path.stem)


def registry_for(model: Model) -> Registry:
    """The operators of a model's dialect, installed extensions included."""
    if model.format == "onnx":
        from arenite.formats.onnx import model_registry  # noqa: PLC0415 - heavy

        return model_registry(model)
    from arenite.driver.toolbox import default_toolbox  # noqa: PLC0415 - heavy

    return default_toolbox().registry


def port_names(model: Model) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the inputs and of the outputs exactly as the file has them: they may be empty or occur twice."""
    if model.format == "onnx":
        return tuple(v.name for v in model.graph.inputs), tuple(v.name for v in model.graph.outputs)
    from arenite.formats.tflite.details import stored_names  # noqa: PLC0415 - heavy

    return stored_names(model)


def input_defaults(model: Model) -> Mapping[str, Array]:
    """What inputs hold that the caller leaves out, by name."""
    if model.format != "onnx":
        return {}
    from arenite.formats.onnx import OnnxDetails  # noqa: PLC0415 - heavy

    return model.details.defaults if isinstance(model.details, OnnxDetails) else {}


def data_files(model: Model) -> tuple[str, ...]:
    """Files beside the model's that hold its data, as paths from its folder."""
    if model.format != "onnx":
        return ()
    from arenite.formats.onnx import OnnxDetails  # noqa: PLC0415 - heavy

    return model.details.external if isinstance(model.details, OnnxDetails) else ()
