# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Records of a wrong kind are refused by their schema; their values never are."""

import math
import re
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.extra import numpy as arrays
from refusals import (
    Sealed,
    assert_refused,
    log_likelihood,
    log_prior,
    returns,
    run_openly,
    run_privately,
)

import dpmcmc
from dpmcmc import Model

# Records.


def records_rows() -> list[Any]:
    whole, text = np.dtype(np.int64), np.dtype("U5")
    return [
        pytest.param(
            {"x": Sealed((10,)), "y": Sealed((9,))},
            ["unequal leading axes", "records['x']: 10", "records['y']: 9"],
            id="unequal leading axes",
        ),
        pytest.param(
            (Sealed((10, 3)), Sealed((3, 10), whole)),
            ["unequal leading axes", "records[0]: 10", "records[1]: 3"],
            id="unequal leading axes of matrices",
        ),
        pytest.param(Sealed((0,)), ["there are 0 records", "from 1 to"], id="N = 0"),
        pytest.param(
            {"x": Sealed((0, 4)), "y": Sealed((0,))},
            ["there are 0 records", "from 1 to"],
            id="N = 0 of several arrays",
        ),
        pytest.param(Sealed(()), ["Sealed", "common leading axis"], id="a scalar"),
        pytest.param(
            {"x": Sealed(), "name": Sealed(dtype=text)},
            ["records['name'] has dtype str_", "numbers"],
            id="text",
        ),
        pytest.param(
            Sealed(dtype=np.dtype(object)), ["dtype object", "numbers"], id="objects"
        ),
        pytest.param(
            Sealed(dtype=np.dtype(complex)), ["dtype complex", "numbers"], id="complex"
        ),
        pytest.param(
            Sealed(dtype=np.dtype("M8[s]")), ["dtype datetime64", "numbers"], id="dates"
        ),
        pytest.param([1.0, 2.0], ["records[0] is a float", "arrays"], id="a list"),
        pytest.param(None, ["records hold no array"], id="nothing"),
        pytest.param({}, ["records hold no array"], id="an empty dict"),
        pytest.param("data.csv", ["records is a str", "table"], id="a file name"),
        pytest.param(3.5, ["records is a float", "arrays"], id="a number"),
    ]


@pytest.mark.parametrize("run", [run_privately, run_openly])
@pytest.mark.parametrize(("records", "parts"), records_rows())
def test_records(run: Callable[..., object], records: Any, parts: list[str]) -> None:
    assert_refused(lambda: run(records=records), *parts)
    assert_refused(lambda: dpmcmc.Records(records), *parts)


TABLES = [
    pytest.param(pd.DataFrame, id="pandas"),
    pytest.param(pl.DataFrame, id="polars"),
    pytest.param(pa.table, id="pyarrow"),
]


@pytest.mark.parametrize("table", TABLES)
def test_tables_must_hold_numbers_and_their_values_are_not_shown(
    table: Callable[[dict], Any],
) -> None:
    records = table({"x": [1.0, 2.0], "name": ["Secret", "Hidden"]})
    message = assert_refused(
        lambda: run_openly(records=records), "records['name']", "numbers"
    )
    assert "Secret" not in message
    assert "Hidden" not in message


@pytest.mark.parametrize("table", TABLES)
def test_tables_must_hold_records(table: Callable[[dict], Any]) -> None:
    empty = table({"x": np.zeros(0)})
    assert_refused(lambda: run_openly(records=empty), "there are 0 records")


# What the values of records may not do: raise, warn, or change what is said.

ODD = [math.nan, math.inf, -math.inf, 1e300, -1e300, 5e-324, -0.0, 1.0]


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("value", ODD)
def test_odd_values_neither_raise_nor_warn(
    value: float, precision: str, capfd: pytest.CaptureFixture[str]
) -> None:
    odd = run_privately(records=np.full(1000, value), precision=precision)
    plain = run_privately(records=np.ones(1000), precision=precision)
    assert odd.statement == plain.statement
    assert np.isfinite(odd.draws["mean"]).all()
    assert capfd.readouterr() == ("", "")


@settings(max_examples=25)
@given(arrays.arrays(np.float64, 50, elements=some.floats(width=64)))
def test_any_values_neither_raise_nor_warn(values: np.ndarray) -> None:
    posterior = run_privately(records=values, epsilon=None, steps=8, warmup=0)
    assert posterior.statement.is_private
    assert np.isfinite(posterior.draws["mean"]).all()


@pytest.mark.parametrize("table", TABLES)
def test_missing_values_in_tables_neither_raise_nor_warn(
    table: Callable[[dict], Any], capfd: pytest.CaptureFixture[str]
) -> None:
    model = Model(
        lambda theta, record: log_likelihood(theta, record["x"] + record["n"]),
        log_prior,
        initial={"mean": 0.0},
    )
    records = table({"x": [1.0, None, math.nan, 4.0], "n": [1, 2, 3, None]})
    posterior = run_openly(model=model, records=records)
    assert np.isfinite(posterior.draws["mean"]).all()
    assert capfd.readouterr() == ("", "")


def test_a_likelihood_may_return_anything_at_a_record() -> None:
    """Infinite, NaN and huge log-likelihoods are clipped, never reported."""
    model = Model(
        lambda theta, record: jnp.log(record) * 1e30 / theta["mean"],
        lambda theta: 0.0,
        initial={"mean": 0.0},
    )
    posterior = run_openly(model=model, records=np.linspace(-1, 1, 101), clip=1.0)
    assert np.isfinite(posterior.draws["mean"]).all()


def test_messages_never_hold_the_value_of_a_record() -> None:
    """A likelihood that prints its record in its error prints a tracer, no number."""

    def tells(theta: dict, record: Any) -> Any:
        raise ValueError(f"bad record {record}")

    secret = 123456.789
    message = assert_refused(
        lambda: run_openly(model=returns(tells), records=np.full(10, secret)),
        "log_likelihood failed with ValueError",
    )
    assert not re.search(r"123456", message)
