"""Hypothesis profiles, and the reasons for which a test that needs a tool is skipped."""

import importlib.util
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SHARED = Path(__file__).resolve().parents[2] / "shared"

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("default", max_examples=25, **_COMMON)  # type: ignore[arg-type]
settings.register_profile("ci", max_examples=300, **_COMMON)  # type: ignore[arg-type]
settings.load_profile(os.environ.get("ARENITE_PROFILE", "default"))


def _module(name: str) -> Callable[[], bool]:
    return lambda: importlib.util.find_spec(name) is not None


def _program(name: str) -> Callable[[], bool]:
    return lambda: shutil.which(name) is not None


# marker → (is it there?, what to install)
_TOOLS: dict[str, tuple[Callable[[], bool], str]] = {
    "wheel": (_module("tflite_micro"), "pip install tflite-micro (Linux x86-64)"),
    "litert": (_module("ai_edge_litert"), "pip install ai-edge-litert"),
    "zig": (_module("ziglang"), "pip install ziglang"),
    "unicorn": (_module("unicorn"), "pip install unicorn"),
    "gcc": (_program("gcc"), "a host gcc"),
    "clang": (_program("clang"), "a host clang"),
    "arm_gcc": (_program("arm-none-eabi-gcc"), "gcc-arm-none-eabi"),
    "qemu": (_program("qemu-system-arm"), "qemu-system-arm"),
    "cmake": (_program("cmake"), "cmake"),
    "shared": (SHARED.is_dir, "the shared models and cases beside the checkout"),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what cannot run here, saying what it needs."""
    missing = {name: need for name, (there, need) in _TOOLS.items() if not there()}
    for item in items:
        for marker in item.iter_markers():
            if marker.name in missing:
                item.add_marker(pytest.mark.skip(reason=f"needs {missing[marker.name]}"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with shared models, cases and checks; tests that use it carry the `shared` marker."""
    return SHARED
