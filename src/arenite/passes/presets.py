"""The passes there are, and the order in which they run by default."""

from arenite.passes.base import Pass
from arenite.passes.canonicalize import Canonicalize
from arenite.passes.cse import CommonSubexpressions
from arenite.passes.dce import DeadCodeElimination
from arenite.passes.fold import Fold
from arenite.passes.fuse_activations import FuseActivations
from arenite.passes.fuse_pads import FusePads
from arenite.passes.join_slices import JoinSlices
from arenite.passes.legalize_uint8 import LegalizeUint8
from arenite.passes.resolve_state import ResolveState
from arenite.passes.straighten import Straighten
from arenite.passes.transposes import SimplifyTransposes


def all_passes() -> tuple[Pass, ...]:
    """One of each pass, with its default options, for listings and the documentation."""
    return (*legalizing_passes(), *default_passes())


def legalizing_passes() -> tuple[Pass, ...]:
    """What makes of a file's graph one that can be lowered. The result is for C alone: no file format holds it."""
    return (ResolveState(), LegalizeUint8())


def default_passes(*, fold_max_nbytes: int = Fold.max_nbytes, for_file: bool = False) -> tuple[Pass, ...]:
    """What runs unless asked otherwise.

    Folding exposes dead nodes; removing them first leaves values with fewer readers, so that more fuses, and saves
    looking at what nobody reads. Activations fuse before pads, since they bound what max pools see.

    Args:
        fold_max_nbytes: see Fold.
        for_file: the result is to be written as .tflite, which has no words for some of what C can do.
    """
    # A reshape costs nothing in C; the runtimes that read files copy for it as for a slice.
    straightening = () if for_file else (Straighten(),)
    return (
        Fold(fold_max_nbytes),
        *straightening,
        SimplifyTransposes(),
        Canonicalize(),
        JoinSlices(),
        CommonSubexpressions(),
        DeadCodeElimination(),
        FuseActivations(),
        FusePads(explicit=not for_file),
    )
