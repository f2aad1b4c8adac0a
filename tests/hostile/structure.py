"""Damaged copies of a .tflite file whose structure is whole: the FlatBuffer is well-formed, what it says is not.

The fields of some tables are changed as a hostile or a confused writer might, and the file is written again.
"""

import random
from dataclasses import dataclass
from functools import cached_property

from arenite.formats.tflite.file import TfliteFile
from arenite.formats.tflite.flat import Record
from hostile import changes, changes_of_tensors
from hostile.drafts import Draft, Sketch, written

_CHANGES = (*changes.CHANGES, *changes_of_tensors.CHANGES)


@dataclass(frozen=True)
class Restructured:
    """Copies that say something else."""

    name: str
    data: bytes

    @cached_property
    def _root(self) -> Record:
        return TfliteFile(self.data).model

    def copy(self, number: int) -> bytes:
        rng = random.Random(f"{self.name} structure {number}")
        sketch = Sketch(Draft.of(self._root), rng)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            rng.choice(_CHANGES)(sketch)
        return written(sketch.model)
