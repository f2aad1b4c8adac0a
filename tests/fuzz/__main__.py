"""Fuzzes a target for some time: `PYTHONPATH=tests python -m fuzz TARGET --seconds 60`, or `make fuzz`.

With atheris (Linux) it is guided by coverage; without, it mutates seeds at random. Seeds and what the fuzzer keeps are
in build/fuzz/TARGET, findings beside them as crash-*, oom-*, timeout-*; `--input FILE` runs one of those alone.
"""

import argparse
import importlib
import importlib.util
import random
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

_MEMORY_MB = 1024
_SECONDS_PER_INPUT = 10
_MOST_NBYTES = 1 << 14
_FOLDER = Path(__file__).resolve().parents[2] / "build" / "fuzz"
_NAMES = ("tflite-reader", "text-parser")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=_NAMES)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--at-random", action="store_true", help="without atheris")
    parser.add_argument("--input", type=Path, help="run this input alone")
    options = parser.parse_args()
    if options.input:
        print("accepted" if _target(options.target)(options.input.read_bytes()) else "refused")
        return
    if options.at_random or importlib.util.find_spec("atheris") is None:
        if not options.at_random:
            print("atheris is not installed (pip install atheris): inputs are made at random, without coverage")
        _at_random(_target(options.target), _seeds(options.target), options.seconds)
        return
    _guided(options.target, options.seconds)


def _target(name: str) -> Callable[[bytes], bool]:
    target: Callable[[bytes], bool] = importlib.import_module("fuzz.targets").TARGETS[name]
    return target


def _seeds(name: str) -> Path:
    folder: Path = importlib.import_module("fuzz.seeds").write_seeds(_FOLDER)[name]
    return folder


def _guided(name: str, seconds: int) -> NoReturn:
    import atheris

    # What is imported from here on is instrumented; generating the seeds imports it all.
    with atheris.instrument_imports(include=["arenite.formats.tflite", "arenite.ir"]):
        target = _target(name)
    folder = _seeds(name)
    limits = (f"-max_total_time={seconds}", f"-rss_limit_mb={_MEMORY_MB}", f"-timeout={_SECONDS_PER_INPUT}")
    places = (f"-max_len={_MOST_NBYTES}", f"-artifact_prefix={_FOLDER}/{name}-", "-print_final_stats=1", str(folder))
    atheris.Setup([sys.argv[0], *limits, *places], lambda data: target(data) and None)
    atheris.Fuzz()
    sys.exit(0)


def _at_random(target: Callable[[bytes], bool], folder: Path, seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_MB << 20, _MEMORY_MB << 20))
    rng = random.Random(time.time_ns())
    seeds = [path.read_bytes() for path in sorted(folder.iterdir())]
    counts = {True: 0, False: 0}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data = mutated(seeds, rng)
        begin = time.process_time()
        try:
            counts[target(data)] += 1
        except BaseException:
            finding = _FOLDER / f"{folder.name}-crash-{rng.getrandbits(64):016x}"
            finding.write_bytes(data)
            print(f"the input is in {finding}")
            raise
        if time.process_time() - begin > _SECONDS_PER_INPUT:
            raise TimeoutError(f"{time.process_time() - begin:.0f} s for an input of {len(data)} bytes")
    print(f"{sum(counts.values())} inputs, {counts[True]} of them accepted: nothing found")


def mutated(seeds: list[bytes], rng: random.Random) -> bytes:
    """A seed with some bytes replaced, removed, repeated, or taken from another."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        at, count = rng.randrange(len(data) + 1), rng.choice((1, 1, 2, 4, 16))
        other = rng.choice(seeds)
        start = rng.randrange(len(other) + 1)
        piece = rng.choice((rng.randbytes(count), other[start : start + count], b"", bytes(data[at : at + count]) * 2))
        data[at : at + count] = piece
    return bytes(data)


if __name__ == "__main__":
    main()
