"""Cores and boards."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite import targets
from arenite._base.errors import UsageError
from arenite.targets import Region


def test_the_names_of_the_command_line() -> None:
    assert targets.names() == (
        "cortex-m0",
        "cortex-m0plus",
        "cortex-m3",
        "cortex-m4",
        "cortex-m4f",
        "cortex-m7",
        "cortex-m33",
        "cortex-m55",
        "cortex-m85",
        "riscv32imc",
        "host",
    )
    assert all(targets.get(name).name == name == targets.get(name).core for name in targets.names())


@pytest.mark.parametrize(
    ("wrong", "suggested"),
    [("cortex-m4x", "cortex-m4"), ("m4f", "cortex-m4f"), ("Cortex_M7", "cortex-m7"), ("riscv32", "riscv32imc")],
)
def test_the_nearest_name_is_suggested(wrong: str, suggested: str) -> None:
    with pytest.raises(UsageError, match=f"{wrong}'; did you mean .*{suggested}") as caught:
        targets.get(wrong)
    assert caught.value.exit_status == 2


def test_without_a_near_name_all_are_listed() -> None:
    with pytest.raises(UsageError, match=r"known targets: cortex-m0, .*, host"):
        targets.get("z80")


@given(st.text())
def test_any_other_name_is_a_usage_error(name: str) -> None:
    if name not in targets.names():
        with pytest.raises(UsageError):
            targets.get(name)


def test_features_agree_with_the_compiler_flags() -> None:
    for core in targets.CORES:
        if core.cannot_build:
            assert not core.zig_target
            continue
        hard = "fpu" in core.features
        assert core.zig_target == "thumb-freestanding-eabi" + ("hf" if hard else "")
        assert ("-mfloat-abi=hard" in core.gcc_flags) == hard
        assert bool(core.unicorn_cpu) != bool(core.cannot_simulate)
    assert "dsp" not in targets.get("cortex-m3").features
    assert "fpu" not in targets.get("cortex-m4").features
    assert targets.get("cortex-m0").features == frozenset()


def test_the_table_says_what_works() -> None:
    rows = {name: (builds, simulates, why) for name, _, builds, simulates, why in targets.table()}
    assert rows["cortex-m4"] == (True, True, "")
    assert rows["cortex-m55"][:2] == (True, False)
    assert rows["host"][:2] == (False, False)
    assert all(bool(why) != (builds and simulates) for builds, simulates, why in rows.values())


def test_a_board(tmp_path: Path) -> None:
    path = tmp_path / "board.toml"
    path.write_text(
        'name = "nucleo-l4r5zi"\ncore = "cortex-m4f"\nflash = "2M"\n'
        'ram = [{ origin = 0x20000000, size = "192K" }, { origin = 0x20040000, size = 393216 }]\n'
    )
    board = targets.load_board(path)
    assert (board.name, board.core, board.zig_cpu) == ("nucleo-l4r5zi", "cortex-m4f", "cortex_m4+vfp4d16sp")
    assert board.limit_nbytes("flash") == 2 << 20
    assert board.limit_nbytes("ram") == (192 + 384) * 1024
    assert board.regions[0] == targets.Region("flash", 0, 2 << 20)
    assert targets.get("cortex-m4f").limit_nbytes("ram") is None


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("core = ", ["not a TOML file"]),
        ('core = "cortex-m4"', ["'flash' is missing", "'ram' is missing"]),
        ('core = "cortex-m44"\nflash = 1\nram = 1', ["did you mean cortex-m4"]),
        ("core = " + "4" * 5000, ["not a TOML file"]),
        ('name = "a\\nb"\ncore = "cortex-m4"\nflash = 1\nram = 1', ["'name' must be one line"]),
        (f'summary = "{"x" * 101}"\ncore = "cortex-m4"\nflash = 1\nram = 1', ["'summary' must be one line"]),
        ("core = 4\nflash = 1\nram = 1\nrom = 2", ["unknown key 'rom'", "'core' must be text"]),
        ('core = "cortex-m4"\nflash = "2X"\nram = 0', ["'flash': size must be", "'ram': size must be"]),
        ('core = "cortex-m4"\nflash = true\nram = []', ["'flash': size must be", "'ram' is an empty list"]),
        ('core = "cortex-m4"\nflash = 16\nram = "5G"', ["not '5G'"]),
        ('core = "cortex-m4"\nflash = 16\nram = "999999999999K"', ["size must be"]),
        ('core = "cortex-m4"\nflash = 16\nram = {origin = -1, size = 2}', ["origin must be an address"]),
        ('core = "cortex-m4"\nflash = 16\nram = {origin = 0xFFFFFFFF, size = 2}', ["size must be"]),
        ('core = "cortex-m4"\nflash = 16\nram = {start = 0, size = 2}', ["unknown keys start"]),
        ('core = "cortex-m4"\nflash = 16\nram = {origin = 15, size = 2}', ["'flash' at 0x0 (16 bytes) overlaps 'ram'"]),
    ],
)
def test_a_bad_board_lists_every_problem(tmp_path: Path, text: str, problems: list[str]) -> None:
    path = tmp_path / "board.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        targets.load_board(path)
    assert len(caught.value.problems) == len(problems)
    for problem, expected in zip(caught.value.problems, problems, strict=True):
        assert expected in problem
        assert str(path) in problem


def test_files_that_are_no_boards(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        targets.load_board(tmp_path / "missing.toml")
    (tmp_path / "big.toml").write_text("#" * 8193)
    with pytest.raises(UsageError, match="more than the limit of 8192"):
        targets.load_board(tmp_path / "big.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not a TOML file"):
        targets.load_board(tmp_path / "binary.toml")


def test_memories_that_lie_side_by_side_are_one_piece() -> None:
    def board(*rams: tuple[int, int]) -> targets.Target:
        regions = (Region("flash", 0, 1 << 20), *(Region("ram", origin, nbytes) for origin, nbytes in rams))
        return replace(targets.get("cortex-m4"), regions=regions)

    assert targets.get("cortex-m4").largest_nbytes("ram") is None
    assert board((0x20000000, 64)).largest_nbytes("ram") == 64
    assert board((0x20000000, 64), (0x20000100, 128), (0x10000000, 32)).largest_nbytes("ram") == 128
    assert board((0x20000040, 128), (0x20000000, 64), (0x30000000, 100)).largest_nbytes("ram") == 192
    assert board((0x20000000, 64), (0x20000100, 128)).limit_nbytes("ram") == 192
