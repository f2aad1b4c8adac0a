"""The kernels that lowering may choose from."""

from collections.abc import Iterable, Iterator

from arenite.kernels.manifest import KernelInfo
from arenite.lower.kernel import Kernel


class KernelSet:
    """Immutable collection of kernels. Passed along, never global.

    Raises:
        ValueError: two kernels of an op have the same variant name, or two different C kernels the same symbol.
    """

    def __init__(self, kernels: Iterable[Kernel] = ()) -> None:
        self._by_op: dict[str, dict[str, Kernel]] = {}
        self._manifests: dict[str, KernelInfo] = {}
        for kernel in kernels:
            variants = self._by_op.setdefault(kernel.op, {})
            if kernel.variant in variants:
                raise ValueError(f"op '{kernel.op}' has two kernels called '{kernel.variant}'")
            if self._manifests.setdefault(kernel.info.symbol, kernel.info) != kernel.info:
                raise ValueError(f"two different C kernels are called {kernel.info.symbol}")
            variants[kernel.variant] = kernel

    def __iter__(self) -> Iterator[Kernel]:
        return (kernel for variants in self._by_op.values() for kernel in variants.values())

    def __len__(self) -> int:
        return sum(map(len, self._by_op.values()))

    def of_op(self, op: str) -> tuple[Kernel, ...]:
        """The kernels of an op, in the order in which they were given."""
        return tuple(self._by_op.get(op, {}).values())

    def get(self, op: str, variant: str) -> Kernel:
        """The kernel of this op and variant.

        Raises:
            KeyError: there is none.
        """
        return self._by_op[op][variant]

    @property
    def manifests(self) -> dict[str, KernelInfo]:
        """The C kernels by symbol."""
        return dict(self._manifests)

    def extended_with(self, kernels: Iterable[Kernel]) -> "KernelSet":
        """A set with these too.

        Raises:
            ValueError: as for a set made of all of them.
        """
        return KernelSet((*self, *kernels))
