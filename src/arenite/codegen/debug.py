"""A debug build: the same layers, and a log of what each was given and has computed (docs/debugging-a-board.md)."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from arenite.codegen.comments import block_comment
from arenite.codegen.names import Names
from arenite.codegen.public_header import public_header
from arenite.kernels.manifest import KernelInfo
from arenite.lower.program import BufferRef, ConstantRef, Program, StateRef, is_result

DEBUG_HEADER = "arenite_debug.h"


@dataclass(frozen=True)
class Record:
    """Bytes that a debug build logs in each invocation.

    Attributes:
        step: index of the call that wrote them; None: of an input, before the first call.
        name: of the kernel's argument, or of the input.
    """

    step: int | None
    name: str
    ref: BufferRef | StateRef


def debug_records(program: Program, manifests: Mapping[str, KernelInfo]) -> tuple[Record, ...]:
    """What is logged, in order: all inputs, then each call's results and states."""
    inputs = [Record(None, port.name, port.ref) for port in program.inputs if isinstance(port.ref, BufferRef)]
    results = [
        Record(step, argument.name, ref)
        for step, call in enumerate(program.calls)
        for argument in manifests[call.kernel].arguments
        for ref in (call.arguments[argument.name],)
        if is_result(ref, argument)
    ]
    return (*inputs, *results)


def fingerprint(program: Program) -> str:
    """Eight hexadecimal digits that tell one program from another: ports, calls, weights. Places do not count."""
    digest = hashlib.sha256()
    for port in (*program.inputs, *program.outputs):
        digest.update(repr((port.dtype.name, port.shape, port.scale, port.zero_point)).encode())
    for call in program.calls:
        digest.update(repr((call.kernel, sorted(call.params.items()), sorted(call.arguments))).encode())
        for ref in call.arguments.values():
            digest.update(repr(ref if isinstance(ref, ConstantRef) else type(ref).__name__).encode())
    for constant in program.constants:
        digest.update(f"{constant.name} {constant.data.dtype} {constant.data.shape}".encode())
        digest.update(constant.data.tobytes())
    return digest.hexdigest()[:8]


class LayerLog:
    """The lines that a debug build has besides those of any build.

    Args:
        program: what is printed.
        manifests: the C kernels by symbol.
        options: how the model was compiled: words without blanks, `$` and `*`, for whoever reads the log.
    """

    def __init__(self, program: Program, manifests: Mapping[str, KernelInfo], options: Iterable[str]) -> None:
        self._program = program
        self._names = Names(program.name)
        self._records = debug_records(program, manifests)
        self._words = " ".join([f"name={program.name}", f"records={len(self._records)}", *options])

    def include_lines(self) -> Iterator[str]:
        yield f'#include "{DEBUG_HEADER}"'
        yield f'#include "{self._names.debug_header}"'

    def variable_lines(self) -> Iterator[str]:
        values = f"{self._names.debug_putc}, 0x{fingerprint(self._program)}u, 0, 0"
        yield ""
        yield f"static arenite_debug_log {self._names.debug_log} = {{{values}}};"

    def begin_lines(self) -> Iterator[str]:
        yield f'    arenite_debug_begin(&{self._names.debug_log}, "{self._words}");'
        yield from self._lines(None)

    def layer_lines(self, step: int) -> Iterator[str]:
        yield from self._lines(step)

    def end_lines(self) -> Iterator[str]:
        yield f"    arenite_debug_end(&{self._names.debug_log}, {len(self._records)});"

    def reset_lines(self) -> Iterator[str]:
        yield f"    {self._names.debug_log}.run = 0;"

    def _lines(self, step: int | None) -> Iterator[str]:
        log, with_data = self._names.debug_log, self._names.macro("DEBUG_DATA")
        for index, record in enumerate(self._records):
            if record.step == step:
                place = self._place(record.ref)
                yield f"    arenite_debug_bytes(&{log}, {index}, {place}, {record.ref.nbytes}, {with_data});"

    def _place(self, ref: BufferRef | StateRef) -> str:
        if isinstance(ref, BufferRef):
            return f"{self._names.arena} + {self._program.placement.offsets[ref.buffer] + ref.offset_nbytes}"
        (found,) = (state for state in self._program.states if state.name == ref.state)
        return f"{self._names.state} + {found.offset + ref.offset_nbytes}"


def render_debug_header(names: Names) -> str:
    """<name>_debug.h: where the log goes."""
    guard, data = names.guard(names.debug_header), names.macro("DEBUG_DATA")
    body = [
        *block_comment(["0: log checksums alone, which tell the layer that differs, but not the element."]),
        f"#ifndef {data}",
        f"#define {data} 1",
        "#endif",
        "",
        *block_comment(
            [
                "Sends one character of the log. Define it to send it where you can read it: a UART, RTT, a file. "
                f"The one in {names.debug_source} is weak, and gives way to yours."
            ]
        ),
        f"void {names.debug_putc}(char character);",
    ]
    return public_header(
        guard, [f"Debug build of network '{names.model}'. Generated by Arenite; do not edit."], [], body
    )


def render_debug_source(names: Names) -> str:
    """<name>_debug.c: an output for those who have not defined theirs."""
    lines = [
        *block_comment(
            [
                f"Where the log of network '{names.model}' goes unless you define {names.debug_putc} elsewhere. "
                "Generated by Arenite; do not edit.",
                f"{names.macro('DEBUG_SEMIHOSTING')}: to the debugger, by Arm's semihosting (Cortex-M).",
                f"{names.macro('DEBUG_OWN_OUTPUT')}: nowhere; linking fails without yours.",
                "Neither: to stdout, where there is a C library.",
            ]
        ),
        f'#include "{names.debug_header}"',
        "",
        "#if defined(__GNUC__) || defined(__clang__)",
        "#define WEAK __attribute__((weak))",
        "#else",
        "#define WEAK",
        "#endif",
        "",
        f"#if defined({names.macro('DEBUG_SEMIHOSTING')})",
        f"WEAK void {names.debug_putc}(char character) {{",
        "    /* SYS_WRITEC */",
        '    register int operation __asm__("r0") = 3;',
        '    register const char *parameter __asm__("r1") = &character;',
        '    __asm__ volatile("bkpt 0xab" : "+r"(operation) : "r"(parameter) : "memory");',
        "}",
        f"#elif !defined({names.macro('DEBUG_OWN_OUTPUT')}) && __STDC_HOSTED__",
        "#include <stdio.h>",
        "",
        f"WEAK void {names.debug_putc}(char character) {{",
        "    (void)putchar(character);",
        "}",
        "#endif",
    ]
    return "\n".join(lines) + "\n"
