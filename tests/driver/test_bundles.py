"""Each kind of bundle, built as far as this computer can."""

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from arenite._base.errors import UsageError
from arenite.api import load
from arenite.codegen.project import BundleKind
from arenite.driver.build import Build, build
from arenite.driver.extras import lay_out, make_extras
from arenite.driver.options import CompileOptions
from arenite.driver.toolbox import default_toolbox
from cli.test_cli import DIGITS

STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")
APP = '#include "digits.h"\n#include "digits_selftest.h"\nint main(void) { return (int)digits_selftest(); }\n'


@cache
def digits() -> Build:
    return build(
        load(DIGITS), CompileOptions(simulate="off", keep=("TANH", "softmax"), debug_layers=True), lambda _: None
    )


def files_of(kind: BundleKind) -> dict[str, bytes]:
    made = replace(digits(), options=replace(digits().options, bundle=kind))
    return lay_out(made, make_extras(made))


def write(files: Mapping[str, bytes], folder: Path) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def run(*command: object, cwd: Path) -> str:
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.gcc
@pytest.mark.cmake
def test_cmake_builds_links_and_tests_itself(tmp_path: Path) -> None:
    write(files_of("cmake"), tmp_path / "net")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(app C)\nadd_subdirectory(net)\n"
        "add_executable(app app.c)\ntarget_link_libraries(app arenite_digits)\n"
    )
    (tmp_path / "app.c").write_text(APP)
    run("cmake", "-S", ".", "-B", "build", cwd=tmp_path)
    run("cmake", "--build", "build", cwd=tmp_path)
    log = run(tmp_path / "build" / "app", cwd=tmp_path)
    assert log.count("$ARN B") == 1


@pytest.mark.cmake
@pytest.mark.arm_gcc
@pytest.mark.slow
def test_cmake_builds_the_library_for_a_cortex_m(tmp_path: Path) -> None:
    write(files_of("cmake"), tmp_path)
    (tmp_path / "m4.cmake").write_text(
        "set(CMAKE_SYSTEM_NAME Generic)\nset(CMAKE_SYSTEM_PROCESSOR arm)\n"
        "set(CMAKE_C_COMPILER arm-none-eabi-gcc)\nset(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)\n"
        'set(CMAKE_C_FLAGS_INIT "-mcpu=cortex-m4 -mthumb -O2 -Wall -Wextra -Werror")\n'
    )
    run("cmake", "-S", ".", "-B", "build", "-DCMAKE_TOOLCHAIN_FILE=m4.cmake", cwd=tmp_path)
    run("cmake", "--build", "build", cwd=tmp_path)
    listed = run("arm-none-eabi-nm", "-g", "--defined-only", tmp_path / "build" / "libarenite_digits.a", cwd=tmp_path)
    assert {"digits_invoke", "digits_selftest", "digits_kept"} <= set(listed.split())


@pytest.mark.gcc
def test_arduino_compiles_every_source_and_the_sketch(tmp_path: Path) -> None:
    """As Arduino does: all of src/, one include folder, GNU C11 and C++17, and a sketch with its prototypes in C++."""
    library = write(files_of("arduino"), tmp_path / "library")
    assert {p.name for p in library.iterdir()} == {"src", "examples", "library.properties", "library.json"}
    properties = dict(text.split("=", 1) for text in (library / "library.properties").read_text().splitlines())
    assert properties["name"] == "arenite_digits"
    assert re.fullmatch(r"\d+\.\d+\.\d+", properties["version"])
    for key in ("author", "maintainer", "sentence", "paragraph", "category", "url", "architectures", "includes"):
        assert key in properties
    assert (library / "src" / properties["includes"]).is_file()
    platformio = json.loads((library / "library.json").read_text())
    assert platformio["name"] == properties["name"]
    assert (library / platformio["build"]["srcDir"] / platformio["headers"]).is_file()
    objects = []
    for source in sorted((library / "src").rglob("*.c")):
        objects.append(tmp_path / f"{source.stem}.o")
        run("gcc", "-std=gnu11", "-Os", *STRICT, f"-I{library / 'src'}", "-c", source, "-o", objects[-1], cwd=tmp_path)
    sketch = library / "examples" / "digits_selftest" / "digits_selftest.ino"
    assert sketch.parent.name == sketch.stem
    (tmp_path / "Arduino.h").write_text(
        "#include <cstdio>\nstruct Port { void begin(long) {}\n"
        "  void println(const char *text) { std::puts(text); } };\nextern Port Serial;\n"
    )
    (tmp_path / "core.cpp").write_text(
        '#include "Arduino.h"\nPort Serial;\nvoid setup();\nvoid loop();\nint main() { setup(); loop(); }\n'
    )
    cpp = ("g++", "-std=gnu++17", *STRICT, "-I.", f"-I{library / 'src'}")
    run(*cpp, "-x", "c++", sketch, "core.cpp", "-x", "none", *objects, "-o", "app", cwd=tmp_path)
    assert run(tmp_path / "app", cwd=tmp_path).splitlines()[-1] == "digits: right"


ZEPHYR = """
cmake_minimum_required(VERSION 3.13)
project(app C)
macro(zephyr_include_directories)
  set(includes ${ARGN})
  list(TRANSFORM includes PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  include_directories(${includes})
endmacro()
macro(zephyr_library_named name)
  set(ZEPHYR_CURRENT_LIBRARY ${name})
  add_library(${name} STATIC "")
endmacro()
macro(zephyr_library_sources)
  target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endmacro()
macro(zephyr_library_sources_ifdef condition)
  if(${condition})
    zephyr_library_sources(${ARGN})
  endif()
endmacro()
set(CONFIG_ARENITE_DIGITS y)
add_subdirectory(net)
"""


@pytest.mark.gcc
@pytest.mark.cmake
@pytest.mark.parametrize("selftest", [pytest.param(False, marks=pytest.mark.slow), True])
def test_the_zephyr_module_configures_and_builds(tmp_path: Path, selftest: bool) -> None:
    write(files_of("zephyr"), tmp_path / "net")
    option = "set(CONFIG_ARENITE_DIGITS_SELFTEST y)\n" if selftest else ""
    (tmp_path / "CMakeLists.txt").write_text(ZEPHYR.replace("add_subdirectory", f"{option}add_subdirectory"))
    run("cmake", "-S", ".", "-B", "build", cwd=tmp_path)
    run("cmake", "--build", "build", cwd=tmp_path)
    (library,) = tmp_path.rglob("libarenite_digits.a")
    assert ("digits_selftest" in run("nm", library, cwd=tmp_path)) == selftest


def test_the_zephyr_module_says_where_its_files_are(tmp_path: Path) -> None:
    kconfiglib = pytest.importorskip("kconfiglib", reason="needs kconfiglib")
    folder = write(files_of("zephyr"), tmp_path)
    module = (folder / "zephyr" / "module.yml").read_text()
    assert module == "name: arenite_digits\nbuild:\n  cmake: .\n  kconfig: zephyr/Kconfig\n"
    config = kconfiglib.Kconfig(str(folder / "zephyr" / "Kconfig"), warn_to_stderr=False)
    assert config.warnings == []
    assert set(config.syms) >= {"ARENITE_DIGITS", "ARENITE_DIGITS_SELFTEST"}
    config.syms["ARENITE_DIGITS_SELFTEST"].set_value("y")
    assert config.syms["ARENITE_DIGITS_SELFTEST"].str_value == "n"
    config.syms["ARENITE_DIGITS"].set_value("y")
    assert config.syms["ARENITE_DIGITS_SELFTEST"].str_value == "y"


@pytest.mark.gcc
@pytest.mark.cmake
@pytest.mark.slow
def test_the_esp_idf_component_registers_and_builds(tmp_path: Path) -> None:
    write(files_of("esp-idf"), tmp_path / "net")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(app C)\n"
        "function(idf_component_register)\n"
        '  cmake_parse_arguments(PARSE_ARGV 0 part "" "" "SRCS;INCLUDE_DIRS;REQUIRES;PRIV_REQUIRES")\n'
        "  if(part_UNPARSED_ARGUMENTS)\n    message(FATAL_ERROR ${part_UNPARSED_ARGUMENTS})\n  endif()\n"
        "  add_library(component STATIC ${part_SRCS})\n"
        "  target_include_directories(component PUBLIC ${part_INCLUDE_DIRS})\nendfunction()\n"
        "add_subdirectory(net)\nadd_executable(app app.c)\ntarget_link_libraries(app component)\n"
    )
    (tmp_path / "app.c").write_text(APP)
    run("cmake", "-S", ".", "-B", "build", cwd=tmp_path)
    run("cmake", "--build", "build", cwd=tmp_path)
    run(tmp_path / "build" / "app", cwd=tmp_path)
    assert 'version: "' in (tmp_path / "net" / "idf_component.yml").read_text()


def test_every_kind_has_the_same_code() -> None:
    flat = files_of("cmake")
    code = {name for name in flat if name.endswith((".c", ".h"))}
    for kind, prefix in (("arduino", "src/"), ("zephyr", ""), ("esp-idf", "")):
        files = files_of(kind)  # type: ignore[arg-type]
        assert {name: files[prefix + name] for name in code} == {name: flat[name] for name in code}


@pytest.mark.gcc
def test_helpers_round_and_saturate_as_the_quantize_operator(tmp_path: Path) -> None:
    """Against numpy in double precision; ties, ends and NaN included."""
    folder = write(files_of("cmake"), tmp_path)
    port = digits().program.inputs[0]
    assert port.scale is not None
    assert port.zero_point is not None
    rng = np.random.default_rng(5)
    steps = np.concatenate([np.arange(-20, 300) / 2, rng.uniform(-10, 270, 200), [1e30, -1e30]])
    reals = np.concatenate([(steps * port.scale).astype(np.float32), [np.float32("nan")]]).astype(np.float32)
    quotients = (reals / np.float32(port.scale)).astype(np.float64)
    rounded = np.sign(quotients) * np.floor(np.abs(quotients) + 0.5)
    expected = np.clip(np.nan_to_num(rounded + port.zero_point, nan=port.zero_point), -128, 127).astype(int)
    (folder / "main.c").write_text(
        '#include <stdio.h>\n#include "digits_helpers.h"\n'
        "static float all[DIGITS_INPUT_0_NELEM], scores[DIGITS_OUTPUT_0_NELEM];\n"
        "int main(void) {\n  float real;\n"
        "  while (fread(&real, 4, 1, stdin) == 1) {\n"
        "    all[0] = real;\n    digits_quantize_input_0(all);\n"
        "    const int one = digits_quantize_input_0_element(real);\n"
        '    if (digits_input_0()[0] != one) return 1;\n    printf("%d\\n", one);\n  }\n'
        "  digits_dequantize_output_0(scores);\n"
        "  return scores[3] != digits_dequantize_output_0_element(digits_output_0()[3]);\n}\n"
    )
    sources = [folder / name for name in ("digits.c", "digits_data.c", "digits_debug.c", "main.c")]
    run("gcc", "-std=c99", *STRICT, "-Wconversion", "-O2", f"-I{folder}", *sources, "-o", "app", cwd=folder)
    done = subprocess.run([folder / "app"], input=reals.tobytes(), capture_output=True, timeout=20, check=True)
    assert [int(text) for text in done.stdout.split()] == expected.tolist()
    run(
        "g++",
        "-std=c++11",
        *STRICT,
        f"-I{folder}",
        "-fsyntax-only",
        "-x",
        "c++",
        folder / "digits_helpers.h",
        cwd=folder,
    )


@pytest.mark.gcc
@pytest.mark.parametrize(
    "constant", ["layer_00_weights", "layer_01_biases", "layer_06_multipliers", "layer_07_weights"]
)
def test_the_selftest_notices_the_least_wrong_in_any_constant(tmp_path: Path, constant: str) -> None:
    """Where no output shows it, too."""
    folder = write(files_of("cmake"), tmp_path)
    (folder / "app.c").write_text(APP.replace("return (int)digits_selftest()", "return digits_selftest() != 0"))
    text = (folder / "digits_data.c").read_text()
    sources = [str(path) for path in folder.glob("*.c") if path.name != "digits_kept.c"]
    match = re.search(rf"{constant}\[\d+\] = {{\n(-?\d+)", text)
    assert match is not None
    wrong = text[: match.start(1)] + str(int(match[1]) ^ 1) + text[match.end(1) :]
    for data, status in ((text, 0), (wrong, 1)):
        (folder / "digits_data.c").write_text(data)
        run("gcc", "-std=c99", "-O1", f"-I{folder}", *sources, "-o", "app", cwd=folder)
        assert subprocess.run([folder / "app"], capture_output=True, timeout=20, check=False).returncode == status


def test_kept_kernels_are_those_of_the_ops_and_their_names_are_checked() -> None:
    extras = make_extras(digits())
    of_tanh = {kernel.info.symbol for kernel in default_toolbox().kernels.of_op("tanh")}
    assert {symbol for symbol, op in extras.kept_kernels.items() if op == "tanh"} == of_tanh
    wrong = replace(digits(), options=replace(digits().options, keep=("softmx", "tanh")))
    with pytest.raises(UsageError, match="did you mean softmax"):
        make_extras(wrong)
