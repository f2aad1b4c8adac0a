"""Networks of one layer, whose parameters compilers fold into the kernel, compile without a warning."""

import numpy as np
import pytest

from arenite.driver.build import build
from arenite.driver.firmware import Firmware
from arenite.driver.options import CompileOptions
from arenite.ir.attrs import Padding
from arenite.ir.types import Quantization
from arenite.ops.conv import Conv2dAttrs
from arenite.ops.dense import FullyConnectedAttrs
from arenite.toolchain import firmware_compiler
from weighted_cases import Case, sixteen, unsigned

TENTH = Quantization.per_tensor(0.1)


def _case(op: str, data: tuple[int, ...], weight: tuple[int, ...]) -> Case:
    attrs = FullyConnectedAttrs() if op == "fully_connected" else Conv2dAttrs(padding=Padding.VALID)
    rng = np.random.default_rng(1)
    values, weights = (rng.integers(-127, 128, shape).astype(np.int8) for shape in (data, weight))
    return Case(op, attrs, values, weights, np.arange(weight[0], dtype=np.int32), TENTH, TENTH, TENTH)


CASES = {
    "dense": _case("fully_connected", (1, 59), (13, 59)),
    "pointwise": _case("conv2d", (1, 1, 1, 59), (13, 1, 1, 59)),
    "one window": _case("conv2d", (1, 2, 2, 5), (3, 2, 2, 5)),
    "windows inside": _case("conv2d", (1, 4, 4, 5), (3, 2, 2, 5)),
}


@pytest.mark.arm_gcc
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8"])
def test_no_window_needs_scratch(name: str, dtype: str) -> None:
    """The scratch is no array then: gcc took what is never written there for written beyond an end."""
    case = CASES[name]
    case = {"int8": case, "int16": sixteen(case, np.int64), "uint8": unsigned(case, 7)}[dtype]
    built = build(case.model(), CompileOptions(), lambda _: None)
    with Firmware.link(built, built.target, firmware_compiler("arm-none-eabi-gcc")):
        pass
