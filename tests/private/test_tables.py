# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tables: columns by name, dtypes by schema, and what is missing says nothing."""

import datetime
import decimal

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpmcmc
from dpmcmc.errors import InputError
from dpmcmc.model.model import Model
from dpmcmc.private import Chains, FullData, Grid, Records, Tape
from dpmcmc.private.context import boundary_arithmetic
from dpmcmc.private.opening import open_records
from dpmcmc.proposals import RandomWalk


def pandas_table(columns):
    kinds = {bool: "boolean", int: "Int64", float: "Float64"}
    return pd.DataFrame(
        {
            name: pd.array(values, dtype=kinds[_kind(values)])
            for name, values in columns.items()
        }
    )


def pandas_arrow_table(columns):
    kinds = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    return pd.DataFrame(
        {
            name: pd.array(values, dtype=pd.ArrowDtype(kinds[_kind(values)]))
            for name, values in columns.items()
        }
    )


def chunked_arrow_table(columns):
    table = pa.table(columns)
    return pa.concat_tables([table.slice(0, 2), table.slice(2)])


def _kind(values):
    return next(type(value) for value in values if value is not None)


MAKERS = {
    "pandas": pandas_table,
    "pandas on Arrow": pandas_arrow_table,
    "polars": pl.DataFrame,
    "Arrow": pa.table,
    "Arrow in chunks": chunked_arrow_table,
}
every_table = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)

COLUMNS = {
    "x": [0.5, 1.5, -2.5, 3.5],
    "n": [3, -1, 2**40, 0],
    "flag": [True, False, True, True],
}
HOLED = {
    "x": [0.5, 1.5, None, 3.5],
    "n": [3, None, 2**40, 0],
    "flag": [True, False, True, None],
}


def opened(table, dtype=np.float32):
    with boundary_arithmetic():
        inside, _ = open_records(Records(table), dtype, jax.devices()[:1])
    return jax.tree.map(np.asarray, inside.arrays), np.asarray(inside.present)


@every_table
def test_a_table_is_a_dict_of_its_columns(make):
    arrays, present = opened(make(COLUMNS))
    assert list(arrays) == sorted(COLUMNS)
    assert arrays["x"].tolist() == COLUMNS["x"]
    assert arrays["n"].tolist() == [3, -1, 2**31 - 1, 0]  # saturated
    assert arrays["flag"].tolist() == COLUMNS["flag"]
    assert np.all(present)


@every_table
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_do_not_depend_on_what_is_missing(make, dtype):
    whole, holed = make(COLUMNS), make(HOLED)
    assert Records(whole).shape_of_one(dtype) == Records(holed).shape_of_one(dtype)
    expected = jax.tree.map(lambda leaf: leaf.dtype, Records(whole).shape_of_one(dtype))
    for table in (whole, holed):
        assert jax.tree.map(lambda x: x.dtype, opened(table, dtype)[0]) == expected


@every_table
def test_a_record_with_a_missing_value_is_not_present(make):
    arrays, present = opened(make(HOLED))
    assert present.tolist() == [True, False, False, False]
    assert arrays["x"].tolist() == [0.5, 1.5, 0.0, 3.5]
    assert arrays["n"].tolist() == [3, 0, 2**31 - 1, 0]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_null_and_nan_are_missing(make):
    """They are one thing in pandas, and so in every table."""
    arrays, present = opened(make({"x": [0.5, float("nan"), None, np.inf]}))
    assert present.tolist() == [True, False, False, True]
    assert arrays["x"].tolist() == [0.5, 0, 0, np.inf]


# In pandas, one value decides over the dtype of a column


NUMBERS = [
    *([1, 2, 3], [1, 2, None], [1, 2, 3.5], [1, 2, np.nan], [1, 2, np.inf]),
    *([True + 0, 2**40, 3], [1, 2, 5e-324], [1.0, 2.0, 3.0], [2**63, 1, 0]),
]


@pytest.mark.parametrize("values", NUMBERS, ids=str)
def test_all_number_dtypes_of_pandas_enter_alike(values):
    series = pd.Series(values)
    assert series.dtype.kind in "iuf"
    expected = Records({"x": np.zeros(3)}).shape_of_one(np.float32)
    for data in (pd.DataFrame({"x": series}), {"x": series}, {"x": pd.Index(series)}):
        assert Records(data).shape_of_one(np.float32) == expected
        arrays, present = opened(data, np.float64)
        assert arrays["x"].dtype == np.float64
        assert present.tolist() == [not pd.isna(value) for value in values]
        there = [value for value in values if not pd.isna(value)]
        assert arrays["x"][present].tolist() == there


def test_one_missing_value_does_not_decide_over_a_run():
    """As a code, integers of pandas are refused whether or not one is missing."""
    model = Model(
        lambda theta, record: jnp.zeros(3)[record["group"]],
        lambda theta: -0.5 * theta**2,
        0.0,
    )
    messages = set()
    for values in ([0, 1, 2], [0, 1, None]):
        with pytest.raises(InputError) as caught:
            dpmcmc.sample_not_private(
                model,
                pd.DataFrame({"group": values}),
                steps=4,
                seed=1,
                method=dpmcmc.Barker(proposal=RandomWalk(0.5)),
                progress=False,
            )
        messages.add(str(caught.value))
    assert len(messages) == 1


@pytest.mark.parametrize("values", [[0, 1, 2], [0, None, 2]])
@pytest.mark.parametrize(
    "declare",
    [
        lambda values: pd.DataFrame({"g": pd.array(values, dtype="Int64")}),
        lambda values: pd.DataFrame({"g": pd.array(values, dtype="int8[pyarrow]")}),
        lambda values: pl.DataFrame({"g": values}, schema={"g": pl.Int8}),
        lambda values: pa.table({"g": pa.array(values, pa.uint16())}),
    ],
)
def test_declared_integers_stay_integers(declare, values):
    arrays, present = opened(declare(values))
    assert arrays["g"].dtype == np.int32
    assert present.tolist() == [value is not None for value in values]
    assert arrays["g"].tolist() == [value or 0 for value in values]


ODD = {
    "booleans": [True, False],
    "a missing boolean": [True, None],
    "text": ["alice", "bob"],
    "missing text": ["alice", None],
    "text and numbers": ["alice", 1],
    "dates": [datetime.datetime(2020, 1, 1)] * 2,
    "a wrong date": [datetime.datetime(2020, 1, 1), "alice"],
    "categories": pd.Categorical(["alice", "bob"]),
    "nothing": [None, None],
    "complex": [1j, 2.0],
}


def test_all_other_dtypes_of_pandas_are_refused_alike():
    """One message for all: which dtype it is may be up to one value."""
    messages = set()
    for values in ODD.values():
        for data in (pd.DataFrame({"x": values}), {"x": pd.Series(values)}):
            with pytest.raises(InputError) as caught:
                Records(data)
            messages.add(str(caught.value))
    assert len(messages) == 1
    assert "records['x']" in messages.pop()


def test_booleans_of_pandas_enter_once_declared():
    frame = pd.DataFrame({"b": [True, None, False]}).astype({"b": "boolean"})
    arrays, present = opened(frame)
    assert arrays["b"].tolist() == [True, False, False]
    assert present.tolist() == [True, False, True]


@pytest.mark.parametrize(
    "make", [pd.Series, pl.Series, lambda x: pa.chunked_array([x])]
)
def test_a_dict_of_columns_is_a_table(make):
    """Also beside arrays, and alone."""
    column = make([0.5, None, 2.5])
    arrays, present = opened({"x": column, "y": np.arange(3)})
    assert present.tolist() == [True, False, True]
    assert arrays["x"].tolist() == [0.5, 0, 2.5]
    alone, present = opened(column)
    assert alone.tolist() == [0.5, 0, 2.5]


def test_a_table_is_not_written_to():
    frame = pd.DataFrame({"x": [0.5, np.nan, 2.5]})
    before = frame.copy()
    opened(frame)
    pd.testing.assert_frame_equal(frame, before)


WEIGHTED = Model(
    lambda theta, record: -0.5 * (record["x"] - theta) ** 2 * (1 + record["n"]),
    lambda theta: -0.5 * theta**2,
    0.0,
)


def chain_bits(table, steps=200):
    """Bits of a chain whose every step depends on every record that is present."""
    start = jnp.float32(0.0)
    chains = Chains(
        WEIGHTED,
        Records(table),
        RandomWalk(0.5).fit(start),
        FullData(Grid(0.7)),
        Tape.seeded(60),
        start=jnp.stack([start] * 2),
        dtype="float32",
        chunk=steps,
        devices=jax.devices()[:1],
    )
    return np.asarray(chains.advance(steps).accepted)


@every_table
def test_a_record_with_a_missing_value_contributes_exactly_nothing(make):
    """Whatever its other values: as if the record were not in the table."""
    rows = [(0.5, 1), (2.5, 0), (-1.0, 3), (0.2, 1)]
    plain = make({"x": [x for x, _ in rows], "n": [n for _, n in rows]})
    expected = chain_bits(plain)
    for other in (0, 9, -(2**62)):
        holed = [rows[0], (None, other), *rows[1:], (0.0, None)]
        table = make({"x": [x for x, _ in holed], "n": [n for _, n in holed]})
        assert np.array_equal(chain_bits(table), expected)
    present = [rows[0], (7.0, 9), *rows[1:], (0.0, 2)]
    table = make({"x": [x for x, _ in present], "n": [n for _, n in present]})
    assert not np.array_equal(chain_bits(table), expected)


SECRETS = ["alice", "bob"]
REFUSED = {
    "pandas text": lambda: pd.DataFrame({"name": SECRETS}),
    "pandas objects": lambda: pd.DataFrame({"name": np.array(["alice", 1], object)}),
    "pandas categories": lambda: pd.DataFrame({"name": pd.Categorical(SECRETS)}),
    "pandas ordered categories": lambda: pd.DataFrame(
        {"name": pd.Categorical(SECRETS, ordered=True)}
    ),
    "polars text": lambda: pl.DataFrame({"name": SECRETS}),
    "polars enum": lambda: pl.DataFrame(
        {"name": pl.Series(SECRETS, dtype=pl.Enum(SECRETS))}
    ),
    "polars structs": lambda: pl.DataFrame({"name": [{"alice": 1}, {"alice": 2}]}),
    "polars lists": lambda: pl.DataFrame({"name": [[1, 2], [3]]}),
    "polars dates": lambda: pl.DataFrame({"name": [datetime.date(2020, 1, 1)] * 2}),
    "polars wide integers": lambda: pl.DataFrame({"name": [1, 2]}).cast(pl.Int128),
    "Arrow text": lambda: pa.table({"name": SECRETS}),
    "Arrow dictionary": lambda: pa.table(
        {"name": pa.array(SECRETS).dictionary_encode()}
    ),
    "Arrow decimals": lambda: pa.table({"name": [decimal.Decimal("1.5")] * 2}),
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_a_column_without_numbers_is_refused_by_name_alone(make):
    with pytest.raises(InputError, match=r"records\['name'\] ") as caught:
        Records(make())
    assert "alice" not in str(caught.value)
    assert "bob" not in str(caught.value)
    assert "2020" not in str(caught.value)


def test_a_column_without_a_name_is_refused():
    with pytest.raises(InputError, match="column 0 is not text"):
        Records(pd.DataFrame(np.zeros((3, 2))))


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(InputError, match="the same name"):
        Records(pd.DataFrame(np.zeros((3, 2)), columns=["a", "a"]))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_empty_tables_are_refused(make):
    with pytest.raises(InputError, match="records hold no array"):
        Records(make({}))
    with pytest.raises(InputError, match="there are 0 records"):
        Records(make({"x": np.zeros(0)}))


def test_a_lazy_table_is_refused_unread():
    read = []
    lazy = pl.DataFrame({"x": [1.0]}).lazy().map_batches(lambda t: read.append(1) or t)
    with pytest.raises(InputError, match="LazyFrame, not an array"):
        Records(lazy)
    assert not read


def test_a_table_shows_no_value():
    sealed = Records(pl.DataFrame({"x": [7777.125, 7777.125]}))
    shown = f"{sealed!r}" + "".join(repr(getattr(sealed, x)) for x in dir(sealed))
    assert "7777" not in shown
