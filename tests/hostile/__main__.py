"""Damages models many times and compiles each copy: `PYTHONPATH=tests python -m hostile MODEL.tflite...`.

Prints a row per model, then what went wrong, with the numbers of the copies.
"""

import argparse
import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hostile.attempts import attempt
from hostile.commands import command, limit_memory
from hostile.damage import Copies, Damaged
from hostile.forked import Answer, forked, limit_time
from hostile.judge import judge
from hostile.structure import Restructured

KINDS: Mapping[str, tuple[Callable[[str, bytes], Copies], int, int]] = {
    "bytes": (Damaged, 20, 0),
    "structure": (Restructured, 2, 5),
}
"""Of each kind of damage: how copies are made, and one in how many of those that compile is compared, and goes further.
"""
_JUDGE_CPU_SECONDS, _JUDGE_WALL_SECONDS = 60.0, 300


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--kind", choices=KINDS, default="bytes", help="what is damaged: bytes, or what they say")
    parser.add_argument("--count", type=int, default=10_000, help="copies of each model")
    parser.add_argument("--first", type=int, default=0, help="number of the first copy")
    parser.add_argument("--write", type=Path, help="a folder for the copies with which something is wrong")
    parser.add_argument("--json", type=Path, help="append one line of JSON for each model")
    return parser.parse_args()


def check_model(path: Path, numbers: Sequence[int], write: Path | None = None, kind: str = "bytes") -> Answer:
    """Copies of one model, tried and judged: counts, and whatever is wrong."""
    begin = time.perf_counter()
    damaged, compare_every, further_every = KINDS[kind]
    file = damaged(path.stem, path.read_bytes())
    command("inspect", str(path))  # so that each process has everything imported
    found: Answer = {"model": path.stem, "files": len(numbers), "compiled": 0, "peak_nbytes": 0, "faults": {}}
    found["messages"] = Counter()
    accepted = []

    def wrong(number: int, text: str) -> None:
        found["faults"].setdefault(_kind(text), []).append(number)
        if write is not None:
            write.mkdir(parents=True, exist_ok=True)
            (write / f"{file.name}-{number}.tflite").write_bytes(file.copy(number))

    for number, answer in forked(lambda n: attempt(file, n, further_every=further_every), numbers, limit_memory):
        if "died" in answer:
            wrong(number, f"died: {answer['died']}")
            continue
        for fault in answer["faults"]:
            wrong(number, fault)
        found["peak_nbytes"] = max(found["peak_nbytes"], answer["peak_nbytes"])
        if answer["compiled"]:
            accepted.append(number)
        else:
            found["messages"][_kind(answer["message"])] += 1
    found["compiled"] = len(accepted)
    found["judged"] = _judged(file, accepted, set(accepted[::compare_every]), wrong)
    found["messages"] = len(found["messages"])
    found["seconds"] = round(time.perf_counter() - begin)
    return found


def _judged(file: Copies, accepted: list[int], compared: set[int], wrong: Callable[[int, str], None]) -> dict[str, int]:
    """How many accepted copies the others accept, crash on, and compute."""
    counts = {"accepted": 0, "crashed": 0, "compared": 0}

    def work(number: int) -> Answer:
        limit_time(_JUDGE_CPU_SECONDS, _JUDGE_WALL_SECONDS)
        return judge(file.copy(number), run=number in compared)

    for number, answer in forked(work, accepted, lambda: None):
        if "died" in answer:
            counts["crashed"] += 1
        elif answer["litert"] and answer["micro"]:
            wrong(number, f"accepted, but not by LiteRT ({answer['litert']}) nor TFLite-Micro ({answer['micro']})")
        elif answer["differs"]:
            wrong(number, f"computes something else: {answer['differs']}")
        else:
            counts["accepted"] += 1
            counts["compared"] += answer["compared"]
    return counts


def _kind(text: str) -> str:
    """A message without what changes from copy to copy."""
    return re.sub(r"-?\d+(\.\d+)?", "N", re.sub(r"'[^']*'", "'...'", text))[:300]


def main() -> None:
    options = _parsed()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    numbers = range(options.first, options.first + options.count)
    failed = False
    print(f"{'model':42}{'files':>7}{'refused':>9}{'compiled':>9}{'others ok':>10}{'run':>5}{'MB':>6}{'s':>7}  wrong")
    for path in options.models:
        found = check_model(path, numbers, options.write, options.kind)
        judged, wrong = found["judged"], sum(len(numbers) for numbers in found["faults"].values())
        print(
            f"{found['model'][:40]:42}{found['files']:7}{found['files'] - found['compiled']:9}{found['compiled']:9}"
            f"{judged['accepted']:10}{judged['compared']:5}{found['peak_nbytes'] >> 20:6}{found['seconds']:7}  {wrong}",
            flush=True,
        )
        for kind, copies in found["faults"].items():
            print(f"    {len(copies)} x {kind}\n      copies {copies[:10]}", flush=True)
        if options.json:
            with options.json.open("a", encoding="utf-8") as lines:
                print(json.dumps(found), file=lines)
        failed = failed or bool(found["faults"])
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
