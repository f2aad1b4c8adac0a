"""ONNX files in and out."""

from arenite.formats.onnx.details import OnnxDetails
from arenite.formats.onnx.exporter import data_path, export_model
from arenite.formats.onnx.importer import import_model, model_registry

__all__ = ["OnnxDetails", "data_path", "export_model", "import_model", "model_registry"]
