"""Types of values: element type, shape, quantization."""

import math
from dataclasses import dataclass

from arenite._base.dtypes import DType


@dataclass(frozen=True)
class Quantization:
    """An affine quantization: real = scale * (stored - zero_point).

    Attributes:
        scales: one for the tensor, or one per slice along `axis`; float32 values, each > 0.
        zero_points: as many as scales.
        axis: the quantized dimension, or None for per-tensor.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None = None

    @staticmethod
    def per_tensor(scale: float, zero_point: int = 0) -> "Quantization":
        return Quantization((scale,), (zero_point,))

    @property
    def is_per_tensor(self) -> bool:
        return self.axis is None

    @property
    def scale(self) -> float:
        """The scale of a per-tensor quantization.

        Raises:
            ValueError: it is per-channel.
        """
        if not self.is_per_tensor:
            raise ValueError("a per-channel quantization has no single scale")
        return self.scales[0]

    @property
    def zero_point(self) -> int:
        """The zero point of a per-tensor quantization.

        Raises:
            ValueError: it is per-channel.
        """
        if not self.is_per_tensor:
            raise ValueError("a per-channel quantization has no single zero point")
        return self.zero_points[0]

    def __str__(self) -> str:
        # repr of a Python float round-trips.
        if self.is_per_tensor:
            return f"q({self.scales[0]!r}, {self.zero_points[0]})"
        pairs = ", ".join(f"{s!r}:{z}" for s, z in zip(self.scales, self.zero_points, strict=True))
        return f"q(axis={self.axis}, {pairs})"


Dim = int | str
"""A dimension: a number, or the name of a symbolic one (only in dialects that allow it)."""


@dataclass(frozen=True)
class TensorType:
    """A tensor: element type, shape (None: rank unknown), quantization."""

    dtype: DType
    shape: tuple[Dim, ...] | None
    quantization: Quantization | None = None

    @property
    def is_static(self) -> bool:
        return self.shape is not None and all(isinstance(dim, int) for dim in self.shape)

    @property
    def dims(self) -> tuple[int, ...]:
        """The shape of a static type.

        Raises:
            ValueError: a dimension or the rank is unknown.
        """
        if self.shape is None or not self.is_static:
            raise ValueError(f"{self} is not static")
        return tuple(dim for dim in self.shape if isinstance(dim, int))

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def nelem(self) -> int:
        return math.prod(self.dims)

    @property
    def nbytes(self) -> int:
        return self.nelem * self.dtype.itemsize

    def __str__(self) -> str:
        shape = "[*]" if self.shape is None else f"[{', '.join(map(str, self.shape))}]"
        return f"{self.dtype}{shape}" + (f" {self.quantization}" if self.quantization else "")
