"""Models made to trap optimisers: what is said of each candidate, and what they compute on inputs that hurt.

The verdicts are in tests/golden, one line each; read them before a change of one is taken as right.
"""

from pathlib import Path

import numpy as np
import pytest

from arenite._base.remarks import RemarkKind
from arenite.driver.load import load_model
from arenite.driver.optimize_onnx import optimize_onnx
from arenite.driver.optimize_result import OptimizeOptions, OptimizeResult
from arenite.formats.onnx import model_registry
from arenite.interp.onnx import OnnxInterpreter
from arenite.ir.clone import clone_graph
from arenite.ir.graph import Array, Graph

GOLDEN = Path(__file__).resolve().parents[1] / "golden"

pytestmark = pytest.mark.shared

# What each trap is about: the verdict on the node that would be done wrong.
ABOUT = {
    "trap_conv_out_is_output": (RemarkKind.MISSED, "fuse-batch-norm", "intermediate-is-output", "y"),
    "trap_identity_output_dup": (RemarkKind.MISSED, "onnx-simplify", "output-name", "y2"),
    "trap_nan_inf_identities": (RemarkKind.MISSED, "onnx-simplify", "not-neutral", "m0"),
    "trap_shared_weight_bn": (RemarkKind.PASSED, "fuse-batch-norm", "fused-after", "a2"),
    "trap_size_explosion": (RemarkKind.PASSED, "onnx-fold", "broadcast", "a2"),
}


def verdicts(result: OptimizeResult) -> str:
    return "".join(f"{r.kind.value} {r.pass_name} ({r.reason.slug}): {r.text}\n" for r in result.remarks)


def optimised(shared: Path, name: str) -> tuple[Graph, OptimizeResult]:
    """The graph as it was, and what came of it."""
    model = load_model(shared / "models" / "exported" / f"{name}.onnx")
    before = clone_graph(model.graph)
    return before, optimize_onnx(model, OptimizeOptions(check=0), source=None, reproducer=Path())


def awkward(graph: Graph) -> list[dict[str, Array]]:
    """Plain numbers, and ones with NaN, infinities, signed zeros and denormal numbers among them."""
    rng = np.random.default_rng(1)
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e38], np.float32)
    plain: dict[str, Array] = {}
    mixed: dict[str, Array] = {}
    for value in graph.inputs:
        shape = value.type.dims
        plain[value.name] = rng.standard_normal(shape).astype(np.float32)
        mixed[value.name] = rng.choice(odd, shape).astype(np.float32)
    return [plain, mixed]


@pytest.mark.parametrize("name", ABOUT)
def test_verdicts_and_results(shared: Path, name: str) -> None:
    before, result = optimised(shared, name)
    graph = result.model.graph
    assert verdicts(result) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    assert ABOUT[name] in [(r.kind, r.pass_name, r.reason.slug, r.subject) for r in result.remarks]
    assert [value.name for value in graph.outputs] == [value.name for value in before.outputs]
    registry = model_registry(result.model)
    exact = not any(r.pass_name.startswith("fuse") for r in result.remarks if r.kind is RemarkKind.PASSED)
    for feeds in awkward(graph)[: 2 if exact else 1]:
        with np.errstate(all="ignore"):
            found = [OnnxInterpreter(each, registry).run(feeds) for each in (before, graph)]
        for one, other in zip(*found, strict=True):
            if exact:
                assert one.tobytes() == other.tobytes()
            else:
                np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5 * float(np.abs(one).max()))
