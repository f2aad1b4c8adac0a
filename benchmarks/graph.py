"""Graph optimisation beside other tools: `python benchmarks/graph.py FOLDER [--only TEXT] [--tools arenite,onnxslim]`.

FOLDER holds .onnx models. Each tool's command line runs on each model; the columns are nodes (nested ones included, no
Constant), bytes of weights, and CPU seconds (user and system) of the whole process, side by side in one run. Tools that
are not installed are left out. Exit status 1 if Arenite needs more CPU than another tool, or raises peak activations.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import onnx

TOOLS = {
    "arenite": ["arenite", "optimize", "{model}", "-o", "{out}", "--check", "0", "--json"],
    "onnxslim": ["onnxslim", "{model}", "{out}"],
    "onnxsim": ["onnxsim", "{model}", "{out}"],
}


def graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs(attribute.g)


def count(path: Path) -> tuple[int, int]:
    """Nodes and bytes of initialisers and constants."""
    nodes = nbytes = 0
    for graph in graphs(onnx.load(path).graph):
        nodes += sum(node.op_type != "Constant" for node in graph.node)
        held = [*graph.initializer]
        held += [a.t for node in graph.node if node.op_type == "Constant" for a in node.attribute if a.name == "value"]
        nbytes += sum(onnx.numpy_helper.to_array(tensor).nbytes for tensor in held)
    return nodes, nbytes


def program(name: str) -> str | None:
    """The tool's program, first beside this Python's."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name)


def run(tool: str, model: Path, out: Path) -> tuple[float, str, int]:
    """CPU seconds of the command line, its stdout and its exit status."""
    command = [word.format(model=model, out=out) for word in TOOLS[tool]]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [program(command[0]) or command[0], *command[1:]], capture_output=True, text=True, check=False, timeout=600
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, done.stdout, done.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--tools", default=",".join(TOOLS))
    options = parser.parse_args()
    tools = [tool for tool in options.tools.split(",") if program(tool)]
    print(f"{'model':40}{'nodes':>6}" + "".join(f"{tool:>10}{'weights':>10}{'cpu s':>7}" for tool in tools))
    worse = 0
    for model in sorted(options.folder.rglob("*.onnx")):
        if options.only not in model.name:
            continue
        line = f"{model.stem:40}{count(model)[0]:>6}"
        seconds = {}
        for tool in tools:
            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder) / "out.onnx"
                seconds[tool], stdout, status = run(tool, model, out)
                if status or not out.exists():
                    line += f"{'-':>10}{'-':>10}{seconds[tool]:>7.2f}"
                    continue
                nodes, nbytes = count(out)
                line += f"{nodes:>10}{nbytes:>10}{seconds[tool]:>7.2f}"
                if tool == "arenite":
                    line, worse = _peak(line, stdout, worse)
        others = [value for tool, value in seconds.items() if tool != "arenite"]
        slower = "arenite" in seconds and others and seconds["arenite"] > min(others)
        worse += bool(slower)
        print(line + ("  slower" if slower else ""), flush=True)
    return 1 if worse else 0


def _peak(line: str, stdout: str, worse: int) -> tuple[str, int]:
    content = json.loads(stdout)
    before, after = (content[key]["activations_nbytes"] for key in ("before", "after"))
    if before is not None and after is not None and after > before:
        return f"{line} (peak {before} -> {after})", worse + 1
    return line, worse


if __name__ == "__main__":
    sys.exit(main())
