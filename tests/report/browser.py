"""Pages in a real browser, where there is one, and what a browser would make of their elements."""

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

needs_browser = pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")


class Structure(HTMLParser):
    """Counts elements and notices what a browser would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "data", "srcset") or (name == "href" and not (value or "").startswith("#")):
                self.fetched.append(f"{tag} {name}={value}")


def complaints(page: str, folder: Path, width: int) -> list[str]:
    """What the browser says of a page that it shows at a width; the picture goes to shot.png in the folder."""
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    quiet = ["--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update"]
    done = subprocess.run(
        [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            *quiet,
            "--disable-sync",
            "--enable-logging=stderr",
            f"--user-data-dir={folder / 'profile'}",
            f"--window-size={width},900",
            f"--screenshot={folder / 'shot.png'}",
            file.as_uri(),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (folder / "shot.png").stat().st_size > 10_000
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line or "Refused" in line]
