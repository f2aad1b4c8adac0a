"""Names made short enough to read."""


def short_name(name: str, limit: int = 34) -> str:
    """A name to read at a glance: converters join the names of all operators that they fused by semicolons.

    The first of them, and of that its end, where layers differ.
    """
    first = name.partition(";")[0] or name
    return first if len(first) <= limit else "…" + first[1 - limit :]
