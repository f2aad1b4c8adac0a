"""TFLite files: `import_model` and `export_model`."""

from arenite.formats.tflite.details import TfliteDetails, stored_names
from arenite.formats.tflite.exporter import export_model
from arenite.formats.tflite.importer import import_model
from arenite.formats.tflite.layouts import Layout, Layouts, read_layouts
from arenite.formats.tflite.reader import MAX_TABLES
from arenite.formats.tflite.stored import stored_nbytes

__all__ = [
    "MAX_TABLES",
    "Layout",
    "Layouts",
    "TfliteDetails",
    "export_model",
    "import_model",
    "read_layouts",
    "stored_names",
    "stored_nbytes",
]
