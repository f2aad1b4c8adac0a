"""Fields and arguments that kernels with weights share."""

from arenite.kernels.manifest import Argument, Field, Role


def fields(*names: str) -> tuple[Field, ...]:
    """int32_t fields of these names."""
    return tuple(Field(name) for name in names)


WINDOW = fields(
    "filter_height",
    "filter_width",
    "stride_height",
    "stride_width",
    "dilation_height",
    "dilation_width",
    "pad_top",
    "pad_left",
)

OUTPUT_RANGE = fields("output_zero_point", "clamp_low", "clamp_high")

ARGUMENTS = (
    Argument("input", "int8_t", Role.INPUT),
    Argument("weights", "int8_t", Role.CONSTANT),
    Argument("biases", "int32_t", Role.CONSTANT),
    Argument("multipliers", "int32_t", Role.CONSTANT),
    Argument("shifts", "int8_t", Role.CONSTANT),
    Argument("output", "int8_t", Role.OUTPUT),
)

HEADERS = ("arenite_port.h", "arenite_requantize.h")
TILE_HEADERS = (*HEADERS, "arenite_tile_s8.h")
