"""Generated C against the arena, and what compilers say of it."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite._base.dtypes import DType
from arenite.codegen import render
from arenite.ir.builder import GraphBuilder
from arenite.ir.graph import Graph
from arenite.ir.types import Quantization, TensorType
from arenite.lower import kernels
from arenite.lower.arena import run
from arenite.lower.lower import lower
from arenite.lower.program import Program
from arenite.ops import core_registry
from codegen.host import STRICT, HostModel, compile_with, read_toy_header, render_toy, write
from lower.graphs import graphs, random_inputs
from lower.toy import KERNELS, REGISTRY, ScaleAttrs, int8

HOSTILE = 'a*/ int x; /* "quoted" ??/ \\\n line % é 模型 //'


def lowered(graph: Graph, name: str = "toy") -> Program:
    return lower(graph, REGISTRY, KERNELS, name=name)


def everything(name: str = "toy") -> Program:
    """Every toy kernel, a constant output, and hostile names."""
    b = GraphBuilder()
    x, c = b.input(HOSTILE, int8(2, 6)), b.constant("c", np.array([1, -2, 3], np.int8))
    s = b.node("toy.scale", [x], [int8(2, 6)], ScaleAttrs(3), name=HOSTILE).result
    t = b.node("toy.scale", [s], [int8(2, 6)], ScaleAttrs(2), origin=[HOSTILE, "b" * 5000, *map(str, range(99))]).result
    r = b.node("toy.reverse", [t], [int8(2, 6)]).result
    u = b.node("toy.sum", [r], [int8(2, 6)]).result
    a = b.node("toy.add", [u, x], [int8(2, 6)]).result
    j = b.node("toy.join", [a, r], [int8(24)]).result
    return lowered(b.output(j, c, x), name)


@pytest.mark.gcc
@settings(max_examples=8)
@given(graphs(), st.integers(0, 99))
def test_c_computes_what_the_arena_does(tmp_path_factory: pytest.TempPathFactory, graph: Graph, seed: int) -> None:
    program = lowered(graph)
    model = HostModel(program, render_toy(program), tmp_path_factory.mktemp("toy"))
    for step in range(2):
        inputs = random_inputs(graph, seed + step)
        for got, wanted in zip(model(inputs), run(program, KERNELS, inputs), strict=True):
            np.testing.assert_array_equal(got, wanted, strict=True)


@pytest.mark.gcc
def test_c_computes_what_the_arena_does_with_every_kernel(tmp_path: Path) -> None:
    program = everything()
    model = HostModel(program, render_toy(program), tmp_path, ["-O1", "-fsanitize=undefined"])
    inputs = [np.arange(12, dtype=np.int8).reshape(2, 6) * 11]
    for got, wanted in zip(model(inputs), run(program, KERNELS, inputs), strict=True):
        np.testing.assert_array_equal(got, wanted, strict=True)


@pytest.mark.parametrize(
    "compiler", [pytest.param("gcc", marks=pytest.mark.gcc), pytest.param("clang", marks=pytest.mark.clang)]
)
@pytest.mark.parametrize("flags", ["-O0", "-O2", "-Os"])
def test_compilers_have_nothing_to_say(tmp_path: Path, compiler: str, flags: str) -> None:
    sources = write(render_toy(everything()), tmp_path)
    more = ["-Wshadow", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wundef", "-Wcast-qual"]
    for source in sources:
        compile_with([compiler, *STRICT, *more, flags, "-c"], [source], tmp_path, tmp_path / "out.o")


@pytest.mark.gcc
@pytest.mark.parametrize("standard", ["c++11", "c++20"])
def test_headers_are_cpp(tmp_path: Path, standard: str) -> None:
    write(render_toy(everything()), tmp_path)
    user = tmp_path / "user.cpp"
    user.write_text(
        '#include "toy.h"\n#include "toy.h"\n'
        "int main() { toy_reset(); toy_input_0()[TOY_INPUT_0_NELEM - 1] = 1; toy_invoke();\n"
        "  const int shape[TOY_OUTPUT_0_RANK] = TOY_OUTPUT_0_SHAPE; return shape[0] - TOY_OUTPUT_0_NBYTES; }\n"
    )
    compile_with(
        ["g++", f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c"],
        [str(user)],
        tmp_path,
        tmp_path / "user.o",
    )


@pytest.mark.gcc
def test_two_models_and_an_external_arena_link_into_one_program(tmp_path: Path) -> None:
    one, two = everything("one"), everything("two")
    sources = write(render_toy(one), tmp_path) + write(render_toy(two), tmp_path)
    main = tmp_path / "main.c"
    main.write_text(
        '#include "one.h"\n#include "two.h"\n'
        "uint8_t two_arena[TWO_ARENA_NBYTES] __attribute__((aligned(TWO_ARENA_ALIGNMENT)));\n"
        "int main(void) {\n"
        "  for (int i = 0; i < ONE_INPUT_0_NELEM; ++i) one_input_0()[i] = two_input_0()[i] = (int8_t)(i * 7);\n"
        "  one_invoke(); two_invoke();\n"
        "  for (int i = 0; i < ONE_OUTPUT_0_NELEM; ++i) if (one_output_0()[i] != two_output_0()[i]) return 1;\n"
        "  return one_output_1()[2] - 3;\n"
        "}\n"
    )
    program = tmp_path / "program"
    compile_with(["gcc", *STRICT, "-DTWO_EXTERNAL_ARENA", "-Os"], [*sources, str(main)], tmp_path, program)
    assert subprocess.run([program], timeout=10, check=False).returncode == 0


@pytest.mark.gcc
def test_only_prefixed_symbols_leave_the_object(tmp_path: Path) -> None:
    for source in write(render_toy(everything()), tmp_path):
        compile_with(["gcc", *STRICT, "-O2", "-c"], [source], tmp_path, tmp_path / "out.o")
        listed = subprocess.run(
            ["nm", "-g", "--defined-only", tmp_path / "out.o"], capture_output=True, text=True, timeout=10, check=True
        )
        assert all(line.split()[-1].startswith("toy_") for line in listed.stdout.splitlines())


@pytest.mark.gcc
def test_every_layer_is_a_function_of_its_own_and_constants_are_in_flash(tmp_path: Path) -> None:
    program = everything()
    symbols: dict[str, str] = {}
    for source in write(render_toy(program), tmp_path):
        compile_with(["gcc", *STRICT, "-O3", "-c"], [source], tmp_path, tmp_path / "out.o")
        listed = subprocess.run(["nm", tmp_path / "out.o"], capture_output=True, text=True, timeout=10, check=True)
        symbols |= {fields[-1]: fields[-2] for fields in map(str.split, listed.stdout.splitlines())}
    layers = {name for name in symbols if re.fullmatch(r"toy_layer_\d\d", name)}
    assert layers == {f"toy_layer_{index:02d}" for index in range(len(program.calls))}
    assert all(symbols[f"toy_{constant.name}"] == "R" for constant in program.constants)
    assert [name for name, kind in symbols.items() if kind in "bBdD"] == ["toy_arena"]


@pytest.mark.gcc
@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3", "-Os"])
def test_no_layer_is_optimised_away(tmp_path: Path, level: str) -> None:
    """gcc 12 drops this call at -O1 and -O2 when it sees that all pointers are into one static array."""
    builder = GraphBuilder()
    quantized = TensorType(DType.INT8, (4,), Quantization.per_tensor(0.5, -128))
    x = builder.input("x", quantized)
    graph = builder.output(builder.node("dequantize", [x], [TensorType(DType.FLOAT32, (4,))]).result)
    program = lower(graph, core_registry(), kernels(), name="toy")
    manifests = kernels().manifests
    model = HostModel(program, render(program, manifests, read_toy_header), tmp_path, [level])
    (result,) = model([np.array([-128, -127, 0, 127], np.int8)])
    assert result.tolist() == [0.0, 0.5, 64.0, 127.5]


@pytest.mark.gcc
def test_a_network_of_constants_alone(tmp_path: Path) -> None:
    builder = GraphBuilder()
    program = lowered(builder.output(builder.constant("c", np.array([True, False]))))
    (result,) = HostModel(program, render_toy(program), tmp_path)([])
    assert result.tolist() == [True, False]
    assert run(program, KERNELS, [])[0].tolist() == [True, False]


def test_equal_programs_give_equal_bytes() -> None:
    assert render_toy(everything()) == render_toy(everything())


def test_files_of_a_bundle() -> None:
    assert sorted(render_toy(everything())) == [
        "arenite_port.h", "toy.c", "toy.h", "toy_add.h", "toy_data.c", "toy_data.h", "toy_join.h", "toy_reverse.h",
        "toy_scale.h", "toy_sum.h",
    ]  # fmt: skip
