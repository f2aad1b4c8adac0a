"""The header for those who run the model with TFLite-Micro."""

import subprocess
from pathlib import Path

import pytest

from arenite.codegen.names import Names
from arenite.codegen.resolver import render_resolver
from codegen.host import compile_with


@pytest.mark.gcc
def test_the_op_resolver_registers_just_these(tmp_path: Path) -> None:
    text = render_resolver(Names("toy"), ["AddConv2D", "AddSoftmax"], 1234)
    (tmp_path / "toy_op_resolver.h").write_text(text, encoding="ascii")
    fake = tmp_path / "tensorflow/lite/micro/micro_mutable_op_resolver.h"
    fake.parent.mkdir(parents=True)
    fake.write_text(
        "enum TfLiteStatus { kTfLiteOk, kTfLiteError };\n"
        "namespace tflite { template <unsigned count> struct MicroMutableOpResolver {\n"
        "  static const unsigned size = count;\n"
        "  TfLiteStatus AddConv2D() { return kTfLiteOk; }\n  TfLiteStatus AddSoftmax() { return kTfLiteOk; } }; }\n"
    )
    user = tmp_path / "user.cpp"
    user.write_text(
        '#include "toy_op_resolver.h"\n#include "toy_op_resolver.h"\n'
        'int main() { toy_op_resolver r; static_assert(toy_op_resolver::size == 2, "two");\n'
        '  static_assert(toy_tflm_arena_nbytes == 1234, "arena");\n'
        "  return toy_register_ops(r); }\n"
    )
    program = tmp_path / "program"
    compile_with(["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror"], [str(user)], tmp_path, program)
    assert subprocess.run([program], timeout=10, check=False).returncode == 0
