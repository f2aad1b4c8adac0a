"""How many cycles instructions take, one table per core, from Arm's technical reference manuals.

Common to all: zero wait states; where a manual gives a range, the upper end (divisions, M3's long multiplies).
Branches: the manuals' P (pipeline refill, 1 to 3) is 2.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class CoreTiming:
    """Cycles of a core; instructions that are not named take `others[name]`, else 1.

    Attributes:
        source: the manual and its sections.
        branch: B, CBZ, CBNZ when taken; 1 when not.
        call: BL.
        indirect: BX, BLX, and data processing that writes the PC.
        load: a single load.
        load_pipelined: a single load right after another one that its address does not depend on.
        load_pc: LDR to the PC.
        store: a single store at an immediate offset.
        store_register: a single store at a register offset; one less (never under 1) when pipelined after a load.
        pop_pc: added to the 1 + N of POP or LDM when the PC is among the registers.
        table_branch: TBB and TBH.
    """

    source: str
    branch: int
    call: int
    indirect: int
    load: int
    load_pipelined: int
    load_pc: int
    store: int
    store_register: int
    pop_pc: int
    table_branch: int
    others: Mapping[str, int]


# Cortex-M4 TRM (ARM DDI 0439D, r0p1), 7.2.3, table 7-1.
_M4_FLOAT = {
    "vdiv": 14,
    "vsqrt": 14,
    "vmla": 3,
    "vmls": 3,
    "vnmla": 3,
    "vnmls": 3,
    "vfma": 3,
    "vfms": 3,
    "vfnma": 3,
    "vfnms": 3,
    "vldr": 2,
    "vstr": 2,
}

# Cortex-M3 TRM (ARM DDI 0337I, r2p1) and Cortex-M4 TRM (ARM DDI 0439D, r0p1), 3.3.1, table 3-1.
_V7M_COMMON = {
    "sdiv": 12,  # 2 to 12
    "udiv": 12,
    "ldrd": 3,  # 1 + N
    "strd": 3,
    "ldrex": 2,
    "ldrexb": 2,
    "ldrexh": 2,
    "strex": 2,
    "strexb": 2,
    "strexh": 2,
    "mrs": 2,  # 1 or 2
    "msr": 2,
    "cps": 2,
}

CORTEX_M4 = CoreTiming(
    source="Cortex-M4 TRM r0p1 (ARM DDI 0439D), 3.3.1 table 3-1, 3.3.2, 7.2.3 table 7-1",
    branch=3,  # 1 + P
    call=3,  # 1 + P
    indirect=3,  # 1 + P
    load=2,
    load_pipelined=1,  # 3.3.2
    load_pc=4,  # 2 + P
    store=1,  # 3.3.2: STR Rx,[Ry,#imm] is always one cycle
    store_register=2,
    pop_pc=2,  # 1 + N + P
    table_branch=4,  # 2 + P
    others=_V7M_COMMON | _M4_FLOAT,
)

CORTEX_M3 = CoreTiming(
    source="Cortex-M3 TRM r2p1 (ARM DDI 0337I), 3.3.1 table 3-1, 3.3.2",
    branch=3,
    call=3,
    indirect=3,
    load=2,
    load_pipelined=1,
    load_pc=4,
    store=1,
    store_register=2,
    pop_pc=2,
    table_branch=4,
    others=_V7M_COMMON
    | {
        "mla": 2,
        "mls": 2,
        "smull": 5,  # 3 to 5
        "umull": 5,
        "smlal": 7,  # 4 to 7
        "umlal": 7,
    },
)

CORTEX_M0PLUS = CoreTiming(
    source="Cortex-M0+ TRM r0p1 (ARM DDI 0484C), 3.3 table 3-1, single-cycle multiplier",
    branch=2,
    call=3,
    indirect=2,
    load=2,
    load_pipelined=2,
    load_pc=2,  # no such instruction in ARMv6-M
    store=2,
    store_register=2,
    pop_pc=2,  # 3 + N
    table_branch=2,  # no such instruction in ARMv6-M
    others={"mrs": 3, "msr": 3, "dmb": 3, "dsb": 3, "isb": 3},
)

CORTEX_M0 = CoreTiming(
    source="Cortex-M0 TRM r0p0 (ARM DDI 0432C), 3.3 table 3-1, single-cycle multiplier",
    branch=3,
    call=4,
    indirect=3,
    load=2,
    load_pipelined=2,
    load_pc=2,  # no such instruction in ARMv6-M
    store=2,
    store_register=2,
    pop_pc=3,  # 4 + N
    table_branch=2,  # no such instruction in ARMv6-M
    others={"mrs": 4, "msr": 4, "dmb": 4, "dsb": 4, "isb": 4},
)


def core_timing(core: str) -> CoreTiming | None:
    """The table of a core, or None: Arm publishes none for the Cortex-M7 and the ARMv8-M cores."""
    return {
        "cortex-m0": CORTEX_M0,
        "cortex-m0plus": CORTEX_M0PLUS,
        "cortex-m3": CORTEX_M3,
        "cortex-m4": CORTEX_M4,
        "cortex-m4f": CORTEX_M4,
    }.get(core)
