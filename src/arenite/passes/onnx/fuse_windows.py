"""How convolutions and pools move over their operand: kernel, strides, dilations and padding."""

from collections.abc import Sequence
from dataclasses import dataclass

from arenite._base.remarks import Reason
from arenite.ir.opdef import OpError
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.passes.onnx.expr import Expr

OLD_OPSET = Reason("old-opset", "{subject} is of opset {opset}, where operators broadcast and pad by other rules")


@dataclass(frozen=True)
class Windows:
    """Numbers for each spatial dimension.

    Attributes:
        begins: elements of padding before the first.
        ends: elements of padding after the last.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def is_padded(self) -> bool:
        return any(self.begins) or any(self.ends)


def read_windows(attrs: OnnxAttrs, kernel: Sequence[int], sizes: Sequence[Expr | None]) -> Windows | None:
    """The windows of a convolution (not a transposed one) or a pool.

    Args:
        attrs: of the node.
        kernel: its sizes.
        sizes: of the operand, as far as they are known.

    Returns:
        None when the padding depends on sizes that are not known.

    Raises:
        OpError: the attributes do not fit.
    """
    rank = len(kernel)
    strides = attrs.integers("strides") or (1,) * rank
    dilations = attrs.integers("dilations") or (1,) * rank
    pads = attrs.integers("pads") or (0,) * (2 * rank)
    auto = attrs.text("auto_pad", "NOTSET")
    if not len(strides) == len(dilations) == len(sizes) == rank or len(pads) != 2 * rank:
        raise OpError("strides, dilations, pads or the kernel are not one for each spatial dimension")
    if min((*strides, *dilations, *kernel), default=1) < 1:
        raise OpError("a stride, a dilation or a size of the kernel is less than 1")
    if auto in ("NOTSET", ""):
        return Windows(tuple(kernel), strides, dilations, pads[:rank], pads[rank:])
    if auto not in ("VALID", "SAME_UPPER", "SAME_LOWER"):
        raise OpError(f"auto_pad is '{auto}'")
    begins, ends = [], []
    for size, length, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        total = 0 if auto == "VALID" else _same_padding(size, (length - 1) * dilation + 1, stride)
        if total is None:
            return None
        less, more = total // 2, total - total // 2
        begins.append(more if auto == "SAME_LOWER" else less)
        ends.append(less if auto == "SAME_LOWER" else more)
    return Windows(tuple(kernel), strides, dilations, tuple(begins), tuple(ends))


def _same_padding(size: Expr | None, reach: int, stride: int) -> int | None:
    """Padding that makes ceil(size / stride) windows fit."""
    if reach == 1:
        return 0
    if stride == 1:
        return reach - 1
    if not isinstance(size, int):
        return None
    return max((-(-size // stride) - 1) * stride + reach - size, 0)
