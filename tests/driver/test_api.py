"""The public surface for Python."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import arenite
from arenite._base.errors import UsageError

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.tflite"


def test_names_are_there_and_no_others() -> None:
    for name in arenite.__all__:
        assert getattr(arenite, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'optimise'"):
        arenite.optimise  # noqa: B018


def test_compile_leaves_the_model_as_it_was(tmp_path: Path) -> None:
    from arenite.ir.printer import print_graph

    model = arenite.load(DIGITS)
    before = print_graph(model.graph).text
    result = arenite.compile(model, target="cortex-m4", name="net", simulate="off")
    assert print_graph(model.graph).text == before
    result.write(str(tmp_path / "out"))
    assert {"net.c", "net.h", "report.json", "report.html", "trim.json"} <= {
        p.name for p in (tmp_path / "out").iterdir()
    }


def test_equal_models_give_equal_bytes() -> None:
    first, second = (arenite.compile(arenite.load(DIGITS), simulate="off").build.files for _ in range(2))
    assert first == second


def test_an_optimised_model_is_written_where_a_string_says(tmp_path: Path) -> None:
    arenite.optimize(arenite.load(DIGITS), check=0).write(str(tmp_path / "small.tflite"))
    assert arenite.load(tmp_path / "small.tflite").format == "tflite"


def test_the_interpreter_has_tflites_names() -> None:
    interpreter = arenite.Interpreter(arenite.load(DIGITS))
    interpreter.allocate_tensors()
    (entry,) = interpreter.get_input_details()
    interpreter.set_tensor(entry["index"], np.zeros(entry["shape"], entry["dtype"]))
    interpreter.invoke()
    (result,) = interpreter.get_output_details()
    assert interpreter.get_tensor(result["index"]).shape == tuple(result["shape"])


@pytest.mark.parametrize("use", [arenite.compile, arenite.optimize, arenite.convert, arenite.Interpreter])
@pytest.mark.parametrize("given", [str(DIGITS), None, 5])
def test_a_path_is_not_a_model_yet(use: Any, given: object) -> None:
    with pytest.raises(TypeError, match=r"load a file with arenite\.load"):
        use(given)


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert arenite.__version__ == version("arenite")


def test_custom_operators_fold_by_functions(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["": 17, "qa.test": 1]>
    g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> {
        t = qa.test.Scale <by: float = 3.0> (c)
        y = Add (x, t)
    }"""
    (tmp_path / "model.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())
    model = arenite.load(tmp_path / "model.onnx")
    assert len(arenite.optimize(model).model.graph) == 2

    def scale(operand: np.ndarray[Any, Any], *, by: float) -> np.ndarray[Any, Any]:
        return (operand * by).astype(operand.dtype)

    result = arenite.optimize(model, fold_functions={"qa.test::Scale": scale})
    assert result.checked.inputs == 3
    (add,) = result.model.graph.nodes
    assert [v.constant.tolist() for v in add.operands if v is not None and v.constant is not None] == [[3.0, 6.0]]
    with pytest.raises(arenite.AreniteError, match="is not DOMAIN::OP"):
        arenite.optimize(model, fold_functions={"Scale": scale})
    with pytest.raises(arenite.AreniteError, match=r"qa\.test::Scale has no counterpart"):
        arenite.convert(model)
    converted = arenite.convert(model, fold_functions={"qa.test::Scale": scale})
    assert converted.operators == (("add", 1),)
    assert converted.checked.inputs == 3


def test_a_bundle_may_be_for_another_build_system() -> None:
    result = arenite.compile(
        arenite.load(DIGITS), simulate="off", bundle="arduino", keep=["tanh"], debug_layers=True, without=["cse"]
    )
    assert {"src/digits.c", "src/digits_kept.c", "src/digits_debug.c", "library.properties"} <= set(result.files)
    assert result.report.files == tuple(sorted(result.files))
    assert "cse" not in {row.name for row in result.report.passes}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"optimize": "fast"}, "optimize: expected speed, flash or ram, found 'fast'"),
        ({"simulate": "maybe"}, "simulate: expected auto, on or off, found 'maybe'"),
        ({"bundle": "make"}, "bundle: expected cmake, arduino, zephyr or esp-idf, found 'make'"),
        ({"ram_limit_nbytes": -1, "without": ("fold", "folds")}, "without: no pass is called 'folds'; there are"),
        ({"fold_max_nbytes": -5, "flash_limit_nbytes": -2}, "fold_max_nbytes: expected 0 or more, found -5"),
    ],
)
def test_compile_refuses_what_the_command_line_would_not_take(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        arenite.compile(arenite.load(DIGITS), **({"simulate": "off"} | asked))
    assert any(problem.startswith(said) for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"check": -1}, "check: expected 0 or more, found -1"),
        ({"without": ["folds"]}, "without: no pass is called 'folds'"),
    ],
)
def test_optimize_refuses_what_the_command_line_would_not_take(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        arenite.optimize(arenite.load(DIGITS), **asked)
    assert caught.value.problems[0].startswith(said)


def test_convert_refuses_what_the_command_line_would_not_take() -> None:
    with pytest.raises(UsageError) as caught:
        arenite.convert(arenite.load(DIGITS), check=-1, fold_max_nbytes=-2, pad="none")  # type: ignore[arg-type]
    assert [problem.partition(":")[0] for problem in caught.value.problems] == ["pad", "fold_max_nbytes", "check"]
