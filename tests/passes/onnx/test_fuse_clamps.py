"""Consecutive clamps: each precondition has a test that fails when it is taken away."""

import math
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.formats.onnx import export_model, import_model, model_registry
from arenite.passes.base import Context
from arenite.passes.onnx.fuse_clamps import MergeClamps
from arenite.passes.onnx.fuse_ranges import Interval
from passes.onnx.fusing import Net, Outcome, reseed, run, said

SPEC = MergeClamps()
Bounds = tuple[float | None, float | None]


def clamp(n: Net, data: str, bounds: Bounds | None, result: str = "") -> str:
    """Relu where there are no bounds, else Clip in whatever form the opset has."""
    if bounds is None:
        return n.node("Relu", [data], result)
    if n.opset < 11:
        attrs = {name: float(b) for name, b in zip(("min", "max"), bounds, strict=True) if b is not None}
        return n.node("Clip", [data], result, **attrs)
    operands: list[Any] = [data, *(None if b is None else n.constant(np.array(b, n.dtype)) for b in bounds)]
    while operands[-1] is None:
        operands.pop()
    return n.node("Clip", operands, result)


def pair(first: Bounds | None, second: Bounds | None, opset: int = 13, dtype: Any = np.float32) -> Outcome:
    n = Net(opset=opset, dtype=dtype)
    y = clamp(n, clamp(n, n.input("x", [3, 50]), first, "a"), second, "y")
    return Outcome(n.model(y), SPEC, tolerance=0, scale=5)


def bounds_of(o: Outcome) -> Bounds:
    node = o.model.graph.node[0]
    if node.op_type == "Relu":
        return 0, None
    names = [*node.input[1:], "", ""][:2]
    constants = {c.name: onnx.numpy_helper.to_array(c).item() for c in o.model.graph.initializer}
    return constants.get(names[0]), constants.get(names[1])


@pytest.mark.parametrize(
    ("first", "second", "merged"),
    [
        (None, None, (0, None)),
        (None, (-1, 1), (0, 1)),
        (None, (0, 6), (0, 6)),
        (None, (None, 6), (0, 6)),
        (None, (2, None), (2, None)),
        ((0, 6), None, (0, 6)),
        ((-1, 6), None, (0, 6)),
        ((None, 1), None, (0, 1)),
        ((-3, None), None, (0, None)),
        ((0, 6), (2, 9), (2, 6)),
        ((0, 1), (2, 3), (2, 2)),
        ((2, 3), (0, 1), (1, 1)),
        ((2, -1), (-3, 0), (2, -1)),
        ((0, 6), (2, -1), (2, -1)),
        ((None, None), (0, 1), (0, 1)),
    ],
)
@pytest.mark.parametrize("opset", [7, 11, 13])
def test_two_become_one(first: Bounds | None, second: Bounds | None, merged: Bounds, opset: int) -> None:
    if opset < 11 and (2, -1) in (first, second):
        pytest.skip("onnxruntime refuses such bounds before opset 11")
    o = pair(first, second, opset)
    assert len(o.ops) == 1
    if opset > 7:
        assert bounds_of(o) == merged
    assert o.model.graph.output[0].name == "y"


def test_bounds_that_stay_are_the_same_constants() -> None:
    n = Net()
    y = clamp(n, clamp(n, n.node("Sin", [n.input("x", [3, 50])]), None, "a"), (-1, 0.5), "y")
    o = Outcome(n.model(y), SPEC, tolerance=0)
    assert [c.name for c in o.model.graph.initializer] == ["n_y_min", "c1"]
    assert sorted(o.said) == ["n_a", "n_y"]


def test_clip_to_everything_goes() -> None:
    n = Net()
    y = n.node("Sin", [clamp(n, n.input("x", [3, 50]), (-math.inf, math.inf), "a")])
    assert Outcome(n.model(y), SPEC, tolerance=0).of("a") == "passed needless"


def test_integers() -> None:
    large = 2**53 + 1
    o = pair((0, large), (5, None), dtype=np.int64)
    assert bounds_of(o) == (5, large)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_floats(dtype: Any) -> None:
    assert bounds_of(pair(None, (-1, 0.1), dtype=dtype)) == (0, dtype(0.1))


def test_first_that_somebody_else_reads_stays() -> None:
    n = Net()
    a = clamp(n, n.input("x", [3, 50]), None, "a")
    y, z = clamp(n, a, (-1, 1), "y"), n.node("Sin", [a], "z")
    o = Outcome(n.model(y, z), SPEC)
    assert o.of("y") == "missed several-readers"


def test_first_that_is_an_output_stays() -> None:
    n = Net()
    a = clamp(n, n.input("x", [3, 50]), (-1, 1), "a")
    o = Outcome(n.model(a, clamp(n, a, None, "y")), SPEC)
    assert o.of("y") == "missed intermediate-is-output"


def test_second_that_does_nothing_goes_even_if_others_read_the_first() -> None:
    n = Net()
    a = clamp(n, n.input("x", [3, 50]), (0, 6), "a")
    y, z = clamp(n, a, None, "y"), n.node("Sin", [a], "z")
    o = Outcome(n.model(n.node("Cos", [y], "w"), z), SPEC)
    assert o.of("y") == "passed needless"


def test_second_that_does_nothing_stays_where_both_are_outputs() -> None:
    n = Net()
    a = clamp(n, n.input("x", [3, 50]), (0, 6), "a")
    o = Outcome(n.model(a, clamp(n, a, None, "y")), SPEC)
    assert o.of("y") == "missed output-name"


def test_bounds_that_are_computed_stay() -> None:
    n = Net()
    a = n.node("Relu", [n.input("x", [3, 50])], "a")
    n.node("Clip", [a, n.input("low", []), None][:2], "y")
    assert Outcome(n.model("y"), SPEC).of("y") == "missed unknown-bounds"
    n = Net()
    n.node("Clip", [n.input("x", [3, 50]), n.input("low", [])], "a")
    assert Outcome(n.model(clamp(n, "a", None, "y")), SPEC).of("y") == "missed no-clamp"


def test_bounds_that_are_nan_stay() -> None:
    o = pair(None, (math.nan, 1.0))
    assert o.of("y") == "missed unknown-bounds"


@pytest.mark.parametrize("op", ["Sigmoid", "Softmax", "Abs", "Exp", "HardSigmoid", "Softplus", "Sqrt"])
def test_relu_of_what_is_not_negative_goes(op: str) -> None:
    n = Net()
    y = clamp(n, n.node(op, [n.input("x", [3, 50])]), None, "y")
    model = n.model(y)
    if op == "Sqrt":
        model.graph.node.insert(0, onnx.helper.make_node("Abs", ["x"], ["p"]))
        model.graph.node[1].input[0] = "p"
    assert Outcome(model, SPEC).of("y") == "passed needless"


@pytest.mark.parametrize("op", ["Tanh", "Softsign", "Sin", "LeakyRelu"])
def test_relu_of_what_may_be_negative_stays_or_does_it_all(op: str) -> None:
    n = Net()
    y = clamp(n, n.node(op, [n.input("x", [3, 50])]), None, "y")
    o = Outcome(n.model(y), SPEC)
    assert o.said["n_y"][0] == ("passed covers" if op == "LeakyRelu" else "missed no-clamp")


def test_clip_that_may_still_cut_off_what_is_in_another_range_stays() -> None:
    n = Net()
    y = clamp(n, n.node("Sigmoid", [n.input("x", [3, 50])]), (0, 0.75), "y")
    assert Outcome(n.model(y), SPEC).of("y") == "missed no-clamp"


def test_through_what_only_moves() -> None:
    n = Net()
    a = n.node("Relu", [n.input("x", [1, 2, 6, 6])])
    p = n.node("MaxPool", [a], kernel_shape=[2, 2], pads=[1, 1, 0, 0])
    t = n.node("Transpose", [p], perm=[0, 2, 3, 1])
    o = Outcome(n.model(clamp(n, t, None, "y")), SPEC)
    assert o.ops == ["Relu", "MaxPool", "Transpose"]


def test_not_through_what_computes() -> None:
    n = Net()
    a = n.node("Neg", [n.node("Relu", [n.input("x", [3, 50])])])
    assert Outcome(n.model(clamp(n, a, None, "y")), SPEC, tolerance=0).of("y") == "missed no-clamp"


@pytest.mark.parametrize("op", ["LeakyRelu", "Elu", "Celu"])
def test_identities_of_what_is_not_negative_go(op: str) -> None:
    n = Net()
    a = clamp(n, n.input("x", [3, 50]), (0.5, 6))
    assert Outcome(n.model(n.node(op, [a], "y")), SPEC, tolerance=0).of("y") == "passed needless"
    n = Net()
    a = clamp(n, n.input("x", [3, 50]), (-0.5, 6))
    assert Outcome(n.model(n.node(op, [a], "y")), SPEC, tolerance=0).of("y") == "missed no-clamp"


@pytest.mark.parametrize("alpha", [-0.5, 0.0])
def test_relu_of_a_leaky_relu_that_turns_signs_stays(alpha: float) -> None:
    n = Net()
    a = n.node("LeakyRelu", [n.input("x", [3, 50])], "a", alpha=alpha)
    assert Outcome(n.model(clamp(n, a, None, "y")), SPEC).of("y") == "missed no-clamp"


def test_relu_before_a_symmetric_quantization_stays() -> None:
    n = Net()
    a = n.node("Relu", [n.node("Sin", [n.input("x", [3, 50])])], "a")
    q = n.node("QuantizeLinear", [a, np.float32(0.04), np.int8(0)])
    o = Outcome(n.model(n.node("DequantizeLinear", [q, np.float32(0.04), np.int8(0)])), SPEC, tolerance=0)
    assert "Relu" in o.ops


def test_in_nested_graphs_only_what_is_in_the_same_one_merges() -> None:
    dims = ["a", "b"]

    def body(name: str) -> onnx.GraphProto:
        nodes = [
            onnx.helper.make_node("Clip", ["r", "", "six"], [f"{name}_c"], name=f"n_{name}_c"),
            onnx.helper.make_node("Clip", [f"{name}_c", "one"], [f"{name}_y"], name=f"n_{name}_y"),
        ]
        info = onnx.helper.make_tensor_value_info(f"{name}_y", 1, dims)
        return onnx.helper.make_graph(nodes, name, [], [info])

    n = Net()
    n.node("Relu", [n.input("x", [3, 4])], "r")
    n.constant(np.float32(6), "six")
    n.constant(np.float32(1), "one")
    cond = n.node("Greater", [n.input("t", []), np.float32(0)], "cond")
    n.nodes.append(onnx.helper.make_node("If", [cond], ["y"], name="n_y", then_branch=body("p"), else_branch=body("q")))
    o = Outcome(n.model("y"), SPEC, tolerance=0)
    assert [len(a.g.node) for a in o.model.graph.node[-1].attribute] == [1, 1]
    assert "Relu" in o.ops


def test_alone_in_another_graph_stays() -> None:
    branch = onnx.helper.make_graph(
        [onnx.helper.make_node("Clip", ["r", "one"], ["p_y"], name="n_p_y")],
        "p",
        [],
        [onnx.helper.make_tensor_value_info("p_y", 1, ["a", "b"])],
    )
    other = onnx.helper.make_graph(
        [onnx.helper.make_node("Sin", ["x"], ["q_y"], name="n_q_y")],
        "q",
        [],
        [onnx.helper.make_tensor_value_info("q_y", 1, ["a", "b"])],
    )
    n = Net()
    n.node("Relu", [n.input("x", [3, 4])], "r")
    n.constant(np.float32(1), "one")
    cond = n.node("Greater", [n.input("t", []), np.float32(0)], "cond")
    n.nodes.append(onnx.helper.make_node("If", [cond], ["y"], name="n_y", then_branch=branch, else_branch=other))
    assert Outcome(n.model("y"), SPEC, tolerance=0).of("p_y") == "missed other-graph"


def test_bounds_need_an_element_type() -> None:
    n = Net()
    n.node("Identity", ["s"], "a")
    proto = onnx.helper.make_tensor_sequence_value_info("s", 1, None)
    n.inputs.append(proto)
    n.node("SequenceAt", ["a", np.int64(0)], "b")
    c = n.node("Clip", ["b"], "c")
    r = clamp(n, c, None, "y")
    model = n.model(r)
    del model.graph.value_info[:]
    imported = import_model(model.SerializeToString(), "net")
    remarks = SPEC.run(imported.graph, Context(model_registry(imported))).remarks
    assert [f"{x.kind.value} {x.reason.slug}" for x in remarks if x.subject == "n_y"] == ["missed dtype-unknown"]


@pytest.mark.parametrize("bound", [np.array([1, 2], np.float32), np.array(1 + 0j), np.array("1", object)], ids=str)
@pytest.mark.parametrize("place", [1, 2])
def test_bounds_that_are_no_numbers(bound: Any, place: int) -> None:
    n = Net()
    operands: list[Any] = [n.input("x", [3, 4]), np.float32(1), np.float32(1)]
    operands[place] = n.constant(bound)
    assert said(SPEC, n.model(n.node("Clip", operands, "y")), "y") == ["missed unknown-bounds"]


@pytest.mark.parametrize("place", [1, 2])
@pytest.mark.parametrize("bound", ["computed", "NaN"])
def test_bounds_that_are_computed_or_nan(bound: str, place: int) -> None:
    n = Net()
    operands: list[Any] = [n.input("x", [3, 4]), np.float32(0), np.float32(1)]
    operands[place] = n.input("b", []) if bound == "computed" else np.float32(np.nan)
    assert said(SPEC, n.model(n.node("Clip", operands, "y")), "y") == ["missed unknown-bounds"]


def test_places_of_maxima_are_not_bounded_as_maxima_are() -> None:
    n = Net()
    t = n.node("Tanh", [n.input("x", [1, 1, 4, 4])])
    n.nodes.append(onnx.helper.make_node("MaxPool", [t], ["m", "i"], kernel_shape=[2, 2]))
    n.node("Clip", ["i", np.int64(-1), np.int64(1)], "y")
    assert said(SPEC, n.model("y"), "y") == ["missed no-clamp"]


@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0, -0.5, 0.0])
def test_a_relu_undoes_a_leaky_one(alpha: float) -> None:
    n = Net()
    y = n.node("Relu", [n.node("LeakyRelu", [n.input("x", [3, 50])], alpha=alpha)], "y")
    verdict = "passed covers" if alpha > 0 else "missed no-clamp"
    assert Outcome(n.model(y), SPEC, tolerance=0, scale=3).said["n_y"][0] == verdict


def test_merged_clips_have_no_operands_that_are_absent_at_the_end() -> None:
    n = Net()
    y = clamp(n, clamp(n, n.input("x", [3, 4]), (-1, None)), None)
    imported = import_model(n.model(y).SerializeToString(), "net")
    SPEC.run(imported.graph, Context(model_registry(imported)))
    (node,) = imported.graph.nodes
    assert [value is not None for value in node.operands] == [True, True]


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=4), st.floats(-9, 9))
def test_clamping_twice_is_clamping_once(bounds: list[float], x: float) -> None:
    """min(max(x, a), b) and then c and d, by the definition of Clip."""
    a, b, c, d = bounds
    merged = Interval(min(a, b), b).clamped(Interval(min(c, d), d))
    assert min(max(x, merged.low), merged.high) == min(max(min(max(x, a), b), c), d)


BOUND = st.one_of(st.none(), st.sampled_from([-2.0, -0.5, 0.0, 0.5, 2.0]))


@given(st.data())
def test_chains_compute_what_they_did(data: st.DataObject) -> None:
    reseed(data.draw(st.integers(0, 999)))
    n = Net(opset=data.draw(st.sampled_from([7, 11, 13])))
    x = n.input("x", [3, 50])
    # Before opset 11, onnxruntime refuses bounds that cross.
    bounds = st.tuples(BOUND, BOUND).filter(lambda b: n.opset >= 11 or b[0] is None or b[1] is None or b[0] <= b[1])
    outputs = []
    for _ in range(data.draw(st.integers(1, 5))):
        kind = data.draw(st.sampled_from(["clamp", "clamp", "clamp", "LeakyRelu", "Sigmoid", "Elu"]))
        x = clamp(n, x, data.draw(st.one_of(st.none(), bounds))) if kind == "clamp" else n.node(kind, [x])
        if data.draw(st.integers(0, 5)) == 0:
            outputs.append(x)
    o = Outcome(n.model(*dict.fromkeys([*outputs, n.node("Neg", [x])])), SPEC, tolerance=0, scale=3)
    assert len(o.model.graph.node) <= len(n.nodes)


SPECIAL = np.array([np.inf, -np.inf, np.nan, 1, -0.0, 0.0, -1, 7], np.float32)
NO, MIN, INF = None, float(np.finfo(np.float32).min), math.inf


def special(first: Bounds | None, second: Bounds | None, opset: int = 13) -> tuple[list[str], Any, Any]:
    """Verdicts of the second, and what both clamps and what is left of them give of special numbers."""
    n = Net(opset=opset)
    y = clamp(n, clamp(n, n.input("x", [8]), first, "a"), second, "y")
    model = import_model(n.model(y).SerializeToString(), "net")
    before = run(n.model(y), {"x": SPECIAL})[0]
    remarks = SPEC.run(model.graph, Context(model_registry(model))).remarks
    after = run(onnx.load_from_string(export_model(model)), {"x": SPECIAL})[0]
    return [f"{r.kind.value} {r.reason.slug}" for r in remarks if r.subject == "n_y"], before, after


@pytest.mark.parametrize("opset", [10, 11, 13])
@pytest.mark.parametrize("second", [None, (NO, NO), (0, NO), (NO, 6), (-1, INF), (-INF, INF), (-INF, NO), (INF, NO)])
@pytest.mark.parametrize("first", [None, (NO, NO), (1, NO), (NO, 6), (-1, INF), (-INF, INF), (NO, -INF)])
def test_infinities_stay_such_or_not_as_before(first: Bounds | None, second: Bounds | None, opset: int) -> None:
    if opset < 11 and (first == (NO, -INF) or second == (INF, NO)):
        pytest.skip("onnxruntime refuses such bounds before opset 11")
    _, before, after = special(first, second, opset)
    np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize(
    ("first", "second"),
    [((0.7, -0.5), None), ((-3, -2), (0, 0)), ((2, 3), (-1, 0)), (None, (-0.0, 6)), ((-0.0, 6), None)],
)
def test_clamps_that_decide_the_sign_of_zero_stay(first: Bounds | None, second: Bounds | None) -> None:
    verdicts, before, after = special(first, second)
    assert verdicts == ["missed signed-zero"]
    assert np.nan_to_num(after).tobytes() == np.nan_to_num(before).tobytes()


@pytest.mark.parametrize(("first", "second"), [((0.7, -0.5), (-1, 1)), ((0.7, 0.5), None), ((-1, 0), None)])
def test_other_crossed_bounds_merge(first: Bounds | None, second: Bounds | None) -> None:
    verdicts, before, after = special(first, second)
    assert verdicts[0].startswith("passed")
    assert np.nan_to_num(after).tobytes() == np.nan_to_num(before).tobytes()
