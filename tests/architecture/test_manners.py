"""What a reader should be able to rely on: short files, pure imports, no foreign words, no C loops in Python."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "arenite"
LINE_LIMIT = 500

FILES = sorted(
    path
    for folder in ("src", "tests", "benchmarks", "examples")
    for suffix in ("*.py", "*.c", "*.h")
    for path in (ROOT / folder).rglob(suffix)
)


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_files_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LINE_LIMIT


@pytest.mark.parametrize("path", [p for p in FILES if p.suffix == ".py" and SOURCE in p.parents], ids=_name)
def test_no_c_loop_in_a_python_string(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"""["'].*\b(for|while) \([^)]*[<>=;].*["']""", text), "kernels are C files"


@pytest.mark.parametrize("path", [p for p in FILES if p.suffix == ".h"], ids=_name)
def test_target_conditionals_live_in_port_h(path: Path) -> None:
    if path.name != "arenite_port.h":
        conditionals = re.findall(r"^\s*#\s*(?:if|ifdef|elif)\b.*", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert not conditionals


def test_help_is_fast_because_it_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from arenite.cli.main import app\n"
        "heavy = {'numpy', 'onnx', 'jinja2', 'flatbuffers', 'unicorn', 'elftools', 'capstone'} & set(sys.modules)\n"
        "print(sorted(heavy))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
