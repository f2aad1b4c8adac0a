"""Two networks of all ops that move, choose and sum, through every level: down to cores without unaligned access."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from arenite._base.dtypes import DType
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Value
from arenite.ir.model import Model
from arenite.ir.opdef import OpCall
from arenite.ir.types import Quantization, TensorType
from arenite.ops import core_registry
from arenite.ops.cast import CastAttrs
from arenite.ops.choice import ArgAttrs
from arenite.ops.gather import GatherAttrs
from arenite.ops.layout import BlockAttrs, PackAttrs, SqueezeAttrs
from arenite.ops.movement import ConcatenationAttrs
from arenite.ops.repeat import ShapeAttrs
from arenite.ops.resize import ResizeAttrs
from arenite.ops.slicing import SplitAttrs, StridedSliceAttrs, UnpackAttrs
from arenite.ops.spatial import MirrorPadAttrs
from arenite.ops.sums import CumsumAttrs
from ladder.rungs import Rungs

AnyArray = npt.NDArray[Any]
REGISTRY = core_registry()
S8, S32, F32 = DType.INT8, DType.INT32, DType.FLOAT32
Q = Quantization.per_tensor(0.25, -3)


@dataclass
class Net:
    """Builds a network: `net("slice", x, [0, 1], [2, -1])` gives the results of a new node."""

    builder: GraphBuilder = field(default_factory=GraphBuilder)

    def input(self, name: str, dtype: DType, *shape: int) -> Value:
        return self.builder.input(name, TensorType(dtype, shape, Q if dtype is S8 else None))

    def __call__(
        self, op: str, *operands: Any, attrs: Attrs | None = None, count: int = 1, dtype: DType | None = None
    ) -> Any:
        values = [
            value if isinstance(value, Value) else self.builder.constant("c", *_constant(value)) for value in operands
        ]
        data = next((value for value in values if isinstance(value, Value) and not value.is_constant), values[-1])
        wanted = dtype or data.type.dtype
        declared = (TensorType(wanted, None, Q if wanted is S8 else None),) * count
        types, constants = tuple(v.type for v in values), tuple(v.constant for v in values)
        call = OpCall(op, op, attrs or Attrs(), types, declared, constants)
        node = self.builder.node(op, values, REGISTRY[op].infer(call), attrs, name=op)
        return node.results if count > 1 else node.result


def _constant(value: Any) -> tuple[AnyArray, Quantization | None]:
    array = np.asarray(value) if isinstance(value, np.ndarray) else np.array(value, np.int32)
    return array, Q if array.dtype == np.int8 else None


def bytes_network() -> Model:
    net = Net()
    x, which = net.input("x", S8, 1, 6, 6, 4), net.input("which", S32, 3)
    a, b = net("split", 3, x, attrs=SplitAttrs(2), count=2)
    c, d, e = net("split_v", x, [1, 2, 3], 1, attrs=SplitAttrs(3), count=3)
    parts = net("unpack", e, attrs=UnpackAttrs(3, 1), count=3)
    packed = net("pack", *reversed(parts), attrs=PackAttrs(3, -1))
    turned = net("transpose", packed, [3, 0, 2, 1])
    deep = net("space_to_depth", a, attrs=BlockAttrs(2))
    wide = net("depth_to_space", b, attrs=BlockAttrs(1))
    batched = net("space_to_batch_nd", wide, [2, 2], [[0, 0], [0, 0]])
    whole = net("batch_to_space_nd", batched, [2, 2], [[1, 0], [0, 1]])
    mirrored = net("mirror_pad", whole, [[0, 0], [1, 2], [2, 1], [0, 0]], attrs=MirrorPadAttrs())
    larger = net("resize_nearest_neighbor", c, [3, 9], attrs=ResizeAttrs(half_pixel_centers=True))
    smooth = net("resize_bilinear", d, [5, 11], attrs=ResizeAttrs(align_corners=True))
    every = net("strided_slice", smooth, [0, -1, 0, 3], [0, 0, 9, 0], [1, -2, 3, -1], attrs=StridedSliceAttrs(1, 9))
    some = net("slice", larger, [0, 1, 2, 0], [-1, 2, 5, 3])
    chosen = net("gather", some, which, attrs=GatherAttrs(2))
    fixed = net("gather_nd", x, [[0, 5, 1], [0, 0, 0], [0, 2, 5]])
    flat = net("squeeze", net("expand_dims", fixed, 0), attrs=SqueezeAttrs((0,)))
    greatest = net("arg_max", flat, -1, attrs=ArgAttrs(S32), dtype=S32)
    least = net("arg_min", every, 2, attrs=ArgAttrs(S32), dtype=S32)
    shape = net("shape", every, attrs=ShapeAttrs(S32), dtype=S32)
    spread = net("broadcast_to", net("slice", flat, [0, 0], [1, 4]), [2, 3, 4])
    padded = net("padv2", spread, [[0, 1], [1, 0], [0, 2]], np.array([17], np.int8))
    sums = net("cumsum", padded, 1, attrs=CumsumAttrs(reverse=True))
    total = net("add_n", deep, deep, net("space_to_depth", b, attrs=BlockAttrs(2)))
    integers = net("cast", sums, attrs=CastAttrs(S8, S32), dtype=S32)
    filled = net("fill", [4, 2], np.array(5, np.int32), dtype=S32)
    joined = net("concatenation", greatest, net("slice", which, [0], [2]), attrs=ConcatenationAttrs(0), dtype=S32)
    return Model(
        "bytes",
        net.builder.output(turned, mirrored, chosen, flat, least, shape, sums, total, integers, filled, joined),
    )


def floats_network() -> Model:
    net = Net()
    x, mask = net.input("x", F32, 1, 4, 4, 3), net.input("mask", DType.BOOL, 4, 1)
    smooth = net("resize_bilinear", x, [7, 5], attrs=ResizeAttrs(half_pixel_centers=True))
    picked = net("select_v2", mask, x, np.array([0.5], np.float32), dtype=F32)
    sums = net("cumsum", picked, 2, attrs=CumsumAttrs(exclusive=True))
    total = net("add_n", picked, sums, x)
    best = net("arg_max", total, 3, attrs=ArgAttrs(S32), dtype=S32)
    whole = net("cast", total, attrs=CastAttrs(F32, S32), dtype=S32)
    real = net("cast", whole, attrs=CastAttrs(S32, F32), dtype=F32)
    turned = net("transpose", real, [0, 3, 1, 2])
    return Model("floats", net.builder.output(smooth, picked, total, best, whole, turned))


MODELS: dict[str, Callable[[], Model]] = {"bytes": bytes_network, "floats": floats_network}


def _feeds(model: Model) -> list[list[AnyArray]]:
    rng, feeds = np.random.default_rng(11), []
    for _ in range(3):
        feed = []
        for value in model.graph.inputs:
            if value.type.dtype is F32:
                feed.append(rng.normal(0, 30, value.type.dims).astype(np.float32))
            else:
                low, high = {"which": (0, 5), "mask": (0, 2)}.get(value.name, (-128, 128))
                feed.append(rng.integers(low, high, value.type.dims).astype(value.type.dtype.numpy))
        feeds.append(feed)
    return feeds


@pytest.fixture(scope="module", params=list(MODELS))
def case(request: pytest.FixtureRequest) -> Rungs:
    model = MODELS[request.param]()
    feeds = _feeds(model)
    return Rungs.of(model, feeds)


pytestmark = pytest.mark.wheel


def test_interpreter(case: Rungs) -> None:
    case.check_interpreter()


def test_poisoned_arena_without_passes(case: Rungs) -> None:
    case.check_arena(passes=False)


def test_shapes_are_folded(case: Rungs) -> None:
    assert "shape" not in {node.op for node in case.build().graph.nodes}


@pytest.mark.gcc
def test_host_c(case: Rungs) -> None:
    case.check_host_c()


@pytest.mark.unicorn
@pytest.mark.parametrize(
    ("compiler", "target"),
    [
        pytest.param("zig", "cortex-m0plus", marks=pytest.mark.zig),
        pytest.param("zig", "cortex-m4f", marks=pytest.mark.zig),
        pytest.param("arm-none-eabi-gcc", "cortex-m0plus", marks=pytest.mark.arm_gcc),
        pytest.param("arm-none-eabi-gcc", "cortex-m4f", marks=pytest.mark.arm_gcc),
    ],
)
def test_simulated(case: Rungs, compiler: str, target: str) -> None:
    case.check_simulated(compiler, target)
