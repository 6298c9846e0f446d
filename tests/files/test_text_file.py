# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Text files: as many records as were written, whatever is in them."""

import csv
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from dpmcmc import Schema
from dpmcmc.files import DataFile, text_file
from dpmcmc.files.readings import NUMBER, Reading

NAN = float("nan")
LEVELS = ["low", "high"]
COLUMNS = ["a", "b", "c"]


def read(path: Path, content: bytes, *columns: str) -> dict[str, np.ndarray]:
    """The columns as floats, with NaN throughout a record that has a missing value."""
    path.write_bytes(content)
    schema = Schema({"c": {"levels": LEVELS}}) if "c" in columns else None
    arrays, present = DataFile(path, columns, schema=schema).read_values()
    return {name: np.where(present, array, NAN) for name, array in arrays.items()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table.csv"


# Cells


def test_what_is_no_number_is_missing(path: Path) -> None:
    cells = [
        *("1", " 2.5 ", "+3", "-4e-2", ".5", "6.", "1E3", '"7"', "inf", "-Infinity"),
        *("", "NA", "nan", "x", "1_0", "0x10", "1 2", "1e", "--1", "1d5", "١", "$5"),
    ]
    text = "x,y\n" + "".join(f"{cell},0\n" for cell in cells)
    numbers = [1, 2.5, 3, -0.04, 0.5, 6, 1000, 7, np.inf, -np.inf]
    expected = numbers + [NAN] * (len(cells) - len(numbers))
    np.testing.assert_array_equal(read(path, text.encode(), "x")["x"], expected)


def cells_of(*cells: bytes) -> np.ndarray:
    """The cells as numbers, NaN where they are missing."""
    values, present = Reading(np.dtype(float)).values(pa.array(cells, pa.binary()))
    return np.where(present, values, NAN)


@given(st.from_regex(NUMBER.replace(r"\z", r"\Z"), alphabet="0123456789+-.eEinfty"))
@example("1e400")
@example("-1e-400")
@example("9" * 400)
@example("." + "0" * 400 + "1")
@example("1e" + "9" * 30)
@example("+0.e-0")
def test_whatever_looks_like_a_number_is_read_as_one(text: str) -> None:
    """What does not is missing: so no cell is left that Arrow could refuse."""
    assert cells_of(text.encode(), b"no")[0] == float(text)


@given(st.floats(allow_nan=False) | st.integers(-(10**30), 10**30))
def test_numbers_are_read_as_python_reads_them(value: float) -> None:
    for text in (
        repr(value),
        f"+{abs(value)!r}",
        f"{float(value):.17E}",
        f" {value}\t",
    ):
        for others in ([], [b"no"]):  # all numbers, and not all
            assert cells_of(text.encode(), *others)[0] == float(text)


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
    alone, beside = cells_of(cell)[0], cells_of(cell, b"no number")[0]
    assert alone == beside or np.isnan([alone, beside]).all()


# Records


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_record_of_a_wrong_length_is_missing(path: Path, quote: str) -> None:
    lines = ["1,2", "3", "4,5,6", "7,8", f"{quote}9{quote},1"]
    found = read(path, "\n".join(["x,y", *lines]).encode(), "x", "y")
    np.testing.assert_array_equal(found["x"], [1, NAN, NAN, 7, 9])
    np.testing.assert_array_equal(found["y"], [2, NAN, NAN, 8, 1])


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("block", [1, 5, 1 << 20])
def test_a_line_end_in_quotes_ends_no_record(
    path: Path, monkeypatch: pytest.MonkeyPatch, end: bytes, block: int
) -> None:
    """Nor does a quote within a cell without quotes begin any."""
    monkeypatch.setattr(text_file, "BLOCK", block)
    lines = [b'x,"a ""note"""', b'1,"one\ntwo\r\n\n,""three"""', b'2,5" pipe', b'3,""']
    found = read(path, end.join(lines), "x")
    np.testing.assert_array_equal(found["x"], [1, 2, 3])
    assert len(DataFile(path, ['a "note"'])) == 3


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_blank_lines_are_no_records(path: Path, end: bytes, mark: bytes) -> None:
    lines = [b'"x",y', b"", b"1,2", b"", b"", b'"3",4', b"", b""]
    found = read(path, mark + end.join(lines), "x", "y")
    np.testing.assert_array_equal(found["x"], [1, 3])
    np.testing.assert_array_equal(found["y"], [2, 4])


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("block", [1, 4, 1 << 20])
def test_in_one_column_a_blank_line_is_a_missing_value(
    path: Path, monkeypatch: pytest.MonkeyPatch, end: bytes, block: int
) -> None:
    """There a record whose one value is missing is written as a blank line."""
    monkeypatch.setattr(text_file, "BLOCK", block)
    for content, expected in (
        ([b"1", b"", b"3", b""], [1, NAN, 3]),
        ([b"1", b"", b"3"], [1, NAN, 3]),
        ([b"", b"", b'"3"', b"", b""], [NAN, NAN, 3, NAN]),
        ([b"", b""], [NAN]),
    ):
        found = read(path, end.join([b"x", *content]), "x")["x"]
        np.testing.assert_array_equal(found, expected)


def test_a_cell_may_be_longer_than_python_reads(path: Path) -> None:
    """Its own reader has a limit, which any part of the process may change."""
    before = csv.field_size_limit(16)
    try:
        found = read(path, b'x,y\n1,"' + b"n" * 200_000 + b'"\n', "x")
    finally:
        csv.field_size_limit(before)
    assert found["x"].tolist() == [1]


def test_tabs_and_quoted_names(tmp_path: Path) -> None:
    found = read(tmp_path / "table.tsv", b'"a, b"\ty\n1\t2\n\t3\n', "a, b", "y")
    np.testing.assert_array_equal(found["a, b"], [1, NAN])
    np.testing.assert_array_equal(found["y"], [2, NAN])


def test_blocks_do_not_matter(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).normal(size=(200, 2))
    text = "".join(f"{x!r},{y!r}\n" for x, y in rows.tolist())
    content = f'x,y\n{text}bad\n"1",2\n3,"\n4"\n'.encode()
    whole = read(path, content, "x", "y")
    np.testing.assert_array_equal(whole["x"][:200], rows[:, 0])
    for block in (1, 7, 100):
        monkeypatch.setattr(text_file, "BLOCK", block)
        parts = read(path, content, "x", "y")
        for name, values in whole.items():
            np.testing.assert_array_equal(parts[name], values)


def test_a_quote_that_is_never_closed_is_found_soon(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would else make one record of all that follow, in time that is squared."""
    monkeypatch.setattr(text_file, "BLOCK", 10)
    monkeypatch.setattr(text_file, "LONGEST", 100)
    path.write_bytes(b'x,y\n1,2\n"3,4\n' + b"5,6\n" * 100)
    with pytest.raises(ValueError, match="not well-formed"):
        DataFile(path, ["x"])
    path.write_bytes(b"x,y\n1," + b"2" * 101)
    with pytest.raises(ValueError, match="not well-formed"):
        DataFile(path, ["x"])


# What one record is changes no other


def assert_same_but_second(
    path: Path, usual: bytes, other: bytes
) -> dict[str, np.ndarray]:
    """As many records, of the same dtypes and, but for the second, values."""
    plain, changed = read(path, usual, *COLUMNS), read(path, other, *COLUMNS)
    for name, values in plain.items():
        assert changed[name].dtype == values.dtype
        kept = np.delete(values, 1)
        np.testing.assert_array_equal(np.delete(changed[name], 1), kept, strict=True)
    return changed


LINE = st.binary(min_size=1, max_size=30).filter(
    lambda line: not {*b'"\n'} & {*line} and line.strip(b"\r")
)


@given(line=LINE | st.text("0123456789+-.,eEinfa \t", min_size=1).map(str.encode))
@example(line=b"1\r2,3,4")
@example(line=b"\r1,2,3")
@example(line=b"\x00,\x00,\x00")
@example(line=b"\xff,1,low")
@example(line=b"1e400,1e-400,high")
@example(line=b"nan(1),infinit,low")
@example(line=b"\xef\xbb\xbf1,2,low")
@example(line=b"7,8," + b"n" * 200_000)
def test_any_line_without_quotes_is_one_record(
    tmp_path_factory: pytest.TempPathFactory, line: bytes
) -> None:
    """Whatever it holds: no error, and all other records are the same.

    Nor is anything printed or warned of: pytest makes warnings errors.
    """
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    usual = [b"a,b,c", b"1,2,low", b"3,x,high", b'"5",6,low', b"7,8,"]
    assert_same_but_second(
        path, b"\n".join(usual), b"\n".join([*usual[:2], line, *usual[3:]])
    )


WRITTEN = st.tuples(*[st.text(st.characters(codec="utf-8"), max_size=8)] * 3)


@given(
    cells=WRITTEN | st.tuples(*[st.text('",\r\n a1', max_size=8)] * 3),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    end=st.sampled_from(["\n", "\r\n"]),
)
@example(cells=("1", "2", 'low"'), quoting=csv.QUOTE_MINIMAL, end="\n")
@example(cells=("1\n2", "\r\n\n", '"\n"'), quoting=csv.QUOTE_MINIMAL, end="\r\n")
def test_any_record_that_is_well_written_is_one_record(
    tmp_path_factory: pytest.TempPathFactory,
    cells: tuple[str, str, str],
    quoting: int,
    end: str,
) -> None:
    """Also one whose cells hold quotes, separators and line ends."""
    path = tmp_path_factory.mktemp("csv") / "table.csv"

    def written(second: tuple[str, str, str]) -> bytes:
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, quoting=quoting, lineterminator=end)
        writer.writerows([COLUMNS, ("1", "2", "low"), second, ("5", "6", "high")])
        return buffer.getvalue().encode()

    changed = assert_same_but_second(path, written(("3", "4", "low")), written(cells))
    assert len(changed["a"]) == 3


# Quotes


@given(st.text('ab, "\n', min_size=1))
@example('"a"",b"\n')
@example('""""\n')
def test_cells_in_quotes_are_those_of_python(text: str) -> None:
    records, rest = text_file._lines(text.encode() + b"\n", ",")
    assume(not rest)
    expected = list(csv.reader(io.StringIO(text + "\n", newline="")))
    found = [text_file._split(record, b",") if record else [] for record in records]
    assert found == [[cell.encode() for cell in row] for row in expected]
