"""What the run of a firmware says of each layer."""

import pytest

from arenite._base.dtypes import DType
from arenite.driver.build import build
from arenite.driver.extras import Extras
from arenite.driver.measure import measure
from arenite.driver.options import CompileOptions, ObjectiveName
from arenite.ir.builder import GraphBuilder
from arenite.ir.model import Model
from arenite.ir.types import TensorType
from arenite.ops.cast import CastAttrs


@pytest.mark.unicorn
@pytest.mark.parametrize("objective", ["speed", "flash"])
@pytest.mark.parametrize(
    "compiler",
    [pytest.param("zig", marks=pytest.mark.zig), pytest.param("arm-none-eabi-gcc", marks=pytest.mark.arm_gcc)],
)
def test_layers_of_one_code_are_counted_apart(compiler: str, objective: ObjectiveName) -> None:
    """Casts in place that leave every byte as it is: what is left of both layers is the same code."""
    builder = GraphBuilder()
    for index in range(2):
        value = builder.input(f"in_{index}", TensorType(DType.UINT8, (4 + index,)))
        result = TensorType(DType.INT8, value.type.shape)
        attrs = CastAttrs(DType.UINT8, DType.INT8)
        builder.output(builder.node("cast", [value], [result], attrs, name=f"cast_{index}").result)
    options = CompileOptions(objective=objective, compiler=compiler)
    built = build(Model("casts", builder.graph), options, lambda _: None)
    run = measure(built, Extras(None, {}, {}, {}, {}), lambda _: None).run
    assert run is not None
    assert [call.op for call in built.program.calls] == ["cast", "cast"]
    assert run.layers[0].instructions > 0
    assert run.layers[0] == run.layers[1]
