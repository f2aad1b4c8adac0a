"""How ops without weights become calls: loops that collapse, tables, refusals."""

import itertools

import numpy as np
import pytest
from hypothesis import given

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.types import Quantization
from arenite.lower import arena, kernels
from arenite.lower.broadcast import broadcast, gather
from arenite.lower.kernel import OperandRef, Prepared, PreparedConstant, ResultRef
from arenite.lower.lower import lower
from arenite.ops import core_registry
from arenite.ops.arithmetic import ArithmeticAttrs
from arenite.ops.movement import ConcatenationAttrs
from arenite.ops.reduce import ReduceAttrs
from plain_cases import Plain, broadcast_shapes

KERNELS = kernels()
Q = Quantization.per_tensor(0.5, 3)


def prepared(case: Plain, variant: str) -> tuple[Prepared, ...]:
    return KERNELS.get(case.op, variant).prepare(case.call())


def zeros(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int8]]:
    return np.zeros(shape, np.int8)


@given(shapes=broadcast_shapes())
def test_broadcast_strides_read_what_numpy_reads(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (np.arange(int(np.prod(shape))).reshape(shape) for shape in shapes)
    loops = broadcast(*shapes)
    wide_a, wide_b = np.broadcast_arrays(a, b)
    np.testing.assert_array_equal(gather(a.reshape(-1), loops.sizes, loops.strides_a), wide_a.reshape(-1))
    np.testing.assert_array_equal(gather(b.reshape(-1), loops.sizes, loops.strides_b), wide_b.reshape(-1))


@pytest.mark.parametrize(
    ("a", "b", "sizes"),
    [
        ((2, 3, 4, 5), (2, 3, 4, 5), (1, 1, 1, 120)),
        ((2, 3, 4, 5), (5,), (1, 1, 24, 5)),
        ((2, 3, 4, 5), (2, 1, 1, 5), (1, 2, 12, 5)),
        ((2, 1, 4, 1), (1, 3, 1, 5), (2, 3, 4, 5)),
        ((), (), (1, 1, 1, 1)),
        ((2, 2, 2, 2, 2, 2), (2, 2, 2, 1, 1, 1), (1, 1, 8, 8)),
    ],
)
def test_broadcast_loops(a: tuple[int, ...], b: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    assert broadcast(a, b).sizes == sizes


def test_too_many_broadcast_loops_are_refused() -> None:
    case = Plain("add", (zeros(2, 1, 2, 1, 2), zeros(1, 2, 1, 2, 1)), (Q, Q, Q), DType.INT8, ArithmeticAttrs())
    for variant in ("table", "direct"):
        constraint = KERNELS.get("add", variant).constraints[1]
        assert str(constraint.holds(case.call())).startswith("5 in int8[2, 1, 2, 1, 2]")


@pytest.mark.parametrize(
    ("shape", "axes", "kept", "reduced"),
    [
        ((1, 8, 9, 64), (1, 2), ((1, 1, 64), (0, 0, 1)), ((1, 1, 72), (0, 0, 64))),
        ((2, 8, 9, 64), (1, 2), ((1, 2, 64), (0, 4608, 1)), ((1, 1, 72), (0, 0, 64))),
        ((2, 3, 4, 5), (3,), ((1, 1, 24), (0, 0, 5)), ((1, 1, 5), (0, 0, 1))),
        ((2, 3, 4, 5), (0, 1, 2, 3), ((1, 1, 1), (0, 0, 0)), ((1, 1, 120), (0, 0, 1))),
        ((2, 3, 4, 5), (0, 2), ((1, 3, 5), (0, 20, 1)), ((1, 2, 4), (0, 60, 5))),
    ],
)
def test_mean_loops(
    shape: tuple[int, ...], axes: tuple[int, ...], kept: tuple[object, object], reduced: tuple[object, object]
) -> None:
    data = (zeros(*shape), np.array(axes, np.int32))
    (call,) = prepared(Plain("mean", data, (Q, None, Q), DType.INT8, ReduceAttrs(), frozenset({1})), "direct")
    assert (call.params["kept"], call.params["kept_strides"]) == kept
    assert (call.params["reduced"], call.params["reduced_strides"]) == reduced


def test_pad_of_height_and_width_has_rows_of_pixels() -> None:
    paddings = np.array([[0, 0], [1, 2], [3, 4], [0, 0]], np.int32)
    case = Plain("pad", (zeros(2, 5, 6, 7), paddings), (Q, None, Q), DType.INT8, Attrs(), frozenset({1}))
    (call,) = prepared(case, "rows")
    row = (3 + 6 + 4) * 7
    assert call.params == {
        "sizes": (1, 2, 5),
        "row_nbytes": 6 * 7,
        "before_nbytes": (0, 0, 1 * row, 3 * 7),
        "after_nbytes": (0, 0, 2 * row, 4 * 7),
        "value": 3,
    }


def test_pad_moves_elements_of_any_width() -> None:
    paddings = np.array([[1, 0]], np.int32)
    case = Plain("pad", (np.ones(3, np.float32), paddings), (None, None, None), DType.FLOAT32, Attrs(), frozenset({1}))
    (call,) = prepared(case, "rows")
    assert (call.params["row_nbytes"], call.params["before_nbytes"]) == (12, (0, 0, 0, 4))


def test_pad_with_unequal_bytes_is_refused() -> None:
    quantization = Quantization.per_tensor(0.5, 258)
    data = (np.ones(3, np.int16), np.array([[1, 0]], np.int32))
    case = Plain("pad", data, (quantization, None, quantization), DType.INT16, Attrs(), frozenset({1}))
    verdicts = [constraint.holds(case.call()) for constraint in KERNELS.get("pad", "rows").constraints]
    assert verdicts == [True, "[2, 1] for int16[3] q(0.5, 258)", True]


def test_concatenation_is_one_call_per_operand_that_has_bytes() -> None:
    data = (np.zeros((2, 3, 4), np.float32), np.zeros((2, 0, 4), np.float32), np.zeros((2, 2, 4), np.float32))
    case = Plain("concatenation", data, (None,) * 4, DType.FLOAT32, ConcatenationAttrs(1), frozenset({2}))
    first, last = prepared(case, "rows")
    assert first.params == {"rows": 2, "row_nbytes": 48, "stride_nbytes": 80}
    assert first.arguments == {"input": OperandRef(0), "output": ResultRef(0, 0)}
    assert last.params == {"rows": 2, "row_nbytes": 32, "stride_nbytes": 80}
    assert last.arguments["output"] == ResultRef(0, 48)
    constant = last.arguments["input"]
    assert isinstance(constant, PreparedConstant), "a constant of another type than bytes is passed as bytes"
    assert (str(constant.data.dtype), constant.data.size) == ("uint8", 64)


def test_tables_go_by_the_byte() -> None:
    """Entry 0 belongs to code 0, entry 128 to code -128."""
    relu = Plain("relu", (zeros(4),), (Q, Q), DType.INT8)
    (call,) = prepared(relu, "table")
    table = call.arguments["table"]
    assert isinstance(table, PreparedConstant)
    codes = np.concatenate([np.arange(128), np.arange(-128, 0)])
    np.testing.assert_array_equal(table.data.view(np.int8), np.maximum(codes, 3))


def test_operands_of_equal_quantization_share_one_table() -> None:
    case = Plain("add", (zeros(4), zeros(4)), (Q, Q, Q), DType.INT8, ArithmeticAttrs())
    (call,) = prepared(case, "table")
    a, b = call.arguments["table_a"], call.arguments["table_b"]
    assert isinstance(a, PreparedConstant)
    assert isinstance(b, PreparedConstant)
    np.testing.assert_array_equal(a.data, b.data)


def test_small_dequantize_gets_no_table() -> None:
    for nelem, expected in ((255, False), (256, True)):
        case = Plain("dequantize", (zeros(nelem),), (Q, None), DType.FLOAT32)
        verdicts = [
            constraint.holds(case.call()) is True for constraint in KERNELS.get("dequantize", "table").constraints
        ]
        assert all(verdicts) is expected


def test_every_kernel_states_its_cost() -> None:
    cases = {
        "add": Plain("add", (zeros(4, 5), zeros(5)), (Q, Q, Q), DType.INT8, ArithmeticAttrs()),
        "relu": Plain("relu", (zeros(4, 5),), (Q, Q), DType.INT8),
        "dequantize": Plain("dequantize", (zeros(4, 5),), (Q, None), DType.FLOAT32),
    }
    for op, case in cases.items():
        costs = [kernel.cost(case.call()) for kernel in KERNELS.of_op(op)]
        assert all(cost.instructions > 0 and cost.flash_nbytes > 0 for cost in costs)
    table, direct = (KERNELS.get("add", variant).cost(cases["add"].call()) for variant in ("table", "direct"))
    assert table.instructions < direct.instructions, "tables are for speed"
    assert table.flash_nbytes > direct.flash_nbytes


def test_variants_are_named_apart() -> None:
    names = [(kernel.op, kernel.variant) for kernel in KERNELS]
    assert len(set(names)) == len(names)
    assert all(a.info is b.info for a, b in itertools.combinations(KERNELS, 2) if a.info.symbol == b.info.symbol)


@pytest.mark.parametrize("constant", [0, 1])
def test_a_constant_is_read_by_its_codes_as_what_is_computed_is(constant: int) -> None:
    """Tables are indexed by unsigned codes; the model's constants are signed."""
    data = np.arange(-128, 128, dtype=np.int8).reshape(2, 128)
    case = Plain("add", (data, data[::-1]), (Q, Q, Q), DType.INT8, ArithmeticAttrs(), constants=frozenset({constant}))
    program = lower(case.graph(), core_registry(), KERNELS, name="net")
    (call,) = program.calls
    assert call.variant == "table"
    (result,) = arena.run(program, KERNELS, case.feeds)
    np.testing.assert_array_equal(result, case.evaluate())
