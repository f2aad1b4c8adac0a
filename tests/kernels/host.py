"""Calls C kernels on this computer: the library of all generic entries, and a caller that follows the manifest."""

import ctypes
import os
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from arenite._base.ctype import NUMPY_OF_CTYPE
from arenite.kernels import include_dir, source_dir
from arenite.kernels.manifest import KernelInfo, Role
from arenite.lower.program import ParamValue
from arenite.toolchain import cached_host_library, host_compiler

Arguments = Mapping[str, "npt.NDArray[np.generic] | None"]

# Undefined behaviour stops the test process. The address sanitizer's runtime library must be loaded before Python's own
# allocations: test_sanitized starts a process that has it; elsewhere guard bytes around every array stand in for it.
ADDRESS_SANITIZER = os.environ.get("ARENITE_SANITIZE") == "address"
_SANITIZERS = "address,undefined" if ADDRESS_SANITIZER else "undefined"
_FLAGS: dict[str, tuple[str, ...]] = {
    "gcc": ("-O2", f"-fsanitize={_SANITIZERS}", "-fno-sanitize-recover=all"),
    "clang": ("-O2", "-fsanitize=undefined", "-fsanitize-trap=undefined"),
}
_CTYPES: dict[str, type[Any]] = {
    "int8_t": ctypes.c_int8,
    "uint8_t": ctypes.c_uint8,
    "int16_t": ctypes.c_int16,
    "uint16_t": ctypes.c_uint16,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "float": ctypes.c_float,
}
_GUARD_NBYTES = 0 if ADDRESS_SANITIZER else 64
_GUARD = 0xA5
_WRITTEN = (Role.OUTPUT, Role.SCRATCH, Role.STATE)


@cache
def host_library(compiler: str = "gcc") -> ctypes.CDLL:
    """All generic entries, compiled with the project's warnings as errors and undefined behaviour trapped."""
    path = cached_host_library(
        f"test-kernels-{compiler}",
        sorted(source_dir().glob("*.c")),
        [include_dir()],
        compiler=host_compiler(compiler),
        flags=_FLAGS[compiler],
    )
    return ctypes.CDLL(str(path))


@cache
def params_type(info: KernelInfo) -> type[ctypes.Structure]:
    """The kernel's parameter struct, laid out as the manifest says."""
    members = [
        (field.name, _CTYPES[field.ctype] if field.length == 1 else _CTYPES[field.ctype] * field.length)
        for field in info.fields
    ]
    return type(f"{info.symbol}_params", (ctypes.Structure,), {"_fields_": members})


def call(info: KernelInfo, params: Mapping[str, ParamValue], arguments: Arguments, compiler: str = "gcc") -> None:
    """Executes the kernel's generic entry; outputs, scratch and state are filled in place.

    Every array lies between guard bytes while the kernel runs. An output that starts where an input does takes over
    its bytes.

    Args:
        info: the kernel.
        params: each field of its struct.
        arguments: each argument: a flat, contiguous array of the manifest's C type, or None for a null pointer.
        compiler: `gcc` or `clang`.

    Raises:
        AssertionError: the arguments are not the manifest's, or the kernel wrote beyond an array, or into an input.
    """
    struct = params_type(info)
    filled = struct(**{f.name: _member(struct, f.name, params[f.name]) for f in info.fields})
    assert set(params) == {field.name for field in info.fields}
    assert set(arguments) == {argument.name for argument in info.arguments}
    guarded: dict[str, npt.NDArray[np.uint8]] = {}
    by_address: dict[int, npt.NDArray[np.uint8]] = {}
    pointers: list[ctypes.c_void_p | None] = []
    for argument in info.arguments:
        array = arguments[argument.name]
        if array is None:
            assert argument.optional, f"{argument.name} is not optional"
            pointers.append(None)
            continue
        assert array.dtype == NUMPY_OF_CTYPE[argument.ctype], f"{argument.name} is {array.dtype}"
        assert array.ndim == 1, f"{argument.name} is not flat"
        assert array.flags.c_contiguous, f"{argument.name} is not contiguous"
        guarded[argument.name] = by_address.setdefault(array.ctypes.data, _guarded(array))
        pointers.append(ctypes.c_void_p(guarded[argument.name].ctypes.data + _GUARD_NBYTES))
    function = getattr(host_library(compiler), f"{info.symbol}_entry")
    function.restype = None
    function(ctypes.byref(filled), *pointers)
    written = {id(guarded[a.name]) for a in info.arguments if a.name in guarded and a.role in _WRITTEN}
    for argument in info.arguments:
        array = arguments[argument.name]
        if array is not None:
            _check_guards(guarded[argument.name], argument.name)
            inside = guarded[argument.name][_GUARD_NBYTES : _GUARD_NBYTES + array.nbytes].view(array.dtype)
            if argument.role in _WRITTEN:
                array[:] = inside
            elif id(guarded[argument.name]) not in written:
                assert inside.tobytes() == array.tobytes(), f"the kernel wrote into its {argument.role.value}"


def _member(struct: type[ctypes.Structure], name: str, value: ParamValue) -> object:
    (member,) = (entry[1] for entry in struct._fields_ if entry[0] == name)
    return member(*value) if isinstance(value, tuple) and issubclass(member, ctypes.Array) else value


def _guarded(array: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    guard = np.full(_GUARD_NBYTES, _GUARD, np.uint8)
    return np.concatenate([guard, np.frombuffer(array.tobytes(), np.uint8), guard])


def _check_guards(guarded: npt.NDArray[np.uint8], name: str) -> None:
    assert (guarded[:_GUARD_NBYTES] == _GUARD).all(), f"the kernel wrote before {name}"
    assert (guarded[len(guarded) - _GUARD_NBYTES :] == _GUARD).all(), f"the kernel wrote behind {name}"
