"""Compiles digits.tflite for a microcontroller and runs the held-out digits on the simulated core.

    python examples/digits/demo.py

Trains nothing and needs no board: a cross compiler and an emulator come with `pip install arenite[sim]`.
"""

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arenite.ir.types import Quantization
from digitsnet import tflm
from digitsnet.quantize import quantize_images
from digitsnet.testset import load_test_set

HERE = Path(__file__).parent
MODEL = HERE / "digits.tflite"
TEST_SET = HERE / "test_images.npz"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="cortex-m4", help="a core that 'arenite targets' lists")
    parser.add_argument("--clock", type=float, default=80.0, metavar="MHZ", help="clock for the estimated latency")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/digits"), help="folder for the C files")
    arguments = parser.parse_args()

    arenite("compile", MODEL, "--target", arguments.target, "-o", arguments.output)
    report = json.loads((arguments.output / "report.json").read_text(encoding="utf-8"))

    samples = load_test_set(TEST_SET)
    (port,) = report["model"]["inputs"]
    quantization = Quantization.per_tensor(port["scale"], port["zero_point"])
    images = quantize_images(samples.floats(), quantization)
    outputs = simulate(images, report, arguments.target, arguments.output)
    correct = int((outputs.argmax(axis=1) == samples.labels).sum())

    print()
    print(f"accuracy      {correct / len(samples):.2%} ({correct} of {len(samples)} held-out digits, simulated core)")
    print(f"TFLite-Micro  {agreement(outputs, images)}")
    for line in figures(report, arguments.clock):
        print(line)
    print(f"report        {arguments.output / 'report.html'}")


def arenite(*arguments: str | Path) -> None:
    """Shows and runs one command of the arenite that this Python has; its messages go to the terminal."""
    print("$ arenite", shlex.join(str(_short(argument)) for argument in arguments), flush=True)
    command = Path(sys.executable).with_name("arenite")
    finished = subprocess.run([command, *arguments], check=False)
    if finished.returncode:
        sys.exit(finished.returncode)


def _short(argument: str | Path) -> str | Path:
    """A path below the working folder, from there; anything else as it is."""
    here = Path.cwd()
    return argument.relative_to(here) if isinstance(argument, Path) and argument.is_relative_to(here) else argument


def simulate(images: NDArray[np.int8], report: Mapping[str, Any], target: str, folder: Path) -> NDArray[np.int8]:
    """Outputs int8 [N, classes] of the firmware for images [N, H, W, C], invoked once for each.

    Both stay in the folder, so that the command that is shown can be run again.
    """
    (source,), (result,) = report["model"]["inputs"], report["model"]["outputs"]
    inputs, outputs = folder / "inputs.npz", folder / "outputs.npz"
    # One more leading axis than the model's input [1, H, W, C]: that many invocations in a row.
    arrays: dict[str, Any] = {source["name"]: images[:, np.newaxis]}
    np.savez(inputs, **arrays)
    arenite("run", MODEL, "--inputs", inputs, "--outputs", outputs, "--engine", "simulator", "--target", target)
    with np.load(outputs) as results:
        stacked: NDArray[np.int8] = results[result["name"]]
    return stacked[:, 0]


def agreement(outputs: NDArray[np.int8], images: NDArray[np.int8]) -> str:
    """Whether TFLite-Micro's reference kernels give the same bytes."""
    try:
        expected = tflm.run(MODEL.read_bytes(), images)
    except ImportError:
        return "not compared: the tflite-micro wheel is not installed"
    differing = int((outputs != expected).any(axis=1).sum())
    return f"{differing} of {len(images)} outputs differ" if differing else "every output byte is the same"


def figures(report: Mapping[str, Any], clock_mhz: float) -> list[str]:
    """What the model costs, one line each; a part that is null in the report is not known."""
    ram, flash = report["ram"], report["flash"]
    simulation = report["simulation"] or {"instructions": None, "cycles_estimate": None}
    cycles = simulation["cycles_estimate"]
    latency = "unknown" if cycles is None else f"{cycles / clock_mhz / 1000:.2f} ms at {clock_mhz:g} MHz (estimate)"
    return [
        f"RAM           {_total(ram, ('arena', 'static', 'stack'))}",
        f"flash         {_total(flash, ('weights', 'tables', 'code'))}",
        f"instructions  {_number(simulation['instructions'])} per invocation",
        f"latency       {latency}",
    ]


def _total(sizes: Mapping[str, int | None], parts: Sequence[str]) -> str:
    known = [sizes[f"{part}_nbytes"] for part in parts]
    total = "unknown" if None in known else f"{sum(size for size in known if size is not None):,} bytes"
    return f"{total} ({', '.join(f'{part} {_number(size)}' for part, size in zip(parts, known, strict=True))})"


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


if __name__ == "__main__":
    main()
