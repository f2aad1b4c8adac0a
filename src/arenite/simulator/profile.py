"""Counts executed blocks and charges each to a function; in C when the hook library is there, else in Python.

Both count the same: how often each block ran under each root, and how often it was left by a taken branch.
"""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import unicorn

from arenite._base.errors import ToolError
from arenite.simulator.image import Function

Status = Literal["ok", "outside", "limit", "full"]

# Distinct blocks that one run may execute; memory is only touched for those that it does.
_MAX_BLOCKS = 1 << 18


@dataclass(frozen=True)
class BlockCount:
    """A block of code under one root.

    Attributes:
        root: index of the root that it is charged to.
        address: its first instruction.
        nbytes: its length.
        count: how often it ran.
        taken: how often what ran next was not the code that follows it in memory.
    """

    root: int
    address: int
    nbytes: int
    count: int
    taken: int


class Profiler(Protocol):
    """What the board needs of a profiler; it counts from `start` on."""

    def start(self, roots: Sequence[Function], first_root: int, limit_ninstr: int) -> None:
        """Forgets all counts; `roots[first_root]` is charged until a block lies in another root."""

    def counts(self) -> Iterator[BlockCount]:
        """The blocks that ran; the last one was left by a taken branch."""

    def status(self) -> tuple[Status, int]:
        """Why the profiler stopped the run ("ok": it did not), and the address of the block."""


class PythonProfiler:
    """Slow, and needs no compiler."""

    def __init__(self, emulator: Any, code: tuple[int, int]) -> None:
        self._code = code
        self._counts: dict[tuple[int, int, int], list[int]] = {}
        self._roots: dict[int, int | None] = {}
        self._ranges: list[tuple[int, int, int]] = []
        self._current = 0
        self._previous: list[int] | None = None
        self._previous_end = 0
        self._halfwords = 0
        self._limit = 0
        self._status: tuple[Status, int] = ("ok", 0)
        emulator.hook_add(unicorn.UC_HOOK_BLOCK, self._block)

    def start(self, roots: Sequence[Function], first_root: int, limit_ninstr: int) -> None:
        self._counts.clear()
        self._roots.clear()
        self._ranges = [(root.address, root.address + root.nbytes, index) for index, root in enumerate(roots)]
        self._current = first_root
        self._previous = None
        self._halfwords = 0
        self._limit = limit_ninstr
        self._status = ("ok", 0)

    def counts(self) -> Iterator[BlockCount]:
        if self._previous is not None:
            self._previous[1] += 1
            self._previous = None
        for (root, address, nbytes), (count, taken) in self._counts.items():
            yield BlockCount(root, address, nbytes, count, taken)

    def status(self) -> tuple[Status, int]:
        return self._status

    def _root(self, address: int) -> int | None:
        for begin, end, index in self._ranges:
            if begin <= address < end:
                return index
        return None

    def _block(self, emulator: Any, address: int, nbytes: int, _user: object) -> None:
        if not self._code[0] <= address < self._code[1]:
            self._fail(emulator, "outside", address)
            return
        if self._previous is not None and address != self._previous_end:
            self._previous[1] += 1
        if address not in self._roots:
            self._roots[address] = self._root(address)
        root = self._roots[address]
        if root is not None:
            self._current = root
        entry = self._counts.setdefault((self._current, address, nbytes), [0, 0])
        entry[0] += 1
        self._previous = entry
        self._previous_end = address + nbytes
        self._halfwords += nbytes >> 1
        if self._halfwords > self._limit:
            self._fail(emulator, "limit", address)

    def _fail(self, emulator: Any, status: Status, address: int) -> None:
        if self._status[0] == "ok":
            self._status = (status, address)
        emulator.emu_stop()


class _Profile(ctypes.Structure):
    """`arenite_profile_t` of hook.c."""

    _fields_ = (
        ("code_begin", ctypes.c_uint64),
        ("code_nhalf", ctypes.c_uint64),
        ("block_at", ctypes.c_void_p),
        ("root_at", ctypes.c_void_p),
        ("blocks", ctypes.c_void_p),
        ("counts", ctypes.c_void_p),
        ("taken", ctypes.c_void_p),
        ("n_roots", ctypes.c_uint64),
        ("capacity", ctypes.c_uint64),
        ("n_blocks", ctypes.c_uint64),
        ("current_root", ctypes.c_uint64),
        ("previous", ctypes.c_uint64),
        ("previous_end", ctypes.c_uint64),
        ("n_halfwords", ctypes.c_uint64),
        ("limit_nhalf", ctypes.c_uint64),
        ("status", ctypes.c_uint64),
        ("fault_address", ctypes.c_uint64),
        ("stop", ctypes.c_void_p),
    )


_BLOCK = np.dtype([("address", "<u8"), ("nbytes", "<u4"), ("root", "<u4"), ("next", "<u4"), ("unused", "<u4")])
_STATUS: tuple[Status, ...] = ("ok", "outside", "limit", "full")


class NativeProfiler:
    """The hook in C: `hook.c`, built for this computer."""

    def __init__(self, emulator: Any, code: tuple[int, int], library: Path) -> None:
        try:
            self._library = ctypes.CDLL(str(library))
            function = self._library.arenite_hook_block
        except (OSError, AttributeError) as error:
            raise ToolError(f"{library}: not the emulator's hook library: {error}") from error
        self._code_nhalf = (code[1] - code[0] + 1) // 2
        self._code_begin = code[0]
        self._capacity = min(self._code_nhalf, _MAX_BLOCKS)
        self._arrays: dict[str, np.ndarray[Any, Any]] = {}
        self._profile = _Profile()
        self._profile.stop = ctypes.cast(_unicorn_library().uc_emu_stop, ctypes.c_void_p)
        self._handle = _add_block_hook(emulator, function, self._profile)

    def start(self, roots: Sequence[Function], first_root: int, limit_ninstr: int) -> None:
        root_at = np.zeros(self._code_nhalf, np.uint32)
        # Backwards, so that of overlapping roots the first counts, as in the Python hook.
        for index, root in reversed(tuple(enumerate(roots))):
            begin = (root.address - self._code_begin) // 2
            root_at[begin : begin + (root.nbytes + 1) // 2] = index + 1
        self._arrays = {
            "block_at": np.zeros(self._code_nhalf, np.uint32),
            "root_at": root_at,
            "blocks": np.zeros(self._capacity, _BLOCK),
            "counts": np.zeros((self._capacity, len(roots)), np.uint64),
            "taken": np.zeros((self._capacity, len(roots)), np.uint64),
        }
        profile = self._profile
        for name, array in self._arrays.items():
            setattr(profile, name, array.ctypes.data)
        profile.code_begin, profile.code_nhalf = self._code_begin, self._code_nhalf
        profile.n_roots, profile.capacity, profile.n_blocks = len(roots), self._capacity, 0
        profile.current_root, profile.previous, profile.previous_end = first_root, 0, 0
        profile.n_halfwords, profile.limit_nhalf = 0, limit_ninstr
        profile.status, profile.fault_address = 0, 0

    def counts(self) -> Iterator[BlockCount]:
        profile, arrays = self._profile, self._arrays
        if profile.previous:
            arrays["taken"].reshape(-1)[profile.previous - 1] += np.uint64(1)
            profile.previous = 0
        used = int(profile.n_blocks)
        for index, root in zip(*np.nonzero(arrays["counts"][:used]), strict=True):
            block = arrays["blocks"][index]
            yield BlockCount(
                int(root),
                int(block["address"]),
                int(block["nbytes"]),
                int(arrays["counts"][index, root]),
                int(arrays["taken"][index, root]),
            )

    def status(self) -> tuple[Status, int]:
        return _STATUS[self._profile.status], int(self._profile.fault_address)


def _unicorn_library() -> Any:
    from unicorn.unicorn_py3 import unicorn as binding  # noqa: PLC0415

    return binding.uclib


def _add_block_hook(emulator: Any, function: Any, profile: _Profile) -> Any:
    """Registers a C function itself, which unicorn's own `hook_add` cannot."""
    handle = ctypes.c_size_t()
    status = _unicorn_library().uc_hook_add(
        emulator._uch,
        ctypes.byref(handle),
        unicorn.UC_HOOK_BLOCK,
        ctypes.cast(function, ctypes.c_void_p),
        ctypes.cast(ctypes.byref(profile), ctypes.c_void_p),
        ctypes.c_uint64(1),
        ctypes.c_uint64(0),
    )
    if status != unicorn.UC_ERR_OK:
        raise ToolError(f"the emulator refuses the hook: status {status}")
    return handle
