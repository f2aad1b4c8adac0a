"""Firmware ELFs: what is linked, what is measured, and which instructions are allowed."""

from pathlib import Path

import pytest

from arenite import targets
from arenite._base.errors import ToolError
from arenite.toolchain import Compiler, find_compilers
from arenite.toolchain.cross import build_firmware
from arenite.toolchain.elf import code_runs, section_sizes, symbol_sizes, symbols
from arenite.toolchain.isa import isa_violations

SOURCE = Path(__file__).with_name("model.c")
KEEP = ("model_invoke", "model_divide")
COMPILERS = [
    pytest.param("zig", marks=pytest.mark.zig),
    pytest.param("arm-none-eabi-gcc", marks=pytest.mark.arm_gcc),
]


def named(name: str) -> Compiler:
    return next(compiler for compiler in find_compilers() if compiler.name == name)


def build(
    folder: Path, compiler: str, target: str = "cortex-m4", *, source: Path = SOURCE, flash: bool = False
) -> Path:
    return build_firmware(
        [source],
        [],
        targets.get(target),
        folder / "firmware.elf",
        compiler=named(compiler),
        optimize="flash" if flash else "speed",
        keep_symbols=KEEP if source == SOURCE else (),
    )


@pytest.mark.parametrize("flash", [False, True])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_sizes_come_from_sections_and_symbols(tmp_path: Path, compiler: str, flash: bool) -> None:
    elf = build(tmp_path, compiler, flash=flash)
    assert list(tmp_path.iterdir()) == [elf]
    sections, sizes = section_sizes(elf), symbol_sizes(elf)
    assert sizes["model_weights"] == 1000
    assert sizes["state"] == 12
    assert sizes["arena"] == 256
    # Some compilers put tables of their own beside the weights.
    assert 1000 <= sections.rodata_nbytes < 1100
    assert sections.data_nbytes == 12
    assert sections.bss_nbytes == 256
    functions = [symbol for symbol in symbols(elf) if symbol.kind == "function"]
    by_name = {symbol.name: symbol for symbol in functions}
    assert {"model_invoke", "layer_00", "model_divide", "Reset_Handler", "arenite_halt"} <= set(by_name)
    assert "nobody_calls" not in by_name
    # The 64-bit division is the compiler's helper; it counts as code, start-up does not.
    helpers = [name for name in by_name if "ldivmod" in name or "divmoddi4" in name]
    assert helpers
    assert by_name["Reset_Handler"].section == ".startup"
    ends = {symbol.address: symbol.address + symbol.nbytes for symbol in functions if symbol.section == ".text"}
    assert max(ends.values()) - min(ends) <= sections.text_nbytes <= max(ends.values()) - min(ends) + 16
    assert sections.text_nbytes > sizes["layer_00"] + sizes["model_invoke"] + sizes["model_divide"]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_building_twice_gives_the_same_bytes(tmp_path: Path, compiler: str) -> None:
    first, second = tmp_path / "here", tmp_path / "there"
    assert build(first, compiler).read_bytes() == build(second, compiler).read_bytes()


@pytest.mark.parametrize(
    ("compiler", "target"),
    [
        *(pytest.param("zig", name, marks=pytest.mark.zig) for name in ("cortex-m0plus", "cortex-m4")),
        *(
            pytest.param("arm-none-eabi-gcc", f"cortex-{name}", marks=pytest.mark.arm_gcc)
            for name in ("m0", "m0plus", "m3", "m4", "m4f", "m7", "m33", "m55")
        ),
    ],
)
def test_firmware_keeps_to_its_instruction_set(tmp_path: Path, compiler: str, target: str) -> None:
    elf = build(tmp_path, compiler, target)
    assert sum(len(run.data) for run in code_runs(elf)) > 100
    assert isa_violations(elf, targets.get(target)) == ()


@pytest.mark.arm_gcc
def test_a_richer_instruction_set_is_found(tmp_path: Path) -> None:
    elf = build(tmp_path, "arm-none-eabi-gcc", "cortex-m4")
    found = isa_violations(elf, targets.get("cortex-m0"))
    assert {violation.needs for violation in found} == {"ARMv7-M"}
    assert isa_violations(elf, targets.get("cortex-m3")) == ()


@pytest.mark.arm_gcc
@pytest.mark.parametrize(
    ("target", "code", "text", "needs"),
    [
        ("cortex-m4", "smlad r0, r0, r1, r2", "smlad r0, r0, r1, r2", "the DSP extension"),
        ("cortex-m4", "uxtb16 r0, r1", "uxtb16 r0, r1", "the DSP extension"),
        ("cortex-m4f", "vmul.f32 s0, s0, s1", "vmul.f32 s0, s0, s1", "an FPU"),
        ("cortex-m33", "stl r0, [r1]", "stl r0, [r1]", "ARMv8-M"),
    ],
)
def test_a_planted_instruction_is_named(tmp_path: Path, target: str, code: str, text: str, needs: str) -> None:
    source = tmp_path / "planted.c"
    source.write_text(
        'void planted(void);\n__attribute__((naked, used, section(".startup"))) void planted(void) {\n'
        f'    __asm__("nop\\n\\t{code}\\n\\tbx lr");\n}}\n'
    )
    elf = build(tmp_path / "out", "arm-none-eabi-gcc", target, source=source)
    assert isa_violations(elf, targets.get(target)) == ()
    (found,) = [v for v in isa_violations(elf, targets.get("cortex-m3")) if v.location.startswith("planted")]
    assert (found.location, found.text, found.needs) == ("planted+0x2", text, needs)


@pytest.mark.arm_gcc
def test_floating_point_by_version(tmp_path: Path) -> None:
    source = tmp_path / "planted.c"
    source.write_text(
        'void planted(void);\n__attribute__((naked, used, section(".startup"))) void planted(void) {\n'
        '    __asm__("vmaxnm.f32 s0, s0, s1\\n\\tbx lr");\n}\n'
    )
    elf = build(tmp_path / "out", "arm-none-eabi-gcc", "cortex-m7", source=source)
    assert isa_violations(elf, targets.get("cortex-m7")) == ()
    (found,) = isa_violations(elf, targets.get("cortex-m4f"))
    assert (found.location, found.needs) == ("planted+0x0", "an FPU of version 5")
    source.write_text(source.read_text().replace("vmaxnm.f32 s0, s0, s1", ".inst.w 0xee200b01"))
    elf = build(tmp_path / "out", "arm-none-eabi-gcc", "cortex-m7", source=source)
    (found,) = isa_violations(elf, targets.get("cortex-m7"))
    assert (found.text, found.needs) == ("vmul.f64 d0, d0, d1", "a double-precision FPU")


@pytest.mark.arm_gcc
def test_literal_pools_are_not_read_as_code(tmp_path: Path) -> None:
    source = tmp_path / "pool.c"
    # 0xfb202001 is SMLAD when read as an instruction.
    source.write_text(
        'void pool(void);\n__attribute__((naked, used, section(".startup"))) void pool(void) {\n'
        '    __asm__("ldr r0, =0xfb202001\\n\\tbx lr\\n\\t.ltorg");\n}\n'
    )
    elf = build(tmp_path / "out", "arm-none-eabi-gcc", "cortex-m3", source=source)
    assert (0xFB202001).to_bytes(4, "little") in elf.read_bytes()
    assert isa_violations(elf, targets.get("cortex-m3")) == ()


@pytest.mark.arm_gcc
def test_wrong_requests(tmp_path: Path) -> None:
    def attempt(target: str = "cortex-m4", keep: tuple[str, ...] = (), compiler: str = "arm-none-eabi-gcc") -> Path:
        return build_firmware(
            [SOURCE],
            [],
            targets.get(target),
            tmp_path / "out" / "firmware.elf",
            compiler=named(compiler),
            keep_symbols=keep,
        )

    with pytest.raises(ToolError, match="the firmware lacks no_such_layer: no source file defines"):
        attempt(keep=("model_invoke", "no_such_layer"))
    with pytest.raises(ToolError, match=r"no names of C symbols: 'a\) /\* b'"):
        attempt(keep=("a) /* b",))
    with pytest.raises(ToolError, match="no firmware for host"):
        attempt("host")
    with pytest.raises(ToolError, match="no firmware for riscv32imc"):
        attempt("riscv32imc")
    assert not (tmp_path / "out" / "firmware.elf").exists()


@pytest.mark.gcc
def test_a_host_compiler_builds_no_firmware(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="the compiler gcc does not build firmware for cortex-m4"):
        build(tmp_path, "gcc")


@pytest.mark.zig
def test_a_broken_source_for_firmware(tmp_path: Path) -> None:
    source = tmp_path / "broken.c"
    source.write_text("int f(void) { return missing_name; }\n")
    with pytest.raises(ToolError, match=r"compiling broken\.c for cortex-m4 with zig: [\s\S]*broken\.c:1"):
        build(tmp_path / "out", "zig", source=source)
    assert list((tmp_path / "out").iterdir()) == []


def test_files_that_are_no_firmware(tmp_path: Path) -> None:
    text = tmp_path / "text.elf"
    text.write_text("not an ELF")
    for read in (section_sizes, symbol_sizes, symbols, code_runs):
        with pytest.raises(ToolError, match="not a readable ELF file"):
            read(text)
        with pytest.raises(ToolError, match="not a readable ELF file"):
            read(tmp_path / "missing.elf")
