"""Two builds by their reports."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from arenite._base.errors import DataError, UsageError
from arenite.api import compile as compile_model
from arenite.api import load
from arenite.driver.compare import compare
from arenite.driver.compare_builds import BuildComparison, Figure, compare_builds
from cli.test_cli import DIGITS


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("builds")
    compile_model(load(DIGITS), simulate="off").write(folder / "speed")
    compile_model(load(DIGITS), simulate="off", optimize="flash").write(folder / "flash")
    return folder / "speed", folder / "flash"


def edited(source: Path, target: Path, **layer: object) -> Path:
    """The same build, with another first layer."""
    report = json.loads((source / "report.json").read_text())
    report["layers"][0].update(layer)
    target.mkdir()
    (target / "report.json").write_text(json.dumps(report))
    return target


def test_a_build_is_the_same_as_itself(builds: tuple[Path, Path]) -> None:
    found = compare_builds(builds[0], builds[0])
    assert found.same_model
    assert not any(layer.differs for layer in found.layers)
    assert "every layer is the same" in found.to_text()


def test_figures_and_layers_that_differ_are_told(builds: tuple[Path, Path]) -> None:
    found = compare(*builds, None)
    assert isinstance(found, BuildComparison)
    reports = [json.loads((folder / "report.json").read_text()) for folder in builds]
    figures = {figure.name: figure for figure in found.figures}
    assert figures["arena, bytes"].a == reports[0]["memory"]["arena_nbytes"]
    assert figures["weights, bytes"].b == reports[1]["flash"]["weights_nbytes"]
    assert figures["code, bytes"].a is None
    expected = [
        one["name"]
        for one, two in zip(reports[0]["layers"], reports[1]["layers"], strict=True)
        if one["kernel"] != two["kernel"]
    ]
    assert [layer.name for layer in found.layers if layer.differs] == expected != []
    assert f"{len(expected)} of {len(found.layers)} layers differ" in found.to_text()
    json.dumps(found.to_json(), allow_nan=False)


def test_layers_of_one_build_alone(builds: tuple[Path, Path], tmp_path: Path) -> None:
    other = edited(builds[0], tmp_path / "other", name="new", instructions=5)
    changed = [layer for layer in compare_builds(builds[0], other).layers if layer.differs]
    assert [(layer.name, [bool(kernel) for kernel in layer.kernels]) for layer in changed] == [
        ("stem", [True, False]),
        ("new", [False, True]),
    ]


def test_a_change_is_told_in_numbers_and_percent() -> None:
    assert Figure("code", 200, 150).text.split() == ["code", "200", "150", "-50,", "-25.0", "%"]
    assert Figure("code", None, 150).text.split() == ["code", "-", "150"]
    assert replace(Figure("code", 0, 7)).text.split() == ["code", "0", "7", "+7"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"layers": 5}', "[" * 100_000])
def test_what_is_no_report_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(DataError, match="not a report of arenite"):
        compare_builds(tmp_path, tmp_path)


def test_what_a_report_lacks_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text('{"layers": [5, null, {}], "memory": [], "ram": {"stack_nbytes": "x"}}')
    assert all((figure.a, figure.b) == (None, None) for figure in compare_builds(tmp_path, tmp_path).figures)


def test_options_of_models_are_refused_for_builds(builds: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--inputs is for models"):
        compare(*builds, tmp_path / "in.npz")
    with pytest.raises(UsageError, match="--fail-above is for outputs"):
        compare(*builds, None).problem(0.0)
    with pytest.raises(DataError, match=r"report\.json: there is no such file"):
        compare(tmp_path, builds[0], None)


@pytest.mark.parametrize("number", [10**400, True, -(2**63), "7", None])
def test_what_is_no_figure_is_not_known(builds: tuple[Path, Path], tmp_path: Path, number: object) -> None:
    """A report may come from a stranger."""
    odd = edited(builds[0], tmp_path / "odd", instructions=number)
    for pair in ((odd, builds[0]), (builds[0], odd)):
        found = compare_builds(*pair)
        assert None in (found.layers[0].instructions.a, found.layers[0].instructions.b)
        assert found.to_text()
