"""The tests of the C kernels once more, in a process under the address sanitizer: no access outside of an array."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arenite.toolchain.process import run_tool

_HERE = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.gcc
@pytest.mark.parametrize(
    "test", ["test_weighted.py::test_c_does_what_the_op_means[gcc]", "test_plain.py::test_c_by_gcc"]
)
def test_no_access_outside_of_an_array(test: str) -> None:
    runtime = run_tool(("gcc", "-print-file-name=libasan.so"), what="asking gcc for its sanitizer").strip()
    if not Path(runtime).is_absolute():
        pytest.skip("needs gcc's address sanitizer library")
    # Leaks are Python's own business.
    environment = {**os.environ, "LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0", "ARENITE_SANITIZE": "address"}
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(_HERE / test))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.slow
@pytest.mark.gcc
def test_the_sanitizer_is_awake() -> None:
    """A kernel that is told of one more input element than there is must be caught."""
    runtime = run_tool(("gcc", "-print-file-name=libasan.so"), what="asking gcc for its sanitizer").strip()
    if not Path(runtime).is_absolute():
        pytest.skip("needs gcc's address sanitizer library")
    environment = {**os.environ, "LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0", "ARENITE_SANITIZE": "address"}
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import numpy as np\n"
        "from arenite.kernels.families.dense import FULLY_CONNECTED_S8 as INFO\n"
        "from kernels.host import call\n"
        "params = dict(rows=1, inputs=9, outputs=1, output_zero_point=0, clamp_low=-128, clamp_high=127, narrow=0)\n"
        "bytes_, words = (lambda n: np.zeros(n, np.int8)), (lambda n: np.zeros(n, np.int32))\n"
        "call(INFO, params, dict(input=bytes_(8), weights=bytes_(36), biases=words(4), multipliers=words(4),\n"
        "                        shifts=bytes_(4), output=bytes_(1)))\n"
    )
    command = (sys.executable, "-c", script, str(_HERE.parent))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert "heap-buffer-overflow" in done.stderr
