"""C kernels that take rows of bytes from where fixed or computed places say."""

from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

_INPUT, _OUTPUT = Argument("input", "uint8_t", Role.INPUT), Argument("output", "uint8_t", Role.OUTPUT)
_HEADERS = ("arenite_bytes.h", "arenite_port.h")

COPY_STRIDED = KernelInfo(
    "arenite_copy_strided",
    "Rows of bytes from places that up to five loops walk over, to places that they walk over too.",
    (
        Field("sizes", length=5),
        Field("input_strides", length=5),
        Field("output_strides", length=5),
        Field("input_start"),
        Field("output_start"),
        Field("row_nbytes"),
    ),
    (_INPUT, _OUTPUT),
    _HEADERS,
)
TAKE = KernelInfo(
    "arenite_take",
    "A grid of cells from places that add up: a table for the rows, one for the columns.",
    (Field("outer"), Field("outer_nbytes"), Field("rows"), Field("columns"), Field("cell_nbytes")),
    (_INPUT, Argument("places", "int32_t", Role.CONSTANT), _OUTPUT),
    _HEADERS,
)
GATHER = KernelInfo(
    "arenite_gather",
    "Rows of bytes by vectors of up to five indices, which are limited to their range.",
    (
        Field("batches"),
        Field("outer"),
        Field("outer_nbytes"),
        Field("count"),
        Field("depth"),
        Field("limits", length=5),
        Field("strides", length=5),
        Field("row_nbytes"),
    ),
    (_INPUT, Argument("indices", "int32_t", Role.INPUT), _OUTPUT),
    _HEADERS,
)
SPACE_TO_BATCH = KernelInfo(
    "arenite_space_to_batch",
    "Each place in a block as images of their own, with equal bytes as padding.",
    (
        Field("batch"),
        Field("height"),
        Field("width"),
        Field("depth_nbytes"),
        Field("block_height"),
        Field("block_width"),
        Field("top"),
        Field("left"),
        Field("output_height"),
        Field("output_width"),
        Field("value"),
    ),
    (_INPUT, _OUTPUT),
    _HEADERS,
)

KERNELS: tuple[KernelInfo, ...] = (COPY_STRIDED, TAKE, GATHER, SPACE_TO_BATCH)
