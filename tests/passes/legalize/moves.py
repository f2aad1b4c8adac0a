"""Networks that first transpose their input, so that the value `t` lies in another order than ONNX has it in."""

import functools
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from onnx import helper

from arenite._base.errors import ModelError
from arenite.ir.graph import Graph
from passes.legalize.support import agree, legalized, model_of

# Each example takes some tens of milliseconds.
FEW = settings(max_examples=min(settings().max_examples // 2, 80))
DTYPES = st.sampled_from([np.float32, np.int32, np.int64, np.int8, np.uint8, np.int16, np.bool_])


@st.composite
def shapes(draw: st.DrawFn, least: int = 1, most: int = 5) -> tuple[int, ...]:
    """Dimensions with ones among them."""
    return tuple(draw(st.lists(st.sampled_from([1, 2, 3, 4, 5, 1, 6]), min_size=least, max_size=most)))


@st.composite
def permuted(draw: st.DrawFn, rank: int) -> tuple[int, ...]:
    return tuple(draw(st.permutations(range(rank))))


def after_transpose(
    nodes: Sequence[onnx.NodeProto],
    dims: Sequence[int],
    perm: Sequence[int],
    outputs: Sequence[str] = ("y",),
    constants: Mapping[str, npt.ArrayLike] | None = None,
    *,
    dtype: npt.DTypeLike = np.float32,
    opset: int = 17,
    others: Mapping[str, tuple[npt.DTypeLike, Sequence[int]]] | None = None,
) -> onnx.ModelProto:
    """A model whose nodes read `t`, which has dimensions `dims` and is the input `x` transposed by `perm`."""
    given = [dims[list(perm).index(axis)] for axis in range(len(dims))]
    first = helper.make_node("Transpose", ["x"], ["t"], perm=list(perm))
    inputs = {"x": (dtype, given), **(others or {})}
    return model_of([first, *nodes], inputs, outputs, constants, opset=opset)


def ops_of(model: onnx.ModelProto, feeds: Any = None, **options: Any) -> list[str]:
    """The ops that a model becomes; asserts that they compute what it does."""
    return agree(model, Path(_folder().name), feeds, **options)


def assert_refused(model: onnx.ModelProto, text: str) -> None:
    """The one problem of a model is this one."""
    with pytest.raises(ModelError) as caught:
        legalized(model, Path(_folder().name))
    assert [text] == list(caught.value.problems)


def graph_of(model: onnx.ModelProto) -> Graph:
    """The graph that a model becomes."""
    return legalized(model, Path(_folder().name)).graph


@functools.cache
def _folder() -> "tempfile.TemporaryDirectory[str]":
    """One for all: examples are many, and making a folder for each would take longer than what they test."""
    return tempfile.TemporaryDirectory()
