"""What each model costs on the emulated core: arena, code, tables, stack, instructions, estimated cycles.

python benchmarks/models.py [--target cortex-m4] [--cc zig] [--optimize speed] MODEL.tflite...
"""

import argparse
import sys
from pathlib import Path

import arenite
from arenite.api import CompileResult

ROOT = Path(__file__).resolve().parents[1]
ZOO = ROOT.parent / "shared" / "models" / "tflite"
NAMES = (
    "mlperf_kws_int8",
    "mlperf_vww_int8",
    "mlperf_ic_int8",
    "mlperf_ad_int8",
    "tflm_micro_speech_int8",
    "tflm_hello_world_int8",
    "tinymaix_cifar10_int8",
    "mltk_fingerprint_signature",
    "mltk_rock_paper_scissors",
)
HEADER = (
    f"{'model':28} {'MACs':>11} {'arena':>8} {'bound':>8} {'weights':>8} {'tables':>7} {'code':>6} {'stack':>6} "
    f"{'instructions':>12} {'per MAC':>8} {'cycles':>11}"
)


def row(result: CompileResult) -> str:
    report = result.report
    simulation = report.simulation
    assert simulation is not None, result.note
    macs = sum(layer.macs for layer in report.layers)
    cycles = "-" if simulation.cycles_estimate is None else f"{simulation.cycles_estimate:,}"
    return (
        f"{report.model.name:28} {macs:>11,} {report.memory.arena_nbytes:>8,} {report.memory.lower_bound_nbytes:>8,} "
        f"{report.flash.weights_nbytes:>8,} {report.flash.tables_nbytes:>7,} {report.flash.code_nbytes:>6,} "
        f"{report.ram.stack_nbytes:>6,} {simulation.instructions:>12,} "
        f"{simulation.instructions / macs if macs else 0:>8.2f} {cycles:>11}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--target", default="cortex-m4")
    parser.add_argument("--cc")
    parser.add_argument("--optimize", default="speed", choices=["speed", "flash", "ram"])
    options = parser.parse_args()
    models = options.models or [ROOT / "examples" / "digits" / "digits.tflite", *(ZOO / f"{n}.tflite" for n in NAMES)]
    print(HEADER)
    for path in models:
        if not path.exists():
            print(f"{path.name}: not here", file=sys.stderr)
            continue
        result = arenite.compile(
            arenite.load(path), target=options.target, optimize=options.optimize, simulate="on", compiler=options.cc
        )
        print(row(result), flush=True)


if __name__ == "__main__":
    main()
