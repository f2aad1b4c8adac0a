"""Greedy planning: place the buffers one after another, in several orders; the smallest arena wins."""

from collections.abc import Iterator

import numpy as np

from arenite.memory.sections import Ints, Sections

# Placing n buffers costs about n * n steps; tries stop once they have cost this much in all (some seconds).
_MAX_WORK = 120_000_000


def greedy(sections: Sections, bound: int) -> tuple[Ints, int, str]:
    """Plan in several orders, first-fit and best-fit, until one reaches `bound`.

    Returns:
        The offset of every buffer (int64), the size of the arena and the name of the order and fit.
    """
    count = len(sections.buffers)
    best, best_nbytes, best_name = np.zeros(count, np.int64), -1, ""
    if not count:
        return best, 0, "nothing to place"
    work = 0
    for order_name, order in orders(sections):
        for fit in ("first", "best"):
            if best_nbytes == bound or (best_nbytes >= 0 and work > _MAX_WORK):
                return best, best_nbytes, best_name
            offsets = place(sections, order, fit == "best")
            work += count * count
            nbytes = int((offsets + sections.nbytes).max(initial=0))
            if best_nbytes < 0 or nbytes < best_nbytes:
                best, best_nbytes, best_name = offsets, nbytes, f"greedy {order_name}, {fit} fit"
    return best, best_nbytes, best_name


def orders(sections: Sections) -> Iterator[tuple[str, Ints]]:
    """The orders that are tried, most promising first, each with its name."""
    size, length = sections.nbytes, sections.hi - sections.lo
    area = size * length
    contention = _contention(sections)
    degree = _degree(sections)
    keys: dict[str, tuple[Ints, ...]] = {
        "by size": (-size, -length),
        "by contention, area": (-contention, -area),
        "by contention, length": (-contention, -length, -size),
        "by contention, size": (-contention, -size, -length),
        "by area": (-area, -size),
        "by lifetime": (-length, -size),
        "by conflicts": (-degree, -size),
        "by size times conflicts": (-size * degree, -size),
        "by start": (sections.lo, -size),
        "by end, backwards": (-sections.hi, -size),
    }
    for name, key in keys.items():
        # lexsort's last key is its first criterion; pinned buffers always come first.
        yield name, np.lexsort((*reversed(key), sections.pinned < 0))


def place(sections: Sections, order: Ints, best_fit: bool) -> Ints:
    """Place the buffers in `order`, each in the lowest (or the tightest) gap that holds it."""
    count = len(sections.buffers)
    offsets = np.zeros(count, np.int64)
    # The placed buffers, sorted by offset; only the first `placed` elements are in use.
    start, end, lo, hi = (np.zeros(count, np.int64) for _ in range(4))
    columns = (start, end, lo, hi)
    sizes, alignments, pins = sections.nbytes.tolist(), sections.alignment.tolist(), sections.pinned.tolist()
    los, his = sections.lo.tolist(), sections.hi.tolist()
    for placed, index in enumerate(order.tolist()):
        nbytes = sizes[index]
        offset = pins[index]
        if offset < 0:
            live = (lo[:placed] < his[index]) & (hi[:placed] > los[index])
            offset = _find_gap(start[:placed][live], end[:placed][live], nbytes, alignments[index], best_fit)
        offsets[index] = offset
        where = int(np.searchsorted(start[:placed], offset))
        for column, value in zip(columns, (offset, offset + nbytes, los[index], his[index]), strict=True):
            column[where + 1 : placed + 1] = column[where:placed]
            column[where] = value
    return offsets


def _find_gap(start: Ints, end: Ints, nbytes: int, alignment: int, best_fit: bool) -> int:
    """Offset of a gap among byte ranges that are sorted by start; above them all when no gap holds the size."""
    if not len(start):
        return 0
    candidates = np.empty(len(start) + 1, np.int64)
    candidates[0] = 0
    np.maximum.accumulate(end, out=candidates[1:])
    if alignment > 1:
        candidates += -candidates % alignment
    spare = start - candidates[:-1] - nbytes
    if not best_fit:
        fits = spare >= 0
        where = int(fits.argmax())
        return int(candidates[where if fits[where] else -1])
    spare = np.where(spare < 0, np.iinfo(np.int64).max, spare)
    where = int(spare.argmin())
    return int(candidates[where if spare[where] < np.iinfo(np.int64).max else -1])


def _contention(sections: Sections) -> Ints:
    """Largest sum of live bytes over each buffer's lifetime."""
    totals = sections.sums(sections.nbytes)
    spans = zip(sections.lo.tolist(), sections.hi.tolist(), strict=True)
    return np.array([totals[lo:hi].max() for lo, hi in spans], np.int64)


def _degree(sections: Sections) -> Ints:
    """Number of buffers that each one meets in time, itself included."""
    ended_before = np.searchsorted(np.sort(sections.hi), sections.lo, side="right")
    begun = np.searchsorted(np.sort(sections.lo), sections.hi, side="left")
    result: Ints = (begun - ended_before).astype(np.int64)
    return result
