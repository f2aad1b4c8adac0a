"""What an optimised model is compared on."""

import math

from arenite.driver.onnx_references import made_up
from passes.onnx.optimizing import model_of


def nelem(shapes: str) -> int:
    """Of all that is made up for inputs of these shapes."""
    inputs = ", ".join(f"float[{shape}] x{index}" for index, shape in enumerate(shapes.split("; ")))
    graph = model_of(f"g ({inputs}) => (float[A] y) {{ y = Shape (x0) }}").graph
    return sum(math.prod(array.shape) for feed in made_up(graph) for array in feed.values())


def test_inputs_of_fixed_sizes_are_made_up_in_bounds() -> None:
    assert nelem("3, 224, 224") >= 3 * 3 * 224 * 224
    assert nelem("1000000000, 3") == 0
    assert nelem("4611686018427387904, 4611686018427387904") == 0
    assert nelem("30000000; 30000000") == 0


def test_inputs_of_open_sizes_are_made_up_in_bounds() -> None:
    assert nelem("N, 3, H") > 0
    assert nelem("N, 1000000000") == 0
