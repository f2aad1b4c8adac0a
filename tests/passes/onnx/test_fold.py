"""Folding of onnx graphs: what is computed beforehand, what is not, and why."""

from collections.abc import Sequence

import numpy as np
import pytest

from arenite._base.remarks import RemarkKind
from arenite.formats.onnx import model_registry
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Array
from arenite.ir.opdef import OpCall
from arenite.ops.onnx.dialect import with_fold
from arenite.passes.onnx.fold import OnnxFold
from arenite.passes.onnx.presets import run_rounds
from passes.onnx.optimizing import model_of, optimized, reals

FOLD = (OnnxFold(),)


def test_a_chain_of_constants_becomes_one() -> None:
    text = """g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> {
        s = Add (a, b)
        m = Mul (s, b)
        y = Sub (x, m)
    }"""
    found = optimized(model_of(text), {"x": reals(2)}, passes=FOLD)
    assert found.ops == ["Sub"]
    assert found.reasons("s") == ["needless"]
    assert found.reasons("m") == ["folded"]
    assert found.constants["m"].tolist() == [12.0, 24.0]


def test_shapes_fold_with_a_dynamic_batch() -> None:
    text = """g (float[N, 3, 8] x) => (int64[1] y, float[N, 3, 8] z) {
        s = Shape (x)
        one = Constant <value_ints: ints = [1]> ()
        y = Gather (s, one)
        z = Relu (x)
    }"""
    found = optimized(model_of(text), {"x": reals(2, 3, 8)}, passes=FOLD)
    # Nobody reads the rest of the shape any more: dead code is another pass's work.
    assert found.ops == ["Shape", "Relu"]
    assert found.reasons("y")[0] == "known-type"
    assert found.constants["y"].tolist() == [3]


@pytest.mark.parametrize("op", ["RandomNormalLike", "RandomUniformLike", "Bernoulli"])
def test_random_operators_never_fold_but_their_shapes_do(op: str) -> None:
    text = f"""g (int64[2] x) => (int64[2] y, float[2, 3] r) <float[2, 3] c = {{0.5, 0.5, 0.5, 0.5, 0.5, 0.5}}> {{
        r = {op} (c)
        s = Shape (r)
        y = Add (s, x)
    }}"""
    found = optimized(model_of(text), passes=FOLD)
    assert found.ops == [op, "Add"]
    assert found.reasons("r", RemarkKind.MISSED) == ["impure"]
    assert found.constants["s"].tolist() == [2, 3]


def test_random_without_operands_stays() -> None:
    text = "g (float[2] x) => (float[2] y) { r = RandomNormal <shape: ints = [2]> ()  y = Add (x, r) }"
    found = optimized(model_of(text), passes=FOLD)
    assert found.ops == ["RandomNormal", "Add"]
    assert found.reasons("r") == ["impure"]


CUSTOM = "g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> { t = qa.test.Twice (c)  y = Add (x, t) }"


def test_custom_operators_are_not_known() -> None:
    model = model_of(CUSTOM, domains=', "qa.test": 1')
    found = optimized(model, passes=FOLD)
    assert found.reasons("t") == ["impure"]
    assert "not known" in next(r.text for r in found.remarks if r.subject == "t")


def test_custom_operators_fold_by_a_function() -> None:
    model = model_of(CUSTOM, domains=', "qa.test": 1')

    def twice(call: OpCall, operands: Sequence[Array | None]) -> tuple[Array, ...]:
        assert operands[0] is not None
        return (np.add(operands[0], operands[0]),)

    registry = with_fold(model_registry(model), "onnx.qa.test::Twice", twice)
    graph = clone_graph(model.graph)
    run_rounds(graph, FOLD, registry)
    assert [node.op for node in graph.nodes] == ["onnx.Add"]
    (constant,) = (v.constant for v in graph.constants())
    assert constant is not None
    assert constant.tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("Div (one, zero)", "infinite"),
        ("Div (zero, zero)", "NaN"),
        ("Log (zero)", "infinite"),
        ("Exp (big)", "infinite"),
        ("Sqrt (minus)", "NaN"),
        ("Reciprocal (zero)", "infinite"),
    ],
)
def test_unstable_results_are_refused_by_element(expression: str, what: str) -> None:
    text = f"""g (float[2] x) => (float[2] y)
        <float[2] one = {{1, 1}}, float[2] zero = {{1, 0}}, float[2] big = {{0, 200}}, float[2] minus = {{1, -1}}> {{
        c = {expression}
        y = Add (x, c)
    }}"""
    found = optimized(model_of(text), {"x": reals(2)}, passes=FOLD)
    assert found.reasons("c") == ["not-stable"]
    remark = next(r for r in found.remarks if r.subject == "c")
    assert remark.arguments["what"] == what
    assert remark.arguments["element"] == [1]
    assert len(found.ops) == 2


def test_integer_division_by_zero_is_refused() -> None:
    text = """g (int32[2] x) => (int32[2] y) <int32[2] a = {1, 2}, int32[2] b = {1, 0}> {
        c = Div (a, b)
        y = Add (x, c)
    }"""
    found = optimized(model_of(text), passes=FOLD)
    assert found.reasons("c") == ["no-meaning"]


def test_quantized_weights_stay_quantized() -> None:
    text = """g (float[1, 64] x) => (float[1, 64] y) <float s = {0.1}, int8 z = {0}> {
        q = QuantizeLinear (w, s, z)
        d = DequantizeLinear (q, s, z)
        y = MatMul (x, d)
    }"""
    model = model_of(text, constants={"w": reals(64, 64)})
    found = optimized(model, {"x": reals(1, 64)}, passes=FOLD)
    assert found.ops == ["DequantizeLinear", "MatMul"]
    assert found.constants["q"].dtype == np.int8
    assert found.reasons("d")[-1] == "keeps-quantized"


def test_tile_before_a_broadcast_goes_without_being_computed() -> None:
    text = """g (float[256, 256] x) => (float[256, 256] y) <float[1, 256] row, int64[2] times = {256, 1}> {
        t = Tile (row, times)
        y = Add (x, t)
    }"""
    model = model_of(text.replace("<float[1, 256] row, ", "<"), constants={"row": reals(1, 256)})
    found = optimized(model, {"x": reals(256, 256)}, passes=FOLD)
    assert found.ops == ["Add"]
    assert found.reasons("t") == ["broadcast"]
    assert sum(array.nbytes for array in found.constants.values()) == 1024


def test_tile_that_nothing_repeats_stays() -> None:
    text = """g (float[256, 8] x) => (float[256, 8] y) <int64[2] times = {256, 1}> {
        t = Tile (row, times)
        y = MatMul (t, x)
    }"""
    found = optimized(model_of(text, constants={"row": reals(1, 256)}), {"x": reals(256, 8)}, passes=FOLD)
    assert found.ops == ["Tile", "MatMul"]
    assert found.reasons("t") == ["too-large"]


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ("ReduceSum (e)", "too-large"),
        ("Gather (e, at)", "too-large"),
        ("Slice (e, at, two)", "needless"),
        ("Shape (e)", "needless"),
    ],
)
def test_what_repeats_without_end_is_not_read_through(node: str, reason: str) -> None:
    """185 bytes of a file are a tensor of 4 TB here."""
    text = f"""g (float x) => (float[A] y)
    <int64[1] at = {{0}}, int64[1] two = {{2}}, int64[1] wide = {{1099511627776}}> {{
        e = Expand (one, wide)
        r = {node}
        f = Cast <to: int = 1> (r)
        y = Add (f, x)
    }}"""
    found = optimized(model_of(text, constants={"one": np.ones(1, np.float32)}), passes=FOLD)
    assert found.reasons("r") == [reason]


def test_a_limit_of_bytes_is_kept() -> None:
    text = """g (float[64, 8] x) => (float[64, 8] y) <int64[2] times = {64, 1}> {
        t = Tile (row, times)
        y = MatMul (t, x)
    }"""
    row = {"row": reals(1, 64)}
    large = optimized(model_of(text, constants=row), passes=(OnnxFold(1 << 20),))
    assert large.ops == ["MatMul"]
    small = optimized(model_of(text, constants=row), passes=(OnnxFold(0),))
    assert small.ops == ["Tile", "MatMul"]


def test_splats_are_computed_as_one_element() -> None:
    """2^40 bytes of zeros that never exist."""
    text = """g (float[4] x) => (float[4] y) <int64[3] shape = {65536, 65536, 64}, float one = {1}> {
        c = ConstantOfShape (shape)
        d = Add (c, one)
        s = Shape (d)
        k = Gather (s, two)
        f = Cast <to: int = 1> (k)
        y = Mul (x, f)
    }"""
    model = model_of(text, constants={"two": np.array(2, np.int64)})
    # The original needs all of them, so that it cannot be run to compare.
    found = optimized(model, passes=FOLD)
    assert found.ops == ["Mul"]
    assert found.constants["f"].tolist() == 64.0


def test_folding_reaches_into_nested_graphs() -> None:
    text = """g (bool c, float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> {
        outer = Add (a, b)
        y = If (c) <
            then_branch = t () => (float[2] p) { m = Mul (outer, b)  p = Add (x, m) },
            else_branch = e () => (float[2] q) { q = Sub (x, outer) }
        >
    }"""
    feeds = [{"c": np.array(flag), "x": reals(2)} for flag in (True, False)]
    found = optimized(model_of(text), *feeds, passes=FOLD)
    assert sorted(found.ops) == ["Add", "If", "Sub"]
    assert found.constants["m"].tolist() == [12.0, 24.0]


def test_every_candidate_has_one_verdict() -> None:
    text = """g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> {
        dead = Add (a, b)
        y = Relu (x)
    }"""
    model = model_of(text)
    result = run_rounds(model.graph, FOLD, model_registry(model))
    assert sorted((r.subject, r.reason.slug) for r in result.remarks if r.kind is RemarkKind.PASSED) == [
        ("dead", "needless")
    ]


def test_a_huge_row_is_never_spread_out() -> None:
    """2^42 bytes, of which 16 exist."""
    text = """g (float[4] x) => (float[2, 4] y) <int64[3] shape = {65536, 4194304, 4}> {
        e = Expand (row, shape)
        n = Neg (e)
        y = Slice (n, zero, two)
        z = Shape (n)
    }"""
    constants: dict[str, Array] = {
        "row": np.arange(4, dtype=np.float32),
        "zero": np.array([0, 0], np.int64),
        "two": np.array([1, 2], np.int64),
    }
    model = model_of(text.replace("(float[2, 4] y)", "(float[A, B, C] y)"), constants=constants)
    found = optimized(model, passes=FOLD)
    assert found.reasons("n") == ["too-large"]
    assert found.constants["row"].nbytes == 16


@pytest.mark.parametrize("trains", [False, True])
def test_dropout_folds_unless_it_trains(trains: bool) -> None:
    text = f"""g (float[2] x) => (float[2] y)
        <float[2] c = {{1, 2}}, float ratio = {{0.5}}, bool trains = {{{int(trains)}}}> {{
        d = Dropout (c, ratio, trains)
        y = Add (x, d)
    }}"""
    found = optimized(model_of(text), passes=FOLD)
    assert found.reasons("d") == ["impure" if trains else "folded"]


CORNERS = 'coordinate_transformation_mode: string = "align_corners"'
CUBIC = 'mode: string = "cubic", padding_mode: string'


@pytest.mark.parametrize(
    ("node", "scales", "folds"),
    [
        (f"Resize <{CORNERS}> (k, , s)", [1, 1, 2, 1.5], False),
        (f"Resize <{CORNERS}> (k, , s)", [1, 1, 0.7, 1], False),
        (f"Resize <{CORNERS}> (k, , s)", [1, 1, 0.6, 1], False),
        (f"Resize <{CORNERS}> (k, , s)", [1, 1, 2, 3], True),
        (f"Resize <{CORNERS}, axes: ints = [2, 3]> (k, , s)", [2, 1.5], False),
        (f"Resize <{CORNERS}, axes: ints = [2, 3]> (k, , s)", [2, 2], True),
        (f"Resize <{CORNERS}> (k, , , z)", [], True),
        (f'Resize <{CORNERS}, keep_aspect_ratio_policy: string = "not_larger"> (k, , , z)', [], False),
        ("Resize (k, , s)", [1, 1, 2, 1.5], True),
        ("Resize (k, , s)", [1, 1, 1.4, 1], False),
        (f'GridSample <{CUBIC} = "border"> (k, grid)', [], False),
        (f'GridSample <{CUBIC} = "zeros"> (k, grid)', [], True),
        ('GridSample <mode: string = "linear", padding_mode: string = "border"> (k, grid)', [], True),
    ],
)
def test_what_runtimes_do_not_agree_on_is_left_to_them(node: str, scales: list[float], folds: bool) -> None:
    constants: dict[str, Array] = {"k": reals(1, 1, 5, 5)}
    if "s)" in node:
        constants["s"] = np.array(scales, np.float32)
    if "z)" in node:
        constants["z"] = np.array([1, 1, 7, 8], np.int64)
    if "grid" in node:
        constants["grid"] = reals(1, 3, 3, 2)
    node = node.replace(", ,", ', "",').replace(", ,", ', "",')
    model = model_of(
        f"g (float x) => (float[A, B, C, D] y) {{ r = {node}  y = Add (r, x) }}", opset=20, constants=constants
    )
    found = optimized(model, passes=FOLD)
    assert found.reasons("r") == (["folded"] if folds else ["disputed"])


@pytest.mark.parametrize(("dims", "folds"), [("float", False), ("float[1]", True)])
def test_whether_a_number_without_dimensions_has_some_is_left_to_the_runtime(dims: str, folds: bool) -> None:
    text = f"""g (int64 x) => (int64[A, B] y) <{dims} k = {{6}}> {{
        r = NonZero (k)
        y = Add (r, x)
    }}"""
    found = optimized(model_of(text), passes=FOLD)
    assert found.reasons("r") == (["folded"] if folds else ["disputed"])
