"""Names that are unique."""

from collections.abc import Iterable


class NamePool:
    """Hands out names that nobody has yet."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def unique(self, wish: str) -> str:
        """`wish` when it is free, else `wish_1`, `wish_2`..., and takes it."""
        name = wish
        while name in self._taken:
            self._next[wish] = self._next.get(wish, 0) + 1
            name = f"{wish}_{self._next[wish]}"
        self._taken.add(name)
        return name
