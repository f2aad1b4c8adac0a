"""`explain` on .onnx files: what it says of a node that fused, one that stayed, one that vanished."""

import json
from pathlib import Path

import onnx.parser
import pytest

from arenite._base.errors import UsageError
from arenite.cli.main import main
from arenite.driver.explain_onnx import ROUTINE, OnnxExplanation, explain_onnx_file
from arenite.passes.onnx.presets import onnx_passes

LONG = "/model/backbone/stages.0/blocks.3/attention/projection/Identity"
TEXT = """<ir_version: 8, opset_import: ["": 17]>
g (float[1, 2, 4, 4] x, float[1, 2, 4, 4] other) => (float[1, 2, 4, 4] y)
<float[2] scale = {2, 4}, float[2] bias = {0, 1}, float[2] mean = {1, 1}, float[2] var = {1, 4},
 float[2, 2, 1, 1] weights = {1, 2, 3, 4}, float[1] one = {3}>
{
    [conv] c = Conv (x, weights)
    [norm] n = BatchNormalization (c, scale, bias, mean, var)
    [long] i = Identity (n)
    [three] t = Exp (one)
    [sum] s = Add (i, other)
    [dead] d = Neg (s)
    [product] y = Mul (s, t)
}"""

SHORT = "…stages.0/blocks.3/attention/projection/Identity"

TOOK_IN = f"""\
Conv 'conv' stays, and stands for 'norm', '{SHORT}' too
  missed   onnx-fold (not-constant): conv depends on %x, which is not constant"""

FUSED = """\
BatchNormalization 'norm' went into Conv 'conv'
  passed   fuse-batch-norm (fused-after): norm became part of 'conv', whose result it scaled or shifted"""

STAYED = """\
Add 'sum' stays as it is
  missed   onnx-fold (not-constant): sum depends on %n, which is not constant
  missed   onnx-simplify (not-neutral): no operand of sum is constant and leaves the other as it is, bit for bit
  missed   fuse-affine (not-constant): %other, which sum scales or shifts by, is computed"""

VANISHED = f"""\
Identity '{SHORT}' went into Conv 'conv'
  passed   onnx-simplify (no-op): {SHORT} gives %n unchanged (it is an identity), so it was removed"""

DROPPED = """\
Neg 'dead' is gone
  passed   dce (dead): no output depends on dead, so it was removed"""


def write(folder: Path) -> Path:
    model = onnx.parser.parse_model(TEXT)
    for node in model.graph.node:
        node.name = LONG if node.name == "long" else node.name
    target = folder / "model.onnx"
    target.write_bytes(model.SerializeToString())
    return target


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path)


def explained(path: Path, node: str | None = None, pass_name: str | None = None) -> OnnxExplanation:
    return explain_onnx_file(path, node=node, pass_name=pass_name, input_shapes={}, pins={})


GOLDENS = {"conv": TOOK_IN, "norm": FUSED, "sum": STAYED, LONG: VANISHED, "dead": DROPPED}


@pytest.mark.parametrize("node", GOLDENS)
def test_what_is_said_of_one_node(path: Path, node: str) -> None:
    assert explained(path, node).to_text() == GOLDENS[node]


def test_what_is_said_of_all_is_one_line_for_each_reason(path: Path) -> None:
    first, *lines = explained(path).to_text().splitlines()
    assert first == "7 nodes became 3"
    assert lines[-1] == "more: --node NAME (any piece of a name will do), --pass NAME, --all"
    heads = [line.split(")")[0].split(" x ")[1] for line in lines[:-1]]
    assert len(heads) == len(set(heads)) > 4
    assert all(len(line) < 160 for line in lines)


def test_what_is_said_of_most_nodes_is_counted_unless_a_pass_is_asked_for(path: Path) -> None:
    text = explained(path).to_text()
    said = [remark for remark in explained(path).remarks if (remark.pass_name, remark.reason.slug) in ROUTINE]
    folds = sum(remark.pass_name == "onnx-fold" for remark in said)
    assert not any(f"{name} ({slug})" in text for name, slug in ROUTINE)
    assert f"missed   {len(said):5} x nothing to do, as for most nodes: onnx-fold {folds}" in text
    of_one = explained(path, None, "onnx-fold").to_text()
    assert f"missed   {folds:5} x onnx-fold (not-constant): for instance" in of_one


def test_what_is_routine_is_what_passes_say() -> None:
    assert {(each.name, reason.slug) for each in onnx_passes() for reason in each.reasons} >= ROUTINE


def test_a_piece_of_a_name_will_do(path: Path) -> None:
    assert explained(path, "projection").to_text() == VANISHED
    with pytest.raises(UsageError, match="in the names of 3 nodes"):
        explained(path, "n")


def test_all_of_it_has_every_verdict_and_names_in_full(path: Path) -> None:
    found = explained(path, LONG).to_text(whole=True)
    assert found == f"passed   onnx-simplify (no-op): {LONG} gives %n unchanged (it is an identity), so it was removed"
    assert len(explained(path).to_text(whole=True).splitlines()) == len(explained(path).remarks)


def test_one_pass(path: Path) -> None:
    assert {remark.pass_name for remark in explained(path, pass_name="dce").remarks} == {"dce"}


@pytest.mark.parametrize(
    ("node", "pass_name", "hint"),
    [("norn", None, "did you mean norm"), (None, "fuse-afine", "did you mean fuse-affine")],
)
def test_unknown_names_are_answered_with_the_nearest(
    path: Path, node: str | None, pass_name: str | None, hint: str
) -> None:
    with pytest.raises(UsageError, match=hint):
        explained(path, node, pass_name)


def test_the_command_line(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["explain", str(path), "--node", "norm"])
    assert capsys.readouterr().out == FUSED + "\n"
    with pytest.raises(SystemExit, match="0"):
        main(["explain", str(path), "--pin", "other=0", "--node", "sum", "--json"])
    content = json.loads(capsys.readouterr().out)
    assert [node["name"] for node in content["nodes"]] == ["sum"]
    assert content["nodes"][0]["fate"] is not None
    assert {remark["subject"] for remark in content["remarks"]} == {"sum"}
