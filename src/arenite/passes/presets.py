"""The passes there are, and the order in which they run by default."""

from arenite.passes.absorb_transposes import AbsorbTransposes
from arenite.passes.base import Pass
from arenite.passes.canonicalize import Canonicalize
from arenite.passes.compose_unary import ComposeUnary
from arenite.passes.copy_state import CopyState, ReadInPlace
from arenite.passes.cse import CommonSubexpressions
from arenite.passes.dce import DeadCodeElimination
from arenite.passes.fold import Fold
from arenite.passes.fold_channels import FoldChannels
from arenite.passes.fuse_activations import FuseActivations
from arenite.passes.fuse_dilations import FuseDilations
from arenite.passes.fuse_hard_swish import FuseHardSwish
from arenite.passes.fuse_pads import FusePads
from arenite.passes.join_slices import JoinSlices
from arenite.passes.legalize_uint8 import LegalizeUint8
from arenite.passes.order_rows import OrderRows
from arenite.passes.pad_with_taps import PadWithTaps
from arenite.passes.resolve_state import ResolveState
from arenite.passes.straighten import Straighten
from arenite.passes.transposes import SimplifyTransposes
from arenite.passes.trim_taps import TrimTaps


def all_passes() -> tuple[Pass, ...]:
    """One of each pass, with its default options, for listings and the documentation."""
    return (*legalizing_passes(), *default_passes(), *file_only_passes())


def legalizing_passes() -> tuple[Pass, ...]:
    """What makes of a file's graph one that can be lowered. The result is for C alone: no file format holds it."""
    return (ResolveState(), LegalizeUint8())


def default_passes(*, fold_max_nbytes: int = Fold.max_nbytes) -> tuple[Pass, ...]:
    """What runs unless asked otherwise, before lowering.

    Folding exposes dead nodes; removing them first leaves values with fewer readers, so that more fuses, and saves
    looking at what nobody reads. Weights take in transposes that no other one undoes, before them and behind. Dilations
    fuse early: they leave views for others to merge, and a convolution beside what blocks kept it from. Activations
    fuse before pads, since they bound what max pools see. Filters are trimmed once they pad themselves: only what pads
    more than it needs can begin later.
    """
    return (
        Fold(fold_max_nbytes),
        Straighten(),
        SimplifyTransposes(),
        AbsorbTransposes(),
        OrderRows(),
        FuseDilations(),
        Canonicalize(),
        JoinSlices(),
        CommonSubexpressions(),
        DeadCodeElimination(),
        ComposeUnary(),
        FuseActivations(),
        FuseHardSwish(),
        FusePads(),
        TrimTaps(),
        FoldChannels(),
    )


def file_passes(
    *,
    fold_max_nbytes: int = Fold.max_nbytes,
    keep_float16: bool = False,
    fold_channels: bool = False,
    pad_with_taps: bool = False,
) -> tuple[Pass, ...]:
    """What runs when the result goes back into a .tflite file, which has no words for some of what C can do.

    Copies are not made reshapes: these cost nothing in C, but the runtimes that read files copy for them, too. Layers
    keep their channels unless asked otherwise, and their taps, since other tools may know them by their shapes; with
    `pad_with_taps` filters get zeros where a file needs a PAD else.
    """
    options = {
        Fold.name: Fold(fold_max_nbytes, keep_float16),
        FuseDilations.name: FuseDilations(explicit=False),
        FusePads.name: FusePads(explicit=False),
        ComposeUnary.name: ComposeUnary(tables=False),
    }
    out = {Straighten.name, TrimTaps.name} | (set() if fold_channels else {FoldChannels.name})
    kept = tuple(options.get(each.name, each) for each in default_passes() if each.name not in out)
    return (*kept, PadWithTaps()) if pad_with_taps else kept


def with_state_copied(passes: tuple[Pass, ...]) -> tuple[Pass, ...]:
    """Passes over a file's graph in which nodes read state where it lies: none of them would notice that it changes."""
    return (CopyState(), *passes, ReadInPlace())


def file_only_passes() -> tuple[Pass, ...]:
    """What makes up for words that files lack, and C has."""
    return (CopyState(), PadWithTaps(), ReadInPlace())
