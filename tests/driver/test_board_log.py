"""The log of a debug build, whatever happens to it on its way."""

import random
import time
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite._base.errors import DataError
from arenite.driver.board_log import BoardLog, LoggedRecord, read_board_log

DATA = bytes(range(70))
BUILD = "0badcafe"


def line(kind: str, *fields: str, run: int = 0) -> str:
    text = " ".join((f"ARN {kind} {BUILD} {run:08x}", *fields))
    return f"${text}*{zlib.crc32(text.encode()):08x}"


def invocation(run: int = 0) -> list[str]:
    """One record of 70 bytes in three lines."""
    pieces = [f"{start:08x} {DATA[start : start + 32].hex()}" for start in (0, 32, 64)]
    return [
        line("B", "name=net records=1 target=cortex-m4 without=fold without=cse", run=run),
        line("S", f"{0:08x} {len(DATA):08x} {zlib.crc32(DATA):08x}", run=run),
        *(line("D", f"{0:08x} {piece}", run=run) for piece in pieces),
        line("E", f"{1:08x}", run=run),
    ]


def read(tmp_path: Path, text: str | bytes) -> BoardLog:
    path = tmp_path / "board.log"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_board_log(path)


def test_a_whole_log(tmp_path: Path) -> None:
    log = read(tmp_path, "\n".join(invocation()))
    (run,) = log.runs
    assert log.damaged == 0
    assert run.ended
    assert run.words is not None
    assert run.words["without"] == ["fold", "cse"]
    assert run.records[0].complete() == DATA


def test_other_lines_prefixes_and_carriage_returns_do_no_harm(tmp_path: Path) -> None:
    lines = [
        f"[00:01:02.345] <inf> app: {text} \x1b[0m\r\nI (123) wifi: $connected* 50 % done" for text in invocation()
    ]
    log = read(tmp_path, "\n".join(lines))
    assert log.damaged == 0
    assert log.runs[0].records[0].complete() == DATA


def test_a_line_that_another_interrupts_is_lost_and_counted(tmp_path: Path) -> None:
    lines = invocation()
    lines[3] = lines[3][:40] + "\nI (123) wifi: hello\n" + lines[3][40:]
    log = read(tmp_path, "\n".join(lines))
    assert log.damaged == 1
    record = log.runs[0].records[0]
    assert sorted(record.pieces) == [0, 64]
    assert record.complete() is None


def test_a_damaged_character_is_noticed(tmp_path: Path) -> None:
    text = "\n".join(invocation())
    where = text.index("202122")
    log = read(tmp_path, text[:where] + "3" + text[where + 1 :])
    assert log.damaged == 1
    assert sorted(log.runs[0].records[0].pieces) == [0, 64]


def test_a_truncated_log_has_no_end(tmp_path: Path) -> None:
    text = "\n".join(invocation())
    log = read(tmp_path, text[: text.rindex("$") - 20])
    assert not log.runs[0].ended
    assert sorted(log.runs[0].records[0].pieces) == [0, 32]


def test_lines_may_come_in_any_order_after_the_first_and_twice(tmp_path: Path) -> None:
    first, *others = invocation()
    random.Random(1).shuffle(others)
    log = read(tmp_path, "\n".join([first, *others, *others]))
    assert len(log.runs) == 1
    assert log.runs[0].records[0].complete() == DATA


def test_several_networks_may_log_at_once(tmp_path: Path) -> None:
    def other(text: str) -> str:
        body = text[1:].partition("*")[0].replace(BUILD, "12345678")
        return f"${body}*{zlib.crc32(body.encode()):08x}"

    mixed = [text for pair in zip(invocation(), map(other, invocation()), strict=True) for text in pair]
    log = read(tmp_path, "\n".join(mixed))
    assert [run.build for run in log.runs] == [BUILD, "12345678"]
    assert all(run.ended and run.records[0].complete() == DATA for run in log.runs)


def test_after_a_restart_the_numbers_begin_again(tmp_path: Path) -> None:
    log = read(tmp_path, "\n".join([*invocation(0), *invocation(1), *invocation(0)]))
    assert [run.number for run in log.runs] == [0, 1, 0]
    assert all(run.records[0].complete() == DATA for run in log.runs)


def test_a_restart_whose_first_line_is_lost_is_told_by_what_contradicts(tmp_path: Path) -> None:
    other = bytes(70)
    again = [line("S", f"{0:08x} {len(other):08x} {zlib.crc32(other):08x}")]
    again += [line("D", f"{0:08x} {start:08x} {other[start : start + 32].hex()}") for start in (0, 32, 64)]
    log = read(tmp_path, "\n".join([*invocation(), *again]))
    assert [run.words is None for run in log.runs] == [False, True]
    assert log.runs[1].records[0].complete() == other


def test_bytes_that_the_checksum_of_the_whole_contradicts_are_not_believed() -> None:
    assert LoggedRecord(2, zlib.crc32(b"ab"), {0: b"ab"}).complete() == b"ab"
    assert LoggedRecord(2, zlib.crc32(b"ab"), {0: b"ac"}).complete() is None
    assert LoggedRecord(4, zlib.crc32(b"abba"), {0: b"ab", 1: b"ba"}).complete() is None
    assert LoggedRecord(None, None, {}).complete() is None


@pytest.mark.parametrize("text", ["", "hello\n" * 100, "$ARN B 0badcafe 00000000 name=x*00000000"])
def test_what_is_no_log_is_told(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match="--debug-layers"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    "fields",
    ["ffffffff 00000000 00000000", "00000000 ffffffff 00000000", "00000000", "0 0 0 0 0", "x y z", ""],
)
@pytest.mark.parametrize("kind", "SD")
def test_lines_that_say_nonsense_are_damaged(tmp_path: Path, kind: str, fields: str) -> None:
    log = read(tmp_path, "\n".join([*invocation(), line(kind, fields)]))
    assert log.runs[0].records[0].complete() == DATA
    assert log.damaged == 1


@settings(max_examples=30)
@given(st.binary(max_size=400), st.integers(0, 500), st.integers(0, 60))
def test_no_damage_makes_wrong_bytes(tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int, cut: int) -> None:
    text = "\n".join(invocation()).encode()
    damaged = text[:at] + noise + text[at + cut :]
    path = tmp_path_factory.mktemp("log")
    try:
        log = read(path, damaged)
    except DataError:
        return
    for run in log.runs:
        for record in run.records.values():
            assert all(DATA[offset : offset + len(piece)] == piece for offset, piece in record.pieces.items())


def test_many_invocations_are_read_in_time_that_grows_with_their_number(tmp_path: Path) -> None:
    text = "\n".join(line("D", f"{0:08x} {0:08x} 00", run=run) for run in range(30_000))
    start = time.process_time()
    assert len(read(tmp_path, text).runs) == 30_000
    assert time.process_time() - start < 5
