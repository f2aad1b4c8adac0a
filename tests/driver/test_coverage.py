"""Every integer meaning of every op has a kernel; where one lacks, the listing says so."""

import pytest

from arenite._base.dtypes import DType
from arenite.driver.coverage import oracle_of, without_kernel
from arenite.driver.listings import list_ops
from arenite.lower import kernels
from arenite.lower.kernelset import KernelSet
from arenite.ops import core_registry
from arenite.passes.legalize_uint8 import SAME_ON_INT8

REGISTRY, KERNELS = core_registry(), kernels()


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_quantized_integers_have_kernels(name: str) -> None:
    for which, why in without_kernel(REGISTRY[name], KERNELS):
        if any(word in which for word in ("float", "int64")):
            continue
        assert "uint8" in which
        assert name in SAME_ON_INT8, f"{which}: {why}"


@pytest.mark.parametrize(
    ("name", "variant", "which"),
    [
        ("max_pool2d", "int16", "(int16) -> int16"),
        ("dequantize", "int32", "(int32) -> float32"),
        ("equal", "int64", "(int64, int64) -> bool"),
    ],
)
def test_a_kernel_that_lacks_is_listed(name: str, variant: str, which: str) -> None:
    others = KernelSet(k for k in KERNELS if (k.op, k.variant) != (name, variant))
    assert which in ", ".join(text for text, _ in without_kernel(REGISTRY[name], others))
    assert which not in ", ".join(text for text, _ in without_kernel(REGISTRY[name], KERNELS))


def test_views_need_none_and_movers_take_everything() -> None:
    for name in ("reshape", "squeeze", "transpose", "gather"):
        assert list(without_kernel(REGISTRY[name], KERNELS)) == []


def test_every_row_names_its_oracle() -> None:
    rows = list_ops()
    assert len(rows) == len(REGISTRY)
    for row in rows:
        assert row["oracle"]
        assert row["kernels"] != "none" or row["no kernel"] != "-" or row["op"] in ("call_once", "var_handle")


def test_the_oracle_of_uint8_is_litert() -> None:
    takes = {each.name for each in REGISTRY.values() if DType.UINT8 in _dtypes(each.name)}
    assert takes >= SAME_ON_INT8
    for name in takes - {"quantize", "dequantize", "lookup"}:
        assert "LiteRT" in oracle_of(REGISTRY[name])


def _dtypes(name: str) -> set[DType]:
    found = (constraint.dtypes for constraint in REGISTRY[name].constraints)
    return {dtype for pairs in found for operands, result in pairs for dtype in (*operands, result)}
