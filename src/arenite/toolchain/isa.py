"""A static check that linked firmware holds no instruction that its core lacks.

Emulators are no judge of that: they execute SMLAD on a Cortex-M3.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import capstone

from arenite.targets import Target
from arenite.toolchain.elf import code_runs, symbols


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# ARMv6-M Architecture Reference Manual, A5.3: all that is 32 bits wide there.
_V6M_WIDE = _words("bl dmb dsb isb mrs msr udf")

# ARMv7-M Architecture Reference Manual, A7.7, without the DSP and floating-point extensions; LLVM's names.
_V7M = _words(
    "adc add addw adr and asr b bfc bfi bic bkpt bl blx bx cbnz cbz cdp cdp2 clrex clz cmn cmp cps dbg dmb "
    "dsb eor hint isb it ldc ldc2 ldm ldmdb ldr ldrb ldrbt ldrd ldrex ldrexb ldrexh ldrh ldrht ldrsb ldrsbt "
    "ldrsh ldrsht ldrt lsl lsr mcr mcr2 mcrr mcrr2 mla mls mov movs movt movw mrc mrc2 mrrc mrrc2 mrs msr mul "
    "mvn neg nop orn orr pld pli pop push rbit rev rev16 revsh ror rrx rsb sbc sbfx sdiv sev smlal smull ssat "
    "stc stc2 stm stmdb str strb strbt strd strex strexb strexh strh strht strt sub subs subw svc sxtb sxth "
    "tbb tbh teq trap tst ubfx udf udiv umlal umull usat uxtb uxth wfe wfi yield"
)

_V8M = _words("blxns bxns lda ldab ldaex ldaexb ldaexh ldah sg stl stlb stlex stlexb stlexh stlh tt tta ttat ttt")

# ARMv7-M Architecture Reference Manual, A5.3 "DSP extension" (the instructions of ARMv7E-M).
_DSP = _words(
    "pkhbt pkhtb qadd qadd16 qadd8 qasx qdadd qdsub qsax qsub qsub16 qsub8 sadd16 sadd8 sasx sel shadd16 "
    "shadd8 shasx shsax shsub16 shsub8 smlabb smlabt smlad smladx smlalbb smlalbt smlald smlaldx smlaltb "
    "smlaltt smlatb smlatt smlawb smlawt smlsd smlsdx smlsld smlsldx smmla smmlar smmls smmlsr smmul smmulr "
    "smuad smuadx smulbb smulbt smultb smultt smulwb smulwt smusd smusdx ssat16 ssax ssub16 ssub8 sxtab "
    "sxtab16 sxtah sxtb16 uadd16 uadd8 uasx uhadd16 uhadd8 uhasx uhsax uhsub16 uhsub8 umaal uqadd16 uqadd8 "
    "uqasx uqsax uqsub16 uqsub8 usad8 usada8 usat16 usax usub16 usub8 uxtab uxtab16 uxtah uxtb16"
)

# ARMv7-M Architecture Reference Manual, A2.5: what FPv5 adds to the FPv4 of the Cortex-M4.
_FPV5 = ("vsel", "vmaxnm", "vminnm", "vrint", "vcvta", "vcvtn", "vcvtp", "vcvtm")


@dataclass(frozen=True)
class IsaViolation:
    """An instruction that the core lacks: where it is (`function+0x12`), its text, and what it would need."""

    location: str
    address: int
    text: str
    needs: str


def isa_violations(elf: Path, target: Target) -> tuple[IsaViolation, ...]:
    """The instructions of a firmware that its core does not have, by address.

    The disassembler does not know the vector extension; firmware for cores that have it is not checked, and the
    result is empty.

    Args:
        elf: linked firmware with symbols.
        target: a Cortex-M core.

    Raises:
        ToolError: the file is no ELF, or has no symbols.
    """
    if "mve" in target.features:
        return ()
    functions = [symbol for symbol in symbols(elf) if symbol.kind == "function"]
    starts = [symbol.address for symbol in functions]
    found = []
    for address, text, needs in _violations(elf, target):
        index = bisect_right(starts, address) - 1
        name = f"{functions[index].name}+{address - starts[index]:#x}" if index >= 0 else f"{address:#x}"
        found.append(IsaViolation(name, address, text, needs))
    return tuple(found)


def _violations(elf: Path, target: Target) -> Iterator[tuple[int, str, str]]:
    mode = capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | capstone.CS_MODE_V8
    disassembler = capstone.Cs(capstone.CS_ARCH_ARM, mode)
    for run in code_runs(elf):
        offset = 0
        while offset + 2 <= len(run.data):
            for instruction in disassembler.disasm(run.data[offset:], run.address + offset):
                needs = _missing(instruction, target)
                if needs:
                    yield instruction.address, f"{instruction.mnemonic} {instruction.op_str}".strip(), needs
                offset = instruction.address - run.address + instruction.size
            if offset + 2 <= len(run.data):
                half = int.from_bytes(run.data[offset : offset + 2], "little")
                wide = half >= 0xE800
                yield run.address + offset, f".inst {half:#06x}", "an instruction set that the disassembler lacks"
                offset += 4 if wide else 2


def _missing(instruction: Any, target: Target) -> str:
    """What the core would need for this instruction; empty when it has it."""
    name: str = instruction.insn_name()
    if instruction.mnemonic.startswith("v"):
        return _missing_float(instruction.mnemonic, target)
    if name in _DSP:
        return "" if "dsp" in target.features else "the DSP extension"
    if target.isa == "armv6-m":
        wide = instruction.size == 4 and name not in _V6M_WIDE
        return "ARMv7-M" if wide or name in {"cbz", "cbnz", "it"} or name not in _V7M else ""
    if name in _V8M:
        return "" if target.isa == "armv8-m" else "ARMv8-M"
    return "" if name in _V7M else "an instruction set other than Thumb of the M profile"


def _missing_float(mnemonic: str, target: Target) -> str:
    if "fpu" not in target.features:
        return "an FPU"
    if ".f64" in mnemonic:
        return "a double-precision FPU"
    newer = mnemonic.startswith(_FPV5) and "-mfpu=fpv4-sp-d16" in target.gcc_flags
    return "an FPU of version 5" if newer else ""
