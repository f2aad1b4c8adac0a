"""Import of damaged files: what each damage is called."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.formats.tflite import import_model
from arenite.formats.tflite.codec import Codec
from arenite.formats.tflite.codecs import codecs_by_builtin
from formats.tflite import small
from formats.tflite.small import (
    SCHEMA,
    buffer,
    code,
    conv_file,
    file,
    one_op,
    operator,
    problems,
    quantization,
    subgraph,
    tensor,
)


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ({"shape": (1, -4)}, "tensor 0 'x': expected dimensions of at least 0, found the shape [1, -4]"),
        ({"shape": (1,) * 33}, "tensor 0 'x': expected a rank of at most 32, found 33"),
        (
            {"shape": (1 << 20, 1 << 20)},
            "tensor 0 'x': its shape [1048576, 1048576] of float32 is too large: 4398046511104 bytes of memory, where "
            "at most 2147483647 are possible",
        ),
        ({"shape": (0, 2**31 - 1, 2**31 - 1)}, "tensor 0 'x': its shape [0, 2147483647, 2147483647] of float32 is too"),
        ({"buffer": 9999}, "tensor 0 'x': buffer 9999 does not exist: the file has 1 buffers"),
        ({"dtype": "INT2"}, "tensor 0 'x': its element type INT2 is not one that Arenite reads"),
        ({"dtype": "VARIANT"}, "tensor 0 'x': its element type VARIANT is not one that Arenite reads"),
        ({"sparsity": SCHEMA.record("SparsityParameters")}, "tensor 0 'x': it is sparse, which Arenite does not read"),
        ({"external_buffer": 1}, "tensor 0 'x': its data is in another file"),
        ({"variant_tensors": (SCHEMA.record("VariantSubType"),)}, "tensor 0 'x': it is a variant tensor"),
        ({"name": "n" * 500, "shape": (-1,)}, f"tensor 0 '{'n' * 80}...': expected dimensions"),
        ({"name": "\x07\n", "shape": (-1,)}, r"tensor 0 '\x07\n': expected dimensions"),
        ({"name": None, "shape": (-1,)}, "tensor 0 (no name): expected dimensions"),
    ],
)
def test_bad_tensors(first: dict[str, Any], expected: str) -> None:
    (problem,) = problems(small.relu(**first))
    assert problem.startswith(expected)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (quantization([0.5, 0.5], [0], 1), "expected as many zero points as scales (2), found 1"),
        (
            quantization([0.5, 0.5], [0, 0], 1),
            "expected one scale or one for each slice along dimension 1 of [1, 4], found 2",
        ),
        (quantization([0.5, 0.5], [0, 0], -1), "expected one scale or one for each slice along dimension -1 of [1, 4]"),
        (quantization([0.5, 0.5], [0, 0], 2), "expected one scale or one for each slice along dimension 2 of [1, 4]"),
        (quantization([0.0], [0]), "expected scales that are finite and > 0, found 0.0"),
        (quantization([-1.0], [0]), "expected scales that are finite and > 0, found -1.0"),
        (quantization([math.inf], [0]), "expected scales that are finite and > 0, found inf"),
        (quantization([math.nan], [0]), "expected scales that are finite and > 0, found nan"),
        (quantization([1.0], [128]), "expected zero points of int8 in [-128, 127], found 128"),
        (quantization([1.0], [-(2**40)]), "expected zero points of int8 in [-128, 127], found -1099511627776"),
        (
            SCHEMA.record("QuantizationParameters", details=SCHEMA.record("BlockwiseQuantization")),
            "its quantization is a BlockwiseQuantization, which Arenite does not have",
        ),
    ],
)
def test_bad_quantization(parameters: Any, expected: str) -> None:
    (problem,) = problems(small.relu(dtype="INT8", quantization=parameters))
    assert problem.startswith(f"tensor 0 'x': {expected}")


def test_state_that_has_data() -> None:
    tensors = [tensor(name, (1,), "FLOAT32", is_variable=name == "s", buffer=name == "s") for name in "xsy"]
    (problem,) = problems(one_op("ADD", tensors, [0, 1], [buffer(bytes(4))]))
    assert problem.startswith("tensor 1 's' is marked as state and has data")


def test_every_bad_tensor_is_named_at_once() -> None:
    tensors = [tensor("x", (4,), buffer=7), tensor("u", (4,)), tensor("v", (4,), buffer=8), tensor("y", (-4,))]
    found = problems(file([subgraph(tensors, [], [0], [3])] * 2, []))
    expected = [f"{where}tensor {i} '{n}'" for where in ("", "subgraph 1: ") for i, n in ((0, "x"), (2, "v"), (3, "y"))]
    assert [text.split(": ", 2 if text.startswith("sub") else 1)[:-1] for text in found] == [
        text.split(": ") for text in expected
    ]


def test_many_problems_are_counted_not_listed() -> None:
    found = problems(file([subgraph([tensor("t", (-1,))] * 200, [], [0], [0])], []))
    assert len(found) == 51
    assert found[-1] == "... and 150 more problems of this kind"


@pytest.mark.parametrize(
    ("inputs", "outputs", "operators", "expected"),
    [
        ([5], [1], [], ["the graph's inputs: tensor 5 does not exist: the subgraph has 3 tensors"]),
        ([-1], [1], [], ["the graph's inputs: tensor -1 does not exist: the subgraph has 3 tensors"]),
        ([0], [-1], [], ["the graph's outputs: tensor -1 does not exist: the subgraph has 3 tensors"]),
        (
            [0],
            [1],
            [operator(0, [0, 77], [1]), operator(4, [0], [2])],
            [
                "operator 0 (RELU): operands: tensor 77 does not exist: the subgraph has 3 tensors",
                "operator 1: operator code 4 does not exist: the file has 2",
            ],
        ),
        ([0], [1], [operator(0, [0], [-1])], ["operator 0 (RELU): results: tensor -1 does not exist"]),
        ([0], [1], [operator(1, [-2], [1])], ["operator 0 (CUSTOM 'Op'): operands: tensor -2 does not exist"]),
        ([0, 0], [0], [], ["tensor 0 'x' is 2 inputs of the graph; expected it once"]),
        (
            [0],
            [1],
            [operator(0, [2], [1])],
            ["tensor 2 'z': operator 0 (RELU) reads it, but it has no data, is no input, and no operator computes it"],
        ),
        (
            [0],
            [1],
            [],
            ["tensor 1 'y': it is an output of the graph, but it has no data, is no input, and no operator"],
        ),
        (
            [0],
            [1],
            [operator(0, [2], [1]), operator(0, [0], [2])],
            ["tensor 2 'z': operator 0 (RELU) reads it before operator 1 (RELU) computes it"],
        ),
        (
            [0],
            [1],
            [operator(0, [1], [1])],
            ["tensor 1 'y': operator 0 (RELU) reads it before operator 0 (RELU) computes it"],
        ),
        (
            [0],
            [1],
            [operator(0, [0], [1]), operator(0, [0], [1]), operator(0, [0], [0])],
            [
                "tensor 1 'y' has a value already where operator 1 (RELU) computes it",
                "tensor 0 'x' has a value already where operator 2 (RELU) computes it",
            ],
        ),
    ],
)
def test_bad_wiring(inputs: list[int], outputs: list[int], operators: list[Any], expected: list[str]) -> None:
    tensors = [tensor(name, (4,)) for name in "xyz"]
    data = file([subgraph(tensors, operators, inputs, outputs)], [code("RELU"), code("CUSTOM", custom="Op")])
    found = problems(data)
    assert len(found) == len(expected)
    for text, start in zip(found, expected, strict=True):
        assert text.startswith(start)


def test_an_input_with_data() -> None:
    tensors = [tensor("x", (4,), buffer=1)]
    assert problems(file([subgraph(tensors, [], [0], [0])], [], [buffer(bytes(4))])) == (
        "tensor 0 'x' is an input of the graph and has data",
    )


def test_data_of_the_wrong_size() -> None:
    tensors = [tensor("x", (4,)), tensor("c", (4,), "INT32", buffer=1), tensor("y", (4,))]
    assert problems(one_op("ADD", tensors, [0, 1], [buffer(bytes(15))])) == (
        "tensor 1 'c': expected 16 bytes of data for 4 elements of int32, found 15",
    )


def test_an_operator_version_from_the_future() -> None:
    assert problems(conv_file(version=99)) == (
        "operator 0 (CONV_2D) has version 99; Arenite knows CONV_2D up to version 8: convert the model for an older "
        "runtime, or use a newer Arenite",
    )


def test_an_operator_that_no_number_can_mean() -> None:
    """-1 in both fields; the larger one counts."""
    code_ = SCHEMA.record("OperatorCode", builtin_code=-1, deprecated_builtin_code=-1)
    tensors = [tensor("x", (4,)), tensor("y", (4,))]
    data = file([subgraph(tensors, [operator(1, [0], [1])], [0], [1])], [code("RELU"), code_])
    assert problems(data) == ("operator code 1: expected the number of an operator, found -1",)


@pytest.mark.parametrize("codec", codecs_by_builtin().values(), ids=lambda codec: codec.builtin)
def test_the_newest_version_is_taken_and_the_next_is_not(codec: Codec) -> None:
    def data(version: int) -> bytes:
        tensors = [tensor("x", (1, 4), "FLOAT32"), tensor("y", (1, 4), "FLOAT32")]
        return one_op(codec.builtin, tensors, [0], version=version)

    (node,) = import_model(data(codec.max_version), "m").graph.nodes
    assert node.op == codec.op
    (problem,) = problems(data(codec.max_version + 1))
    assert f"({codec.builtin}) has version {codec.max_version + 1}" in problem


def test_options_of_another_operator() -> None:
    assert problems(conv_file(builtin_options=SCHEMA.record("Pool2DOptions"))) == (
        "operator 0 (CONV_2D): expected options of the kind Conv2DOptions, found Pool2DOptions",
    )


def test_an_option_without_meaning() -> None:
    assert problems(conv_file(builtin_options=SCHEMA.record("Conv2DOptions", padding=9))) == (
        "operator 0 (CONV_2D): option padding: expected one of SAME, VALID, found 9",
    )


def test_an_option_that_does_not_matter_without_meaning() -> None:
    options = SCHEMA.record("Conv2DOptions", quantized_bias_type=-4)
    assert problems(conv_file(builtin_options=options)) == (
        "operator 0 (CONV_2D): option quantized_bias_type: expected a TensorType, found -4",
    )


def test_more_dimensions_than_tflite_has_room_for() -> None:
    def file(dims: int) -> bytes:
        options = SCHEMA.record("ReshapeOptions", new_shape=np.ones(dims, np.int32))
        return one_op("RESHAPE", [tensor("x", (1,)), tensor("y", (1,))], [0], builtin_options=options)

    assert import_model(file(8), "m").graph.outputs
    assert problems(file(9)) == ("operator 0 (RESHAPE): option new_shape: expected at most 8 numbers, found 9",)


def test_two_kinds_of_options() -> None:
    options: dict[str, Any] = {
        "builtin_options": SCHEMA.record("AbsOptions"),
        "builtin_options2": SCHEMA.record("DilateOptions"),
    }
    assert problems(one_op("ABS", [tensor("x", (4,)), tensor("y", (4,))], [0], **options)) == (
        "operator 0 (ABS): it has two kinds of options, AbsOptions and DilateOptions",
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"version": 2}, "expected TFLite schema version 3, found 2"),
        ({"external_buffers": (SCHEMA.record("ExternalBuffer"),)}, "the model keeps data in other files"),
        (
            {"metadata": (SCHEMA.record("Metadata", name="m", buffer=5),)},
            "metadata 'm': buffer 5 does not exist: the file has 1 buffers",
        ),
        ({"metadata_buffer": np.array([-1], np.int32)}, "metadata without a name: buffer -1 does not exist"),
        (
            {"signature_defs": (SCHEMA.record("SignatureDef", signature_key="s", subgraph_index=3),)},
            "signature 's': subgraph 3 does not exist: the file has 1",
        ),
        (
            {
                "signature_defs": (
                    SCHEMA.record("SignatureDef", inputs=(SCHEMA.record("TensorMap", name="i", tensor_index=4),)),
                )
            },
            "signature (no name): inputs 'i': tensor 4 does not exist: the subgraph has 1 tensors",
        ),
    ],
)
def test_bad_models(values: dict[str, Any], expected: str) -> None:
    (problem,) = problems(file([subgraph([tensor("x", (4,))], [], [0], [0])], [], **values))
    assert problem.startswith(expected)


def test_no_subgraph() -> None:
    assert problems(file([], [])) == ("expected at least one subgraph, found none",)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("n01_tflite_eight_bytes", ["truncated", "8 bytes"]),
        ("n02_tflite_buffer_index_out_of_range", ["'w'", "9999"]),
        ("n03_tflite_op_input_index_out_of_range", ["FULLY_CONNECTED", "77"]),
        ("n05_tflite_truncated_file", ["truncated or is not a TFLite model"]),
        ("n07_tflite_absurd_shape", ["'x'", "1048576", "too large", "memory"]),
        ("n12_op_version_from_the_future", ["FULLY_CONNECTED", "99", "13"]),
    ],
)
def test_the_shared_cases_that_must_be_refused(shared: Path, case: str, words: list[str]) -> None:
    (problem,) = problems((shared / "cases" / "cases" / case / "model.tflite").read_bytes())
    for word in words:
        assert word in problem
