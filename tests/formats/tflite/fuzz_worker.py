"""Imports damaged copies of .tflite files in a process of its own, with little memory and time.

Usage: fuzz_worker.py MUTATIONS SEED MEMORY_MB FILE...   (MUTATIONS: copies of each kind per file)

Prints one line of JSON: how many copies were accepted and refused, the longest import in seconds, and the failures:
anything but an import or a ModelError, and accepted copies that cannot be written and read again.
"""

import json
import random
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from arenite._base.errors import ModelError
from arenite.formats.tflite import export_model, import_model

_WORDS = (0, 1, 2, 3, 4, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
_STRUCTURE_NBYTES = 1 << 14  # where a small file has its tables: near one of its ends


def _truncated(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _flipped(data: bytes, rng: random.Random) -> bytes:
    copy = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        copy[_place(data, rng)] ^= 1 << rng.randrange(8)
    return bytes(copy)


def _replaced(data: bytes, rng: random.Random) -> bytes:
    """Aligned words replaced by values at limits, or by other words of the file."""
    copy = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = _place(data, rng) & ~3
        other = _place(data, rng) & ~3
        word = rng.choice(_WORDS).to_bytes(4, "little") if rng.random() < 0.7 else data[other : other + 4]
        copy[at : at + 4] = word
    return bytes(copy)


def _place(data: bytes, rng: random.Random) -> int:
    near = min(len(data), _STRUCTURE_NBYTES)
    offset = rng.randrange(near)
    return offset if rng.random() < 0.5 else len(data) - 1 - offset


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (_truncated, _flipped, _replaced)


def _copies(data: bytes, count: int, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    for mutate in MUTATIONS:
        for index in range(count):
            yield f"{mutate.__name__} {index}", mutate(data, rng)


def _try(data: bytes) -> bool:
    """Whether a copy is accepted. What is accepted can be written, and read again as the same."""
    try:
        model = import_model(data, "fuzz")
    except ModelError as error:
        if not error.problems or not all(problem.isprintable() for problem in error.problems):
            raise RuntimeError(f"not a message for a person: {error.problems}") from error
        return False
    written = export_model(model)
    if export_model(import_model(written, "fuzz")) != written:
        raise RuntimeError("the copy that was written is another model")
    return True


def main() -> None:
    count, seed, memory_mb = (int(word) for word in sys.argv[1:4])
    resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))
    found = {"accepted": 0, "refused": 0, "longest_seconds": 0.0}
    failures = []
    for path in sys.argv[4:]:
        rng = random.Random(f"{seed} {Path(path).name}")
        for label, copy in _copies(Path(path).read_bytes(), count, rng):
            start = time.perf_counter()
            try:
                found["accepted" if _try(copy) else "refused"] += 1
            except (Exception, MemoryError):
                failures.append(f"{Path(path).name} {label}: {traceback.format_exc(limit=-3)}")
            found["longest_seconds"] = max(found["longest_seconds"], time.perf_counter() - start)
    print(json.dumps({**found, "failures": failures[:10]}))


if __name__ == "__main__":
    main()
