from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite._base.errors import DataError
from arenite.memory import Buffer, Lifetime, Problem, plan
from arenite.memory.csvfile import MAX_FILE_NBYTES, format_csv, parse_csv, read_csv
from memory.oracle import problems

HEADER = "id,lower,upper,size"


def test_the_public_form_is_read() -> None:
    problem = parse_csv(f"{HEADER}\nb1,0,3,4\nb2,3,9,8\n", "x.csv", 64)
    assert problem == Problem((Buffer("b1", 4, Lifetime(0, 3)), Buffer("b2", 8, Lifetime(3, 9))), 64)


def test_columns_may_be_reordered_and_optional() -> None:
    problem = parse_csv("size,alignment,id,upper,lower,offset\r\n4,16,a,2,0,32\r\n\r\n5,,b,2,1,\r\n", "x.csv")
    assert problem.buffers == (Buffer("a", 4, Lifetime(0, 2), 16, 32), Buffer("b", 5, Lifetime(1, 2)))


@given(problems())
def test_what_is_written_reads_back(problem: Problem) -> None:
    assert parse_csv(format_csv(problem), "x.csv") == problem


@given(problems())
def test_a_written_plan_reads_back_pinned(problem: Problem) -> None:
    solution = plan(problem)
    again = parse_csv(format_csv(problem, solution), "x.csv")
    assert {b.name: b.offset for b in again.buffers} == dict(solution.offsets)
    assert plan(again).nbytes == solution.nbytes


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "lacks column 'id'"),
        ("id,lower,upper\n", 1, "lacks column 'size'"),
        (f"{HEADER},size\n", 1, "more than once"),
        (f"{HEADER},colour\n", 1, "unknown column 'colour'"),
        (f"{HEADER}\na,0,1\n", 2, "4 fields expected"),
        (f"{HEADER}\na,0,1,4,4\n", 2, "4 fields expected"),
        (f"{HEADER}\na,0,1,4\nb,0,1,-4\n", 3, "size must be a whole number"),
        (f"{HEADER}\na,0,1,4\n\nb,0,1,4.5\n", 4, "'4.5'"),
        (f"{HEADER}\na,0,1,0x10\n", 2, "'0x10'"),
        (f"{HEADER}\na,0,1,１\n", 2, "size must be"),
        (f"{HEADER}\na,0,1,{'9' * 5000}\n", 2, "at most 19 digits"),
        (f"{HEADER}\na,2,2,4\n", 2, "lifetime [2, 2) of buffer 'a' is empty"),
        (f"{HEADER}\n,0,1,4\n", 2, "the id must have"),
        (f"{HEADER}\n{'n' * 300},0,1,4\n", 2, "the id must have"),
        (f'{HEADER}\n"a,0,1,4\n', 2, ""),
        (f"{HEADER}\n{'x' * 200_000},0,1,4\n", 2, "field larger"),
    ],
)
def test_a_fault_names_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_csv(text, "x.csv")
    assert f"x.csv, line {line}: " in caught.value.problems[0]
    assert words in str(caught.value)


def test_faults_come_together_but_not_without_end() -> None:
    with pytest.raises(DataError) as caught:
        parse_csv(HEADER + "\na,0,1,x\nb,1,1,4\n", "x.csv")
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["x.csv, line 2", "x.csv, line 3"]
    with pytest.raises(DataError) as caught:
        parse_csv(HEADER + "\na,0,1,x" * 1000, "x.csv")
    assert len(caught.value.problems) == 20


def test_duplicate_names_and_huge_sizes_are_refused() -> None:
    with pytest.raises(DataError, match="'a' occurs more than once"):
        parse_csv(f"{HEADER}\na,0,1,4\na,0,1,4\n", "x.csv")
    with pytest.raises(DataError, match="size 9999999999999999999 is outside"):
        parse_csv(f"{HEADER}\na,0,1,9999999999999999999\n", "x.csv")


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"\xef\xbb\xbfid,lower,upper,size\na,0,1,4\n")
    assert [b.name for b in read_csv(path).buffers] == ["a"]
    path.write_bytes(b"id,lower,upper,size\n\xff,0,1,4\n")
    with pytest.raises(DataError, match="byte 20 is not UTF-8"):
        read_csv(path)
    path.write_bytes(b"\n" * (MAX_FILE_NBYTES + 1))
    with pytest.raises(DataError, match="more than the limit"):
        read_csv(path)
    with pytest.raises(DataError, match="no such file"):
        read_csv(tmp_path / "absent.csv")


@given(st.text(alphabet='id,lower\n\r"\x00size0123456789.-é', max_size=200))
def test_any_text_gives_a_problem_or_a_data_error(text: str) -> None:
    for whole in (text, f"{HEADER}\n{text}"):
        try:
            problem = parse_csv(whole, "x.csv")
        except DataError as error:
            faults = error.problems
        else:
            faults = tuple(b.name for b in problem.buffers if b.lifetime.first >= b.lifetime.end)
            assert faults == ()
        assert all("x.csv" in fault for fault in faults)
