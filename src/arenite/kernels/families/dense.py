"""Kernels of fully_connected."""

from arenite.kernels.families.weighted import ARGUMENTS, HEADERS, OUTPUT_RANGE, fields
from arenite.kernels.manifest import KernelInfo

FULLY_CONNECTED_S8 = KernelInfo(
    symbol="arenite_fully_connected_s8",
    summary="Matrix product of rows of inputs with weights, int8: four outputs at a time.",
    fields=(*fields("rows", "inputs", "outputs"), *OUTPUT_RANGE, *fields("narrow")),
    arguments=ARGUMENTS,
    headers=HEADERS,
)

KERNELS: tuple[KernelInfo, ...] = (FULLY_CONNECTED_S8,)
