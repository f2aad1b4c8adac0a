"""Pages that are made from the code are up to date; links between pages lead somewhere."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


@pytest.mark.parametrize("name", ["ops.md", "remarks.md", "onnx-operators.md"])
def test_generated_pages_are_current(name: str) -> None:
    spec = importlib.util.spec_from_file_location("generate_docs", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (DOCS / name).read_text(encoding="utf-8") == module.PAGES[name](), "run `make docs`"


@pytest.mark.parametrize(
    "page", sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")]), ids=lambda p: str(p.relative_to(ROOT))
)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    broken = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not broken
