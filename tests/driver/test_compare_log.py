"""A log of a firmware against its model: the first layer that differs is found."""

import json
import re
import subprocess
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from arenite._base.errors import DataError
from arenite.driver.build import Build, build
from arenite.driver.compare_log import compare_log
from arenite.driver.extras import lay_out, make_extras
from arenite.driver.load import load_model
from arenite.driver.options import CompileOptions, ObjectiveName
from arenite.formats.tflite import export_model
from arenite.targets import get
from arenite.toolchain import cross, firmware_compiler
from cli.in_process import call
from cli.test_cli import DIGITS, arenite
from named_state import START, assigning, delay, model_of

ZOO = Path(__file__).resolve().parents[2].parent / "shared" / "models" / "tflite"
MAIN = """
#include <stdio.h>
#include "{name}.h"
int main(void) {{
    for (int step = 0; step < {steps}; ++step) {{
        unsigned char *to = (unsigned char *){name}_input_0();
        for (int i = 0; i < {upper}_INPUT_0_NBYTES; ++i) to[i] = (unsigned char)(i * 7 + step * 31);
        printf("app: step %d\\n", step);
        {name}_invoke();
    }}
    return 0;
}}
"""


def built(path: Path, objective: ObjectiveName = "speed") -> Build:
    options = CompileOptions(simulate="off", debug_layers=True, objective=objective)
    return build(load_model(path), options, lambda _: None)


def host_log(
    made: Build, folder: Path, *, steps: int = 1, flip: str | None = None, flags: Sequence[str] = ()
) -> tuple[Path, dict[str, bytes]]:
    """What the debug build writes on this computer; with `flip`, one bit of a constant of the firmware is wrong."""
    files = lay_out(made, make_extras(made))
    name = made.program.name
    if flip is not None:
        files[f"{name}_data.c"] = flipped(files[f"{name}_data.c"].decode(), f"{name}_{flip}").encode()
    for each, data in files.items():
        (folder / each).write_bytes(data)
    (folder / "main.c").write_text(MAIN.format(name=name, upper=name.upper(), steps=steps))
    sources = [str(folder / each) for each in [*files, "main.c"] if each.endswith(".c")]
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic", "-O1"]
    done = subprocess.run(
        ["gcc", *strict, *flags, f"-I{folder}", *sources, "-o", folder / "app", "-lm"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    log = folder / "board.log"
    log.write_bytes(subprocess.run([folder / "app"], capture_output=True, timeout=60, check=True).stdout)
    return log, files


def flipped(text: str, constant: str) -> str:
    """The text with the first number of a constant changed in its lowest bit."""
    match = re.search(rf"\b{constant}\[\d+\] = {{\n(-?\d+)", text)
    assert match is not None
    return f"{text[: match.start(1)]}{int(match[1]) ^ 1}{text[match.end(1) :]}"


def weights(made: Build, step: int) -> str:
    (name,) = (ref.constant for key, ref in made.program.calls[step].arguments.items() if key == "weights")  # type: ignore[union-attr]
    return name


@pytest.fixture(scope="module")
def digits_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return host_log(built(DIGITS), tmp_path_factory.mktemp("digits"), steps=2)[0]


@pytest.mark.gcc
def test_a_sound_firmware_is_equal_in_every_layer(digits_log: Path) -> None:
    found = compare_log(DIGITS, digits_log, None)
    assert found.runs == 2
    assert found.damaged == 0
    assert [v.status for v in found.verdicts] == ["equal"] * 20
    assert found.worst_output == 0
    assert found.to_text().endswith("all are equal")


@pytest.mark.gcc
@pytest.mark.parametrize("step", [pytest.param(0, marks=pytest.mark.slow), 4])
def test_a_flipped_weight_bit_is_found_in_its_layer(tmp_path: Path, step: int) -> None:
    made = built(DIGITS)
    log, _ = host_log(made, tmp_path, flip=weights(made, step))
    first = compare_log(DIGITS, log, None).first_divergent
    assert first is not None
    assert first.layer == f"digits_layer_{step:02d}"
    assert first.kernel == made.program.calls[step].kernel
    assert first.origin == made.program.calls[step].origin
    assert first.expected != first.found
    assert len(first.element) == 4


@pytest.mark.gcc
def test_without_data_the_checksums_still_tell_the_layer(tmp_path: Path) -> None:
    made = built(DIGITS)
    log, _ = host_log(made, tmp_path, flip=weights(made, 4), flags=["-DDIGITS_DEBUG_DATA=0"])
    inputs = tmp_path / "in.npz"
    np.savez(inputs, arr_0=(np.arange(64) * 7).astype(np.uint8).view(np.int8).reshape(1, 1, 8, 8, 1))
    found = compare_log(DIGITS, log, inputs)
    first = found.first_divergent
    assert first is not None
    assert first.layer == "digits_layer_04"
    assert first.element == ()
    assert [v.status for v in found.verdicts[:5]] == ["equal"] * 5
    without = compare_log(DIGITS, log, None)
    assert without.verdicts == ()
    assert "--inputs" in without.to_text()


@pytest.mark.gcc
def test_what_a_truncated_log_lacks_is_not_called_equal(tmp_path: Path, digits_log: Path) -> None:
    text = digits_log.read_text()
    cut = tmp_path / "cut.log"
    cut.write_text(text[: len(text) // 4])
    found = compare_log(DIGITS, cut, None)
    kinds = [v.status for v in found.verdicts]
    assert "missing" in kinds
    assert "differs" not in kinds
    assert found.worst_output == float("inf")
    assert "nothing that the log has differs" in found.to_text()
    assert "truncated" in found.to_text()


@pytest.mark.gcc
@pytest.mark.parametrize("kept", ["nothing", "inputs"])
def test_a_log_of_nothing_but_damage_is_no_comparison(tmp_path: Path, digits_log: Path, kept: str) -> None:
    """A log that tells its inputs alone does not tell either what came of them."""
    lines = digits_log.read_text().splitlines(keepends=True)
    head = len(f"$ARN D {'0' * 8} {'0' * 8} ")

    def spoilt(line: str) -> str:
        inputs = kept == "inputs" and line[head:].startswith("00000000")
        return line.replace("0", "1", 3) if line[:6] in ("$ARN D", "$ARN S") and not inputs else line

    path = tmp_path / "damaged.log"
    path.write_text("".join(map(spoilt, lines)))
    found = compare_log(DIGITS, path, None)
    assert len(found.verdicts) == (20 if kept == "inputs" else 0)
    assert found.nothing_compared
    assert found.to_json()["nothing_compared"]
    for more in [], ["--fail-above", "0"], ["--json"]:
        done = call("compare", DIGITS, path, *more)
        assert done.returncode == 1
        assert done.stderr.startswith("error: nothing could be compared: the log tells of no layer")
        assert "differs by" not in done.stderr
        assert "differs" not in done.stdout.replace('"differs"', "") or more == ["--json"]
        assert "equal" not in done.stdout.splitlines()[-1]


@pytest.mark.gcc
def test_what_the_log_lacks_of_an_output_is_no_difference_of_inf(tmp_path: Path, digits_log: Path) -> None:
    cut = tmp_path / "cut.log"
    text = digits_log.read_text()
    cut.write_text(text[: len(text) // 4])
    assert call("compare", DIGITS, cut).returncode == 0
    done = call("compare", DIGITS, cut, "--fail-above", 0)
    assert done.returncode == 1
    assert done.stderr == "error: an output is not whole in the log, so that nobody knows whether it differs\n"


@pytest.mark.gcc
def test_a_lost_line_hides_only_its_own_bytes(tmp_path: Path, digits_log: Path) -> None:
    lines = digits_log.read_text().splitlines(keepends=True)
    at = next(i for i, text in enumerate(lines) if text.startswith("$ARN D") and " 00000003 00000020 " in text)
    for index in (at, at + 1):
        lines[index] = lines[index].replace("0", "1", 5)
    damaged = tmp_path / "damaged.log"
    damaged.write_text("".join(lines))
    found = compare_log(DIGITS, damaged, None)
    assert found.damaged == 2
    # The checksum of the whole record, which is not damaged, still vouches for it.
    assert {v.status for v in found.verdicts} == {"equal"}


@pytest.mark.gcc
def test_what_could_not_be_compared_is_not_called_equal(tmp_path: Path, digits_log: Path) -> None:
    begun = tmp_path / "begun.log"
    text = digits_log.read_bytes()
    begun.write_bytes(text[len(text) // 4 :])
    found = compare_log(DIGITS, begun, None)
    assert {v.run for v in found.verdicts} == {1}
    assert found.to_text().endswith("all of 1 invocations are equal; 1 could not be compared")


@pytest.mark.gcc
@pytest.mark.slow
@pytest.mark.parametrize("objective", ["flash", "ram"])
def test_the_log_says_how_the_model_was_compiled(tmp_path: Path, objective: ObjectiveName) -> None:
    log, _ = host_log(built(DIGITS, objective), tmp_path)
    assert compare_log(DIGITS, log, None).to_text().endswith("all are equal")


@pytest.mark.gcc
def test_what_the_board_was_given_is_compared_with_what_it_should_have_been(tmp_path: Path, digits_log: Path) -> None:
    given = (np.arange(64) * 7).astype(np.uint8).view(np.int8).reshape(1, 1, 8, 8, 1)
    given[0, 0, 7, 7, 0] += 1
    np.savez(tmp_path / "in.npz", arr_0=given)
    first = compare_log(DIGITS, digits_log, tmp_path / "in.npz").first_divergent
    assert first is not None
    assert first.what == "input 0 'image'"
    assert first.element == (0, 7, 7, 0)
    assert first.expected == int(given[0, 0, 7, 7, 0]) == first.found + 1  # type: ignore[operator]


@pytest.mark.gcc
@pytest.mark.slow
def test_functions_are_called_as_in_the_firmware(tmp_path: Path) -> None:
    options = CompileOptions(simulate="off", debug_layers=True, name="Numbers 2")
    made = build(load_model(DIGITS), options, lambda _: None)
    assert made.program.name == "Numbers_2"
    log, _ = host_log(made, tmp_path, flip=weights(made, 4))
    first = compare_log(DIGITS, log, None).first_divergent
    assert first is not None
    assert first.layer == "Numbers_2_layer_04"


@pytest.mark.gcc
def test_the_log_of_another_model_is_told(tmp_path: Path, digits_log: Path) -> None:
    model = load_model(DIGITS)
    node = next(node for node in model.graph.nodes if node.op == "conv2d")
    weight = node.operand(1)
    changed = np.array(weight.constant)
    changed.reshape(-1)[0] ^= 1
    weight.constant = changed
    other = tmp_path / "other.tflite"
    other.write_bytes(export_model(model))
    with pytest.raises(DataError, match="fingerprint"):
        compare_log(other, digits_log, None)


@pytest.mark.gcc
def test_a_log_of_many_firmwares_is_not_compiled_for_each(tmp_path: Path) -> None:
    path = tmp_path / "board.log"
    bodies = [f"ARN B {number:08x} 00000000 name=n{number}" for number in range(100)]
    path.write_text("".join(f"${body}*{zlib.crc32(body.encode()):08x}\n" for body in bodies))
    with pytest.raises(DataError, match="the log tells of 100 ways to compile the network, at most 16 are tried"):
        compare_log(DIGITS, path, None)


def test_the_command_line_names_layer_and_element(tmp_path: Path) -> None:
    made = built(DIGITS)
    log, _ = host_log(made, tmp_path, flip=weights(made, 2))
    done = arenite("compare", DIGITS, log, "--fail-above", 0)
    assert done.returncode == 1
    assert "an output differs by" in done.stderr
    assert "the first that differs: layer 2 conv2d 'pointwise', invocation 0" in done.stdout
    assert "function digits_layer_02, kernel arenite_pointwise_s8" in done.stdout
    assert re.search(r"the first is \[0, \d+, \d+, \d+\]: expected -?\d+, found -?\d+", done.stdout)
    content = json.loads(json.dumps(compare_log(DIGITS, log, None).to_json(), allow_nan=False))
    assert content["first_divergent"]["layer"] == "digits_layer_02"


@pytest.mark.gcc
def test_a_build_without_the_log_is_what_it_was(tmp_path: Path) -> None:
    model = load_model(DIGITS)
    plain = build(model, CompileOptions(simulate="off"), lambda _: None)
    debug = built(DIGITS)
    assert plain.files == debug.files
    both = [lay_out(each, make_extras(each)) for each in (plain, debug)]
    differing = {name for name in both[1] if both[0].get(name) != both[1][name]}
    assert differing == {"digits.c", "CMakeLists.txt", "digits_debug.c", "digits_debug.h", "arenite_debug.h"}
    assert b"debug" not in both[0]["digits.c"]


@pytest.mark.zig
@pytest.mark.unicorn
@pytest.mark.parametrize("flip", [pytest.param(False, marks=pytest.mark.slow), True])
def test_the_log_of_an_emulated_core(tmp_path: Path, flip: bool) -> None:
    from arenite.driver.firmware import Firmware, hook_library
    from arenite.simulator.board import Board

    made = built(DIGITS)
    more = {**make_extras(made).other, "putc.c": Path(__file__).with_name("putc.c").read_bytes()}
    if flip:
        more["digits_data.c"] = flipped(made.files["digits_data.c"].decode(), f"digits_{weights(made, 6)}").encode()
    with Firmware.link(
        made, get("cortex-m4"), firmware_compiler("zig"), more=more, defines={"DIGITS_DEBUG_OWN_OUTPUT": ""}
    ) as firmware:
        board = Board(firmware.elf, get("cortex-m4"), hook_library())
        address = board.call("digits_input_0").value
        board.write(address, bytes(np.random.default_rng(0).integers(0, 256, 64, np.uint8)))
        board.call("digits_invoke")
        nbytes = int.from_bytes(board.read(board.symbol("caught_nbytes"), 4), "little")
        log = tmp_path / "board.log"
        log.write_bytes(board.read(board.symbol("caught"), nbytes))
    found = compare_log(DIGITS, log, None)
    first = found.first_divergent
    assert (first.layer if first else None) == ("digits_layer_06" if flip else None)
    assert len(found.verdicts) == 10


@pytest.mark.arm_gcc
@pytest.mark.qemu
def test_the_log_by_semihosting(tmp_path: Path) -> None:
    """The weak output that the bundle has, on QEMU's board: nothing of ours carries the characters."""
    made = built(DIGITS)
    files = lay_out(made, make_extras(made))
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    here = Path(__file__).parent
    sources = [str(tmp_path / name) for name in files if name.endswith(".c")]
    target = ["-mcpu=cortex-m4", "-mthumb", "-Os", "-ffunction-sections", "-fdata-sections", "-nostdlib"]
    link = ["-Wl,--gc-sections", f"-Wl,-T,{here / 'semihosted.ld'}", "-lgcc"]
    memory = Path(cross.__file__).parent / "firmware" / "port.c"
    command = ["arm-none-eabi-gcc", *target, "-DDIGITS_DEBUG_SEMIHOSTING", f"-I{tmp_path}", *sources]
    command += [str(here / "semihosted.c"), str(memory), *link, "-o", str(tmp_path / "app.elf")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    log = tmp_path / "board.log"
    board = ["-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", "none"]
    console = ["-chardev", f"file,id=log,path={log}", "-semihosting-config", "enable=on,target=native,chardev=log"]
    qemu = ["qemu-system-arm", *board, *console, "-kernel", str(tmp_path / "app.elf")]
    done = subprocess.run(qemu, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = compare_log(DIGITS, log, None)
    assert found.damaged == 0
    assert len(found.verdicts) == 10
    assert found.to_text().endswith("all are equal")


@pytest.mark.gcc
@pytest.mark.parametrize("started", [False, True])
def test_state_goes_from_one_invocation_to_the_next(tmp_path: Path, started: bool) -> None:
    path = tmp_path / "counting.tflite"
    model = model_of(delay(START), assigning(START)) if started else model_of(delay())
    path.write_bytes(export_model(model))
    log, _ = host_log(built(path), tmp_path, steps=3)
    found = compare_log(path, log, None)
    assert found.runs == 3
    assert found.to_text().endswith("all are equal")
    later = tmp_path / "later.log"
    text = log.read_text()
    later.write_text(text[text.index("app: step 1") :])
    assert "what the network kept before it is not known" in compare_log(path, later, None).to_text()


@pytest.mark.gcc
@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("name", ["mlperf_kws_int8", "mlperf_ad_f32", "tflm_micro_speech_lstm", "mww_okay_nabu_v2"])
def test_models_of_the_zoo(tmp_path: Path, name: str) -> None:
    path = ZOO / f"{name}.tflite"
    log, _ = host_log(built(path), tmp_path, steps=2)
    found = compare_log(path, log, None)
    assert [v for v in found.verdicts if v.status != "equal"] == []
    assert found.runs == 2
