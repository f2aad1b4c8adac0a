"""The op × facet matrix: each cell is there, or says why it does not apply."""

from dataclasses import fields

import pytest

from arenite._base.dtypes import DType
from arenite.driver.resolver import UNKNOWN_TO_TFLITE_MICRO, resolver_methods
from arenite.formats.tflite.codecs import codecs_by_op
from arenite.ir.builder import GraphBuilder
from arenite.ir.opdef import NotApplicable, OpDef, Trait
from arenite.ir.types import TensorType
from arenite.lower import kernels
from arenite.ops import core_registry

REGISTRY = core_registry()
FACETS = ("infer", "evaluate_float", "evaluate_quantized", "cost", "quantization", "canonicalize")
OPS = sorted(REGISTRY)


def test_the_matrix_covers_every_facet_that_may_not_apply() -> None:
    declared = {f.name for f in fields(OpDef) if "NotApplicable" in str(f.type) or f.name == "infer"}
    assert declared == set(FACETS)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("facet", FACETS)
def test_each_cell_is_there_or_says_why_not(op: str, facet: str) -> None:
    cell = getattr(REGISTRY[op], facet)
    if isinstance(cell, NotApplicable):
        assert len(cell.reason.split()) >= 3, f"{op}.{facet}: '{cell.reason}' is no reason"
    else:
        assert cell is not None


@pytest.mark.parametrize("op", OPS)
def test_each_op_means_something(op: str) -> None:
    definition = REGISTRY[op]
    assert not (
        isinstance(definition.evaluate_float, NotApplicable)
        and isinstance(definition.evaluate_quantized, NotApplicable)
    )
    assert definition.summary.strip()


# What passes make for C, and no file format has.
C_ALONE = {"lookup"}


@pytest.mark.parametrize("op", sorted(set(OPS) - C_ALONE))
def test_each_op_is_read_and_written(op: str) -> None:
    assert op in codecs_by_op(), f"no codec for '{op}' in formats/tflite"


@pytest.mark.parametrize("op", OPS)
def test_each_op_runs_on_a_device(op: str) -> None:
    definition = REGISTRY[op]
    integers = not isinstance(definition.evaluate_quantized, NotApplicable)
    if definition.has(Trait.VIEW):
        assert not kernels().of_op(op), "a view needs no kernel"
    elif integers:
        assert kernels().of_op(op), f"no kernel for '{op}', which means something on integers"


@pytest.mark.parametrize("op", OPS)
def test_each_op_has_a_method_of_tflite_micros_resolver(op: str) -> None:
    builder = GraphBuilder()
    type_ = TensorType(DType.INT8, (1,))
    builder.output(builder.node(op, [builder.input("x", type_)], [type_]).result)
    methods = resolver_methods(builder.graph)
    assert len(methods) == (op not in UNKNOWN_TO_TFLITE_MICRO)
    assert all(method.startswith("Add") for method in methods)
