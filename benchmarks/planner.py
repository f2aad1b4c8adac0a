"""Memory planning on the public minimalloc instances A to K: `python benchmarks/planner.py FOLDER [--nodes N]`.

FOLDER holds `A.1048576.csv` and so on; the number in the name is the capacity in bytes. Each instance is
planned until it fits its capacity (exit status 1 if one does not), or with `--optimum` down to its lower bound.
"""

import argparse
import sys
import time
from pathlib import Path

from arenite.memory import validate
from arenite.memory.bound import sections_bound
from arenite.memory.csvfile import read_csv
from arenite.memory.exact import improve
from arenite.memory.greedy import greedy
from arenite.memory.problem import Solution
from arenite.memory.sections import make_sections


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nodes", type=int, default=5_000_000)
    parser.add_argument("--optimum", action="store_true", help="do not stop at the capacity")
    options = parser.parse_args()
    print(f"{'name':5}{'buffers':>8}{'bound':>9}{'greedy':>9}{'found':>9}{'nodes':>9}{'cpu s':>7}  method")
    fits = True
    for path in sorted(options.folder.glob("?.*.csv")):
        capacity = int(path.name.split(".")[1])
        problem = read_csv(path, capacity)
        began = time.process_time()
        sections = make_sections(problem)
        bound = sections_bound(sections)
        placed, greedy_nbytes, method = greedy(sections, bound)
        found = improve(problem, greedy_nbytes, bound if options.optimum else max(bound, capacity), options.nodes)
        seconds = time.process_time() - began
        offsets = {b.name: int(o) for b, o in zip(sections.buffers, placed, strict=True)} | (found.offsets or {})
        valid = not validate(problem, Solution(offsets, found.nbytes, bound, found.method))
        fits &= valid
        print(
            f"{path.name.split('.')[0]:5}{len(problem.buffers):8}{bound:9}{greedy_nbytes:9}{found.nbytes:9}"
            f"{found.nodes:9}{seconds:7.2f}  {found.method or method}{'' if valid else '  DOES NOT FIT'}",
            flush=True,
        )
    return 0 if fits else 1


if __name__ == "__main__":
    sys.exit(main())
