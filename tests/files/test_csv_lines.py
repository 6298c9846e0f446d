# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""CSV: one line is one record, whatever is in it."""

import csv
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from dpmcmc.files import lines, read_table

NAN = float("nan")
LEVELS = {"c": ["low", "high"]}


def read(path: Path, content: bytes, **how: object) -> dict[str, np.ndarray]:
    path.write_bytes(content)
    return read_table(path, **how)  # type: ignore[arg-type]


def test_what_is_no_number_is_missing(tmp_path: Path) -> None:
    cells = [
        *("1", " 2.5 ", "+3", "-4e-2", ".5", "6.", "1E3", '"7"', "inf", "-Infinity"),
        *("", "NA", "nan", "x", "1_0", "0x10", "1 2", "1e", "--1", "1d5", "١", "$5"),
    ]
    text = "x,y\n" + "".join(f"{cell},0\n" for cell in cells)
    found = read(tmp_path / "table.csv", text.encode())["x"]
    numbers = [1, 2.5, 3, -0.04, 0.5, 6, 1000, 7, np.inf, -np.inf]
    expected = numbers + [NAN] * (len(cells) - len(numbers))
    np.testing.assert_array_equal(found, expected, strict=False)
    assert found.dtype == np.float64


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_line_of_a_wrong_length_is_a_record_with_nothing(
    tmp_path: Path, quote: str
) -> None:
    lines = ["1,2", "3", "4,5,6", "7,8", f"{quote}9{quote},1"]
    found = read(tmp_path / "table.csv", "\n".join(["x,y", *lines]).encode())
    np.testing.assert_array_equal(found["x"], [1, NAN, NAN, 7, 9])
    np.testing.assert_array_equal(found["y"], [2, NAN, NAN, 8, 1])


def test_a_quote_that_is_never_closed_takes_no_other_record(tmp_path: Path) -> None:
    content = b'x,y\n1,2\n"3,4\n5,6\n7,"8\n9,1'
    found = read(tmp_path / "table.csv", content)
    np.testing.assert_array_equal(found["x"], [1, NAN, 5, 7, 9])


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_blank_lines_are_no_records(tmp_path: Path, end: bytes, mark: bytes) -> None:
    lines = [b"x,y", b"", b"1,2", b"", b"", b"3,4", b"", b""]
    found = read(tmp_path / "table.csv", mark + end.join(lines))
    np.testing.assert_array_equal(found["x"], [1, 3])
    np.testing.assert_array_equal(found["y"], [2, 4])


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("block", [1, 4, 1 << 20])
def test_in_one_column_a_blank_line_is_a_missing_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: bytes, block: int
) -> None:
    """There a record whose one value is missing is written as a blank line."""
    monkeypatch.setattr(lines, "BLOCK", block)
    for content, expected in (
        ([b"1", b"", b"3", b""], [1, NAN, 3]),
        ([b"1", b"", b"3"], [1, NAN, 3]),
        ([b"", b"", b'"3"', b"", b""], [NAN, NAN, 3, NAN]),
        ([b"", b""], [NAN]),
    ):
        text = end.join([b"x", *content])
        found = read(tmp_path / "table.csv", text)["x"]
        np.testing.assert_array_equal(found, expected)


def test_tabs_and_quoted_names(tmp_path: Path) -> None:
    found = read(tmp_path / "table.tsv", b'"a, b"\tc\n1\t2\n\t\n')
    np.testing.assert_array_equal(found["a, b"], [1, NAN])
    np.testing.assert_array_equal(found["c"], [2, NAN])


def test_blocks_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).normal(size=(200, 2))
    text = "".join(f"{x!r},{y!r}\n" for x, y in rows.tolist())
    content = f'x,y\n{text}bad\n"1",2\n'.encode()
    whole = read(tmp_path / "table.csv", content)
    np.testing.assert_array_equal(whole["x"][:200], rows[:, 0])
    for block in (1, 7, 100):
        monkeypatch.setattr(lines, "BLOCK", block)
        parts = read(tmp_path / "table.csv", content)
        for name, values in whole.items():
            np.testing.assert_array_equal(parts[name], values)


LINE = st.binary(min_size=1, max_size=30).filter(
    lambda line: b"\n" not in line and line.strip(b"\r")
)


@given(line=LINE | st.text('0123456789+-.,eE"infa \t', min_size=1).map(str.encode))
@example(line=b'"')
@example(line=b"1\r2,3,4")
@example(line=b"\r1,2,3")
@example(line=b"\x00,\x00,\x00")
@example(line=b"\xff,1,low")
@example(line=b"1e400,1e-400,high")
@example(line=b"nan(1),infinit,low")
def test_a_line_decides_over_its_own_record_alone(
    tmp_path_factory: pytest.TempPathFactory, line: bytes
) -> None:
    """Whatever one line is: no error, as many records, and all others the same.

    Nor is anything printed or warned of: pytest makes warnings errors.
    """
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    usual = [b"a,b,c", b"1,2,low", b"3,x,high", b"5,6,low", b"7,8,"]
    plain = read(path, b"\n".join(usual), levels=LEVELS)
    other = read(path, b"\n".join([*usual[:2], line, *usual[3:]]), levels=LEVELS)
    for name, values in plain.items():
        assert other[name].dtype == values.dtype
        kept = np.delete(values, 1)
        np.testing.assert_array_equal(np.delete(other[name], 1), kept, strict=True)


@given(st.lists(LINE.filter(lambda line: not {*b'"\r'} & {*line}), min_size=1))
@example([b"1,2", b"x,\xff"])
@example([b",", b" , "])
@example([b"1,2", b"\xef\xbb\xbf3,4"])
def test_both_ways_to_split_lines_agree(content: list[bytes]) -> None:
    """A block without quotes is split fast where that can be, else line by line."""
    block = b"\n".join(content)
    assume(lines._is_plain(block))
    fast = lines._plain_cells(block, ",", 2, [0, 1])
    slow = lines._any_cells(block, ",", 2, [0, 1])
    if all(line.count(b",") == 1 for line in content):
        assert fast is not None
    if fast is not None:
        assert [c.to_pylist() for c in fast] == [c.to_pylist() for c in slow]


PIECES = st.sampled_from(
    [
        *(b"1", b",", b'"', b'""', b"\r", b"\x00", b" ", b"\t"),
        *(b"\xef\xbb\xbf", b"\xef", b"\xff", b"9" * 20, b"x" * 60),
    ]
)
ODD = st.lists(PIECES, max_size=8).map(b"".join)


@given(content=st.lists(ODD, min_size=1, max_size=6), width=st.integers(1, 3))
@example(content=[b"\xef\xbb\xbf1,2", b"3,4"], width=2)
@example(content=[b"1," + b"9" * 20, b'"3",4'], width=2)
@example(content=[b"1," + b"x" * 60, b"3,4", b'"3",4'], width=2)
@example(content=[b"1\r,2", b"3,4"], width=2)
@example(content=[b"", b"3"], width=1)
def test_cells_follow_from_their_line_alone(content: list[bytes], width: int) -> None:
    """Whatever block a line is in, and whichever lines are beside it.

    The lengths at which Python's csv and this reader give up are made small.
    """
    kept = [line for line in content if width == 1 or line.strip(b"\r")]
    places = list(range(width))

    def cells(block: bytes) -> list[tuple[bytes | None, ...]]:
        columns = lines._cells(block, ",", width, places)
        return list(zip(*(column.to_pylist() for column in columns), strict=True))

    before = csv.field_size_limit(16)
    try:
        with mock.patch.object(lines, "LONGEST", 50):
            alone = [cells(line + b"\n")[0] for line in kept]
            for first, last in ((0, None), (1, None), (0, -1)):
                if some := kept[first:last]:
                    block = b"\n".join(some) + b"\n"
                    assert cells(block) == alone[first:last]
                    assert cells(b'"\n' + block)[1:] == alone[first:last]
    finally:
        csv.field_size_limit(before)


@given(st.text('ab, "', min_size=1))
@example('"a"b"c,d')
@example('"a"",b')
def test_cells_in_quotes_are_those_of_python(line: str) -> None:
    (expected,) = csv.reader([line])
    assert lines._split(line.encode(), b",") == [cell.encode() for cell in expected]


def test_a_mark_or_a_long_cell_reads_alike_beside_a_quote(tmp_path: Path) -> None:
    """Neither is read in one way by Arrow and in another by Python."""
    path, long = tmp_path / "table.csv", b"7," + b"n" * 200_000
    for line in (b"\xef\xbb\xbf1,2", long):
        plain, quoted, later = (
            read(path, b"x,y\n" + rest)
            for rest in (
                line + b"\n3,4\n",
                line + b'\n"3",4\n',
                b"3,4\n" + line + b"\n",
            )
        )
        for name, values in plain.items():
            np.testing.assert_array_equal(quoted[name], values)
            np.testing.assert_array_equal(later[name][::-1], values)
    assert plain["x"][0] == 7


@given(st.floats(allow_nan=False) | st.integers(-(10**30), 10**30))
def test_numbers_are_read_as_python_reads_them(value: float) -> None:
    import pyarrow as pa

    from dpmcmc.files.columns import reading_of_cells

    reading = reading_of_cells(None)
    for text in (
        repr(value),
        f"+{abs(value)!r}",
        f"{float(value):.17E}",
        f" {value}\t",
    ):
        for cells in ([text], [text, "no"]):  # all numbers, and not all
            array = pa.array([cell.encode() for cell in cells], pa.binary())
            assert reading.values(array)[0] == float(text)


@given(line=LINE)
@example(line=b"\r1,2")
@example(line=b"1,2\r")
@example(line=b"1\r,2")
def test_a_line_is_read_alike_whatever_is_beside_it(line: bytes) -> None:
    """A quote elsewhere in the block changes how the block is split, and no more."""
    plain, quoted = (
        [
            column[1].as_py()
            for column in lines._cells(b"1,2\n" + line + after, ",", 2, [0, 1])
        ]
        for after in (b"\n3,4\n", b'\n"3",4\n')
    )
    assert plain == quoted


CELLS = st.binary(max_size=12) | st.text(
    "0123456789+-.eEinfatyINF() x_", max_size=12
).map(str.encode)


@given(CELLS)
@example(b"nan")
@example(b"NAN(1)")
@example(b"+nan")
@example(b"+inf")
@example(b"infinit")
@example(b"+-1")
@example(b"1e")
@example(b"\x0b1\x0c")
def test_a_cell_is_read_alike_whatever_is_beside_it(cell: bytes) -> None:
    import pyarrow as pa

    from dpmcmc.files.columns import reading_of_cells

    alone, beside = (
        reading_of_cells(None).values(pa.array(cells, pa.binary()))[0]
        for cells in ([cell], [cell, b"no number"])
    )
    assert alone == beside or np.isnan([alone, beside]).all()
