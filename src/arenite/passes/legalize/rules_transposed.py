"""Transposed convolutions: as such where there is one group, else convolutions over an input with zeros in between."""

from dataclasses import dataclass

from arenite.ir.attrs import Padding
from arenite.ir.content import in_sequence
from arenite.ir.graph import Array, Node, Value
from arenite.ops.transposed import TransposeConvAttrs
from arenite.ops.windows import window
from arenite.passes.legalize.framing import bounded, framed
from arenite.passes.legalize.orders import plane
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Flow, Rule
from arenite.passes.legalize.rules_windows import bias_of, convolved, filters, spatial_rank
from arenite.passes.legalize.site import Site, attributes
from arenite.passes.onnx.fuse_windows import Windows


@dataclass(frozen=True)
class _Spread:
    """How a transposed convolution goes over two spatial dimensions.

    Attributes:
        begins: elements of its whole result that are cut off before the first.
        sizes: of its result.
    """

    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    begins: tuple[int, int]
    sizes: tuple[int, int]


def _conv_transpose(site: Site, node: Node) -> None:
    data, result = node.operand(0), node.results[0]
    rank = spatial_rank(site, data)
    weights = filters(site, node, rank)
    group, channels = attributes(node).integer("group", 1), site.dims(data)[1]
    if group < 1 or channels != weights.shape[0] or channels % group:
        raise RefusedError(
            f"the weights {list(weights.shape)} in {group} groups do not fit the {channels} channels of the input"
        )
    spread = _read(site, node, weights.shape[2:])
    core, bias = site.get(data, plane(rank)), bias_of(site, node)
    weights = weights[:, :, None, :] if rank == 3 else weights
    if group == 1 and _is_plain(core, spread):
        core = _scattered(site, core, weights, bias, spread, result.name)
    else:
        core = _gathered(site, core, _per_output(weights, group), bias, spread, result.name)
    site.put(result, core, plane(rank))


def _read(site: Site, node: Node, kernel: tuple[int, ...]) -> _Spread:
    """What the attributes say.

    Raises:
        RefusedError: they do not fit, or not everybody reads them alike.
        OpError: they are of other types.
    """
    attrs, rank = attributes(node), len(kernel)
    strides, dilations = (attrs.integers(name) or (1,) * rank for name in ("strides", "dilations"))
    pads, extra = attrs.integers("pads") or (0,) * (2 * rank), attrs.integers("output_padding") or (0,) * rank
    auto, shape = attrs.text("auto_pad", "NOTSET"), attrs.integers("output_shape")
    sizes = site.dims(node.operand(0))[2:]
    if not len(strides) == len(dilations) == len(extra) == rank or len(pads) != 2 * rank:
        raise RefusedError(f"strides, dilations, pads and output_padding must be of {rank} spatial dimensions")
    if min(*strides, *dilations, *kernel) < 1 or min(*extra, *pads) < 0:
        raise RefusedError("strides, dilations and the kernel must be at least 1, pads and output_padding at least 0")
    if auto not in ("", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise RefusedError(f"auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, but is '{auto}'")
    if shape is not None and len(shape) not in (rank, rank + 2):
        raise RefusedError(f"output_shape must be of {rank} spatial dimensions, but is {list(shape)}")
    begins, outputs = list(pads[:rank]), []
    for axis, size in enumerate(sizes):
        whole = (size - 1) * strides[axis] + (kernel[axis] - 1) * dilations[axis] + 1 + extra[axis]
        if shape is None and not auto.startswith("SAME"):
            begins[axis] = 0 if auto == "VALID" else pads[axis]
            outputs.append(whole - (0 if auto == "VALID" else pads[axis] + pads[axis + rank]))
            continue
        outputs.append(shape[len(shape) - rank + axis] if shape is not None else size * strides[axis])
        total = whole - outputs[axis]
        if total < 0:
            raise RefusedError(
                f"the result must have at most the {whole} elements that it spreads over, but has {outputs[axis]} "
                f"along spatial dimension {axis}: runtimes disagree on such"
            )
        begins[axis] = total // 2 if auto == "SAME_UPPER" else total - total // 2
    if min(outputs) < 1:
        raise RefusedError(f"the result must have elements, but its spatial dimensions are {outputs}")
    return _Spread(
        _pair(kernel, 1), _pair(strides, 1), _pair(dilations, 1), _pair(tuple(begins), 0), _pair(tuple(outputs), 1)
    )


def _pair(items: tuple[int, ...], height: int) -> tuple[int, int]:
    return (height, items[0]) if len(items) == 1 else (items[0], items[1])


def _scattered(site: Site, core: Value, weights: Array, bias: Value | None, spread: _Spread, name: str) -> Value:
    """As a transpose_conv, of the whole result or of what SAME leaves; the rest is cut off."""
    batch, channels = core.type.dims[0], weights.shape[1]
    padding, sizes, begins = Padding.SAME, spread.sizes, (0, 0)
    if not _is_same(core, spread):
        padding, sizes, begins = Padding.VALID, _whole(core, spread), spread.begins
    operands = [
        site.ints("shape", (batch, *sizes, channels)),
        site.const("weights", in_sequence(weights.transpose(1, 2, 3, 0))),
        core,
        *(() if bias is None else (bias,)),
    ]
    cuts = [(-before, before + left - size) for before, left, size in zip(begins, spread.sizes, sizes, strict=True)]
    made = "" if any(map(any, cuts)) else name
    attrs = TransposeConvAttrs(spread.strides, padding)
    (core,) = site.emit("transpose_conv", operands, attrs, dtype=core.type.dtype, name=made)
    return framed(site, core, [(0, 0), *cuts, (0, 0)], name=name)


def _whole(core: Value, spread: _Spread) -> tuple[int, int]:
    """The sizes of all that is spread, or more where more is asked for."""
    height, width = (
        max((core.type.dims[1 + i] - 1) * spread.strides[i] + spread.kernel[i], spread.begins[i] + spread.sizes[i])
        for i in range(2)
    )
    return height, width


def _is_plain(core: Value, spread: _Spread) -> bool:
    """Whether a transpose_conv says it: no runtime takes a result that a convolution would not turn back."""
    return spread.dilations == (1, 1) and all(
        window(whole, taps, stride, 1, Padding.VALID).output == size
        for whole, taps, stride, size in zip(
            _whole(core, spread), spread.kernel, spread.strides, core.type.dims[1:3], strict=True
        )
    )


def _is_same(core: Value, spread: _Spread) -> bool:
    """Whether SAME leaves of the whole result what is asked for."""
    for axis in range(2):
        found = window(spread.sizes[axis], spread.kernel[axis], spread.strides[axis], 1, Padding.SAME)
        if (found.output, found.pad_before) != (core.type.dims[1 + axis], spread.begins[axis]):
            return False
    return True


def _per_output(weights: Array, group: int) -> Array:
    """Filters of a transposed convolution (input channels, output channels of a group, ...), turned round: OIHW."""
    inputs, outputs, *kernel = weights.shape
    bounded(weights.size, "filters that are turned round")
    parts = weights.reshape(group, inputs // group, outputs, *kernel).swapaxes(1, 2)
    return parts.reshape(group * outputs, inputs // group, *kernel)[:, :, ::-1, ::-1]


def _gathered(site: Site, core: Value, filters_: Array, bias: Value | None, spread: _Spread, name: str) -> Value:
    """As a convolution in steps of 1, over the input with `stride - 1` zeros behind each element."""
    core = _with_zeros_between(site, core, spread.strides)
    begins, ends = [], []
    for axis in range(2):
        reach = (spread.kernel[axis] - 1) * spread.dilations[axis]
        begins.append(reach - spread.begins[axis])
        ends.append(spread.sizes[axis] + reach - core.type.dims[1 + axis] - begins[axis])
    windows = Windows(spread.kernel, (1, 1), spread.dilations, tuple(begins), tuple(ends))
    return convolved(site, core, filters_, bias, windows, name)


def _with_zeros_between(site: Site, core: Value, strides: tuple[int, int]) -> Value:
    """[batch, height, width, channels] with `stride - 1` zeros behind each element of height and width."""
    batch, height, width, channels = core.type.dims
    down, across = strides
    if strides == (1, 1):
        return core
    # Behind each row come rows, behind each pixel its channels again.
    core = site.reshaped(core, (batch * height, 1, width, channels))
    core = framed(site, core, [(0, 0), (0, down - 1), (0, 0), (0, (across - 1) * channels)])
    return site.reshaped(core, (batch, height * down, width * across, channels))


RULES = (
    Rule(
        "ConvTranspose",
        _conv_transpose,
        Flow.PLANE,
        "`transpose_conv`; in groups or dilated, `conv2d` or `depthwise_conv2d` over an input with zeros in between",
    ),
)
