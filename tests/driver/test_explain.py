"""`explain`: the few lines that answer; texts by hand, without the estimates of kernels, which change."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite._base.errors import UsageError
from arenite._base.text import shortened
from arenite.driver.explain import Explanation, explain_loaded, explain_model
from arenite.driver.explain_text import ADVICE, ROUTINE
from arenite.driver.node_names import find_name, piece_with, short_names
from arenite.driver.toolbox import own_toolbox
from arenite.ir.attrs import Attrs
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Value
from arenite.ir.model import Model
from arenite.ir.types import Quantization, TensorType
from arenite.ops.conv import Conv2dAttrs
from cli.test_cli import DIGITS

ZOO = Path(__file__).resolve().parents[2].parent / "shared" / "models" / "tflite"


def int8(*shape: int, scale: float = 0.5) -> TensorType:
    return TensorType(DType.INT8, shape, Quantization.per_tensor(scale, -1))


def model() -> Model:
    """Four convolutions: with a clamp that fuses, one that rescales, the same twice; and a clamp that nobody reads."""
    builder = GraphBuilder()
    image = builder.input("image", int8(1, 4, 4, 2))

    def convolved(name: str, seed: int) -> Value:
        taps = np.random.default_rng(seed).integers(-100, 100, (1, 3, 3, 2)).astype(np.int8)
        weights = builder.constant(f"weights_{name}", taps, Quantization.per_tensor(0.25, 0))
        bias = builder.constant(f"bias_{name}", np.full(1, seed, np.int32), Quantization.per_tensor(0.125, 0))
        return builder.node("conv2d", [image, weights, bias], [int8(1, 2, 2, 1)], Conv2dAttrs(), name=name).result

    def clamped(value: Value, name: str, type_: TensorType) -> Value:
        return builder.node("relu", [value], [type_], Attrs(), name=name).result

    fused = clamped(convolved("first", 1), "net/block_1/Relu;net/block_1/bn/Fused;net/block_1/Conv", int8(1, 2, 2, 1))
    rescaled = clamped(convolved("second", 2), "rescaled", int8(1, 2, 2, 1, scale=0.75))
    one, same = convolved("third", 3), convolved("third_again", 3)
    joined = builder.node("add", [one, same], [int8(1, 2, 2, 1)], own_toolbox().registry["add"].attrs(), name="sum")
    clamped(image, "unread", int8(1, 4, 4, 2))
    return Model("net", builder.output(fused, rescaled, joined.result))


@pytest.fixture(scope="module")
def explained() -> Explanation:
    return explain_loaded(model(), node=None, pass_name=None, target="cortex-m4")


def of_node(name: str) -> str:
    text = explain_loaded(model(), node=name, pass_name=None, target="cortex-m4").to_text()
    return "\n".join(line for line in text.splitlines() if "kernel" not in line and "next best" not in line)


GOLDEN = {
    "Relu": """\
net/block_1/Relu: relu 1x2x2x1 int8
  went into conv2d 'first', layer 0 (net_layer_00)
  by     fuse-activations: net/block_1/Relu became the activation of 'first'
more: --all""",
    "rescaled": """\
rescaled: relu 1x2x2x1 int8
  stays: layer 2 (net_layer_02)
  by     no pass: none changed it
  not    fuse-activations: rescaled rescales from q(0.5, -1) to q(0.75, -1); fused, values would be rounded once \
instead of twice
         to do: quantize with the activation fused, as converters do before they calibrate
more: --all""",
    "unread": """\
unread: relu 1x4x4x2 int8
  vanished
  by     dce: no output depends on unread, so it was removed
more: --all""",
    "third_again": """\
third_again: conv2d 1x2x2x1 int8
  went into conv2d 'third', layer 3 (net_layer_03)
  by     cse: third_again computes what 'third' does, so the latter took its place
more: --all""",
    "first": """\
first: conv2d 1x2x2x1 int8
  stays: layer 0 (net_layer_00)
  with   net/block_1/Relu
more: --all""",
}


@pytest.mark.parametrize("name", list(GOLDEN))
def test_the_short_answer(name: str) -> None:
    assert of_node(name) == GOLDEN[name]


def test_the_shipped_model_in_short() -> None:
    of_stem = explain_model(DIGITS, node="stem", pass_name=None, target="cortex-m4").to_text().splitlines()
    assert of_stem[:3] == [
        "stem: conv2d 1x8x8x16 int8",
        "  stays: layer 0 (digits_layer_00)",
        "  by     no pass: none changed it",
    ]
    assert of_stem[3].startswith("  kernel arenite_conv2d")
    of_view = explain_model(DIGITS, node="flat", pass_name=None, target="cortex-m4").to_text()
    assert of_view == (
        "flatten: reshape 1x128 int8\n"
        "  costs nothing: it only looks at bytes in another way, and no layer runs for it\n"
        "more: --all"
    )


def test_a_model_in_short(explained: Explanation) -> None:
    lines = explained.to_text().splitlines()
    assert lines[0] == "8 nodes of the model, 5 after the passes, 5 layers of the firmware"
    went = lines[lines.index("went or changed:") + 1 : lines.index("was looked at and left:")]
    assert [line.split()[0] for line in went] == ["net/block_1/Relu", "third_again", "unread"]
    assert "fuse-activations (scales-differ): rescaled rescales" in explained.to_text()
    assert len(lines) < 25


def test_a_pass_in_short() -> None:
    found = explain_loaded(model(), node=None, pass_name="fuse-activations", target="cortex-m4").to_text()
    assert "  passed  net/block_1/Relu became the activation of 'first'" in found
    assert "  missed  rescaled rescales from q(0.5, -1) to q(0.75, -1)" in found


def test_all_has_every_verdict_and_whole_names(explained: Explanation) -> None:
    whole = explained.to_text(whole=True)
    assert "net/block_1/Relu;net/block_1/bn/Fused;net/block_1/Conv became the activation of 'first'" in whole
    assert len(whole.splitlines()) > len(explained.remarks)
    for remark in explained.remarks:
        assert remark.text in whole


NAMES = ["net/a_1/Relu;net/a_1/bn;net/shared", "net/a_10/Relu;net/a_10/bn;net/shared", "Logits", "pool"]


@pytest.mark.parametrize(
    ("asked", "index"),
    [
        ("net/a_1/Relu", 0),
        ("a_1", 0),
        ("a_10", 1),
        ("net/a_10/bn", 1),
        ("a_10/R", 1),
        ("ogit", 2),
        ("logits", 2),
        ("pool", 3),
        (NAMES[1], 1),
    ],
)
def test_any_piece_of_a_name_that_no_other_has_will_do(asked: str, index: int) -> None:
    assert find_name(asked, NAMES) == NAMES[index]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("Relu", ["2 nodes", ": a_1/Relu, a_10/Relu", "write more"]),
        ("net/shared", ["2 nodes"]),
        ("Logit2", ["no node is called 'Logit2'", "did you mean Logits"]),
        ("", ["4 nodes"]),
        ("xyz", ["no node is called 'xyz'"]),
    ],
)
def test_names_that_are_none_or_several(asked: str, words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        find_name(asked, NAMES)
    for word in words:
        assert word in str(caught.value)


FUSED = [
    *(f"net/act_{i}/Relu;net/bn_{i}/Fused;net/conv2d_{i}/BiasAdd;net/conv2d_3/Conv2D;" for i in range(3)),
    "net/act_9/Relu;net/conv2d_3/Conv2D",
    "net/dense/MatMul",
]


@pytest.mark.parametrize("asked", ["conv", "Conv2D", "net/conv2d", "CONV2D_"])
def test_what_several_names_hold_is_listed_by_pieces_that_hold_it(asked: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_name(asked, FUSED)
    pieces = str(caught.value).rpartition(": ")[2].split(", ")
    assert len(pieces) == 4
    for name, piece in zip(FUSED, pieces, strict=False):
        assert asked.lower() in piece.lower()
        assert find_name(piece, FUSED) == name


@given(
    st.lists(st.text("ab/;", min_size=1, max_size=12), min_size=2, max_size=6, unique=True), st.text("ab;", max_size=2)
)
def test_pieces_lead_back_to_their_names(names: list[str], asked: str) -> None:
    for name in names:
        if asked in name:
            piece = piece_with(asked, name, names)
            assert asked in piece
            assert find_name(piece, names) == name


def test_short_names_are_told_apart_and_found_again() -> None:
    names = [*NAMES, "same;one", "same;two", "taken", "taken;too"]
    short = short_names(names)
    assert short[NAMES[0]] == "net/a_1/Relu"
    assert len(set(short.values())) == len(names)
    for name in names:
        assert find_name(short[name], names) == name
    assert shortened(f"'{NAMES[1]}' became 'taken;too'", short) == "'net/a_10/Relu' became 'taken;too'"


def test_one_is_told_in_the_singular() -> None:
    builder = GraphBuilder()
    result = builder.node("relu", [builder.input("x", int8(1, 4))], [int8(1, 4)], name="only").result
    found = explain_loaded(Model("m", builder.output(result)), node=None, pass_name=None, target="cortex-m4")
    assert found.to_text().splitlines()[0] == "1 node of the model, 1 after the passes, 1 layer of the firmware"


def test_what_is_routine_or_has_advice_is_what_passes_say() -> None:
    known = {(each.name, reason.slug) for each in own_toolbox().passes for reason in each.reasons}
    assert known >= ROUTINE
    assert set(ADVICE) <= known
    assert not ROUTINE & set(ADVICE)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["mlperf_kws_int8", "mlperf_ad_int8"])
def test_every_node_of_a_converted_model_has_a_short_answer(name: str) -> None:
    explained = explain_model(ZOO / f"{name}.tflite", node=None, pass_name=None, target="cortex-m4")
    short = short_names(node.name for node in explained.facts.graphs.before)
    assert max(map(len, short.values())) < 60
    for node in explained.facts.graphs.before:
        assert find_name(short[node.name], list(short)) == node.name
    assert max(len(line) for line in explained.to_text().splitlines()) < 250
