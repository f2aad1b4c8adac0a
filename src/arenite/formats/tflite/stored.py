"""What a file's constants take, whether anything uses them or not."""

from arenite.formats.tflite.file import TfliteFile


def stored_nbytes(data: bytes) -> int:
    """Bytes of all buffers of a .tflite file: equal ones and those that no tensor names count, too.

    Raises:
        ModelError: the file cannot be read.
        ValueError: a buffer's bytes are not in the file.
    """
    file = TfliteFile(data)
    return sum(file.buffer(index).size for index in range(file.n_buffers))
