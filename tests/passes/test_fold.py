"""Folding: each of its preconditions has a test that fails when it is taken away."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from arenite._base.dtypes import DType
from arenite.ir.builder import GraphBuilder
from arenite.ir.content import SPLAT_NELEM
from arenite.ir.graph import Array, Graph, Value
from arenite.ir.opdef import OpError, Registry, Trait
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.passes.fold import Fold
from ir.support import REGISTRY, f32, op
from passes.support import ops, verdicts


def constant(b: GraphBuilder, *values: float, name: str = "c") -> Value:
    return b.constant(name, np.array(values, np.float32))


def unary(name: str, *values: float, size: int | None = None) -> Graph:
    """y = op(constant), and z = x - y so that there is an input."""
    b = GraphBuilder()
    n = len(values) if size is None else size
    y = b.node(name, [constant(b, *values)], [f32(n)], name="y")
    return b.output(b.node("t.sub", [b.input("x", f32(n)), y.result], [f32(n)], name="z").result)


def verdict(graph: Graph, spec: Fold | None = None, registry: Registry = REGISTRY) -> str:
    (found,) = verdicts(spec or Fold(), graph, registry)["y"]
    return found


def test_constant_operands_fold() -> None:
    graph = unary("t.neg", 1, -2)
    assert verdict(graph) == "passed folded"
    (z,) = graph.nodes
    y = z.operand(1)
    assert y.name == "y"
    assert y.constant is not None
    np.testing.assert_array_equal(y.constant, [-1, 2])
    assert z.origin == ("z", "y")


def test_chains_fold_in_one_sweep() -> None:
    b = GraphBuilder()
    value = constant(b, 1, 2)
    for i in range(30):
        value = b.node("t.sum", [value, constant(b, 1, 1)], [f32(2)], name=f"n{i}").result
    graph = b.output(b.node("t.sub", [b.input("x", f32(2)), value], [f32(2)], name="z").result)
    found = verdicts(Fold(), graph, REGISTRY)
    assert ops(graph) == ["t.sub"]
    assert [found[f"n{i}"] for i in range(30)] == [["passed folded"]] * 30
    folded = next(graph.nodes).operand(1).constant
    assert folded is not None
    np.testing.assert_array_equal(folded, [31, 32])


def test_several_results_and_optional_operands_fold() -> None:
    b = GraphBuilder()
    s = b.node("t.split", [constant(b, 1, 2, 3, 4)], [f32(2), f32(2)], name="y")
    total = b.node("t.sum", [*s.results, None], [f32(2)], name="total")
    graph = b.output(total.result, s.results[1])
    assert verdict(graph) == "passed folded"
    assert [value.name for value in graph.outputs] == ["total", "y_1"]
    arrays = [value.constant for value in graph.outputs]
    np.testing.assert_array_equal(np.stack([a for a in arrays if a is not None]), [[4, 6], [3, 4]])


def test_precondition_operands_are_constant() -> None:
    b = GraphBuilder()
    graph = b.output(b.node("t.sub", [constant(b, 1), b.input("x", f32(1))], [f32(1)], name="y").result)
    assert verdict(graph) == "missed not-constant"


@pytest.mark.parametrize(
    ("types_alone", "dims", "expected"),
    [
        (True, (2, 3), "passed known-type"),
        (False, (2, 3), "missed not-constant"),
        (True, (2, "n"), "missed not-constant"),
    ],
)
def test_what_looks_at_types_alone_folds_once_they_are_known(
    types_alone: bool, dims: tuple[int | str, ...], expected: str
) -> None:
    rank = op(
        "t.rank",
        ["x"],
        lambda call, o: (np.full(1, call.operand(0).rank, np.float32),),
        traits=frozenset({Trait.PURE, Trait.DETERMINISTIC, *([Trait.OF_TYPES] if types_alone else [])}),
        infer=lambda call: (f32(1),),
    )
    b = GraphBuilder()
    x = b.input("x", TensorType(DType.FLOAT32, dims))
    graph = b.output(b.node("t.rank", [x], [f32(1)], name="y").result)
    assert verdict(graph, registry=REGISTRY.extended_with([rank])) == expected


def test_precondition_operands_are_no_state() -> None:
    b = GraphBuilder()
    state = b.variable("state", f32(1))
    state.constant = np.ones(1, np.float32)
    graph = b.output(b.node("t.neg", [state], [f32(1)], name="y").result)
    b.output(b.node("t.accumulate", [state, b.input("x", f32(1))], [f32(1)], name="a").result)
    assert verdict(graph) == "missed state"


def test_precondition_there_are_operands() -> None:
    registry = REGISTRY.extended_with([op("t.source", [], lambda call, o: (np.ones(2, np.float32),))])
    registry = Registry([dataclasses.replace(d, infer=lambda call: call.results) for d in registry.values()])
    b = GraphBuilder()
    graph = b.output(b.node("t.source", [], [f32(2)], name="y").result)
    assert verdict(graph, registry=registry) == "missed no-operands"


def test_precondition_op_is_known() -> None:
    assert verdict(unary("custom", 1)) == "missed unknown-op"


def test_precondition_pure() -> None:
    assert verdict(unary("t.impure", 1)) == "missed not-pure"


def test_precondition_deterministic() -> None:
    spec = Fold()
    graph = unary("t.random", 1)
    (found,) = [r for r in spec.run(graph, _context()).remarks if r.subject == "y"]
    assert found.reason.slug == "not-deterministic"
    assert ops(graph) == ["t.random", "t.sub"]


def test_precondition_no_side_effect() -> None:
    assert verdict(unary("t.effect", 1)) == "missed side-effect"


def test_precondition_no_nested_graphs() -> None:
    b = GraphBuilder()
    x = b.input("x", f32(1))
    inner = GraphBuilder("inner")
    inner.output(inner.node("t.neg", [x], [f32(1)]).result)
    n = b.node("t.neg", [constant(b, 1)], [f32(1)], name="y", regions=[inner.graph])
    assert verdict(b.output(n.result)) == "missed nested-graphs"


def test_precondition_size_is_known() -> None:
    b = GraphBuilder()
    y = b.node("t.fill", [constant(b, 1)], [TensorType(DType.FLOAT32, ("N",))], name="y")
    graph = b.output(y.result)
    (remark,) = Fold().run(graph, _context()).remarks
    assert remark.reason.slug == "dynamic-result"


def test_precondition_affordable() -> None:
    nbytes = 4 * 100
    assert verdict(unary("t.fill", 1, size=100), Fold(max_nbytes=nbytes - 5)) == "missed too-large"
    # 4 bytes of the operand are freed.
    assert verdict(unary("t.fill", 1, size=100), Fold(max_nbytes=nbytes - 4)) == "passed folded"


def test_affordable_counts_only_what_is_freed() -> None:
    b = GraphBuilder()
    c = constant(b, 1)
    y = b.node("t.fill", [c], [f32(100)], name="y")
    graph = b.output(b.node("t.sub", [b.input("x", f32(1)), c], [f32(1)], name="other").result, y.result)
    assert verdict(graph, Fold(max_nbytes=396)) == "missed too-large"


def test_affordable_counts_no_outputs_as_freed() -> None:
    b = GraphBuilder()
    c = constant(b, 1)
    graph = b.output(b.node("t.fill", [c], [f32(100)], name="y").result, c)
    assert verdict(graph, Fold(max_nbytes=396)) == "missed too-large"


def test_a_huge_result_is_refused_before_it_is_computed() -> None:
    def explode(call: object, operands: object) -> tuple[Array, ...]:
        raise AssertionError("computed")

    registry = REGISTRY.extended_with([op("t.explode", ["x"], explode, infer=lambda call: call.results)])
    b = GraphBuilder()
    y = b.node("t.explode", [constant(b, 1)], [f32(1 << 28)], name="y")
    (remark,) = Fold().run(b.output(y.result), _context(registry)).remarks
    assert remark.reason.slug == "too-large"


@pytest.mark.parametrize(
    ("numerator", "denominator", "what"), [(0.0, 0.0, "NaN"), (1.0, 0.0, "infinite"), (3e38, 1e-10, "infinite")]
)
def test_precondition_stable(numerator: float, denominator: float, what: str) -> None:
    b = GraphBuilder()
    operands = [constant(b, 1, numerator), constant(b, 1, denominator)]
    graph = b.output(b.node("t.div", operands, [f32(2)], name="y").result)
    (remark,) = Fold().run(graph, _context()).remarks
    assert (remark.reason.slug, remark.arguments["what"], remark.arguments["count"]) == ("not-stable", what, 1)
    assert ops(graph) == ["t.div"]


def test_nan_of_the_model_itself_may_stay() -> None:
    assert verdict(unary("t.neg", np.nan, 1)) == "passed folded"
    assert verdict(unary("t.neg", np.inf, 1)) == "passed folded"


def test_infinity_does_not_excuse_nan() -> None:
    b = GraphBuilder()
    c = constant(b, np.inf)
    graph = b.output(b.node("t.sub", [c, c], [f32(1)], name="y").result)
    assert verdict(graph) == "missed not-stable"


def test_precondition_no_integer_division_by_zero() -> None:
    b = GraphBuilder()
    int32 = TensorType(DType.INT32, (2,))
    divide: Any = lambda call, o: (o[0] // o[1],)  # noqa: E731 - the op's reference
    registry = REGISTRY.extended_with([op("t.floordiv", ["a", "b"], divide)])
    operands = [b.constant("a", np.array([4, 4], np.int32)), b.constant("b", np.array([2, 0], np.int32))]
    graph = b.output(b.node("t.floordiv", operands, [int32], name="y").result)
    (remark,) = Fold().run(graph, _context(registry)).remarks
    assert remark.reason.slug == "division-by-zero"


def test_precondition_op_has_meaning() -> None:
    def refuse(call: object, operands: object) -> tuple[Array, ...]:
        raise OpError("not on these dtypes")

    registry = REGISTRY.extended_with([op("t.refuse", ["x"], refuse)])
    b = GraphBuilder()
    graph = b.output(b.node("t.refuse", [constant(b, 1)], [f32(1)], name="y").result)
    (remark,) = Fold().run(graph, _context(registry)).remarks
    assert remark.reason.slug == "no-meaning"
    assert "not on these dtypes" in remark.text


def test_fold_facet_takes_the_place_of_evaluation() -> None:
    def twice(call: Any, operands: Any) -> tuple[Array, ...]:
        return (operands[0] * 2,)

    registry = REGISTRY.extended_with([dataclasses.replace(REGISTRY["t.neg"], name="t.odd", fold=twice)])
    graph = unary("t.odd", 3)
    Fold().run(graph, _context(registry))
    folded = next(graph.nodes).operand(1).constant
    assert folded is not None
    assert folded[0] == 6


def test_quantization_is_kept() -> None:
    b = GraphBuilder()
    type_ = TensorType(DType.INT8, (2,), Quantization.per_tensor(0.5, -3))
    c = b.constant("c", np.array([1, 2], np.int8), Quantization.per_tensor(0.25, 1))
    graph = b.output(b.node("t.neg", [c], [type_], name="y").result)
    verdicts(Fold(), graph, REGISTRY)
    assert graph.outputs[0].type == type_
    assert graph.outputs[0].name == "y"


@pytest.mark.parametrize("size", [SPLAT_NELEM - 1, SPLAT_NELEM])
def test_splats_stay_compressed(size: int) -> None:
    graph = unary("t.fill", 0.1, size=size)
    assert verdict(graph) == "passed folded"
    folded = next(graph.nodes).operand(1).constant
    assert folded is not None
    assert (folded.strides == (0,)) is (size >= SPLAT_NELEM)
    np.testing.assert_array_equal(folded, np.full(size, 0.1, np.float32))


def test_zeros_of_both_signs_are_no_splat() -> None:
    graph = unary("t.neg", *([0.0, -0.0] * SPLAT_NELEM))
    verdict(graph)
    folded = next(graph.nodes).operand(1).constant
    assert folded is not None
    assert np.signbit(folded).tolist() == [True, False] * SPLAT_NELEM


def test_a_folded_view_owns_its_memory() -> None:
    graph = unary("t.view", 1, 2)
    source = next(graph.nodes).operand(0).constant
    verdict(graph)
    folded = next(graph.nodes).operand(1).constant
    assert folded is not None
    assert source is not None
    assert not np.shares_memory(folded, source)


def _context(registry: Registry = REGISTRY) -> Any:
    from arenite.passes.base import Context

    return Context(registry)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("half", [False, True])
def test_float16_may_be_kept(keep: bool, half: bool) -> None:
    b = GraphBuilder()
    if half:
        stored = b.constant("w", np.arange(4, dtype=np.float16))
    else:
        stored = b.constant("w", np.arange(4, dtype=np.int8), Quantization.per_tensor(0.5))
    graph = b.output(b.node("dequantize", [stored], [TensorType(DType.FLOAT32, (4,))], name="it").result)
    found = verdicts(Fold(keep_float16=keep), graph, core_registry())
    assert found["it"] == ["missed keeps-float16" if keep and half else "passed folded"]


def test_float16_of_other_ops_folds_though_float16_is_kept() -> None:
    b = GraphBuilder()
    half = TensorType(DType.FLOAT16, (2,))
    graph = b.output(b.node("t.neg", [b.constant("c", np.ones(2, np.float16))], [half], name="y").result)
    assert verdict(graph, Fold(keep_float16=True)) == "passed folded"


def test_affordable_counts_no_operands_as_freed_that_are_computed() -> None:
    """A node that looks at types alone does not free what it looks at."""
    shape = op(
        "t.types",
        ["x"],
        lambda call, o: (np.zeros(100, np.float32),),
        traits=frozenset({Trait.PURE, Trait.DETERMINISTIC, Trait.OF_TYPES}),
        infer=lambda call: (f32(100),),
    )
    b = GraphBuilder()
    graph = b.output(b.node("t.types", [b.input("x", f32(100))], [f32(100)], name="y").result)
    assert verdict(graph, Fold(max_nbytes=399), REGISTRY.extended_with([shape])) == "missed too-large"


def test_precondition_stable_in_every_result() -> None:
    """The element that is named is that of the first result which has one."""

    def apart(call: object, operands: Any) -> tuple[Array, ...]:
        return np.ones(2, np.float32), np.array([1, np.nan], np.float32)

    registry = REGISTRY.extended_with([dataclasses.replace(REGISTRY["t.split"], name="t.apart", evaluate_float=apart)])
    b = GraphBuilder()
    graph = b.output(*b.node("t.apart", [constant(b, 1, 2, 3, 4)], [f32(2), f32(2)], name="y").results)
    (remark,) = Fold().run(graph, _context(registry)).remarks
    assert (remark.reason.slug, remark.arguments["element"]) == ("not-stable", [1])


def test_precondition_stable_complex_numbers() -> None:
    b = GraphBuilder()
    zero = b.constant("zero", np.zeros(2, np.complex64))
    graph = b.output(b.node("t.div", [zero, zero], [TensorType(DType.COMPLEX64, (2,))], name="y").result)
    (remark,) = Fold().run(graph, _context()).remarks
    assert remark.reason.slug == "not-stable"


def test_strings_fold() -> None:
    b = GraphBuilder()
    text = b.constant("text", np.array([b"a", b"b"], object))
    graph = b.output(b.node("t.view", [text], [text.type], name="y").result)
    (remark,) = Fold().run(graph, _context()).remarks
    assert remark.reason.slug == "folded"
