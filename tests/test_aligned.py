# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tables as text: no line is too wide, and no word is lost."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmcmc.aligned import WIDTH, aligned, columns_of, filled, in_html
from dpmcmc.ledger.overview import Overview, RunView
from dpmcmc.rehearsal.planning import plan

WORDS = st.lists(st.text("abc", min_size=1, max_size=120), max_size=8).map(" ".join)
NUMBERS = st.text("0123", max_size=9)


@given(st.lists(st.tuples(WORDS, NUMBERS, NUMBERS, WORDS), min_size=1, max_size=5))
def test_a_table_is_no_wider_than_a_page(rows: list[tuple[str, ...]]) -> None:
    lines = aligned(rows, right=(1, 2), broken_at=(0, 3))
    assert max(map(len, lines)) <= WIDTH
    kept, given = (
        "".join(sorted("".join(part).replace(" ", "")))
        for part in (lines, ["".join(row) for row in rows])
    )
    assert kept == given


def test_columns_stand_under_each_other() -> None:
    rows = [("", "ε", "note"), ("a", "1.5", "one"), ("long name", "10", "b " * 60)]
    assert aligned(rows, right=(1,), broken_at=(2,)) == [
        "             ε  note",
        "a          1.5  one",
        "long name   10  " + "b " * 35 + "b",
        " " * 16 + "b " * 23 + "b",
    ]


def test_tables_in_html_are_escaped() -> None:
    shown = in_html([("", "ε"), ("a & <b>", "1")], right=(1,))
    assert shown.count("<tr>") == 2
    assert "a &amp; &lt;b&gt;</td>" in shown
    assert shown.count('"text-align: right"') == 2


def test_lines_that_fit_are_left_as_they_are() -> None:
    assert filled("short") == "short"
    assert filled("") == ""
    first, second = filled("word " * 20).splitlines()
    assert len(first) <= WIDTH
    assert second.startswith("  word")


RUN = RunView(
    "0123456789ab", "ana", "", "2026-01-02T03:04:05", "released", True, None, 1.0, 1.0
)
VIEW = Overview(
    dataset="people",
    records=10**9,
    unit="",
    epsilon=1.25,
    delta=1e-12,
    note="",
    registrar="",
    time="2026",
    currency="epsilon",
    amount=1.25,
    spent=0.5,
    reserved=0.1,
    left=0.4,
    fits=1.23e-8,
    fits_delta=1e-12,
    fits_rho=1.23e-9,
    fits_mu=1.23e-10,
    runs=(),
)


@given(who=WORDS, purpose=WORDS, note=WORDS)
def test_a_ledger_is_shown_on_a_page(who: str, purpose: str, note: str) -> None:
    run = replace(RUN, analyst=who, purpose=purpose)
    view = replace(VIEW, registrar=who, note=note, runs=(RUN, run))
    assert max(map(len, str(view).split("\n"))) <= WIDTH


@pytest.mark.parametrize(("batch", "clip"), [(None, 0.006), (1000, None)])
def test_a_plan_is_shown_on_a_page(batch: int | None, clip: float | None) -> None:
    planned = plan(10**6, batch=batch, delta=1e-6, clip=clip, steps=100, epsilon=1.0)
    wide = replace(planned, steps=123_456_789, records=10**12, clip=1.23456e-10)
    for shown in (planned, wide):
        assert max(map(len, str(shown).split("\n"))) <= WIDTH


def test_wide_characters_take_the_room_that_they_take_on_a_screen() -> None:
    """Two columns each: numbers behind them stand under one another all the same."""
    rows = [("年齢", "1"), ("age", "22"), ("e\u0301", "333")]
    lines = aligned(rows, right=(1,), broken_at=(0,))
    assert lines == ["年齢    1", "age    22", "e\u0301     333"]
    long = [("年" * 60, "1"), ("age", "22")]
    assert max(map(columns_of, aligned(long, right=(1,), broken_at=(0,)))) <= WIDTH
