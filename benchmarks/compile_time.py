"""Where the time of `arenite compile --simulate off` goes, stage by stage, for each model.

python benchmarks/compile_time.py [MODEL.tflite...]
"""

import sys
import time
from pathlib import Path

import arenite
from arenite.driver.compile import compile_loaded
from arenite.driver.options import CompileOptions

ROOT = Path(__file__).resolve().parents[1]
ZOO = ROOT.parent / "shared" / "models" / "tflite"
NAMES = ("mlperf_kws_int8", "mlperf_vww_int8", "mlperf_ic_int8", "mlperf_ad_int8")


class Stopwatch:
    """Notes when each stage begins."""

    def __init__(self) -> None:
        self.marks: list[tuple[str, float]] = []

    def __call__(self, stage: str) -> None:
        self.marks.append((stage, time.perf_counter()))

    def rows(self) -> list[tuple[str, float]]:
        ends = [begin for _, begin in self.marks[1:]] + [time.perf_counter()]
        return [(stage, end - begin) for (stage, begin), end in zip(self.marks, ends, strict=True)]


def main() -> None:
    begin = time.perf_counter()
    arenite.load(ROOT / "examples" / "digits" / "digits.tflite")
    print(f"importing the package and a first file: {time.perf_counter() - begin:.2f} s")
    paths = [Path(name) for name in sys.argv[1:]] or [ZOO / f"{name}.tflite" for name in NAMES]
    for path in paths:
        watch = Stopwatch()
        watch("reading")
        model = arenite.load(path)
        compile_loaded(model, CompileOptions(simulate="off"), watch)
        rows = watch.rows()
        stages = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in rows)
        print(f"{path.stem:28} {sum(seconds for _, seconds in rows):5.2f} s: {stages}", flush=True)


if __name__ == "__main__":
    main()
