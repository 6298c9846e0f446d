# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Units: what one person can do to arrays, sums, histograms and decisions."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pytest
from adversarial import HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc import Model, Records
from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.errors import InputError
from dpmcmc.model import Unit
from dpmcmc.model.units import unit_model
from dpmcmc.private.context import boundary_arithmetic
from dpmcmc.private.each_record import Read, looks_of_each
from dpmcmc.private.histograms import exact_counts
from dpmcmc.private.influence import PLAIN
from dpmcmc.private.opening import open_on_host, open_records
from dpmcmc.private.ratios import Grid, clip_to_grid
from dpmcmc.private.sums import exact_sum
from dpmcmc.private.totals import spread_over
from dpmcmc.private.units import arrange, membership

MOST, UNITS = 3, 4
ANY_NUMBER = [*HOSTILE[np.float64].tolist(), 0.3, -0.7, 2.0, 2.0, 2.0]
MODEL = unit_model(
    Model(lambda theta, x: x["x"] * theta, lambda theta: -(theta**2), 0.0), MOST
)


def grouped(units, order=None):
    """Records of units that are lists of rows, each a number; interleaved by ``order``.

    Every unit has a row without an id beside its own, so that none is ever gone.
    """
    rows = [
        (name, value)
        for name, values in enumerate(units)
        for value in [np.nan, *values]
    ]
    firsts = [row for row in rows if np.isnan(row[1])]
    others = [row for row in rows if not np.isnan(row[1])]
    rows = firsts + [others[place] for place in order or range(len(others))]
    frame = pd.DataFrame(rows, columns=["who", "x"])
    return Records(frame, unit="who", most=MOST)


def opened(units):
    with boundary_arithmetic():
        return open_records(grouped(units), "float64", jax.devices("cpu")[:1])[0]


def test_rows_of_a_unit_stand_side_by_side():
    table = {"who": ["b", "a", "b", "a", "b"], "x": np.arange(5.0)}
    table["who"] = np.array(table["who"])
    arrays, present = open_on_host(Records(table, unit="who", most=2), "float64")
    assert isinstance(arrays, Unit)
    assert np.array_equal(arrays.rows["x"], [[0, 2], [1, 3]])
    assert arrays.present.all()
    assert present.all()
    assert set(arrays.rows) == {"x"}


def test_rows_that_are_not_there_repeat_the_first():
    table = {"who": np.array([5, 7, 5]), "x": np.array([1.0, 2.0, 3.0])}
    arrays, _ = open_on_host(Records(table, unit="who", most=3), "float64")
    assert np.array_equal(arrays.rows["x"], [[1, 3, 1], [2, 2, 2]])
    assert np.array_equal(arrays.present, [[1, 1, 0], [1, 0, 0]])


@pytest.mark.parametrize(
    "ids",
    [
        pd.Series(["a", "b", None, "a"]),
        pd.Series([1, 2, None, 1]),
        pd.Series([1, 2, pd.NA, 1], dtype="Int64"),
        pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01", None, "2020-01-01"])),
        pd.Series(["a", "b", ["no id"], "a"], dtype=object),
        pl.Series(["a", "b", None, "a"]),
        pl.Series([1, 2, None, 1]),
        np.array([1.0, 2.0, np.nan, 1.0]),
        np.array([1, 2, None, 1], dtype=object),
    ],
    ids=lambda ids: f"{type(ids).__module__} {getattr(ids, 'dtype', '')}",
)
def test_a_row_without_an_id_counts_for_nothing(ids):
    table = {"who": ids, "x": np.arange(1.0, 5.0)}
    records = Records(table, unit="who", most=2)
    arrays, present = open_on_host(records, "float64")
    assert len(records) == 2
    assert np.array_equal(arrays.rows["x"], [[1, 4], [2, 2]])
    assert np.array_equal(arrays.present, [[1, 1], [1, 0]])
    assert present.all()


def test_a_unit_whose_values_are_all_missing_is_there_and_holds_nothing():
    frame = pd.DataFrame({"who": [1, 2, 2], "x": [np.nan, 3.0, np.nan]})
    arrays, present = open_on_host(Records(frame, unit="who", most=2), "float64")
    assert np.array_equal(present, [False, True])
    assert np.array_equal(arrays.rows["x"], [[0, 0], [3, 3]])


@given(st.data())
@settings(max_examples=60)
def test_an_entry_is_a_function_of_its_own_unit(data):
    """Other units, their number of rows and the places of all rows do not matter."""
    rows = st.lists(st.sampled_from(ANY_NUMBER), max_size=6)
    units = [data.draw(rows) for _ in range(UNITS)]
    other = [[*units[0]], *(data.draw(rows) for _ in range(UNITS - 1))]
    found, again = (open_on_host(grouped(each), "float64") for each in (units, other))
    for one, two in zip(jax.tree.leaves(found), jax.tree.leaves(again), strict=True):
        assert one[0].tobytes() == two[0].tobytes()
        assert one.shape == two.shape


def test_the_places_of_rows_of_other_units_do_not_matter():
    units = [[1.0, 2.0], [3.0], [4.0, 5.0, 6.0]]
    in_order = open_on_host(grouped(units), "float64")
    mixed = open_on_host(grouped(units, [3, 0, 2, 4, 1, 5]), "float64")
    for one, two in zip(jax.tree.leaves(in_order), jax.tree.leaves(mixed), strict=True):
        assert np.array_equal(one, two)


def persons():
    """A person with any number of records: huge, none, equal, infinite, or common."""
    number = st.sampled_from(ANY_NUMBER)
    equal = st.builds(lambda value, count: [value] * count, number, st.integers(0, 9))
    return st.one_of(st.lists(number, max_size=9), equal)


def _score(model, unit, public):
    slope = jax.grad(lambda theta: model.log_likelihood(theta, unit))(public)
    return jnp.stack([slope, jnp.cos(slope)]) / 3


class _Bins:
    count = 5

    def __call__(self, model, unit, public):
        total = model.log_likelihood(public, unit)
        return jnp.stack([jnp.floor(total), jnp.sum(unit.present)]).astype(jnp.int32)


BINS = _Bins()
START = jnp.asarray(0.7)


def totals(units):
    """The exact vector sum and the exact counts."""
    entries = opened(units)
    with boundary_arithmetic():
        return [
            np.asarray(add(spread_over(jax.devices()[:1]), entries, START))
            for add in (
                lambda *it: exact_sum(MODEL, _score, "float64", *it),
                lambda *it: exact_counts(MODEL, BINS, "float64", *it),
            )
        ]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_one_person_moves_sums_and_histograms_by_no_more_than_one_record(data):
    units = [data.draw(persons()) for _ in range(UNITS)]
    other = [*units[:-1], data.draw(persons())]
    (total, counts), (moved, recounted) = totals(units), totals(other)
    by = [
        float(np.linalg.norm(one - two))
        for one, two in (
            (total.astype(float), moved),
            (counts.astype(float), recounted),
        )
    ]
    assert by[0] <= 2 * CLIP_STEPS
    assert by[1] <= math.sqrt(2 * 2) * CLIP_STEPS


@given(persons())
@settings(max_examples=100, deadline=None)
def test_one_person_is_one_bounded_number_in_a_decision(person):
    grid = Grid(clip=0.01)
    entries = opened([person, [1.0]])
    with boundary_arithmetic():
        old, new = (
            looks_of_each(
                MODEL, PLAIN, jnp.asarray(at), Read(entries.arrays, ()), "float64"
            )
            for at in (0.0, 0.5)
        )
        steps = np.asarray(clip_to_grid(new - old, entries.present, grid))
    assert np.all(np.abs(steps) <= CLIP_STEPS)
    assert steps[1] == CLIP_STEPS  # the other's, whatever the first is
    if not person:
        assert steps[0] == 0


def test_a_person_of_huge_records_reaches_the_bound():
    """So that the search above would see a sensitivity that is too small."""
    (total, _), (moved, _) = totals([[1e9] * 3, [0.0]]), totals([[-1e9] * 3, [0.0]])
    assert abs(total[0] - moved[0]) > 0.5 * CLIP_STEPS


@pytest.mark.parametrize(
    "given_",
    [
        {"unit": "who"},
        {"most": 3},
        {"unit": "who", "most": 0},
        {"unit": "who", "most": 2**60},
        {"unit": "who", "most": 2.5},
        {"unit": 3, "most": 2},
        {"unit": "whom", "most": 2},
        {"unit": "pair", "most": 2},
    ],
)
def test_units_that_cannot_be_had_are_refused(given_):
    table = {"who": np.arange(4), "pair": np.zeros((4, 2)), "x": np.zeros(4)}
    with pytest.raises(InputError):
        Records(table, **given_)


def test_a_table_of_ids_alone_and_one_without_ids_are_refused():
    with pytest.raises(InputError, match="no array"):
        Records({"who": np.arange(3)}, unit="who", most=1)
    with pytest.raises(InputError):
        Records({"who": [None, None], "x": np.zeros(2)}, unit="who", most=1)
    with pytest.raises(InputError):
        Records(np.zeros(3), unit="who", most=1)
    with pytest.raises(InputError, match="id for each record"):
        Records({"who": np.arange(3), "x": np.zeros(4)}, unit="who", most=1)


def test_units_are_numbered_by_their_first_rows():
    codes, units = membership([["z", "a"], ["z", None, float("nan"), "b"]])
    assert codes.tolist() == [0, 1, 0, -1, -1, 2]
    assert units == 3


def test_nothing_of_a_unit_without_rows_is_anothers():
    rows = {"x": np.array([9.0, 8.0])}
    found, present = arrange(rows, np.array([True, False]), membership([["a", "b"]]), 2)
    assert np.array_equal(found.rows["x"], [[9, 9], [0, 0]])
    assert np.array_equal(present, [True, False])


def test_what_is_shown_is_the_number_of_units():
    records = Records(
        {"who": np.array([1, 1, 2]), "x": np.zeros(3)}, unit="who", most=2
    )
    assert len(records) == 2
    assert "3" not in repr(records)


@pytest.mark.parametrize("change", [lambda rows: rows.append(5.0), list.pop])
def test_records_that_have_changed_since_they_were_sealed_are_refused(change):
    class Column:
        """An array whose length is that of a list of rows."""

        dtype, rows = np.dtype(float), [1.0, 2.0, 3.0]
        shape = property(lambda self: (len(self.rows),))

        def __array__(self, dtype=None, copy=None):
            return np.array(self.rows)

    column = Column()
    column.rows = [1.0, 2.0, 3.0]
    table = {"who": np.array([1, 2, 2]), "x": column}
    records = Records(table, unit="who", most=2)
    change(column.rows)
    with pytest.raises(InputError, match="have changed"):
        open_on_host(records, "float64")
