"""A board whose RAM is in pieces: the arena lies in one."""

from pathlib import Path

import pytest

from arenite._base.errors import LimitError
from arenite.driver.build import build
from arenite.driver.load import load_model
from arenite.driver.options import CompileOptions

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.tflite"


def board(folder: Path, *rams: tuple[int, int]) -> str:
    path = folder / "board.toml"
    listed = ", ".join(f"{{ origin = {origin}, size = {nbytes} }}" for origin, nbytes in rams)
    path.write_text(f'core = "cortex-m4"\nflash = "1M"\nram = [{listed}]\n')
    return str(path)


@pytest.mark.parametrize(
    "rams", [((0x20000000, 2560), (0x20010000, 64)), ((0x20000000, 1280), (0x20000500, 1280)), ((0x20000000, 4096),)]
)
def test_an_arena_that_fits_into_one_piece(rams: tuple[tuple[int, int], ...], tmp_path: Path) -> None:
    made = build(load_model(DIGITS), CompileOptions(target=board(tmp_path, *rams)), lambda _: None)
    assert made.program.placement.arena_nbytes == 2560


def test_an_arena_that_fits_into_all_pieces_but_into_none_of_them(tmp_path: Path) -> None:
    target = board(tmp_path, (0x20000000, 2048), (0x20010000, 2048))
    with pytest.raises(LimitError) as caught:
        build(load_model(DIGITS), CompileOptions(target=target), lambda _: None)
    assert "the arena needs 2,560 bytes of RAM, 512 more than the limit of 2,048: at step " in caught.value.problems[0]
    assert caught.value.problems[1].startswith(
        "board has 4,096 bytes of RAM, but 2,048 are the most that lie in one piece"
    )
    # Who places the arena knows better.
    build(load_model(DIGITS), CompileOptions(target=target, ram_limit_nbytes=4096), lambda _: None)
