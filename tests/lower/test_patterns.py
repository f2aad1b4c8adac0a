"""Constants that repeat one element are not written out in flash."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.codegen import render
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Array
from arenite.ir.types import TensorType
from arenite.lower import kernels
from arenite.lower.arena import run
from arenite.lower.lower import lower
from arenite.lower.program import Program
from arenite.ops import core_registry
from arenite.ops.movement import ConcatenationAttrs
from codegen.host import HostModel, read_toy_header


def joined(x: Array, *constants: Array, axis: int) -> Program:
    """A network that joins its input with constants."""
    builder = GraphBuilder()
    types = [TensorType(DType.of(array.dtype), array.shape) for array in (x, *constants)]
    operands = [builder.input("x", types[0])]
    operands += [builder.constant(f"c{index}", constant) for index, constant in enumerate(constants)]
    dims = list(x.shape)
    dims[axis] = sum(array.shape[axis] for array in (x, *constants))
    result = TensorType(types[0].dtype, tuple(dims))
    node = builder.node("concatenation", operands, [result], ConcatenationAttrs(axis=axis))
    return lower(builder.output(node.result), core_registry(), kernels(), name="joined")


def flash_nbytes(program: Program) -> int:
    return sum(constant.data.nbytes for constant in program.constants)


@given(
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=3),
    dtype=st.sampled_from([np.int8, np.int16, np.float32]),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_what_repeats_is_copied_from_a_pattern(
    shape: list[int], sizes: list[int], dtype: type, seed: int, data: st.DataObject
) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    rng = np.random.default_rng(seed)
    x: Array = rng.integers(-100, 100, shape).astype(dtype)
    constants: list[Array] = [
        np.full((*shape[:axis], size, *shape[axis + 1 :]), rng.integers(-100, 100)).astype(dtype) for size in sizes
    ]
    program = joined(x, *constants, axis=axis)
    (result,) = run(program, kernels(), [x])
    np.testing.assert_array_equal(result, np.concatenate([x, *constants], axis))
    # The network's own bound, not the kernel's: a pattern for each, and what is too small for one.
    assert flash_nbytes(program) <= len(constants) * 64


@pytest.mark.parametrize(("changed", "whole"), [(False, False), (True, True)])
def test_one_other_element_makes_all_of_them_stored(changed: bool, whole: bool) -> None:
    constant = np.full((4, 300), 7, np.int8)
    constant[3, 299] += changed
    program = joined(np.zeros((4, 3), np.int8), constant, axis=1)
    assert (flash_nbytes(program) >= constant.nbytes) is whole


def test_zeros_of_both_signs_are_not_the_same() -> None:
    constant = np.zeros((1, 100), np.float32)
    constant[0, 1] = -0.0
    x = np.ones((1, 2), np.float32)
    program = joined(x, constant, axis=1)
    (result,) = run(program, kernels(), [x])
    assert np.signbit(result[0]).tolist() == [False] * 3 + [True] + [False] * 98


@pytest.mark.gcc
def test_the_c_does_the_same(tmp_path: Path) -> None:
    x = np.arange(-12, 12, dtype=np.int8).reshape(2, 3, 4)
    constant = np.full((2, 70, 4), -9, np.int8)
    program = joined(x, constant, axis=1)
    files = render(program, kernels().manifests, read_toy_header)
    (result,) = HostModel(program, files, tmp_path)([x])
    np.testing.assert_array_equal(result, np.concatenate([x, constant], 1))
    assert len(files["joined_data.c"]) < 800
