"""Large graphs: `python benchmarks/large_graphs.py [--external-gb 2.5] [--folder DIR]`.

CPU seconds of `arenite optimize --check 0` on generated graphs of 1,250 to 10,000 nodes, of three kinds, without the
start of the program; exit status 1 if twice the nodes take more than three times as long. With --external-gb the
peak memory of optimising a model with external data, too; the folder must have room for twice its size.
"""

import argparse
import itertools
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

SIZES = (1_250, 2_500, 5_000, 10_000)
MOST_GROWTH = 3.0
MOST_MB = 500


def chain(count: int) -> list[onnx.NodeProto]:
    """Layers with something to remove between them, one after the other."""
    ops = ("Sin", "Identity", "Neg", "Neg", "Tanh")
    return [helper.make_node(ops[i % 5], [f"v{i}"], [f"v{i + 1}"], name=f"n{i}") for i in range(count)]


def residual(count: int) -> list[onnx.NodeProto]:
    """Blocks that add what they got."""
    nodes = []
    for i in range(count):
        operands = [f"v{i}", f"v{i - 3}"] if i % 4 == 3 else [f"v{i}"]
        nodes.append(helper.make_node("Add" if i % 4 == 3 else "Sigmoid", operands, [f"v{i + 1}"], name=f"n{i}"))
    return nodes


def shapes(count: int) -> list[onnx.NodeProto]:
    """Sizes computed and thrown away, as exporters write them."""
    nodes = []
    for i in range(0, count, 4):
        nodes += [
            helper.make_node("Shape", [f"v{i}"], [f"s{i}"], name=f"n{i}"),
            helper.make_node("Concat", [f"s{i}"], [f"t{i}"], name=f"n{i + 1}", axis=0),
            helper.make_node("Reshape", [f"v{i}", f"t{i}"], [f"r{i}"], name=f"n{i + 2}"),
            helper.make_node("Cos", [f"r{i}"], [f"v{i + 4}"], name=f"n{i + 3}"),
        ]
    return nodes


KINDS: dict[str, Callable[[int], list[onnx.NodeProto]]] = {"chain": chain, "residual": residual, "shapes": shapes}


def write_graph(path: Path, nodes: list[onnx.NodeProto]) -> None:
    value = helper.make_tensor_value_info("v0", TensorProto.FLOAT, ["N", 4])
    output = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [value], [output])
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    )


def write_external(path: Path, gigabytes: float) -> None:
    """Matrices of a hundred megabytes each, in a file beside the model, and something to remove after each."""
    each = 100 * 1024 * 1024
    count = max(1, round(gigabytes * 1024**3 / each))
    rows = each // 4 // 1024
    nodes, tensors = [], []
    with (path.parent / "weights.bin").open("wb") as file:
        for i in range(count):
            file.write(np.random.default_rng(i).standard_normal(each // 4, dtype=np.float32).data)
            tensor = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[1024, rows])
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", "weights.bin"), ("offset", str(i * each)), ("length", str(each))):
                tensor.external_data.add(key=key, value=value)
            tensors.append(tensor)
            nodes.append(helper.make_node("MatMul", ["x", f"w{i}"], [f"m{i}"], name=f"m{i}"))
            nodes.append(helper.make_node("Identity", [f"m{i}"], [f"y{i}"], name=f"i{i}"))
    outputs = [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, [1, rows]) for i in range(count)]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1024])], outputs, tensors
    )
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    )


def optimize(path: Path, out: Path) -> tuple[float, float]:
    """CPU seconds, and the peak of memory in megabytes."""
    command = [sys.executable, "-m", "arenite", "optimize", str(path), "-o", str(out), "--check", "0"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--external-gb", type=float, default=0.0)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        path, out = folder / "model.onnx", folder / "out.onnx"
        write_graph(path, chain(1))
        start = min(optimize(path, out)[0] for _ in range(3))
        print(f"the start of the program takes {start:.2f} CPU seconds\n")
        print(f"{'kind':10}" + "".join(f"{size:>9,}" for size in SIZES))
        for kind, make in KINDS.items():
            seconds = []
            for size in SIZES:
                write_graph(path, make(size))
                seconds.append(max(min(optimize(path, out)[0] for _ in range(2)) - start, 0.01))
            slow = any(b > MOST_GROWTH * a for a, b in itertools.pairwise(seconds[1:]))
            failed += slow
            print(f"{kind:10}" + "".join(f"{each:9.2f}" for each in seconds) + ("  not linear" if slow else ""))
        if options.external_gb:
            # In a process of its own, since a new process counts the memory of the one that starts it as its own peak.
            writer = multiprocessing.get_context("spawn").Process(
                target=write_external, args=(path, options.external_gb)
            )
            writer.start()
            writer.join()
            size = (folder / "weights.bin").stat().st_size
            seconds_taken, megabytes = optimize(path, out)
            failed += megabytes > MOST_MB
            print(
                f"\n{size / 1024**3:.2f} GB of external data: {megabytes:.0f} MB of memory, {seconds_taken:.1f} CPU s"
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
