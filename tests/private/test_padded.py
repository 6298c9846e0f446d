# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A public number of entries: how many records there are is protected."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpmcmc
from dpmcmc import InputError, Records, Schema, models
from dpmcmc.private.opening import open_on_host
from dpmcmc.report import filing
from dpmcmc.sampling.problem import make_problem


def entries(values, size, **how):
    """All entries, as a multiset of values and of whether they are present."""
    table = {"who": np.asarray(values), "x": np.asarray(values, float)}
    table = table if how else {"x": table["x"]}
    arrays, present = open_on_host(Records(table, size=size, **how), "float64")
    rows = arrays.rows["x"] if how else arrays["x"]
    flat = np.reshape(rows, (size, -1)).tolist()
    return Counter(zip(map(tuple, flat), present.tolist(), strict=True))


VALUES = st.lists(st.integers(0, 5), min_size=2, max_size=8)


@given(values=VALUES, place=st.integers(0, 7), size=st.integers(1, 9))
def test_a_record_more_or_less_is_one_entry(values, place, size):
    place %= len(values)
    without = values[:place] + values[place + 1 :]
    gone = entries(values, size) - entries(without, size)
    come = entries(without, size) - entries(values, size)
    assert gone.total() == come.total() <= 1


@given(values=VALUES, size=st.integers(1, 9))
def test_a_person_more_or_less_is_one_entry(values, size):
    """All records of a person are added or removed together."""
    without = [one for one in values if one != values[0]]
    if without:
        units = {"unit": "who", "most": 3}
        gone = entries(values, size, **units) - entries(without, size, **units)
        assert gone.total() <= 1


def test_entries_beyond_the_records_are_not_present():
    table = pd.DataFrame({"x": [1.0, None, 3.0]})
    records = Records(table, size=5)
    assert len(records) == 5
    arrays, present = open_on_host(records, "float32")
    assert arrays["x"].tolist() == [1, 0, 3, 0, 0]
    assert present.tolist() == [True, False, True, False, False]
    assert len(Records(table, size=2)) == 2
    assert "3" not in repr(records)


@pytest.mark.parametrize("size", [0, -1, 2.5, "many", True])
def test_sizes_that_are_none_are_refused(size):
    with pytest.raises(InputError, match="size"):
        Records({"x": np.ones(3)}, size=size)


def test_a_schema_may_hold_the_size():
    schema = Schema({"x": {"type": "number"}}, size="7")
    assert len(Records({"x": np.ones(3)}, schema=schema)) == 7
    assert dpmcmc.model.schema.as_schema(schema.to_dict()) == schema


def test_the_statement_says_what_is_protected():
    model = models.bernoulli()
    values = {"x": np.random.default_rng(1).integers(0, 2, 300).astype(float)}
    method = dpmcmc.Barker(clip=0.01, proposal=dpmcmc.RandomWalk(0.1))
    how = {"delta": 1e-6, "method": method, "steps": 20, "progress": False}
    usual = dpmcmc.sample(model, values, **how).statement
    hidden = dpmcmc.sample(model, Records(values, size=400), **how).statement
    assert hidden.epsilon == pytest.approx(usual.epsilon)  # by the clip, not by N
    assert (usual.hides_number, hidden.hides_number) == (False, True)
    assert hidden.records == 400
    assert "300" not in str(hidden)
    assert dpmcmc.Statement.from_json(hidden.to_json()) == hidden
    unit = filing(hidden)["privacy_unit"]
    assert unit["adjacency"].startswith("addition, removal or substitution")
    assert unit["unprotected_quantities"] == []
    assert filing(usual)["privacy_unit"]["unprotected_quantities"]


def test_statistics_that_need_the_number_of_records_are_left_out():
    settings = {"start": None, "precision": None, "devices": None}
    values, model = {"x": np.ones(30)}, models.bernoulli()
    assert make_problem(model, values, **settings).model.statistics is not None
    padded = make_problem(model, Records(values, size=40), **settings)
    assert padded.model.statistics is None
