"""The passes over onnx graphs, and the order in which they run until nothing changes any more."""

from collections.abc import Callable, Sequence

from arenite._base.remarks import Remark, RemarkKind
from arenite.ir.graph import Graph
from arenite.ir.opdef import Registry
from arenite.ops.onnx.dialect import OLDEST_OPSET
from arenite.passes.base import Pass
from arenite.passes.cse import CommonSubexpressions
from arenite.passes.dce import DeadCodeElimination
from arenite.passes.onnx.branches import InlineBranches
from arenite.passes.onnx.fold import OnnxFold
from arenite.passes.onnx.fuse_affine import FuseAffine, FuseBatchNorm
from arenite.passes.onnx.fuse_clamps import MergeClamps
from arenite.passes.onnx.fuse_factors import MergeFactors
from arenite.passes.onnx.fuse_pads import OnnxFusePads
from arenite.passes.onnx.inline_functions import InlineFunctions
from arenite.passes.onnx.simplify import OnnxSimplify
from arenite.passes.pipeline import Instrument, PassRow, PipelineResult, run_pipeline

MAX_ROUNDS = 24
"""Each round removes or simplifies something; whoever still finds work after so many runs in circles."""


def onnx_passes(
    *,
    fold_max_nbytes: int | None = None,
    off: Sequence[str] = (),
    ignore_signed_zeros: bool = False,
    opset: int = OLDEST_OPSET,
) -> tuple[Pass, ...]:
    """What runs in each round.

    Args:
        fold_max_nbytes: how many bytes one folding may add; None: it depends on what goes.
        off: names of passes to leave out.
        ignore_signed_zeros: whether -0.0 may become 0.0.
        opset: of the model. In those before `OLDEST_OPSET` operators broadcast otherwise, drop at random where later
            ones do not, and so on: only what asks nothing of their meanings runs.
    """
    passes: tuple[Pass, ...] = (
        # It has nothing to do before it is told of a model's functions.
        InlineFunctions(),
        # First, so that nobody looks into a branch that is never taken.
        InlineBranches(),
        OnnxFold(fold_max_nbytes),
        OnnxSimplify(ignore_signed_zeros),
        CommonSubexpressions(),
        DeadCodeElimination(),
        # After what nobody reads is gone, so that values have fewer readers. Pads come last: a layer that pads by
        # itself takes no shift before it any more.
        MergeClamps(),
        FuseBatchNorm(),
        FuseAffine(),
        MergeFactors(),
        OnnxFusePads(),
    )
    if opset < OLDEST_OPSET:
        passes = tuple(each for each in passes if isinstance(each, CommonSubexpressions | DeadCodeElimination))
    return tuple(each for each in passes if each.name not in off)


def run_rounds(
    graph: Graph,
    passes: Sequence[Pass],
    registry: Registry,
    *,
    instruments: Callable[[], Sequence[Instrument]] = tuple,
    limit: int | None = None,
) -> PipelineResult:
    """Run passes in order, again and again, until none changes the graph.

    Verdicts of the last round stay; of those before only what was done, since the rest was looked at again.

    Args:
        graph: changed in place.
        passes: what runs in each round.
        registry: the ops.
        instruments: makes new ones for each round.
        limit: how many runs of passes there may be in all; None: as many as it takes.
    """
    rows: list[PassRow] = []
    done: list[Remark] = []
    for _ in range(MAX_ROUNDS):
        left = list(passes) if limit is None else list(passes)[: limit - len(rows)]
        result = run_pipeline(graph, left, registry, instruments=instruments())
        rows.extend(result.rows)
        if not any(row.changed for row in result.rows):
            return PipelineResult(tuple(rows), (*done, *result.remarks))
        done.extend(remark for remark in result.remarks if remark.kind is not RemarkKind.MISSED)
    return PipelineResult(tuple(rows), tuple(done))
