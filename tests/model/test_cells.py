# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of cells: which models have one, and what is counted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpmcmc import Model, Preparation, Schema, Statistics
from dpmcmc.errors import InputError
from dpmcmc.model.cells import with_cells
from dpmcmc.model.preparation import Clamp, OneHot, Scale

INITIAL = {"b": np.zeros(2)}


def likelihood(theta, record):
    """Of y given a vector x, or a code that was made one."""
    eta = jnp.dot(record["x"], theta["b"])
    return record["y"] * eta - jax.nn.softplus(eta)


def model_of(log_likelihood=likelihood, initial=None, **given):
    settings = {"responses": {"y": (0.0, 1.0)}, **given}
    prior = lambda theta: -sum(jnp.sum(leaf**2) for leaf in theta.values())  # noqa: E731
    return Model(log_likelihood, prior, initial or INITIAL, **settings)


def shapes(**columns):
    return {
        name: jax.ShapeDtypeStruct(shape, jnp.dtype(kind))
        for name, (shape, kind) in columns.items()
    }


BOOLEANS = shapes(x=((2,), "bool"), y=((), "int32"))


def found(model, record=BOOLEANS, schema=None):
    return with_cells(model, schema or Schema(), record).statistics


def test_counts_say_what_the_records_say():
    """The sum of log-likelihoods of records is that of the cells, times the counts."""
    generator = np.random.default_rng(0)
    records = {
        "x": generator.integers(0, 2, (300, 2)).astype(bool),
        "y": generator.integers(0, 2, 300).astype(np.int32),
    }
    statistics = found(model_of())
    assert statistics.cells == 8
    theta = {"b": jnp.array([0.7, -1.3])}
    cells = np.asarray(jax.vmap(statistics.of_record)(records))
    counts = np.bincount(cells, minlength=8)
    each = jax.vmap(likelihood, (None, 0))(theta, records)
    wanted = float(np.sum(np.asarray(each, np.float64)))
    assert counts.sum() == 300
    assert (counts > 0).all()
    assert counts @ np.asarray(statistics.coefficients(theta)) == pytest.approx(wanted)


CODED = Preparation({"x": OneHot([3, 5]), "y": Clamp(0, 1)})
CODES = shapes(x=((), "int32"), y=((), "float32"))
DECLARED = Schema(
    {
        "x": {"type": "integer", "bounds": [2, 6]},
        "y": {"type": "boolean"},
    }
)


def by_code(theta, record):
    eta = theta["a"] + theta["b"] * record["x"]
    return record["y"] * eta - jax.nn.softplus(eta)


BY_CODE = {"a": 0.0, "b": 0.0}


@pytest.mark.parametrize(
    ("model", "record", "schema", "cells"),
    [
        (model_of(), BOOLEANS, Schema(), 8),
        (model_of(preparation=CODED), CODES, Schema(), 4),
        (
            DECLARED.applied_to(model_of(by_code, BY_CODE, responses=None)),
            shapes(x=((), "int32"), y=((), "bool")),
            DECLARED,
            10,
        ),
        (
            model_of(lambda theta, r: r["y"] * theta["b"][0] - 1.0),
            shapes(x=((2,), "float32"), y=((), "int32")),
            Schema(),
            2,
        ),
    ],
    ids=["booleans", "one-hot", "declared", "one column is not read"],
)
def test_few_values_are_seen(model, record, schema, cells):
    statistics = found(model, record, schema)
    assert statistics.cells == cells
    assert statistics.is_exact
    assert (statistics.log_density is None) == (model.responses is None)
    assert with_cells(model, schema, record) is with_cells(model, schema, record)


@pytest.mark.parametrize(
    ("model", "record"),
    [
        (model_of(), shapes(x=((2,), "float32"), y=((), "int32"))),
        (model_of(), shapes(x=((20,), "bool"), y=((), "int32"))),
        (model_of(responses={"y": None}), BOOLEANS),
        (model_of(responses=None), BOOLEANS),
        (model_of(preparation=Preparation({"y": Scale(0, 2)})), BOOLEANS),
        (model_of(by_code, {"a": 0, "b": 0.0}), shapes(x=((), "bool"), y=((), "bool"))),
    ],
    ids=["numbers", "too many", "not listed", "not stated", "scaled", "discrete θ"],
)
def test_others_stay_as_they_are(model, record):
    assert with_cells(model, Schema(), record) is model


def test_statistics_of_a_model_stay():
    own = Statistics(lambda r: jnp.ones(1), lambda theta: jnp.ones(1), 1.0)
    assert found(model_of(statistics=own)) is own


@pytest.mark.parametrize(
    "record",
    [
        {"x": [0.0, 1.0], "y": 0.5},
        {"x": [0.0, jnp.nan], "y": 1.0},
        {"x": [0.0, 1.0], "y": 2.0},
    ],
)
def test_a_record_with_another_value_is_in_no_cell(record):
    statistics = found(model_of())
    record = {name: jnp.asarray(value) for name, value in record.items()}
    assert int(statistics.of_record(record)) == -1
    assert not np.any(statistics.vector(record))


def test_values_beyond_bounds_are_in_the_outer_cells():
    model = DECLARED.applied_to(model_of(by_code, BY_CODE, responses=None))
    statistics = found(model, shapes(x=((), "int32"), y=((), "bool")), DECLARED)

    def cell(x):
        record = {"x": jnp.asarray(x), "y": jnp.asarray(True)}
        return int(statistics.of_record(model.preparation(record)))

    assert cell(-7) == cell(2) != cell(3)
    assert cell(99) == cell(6)


@pytest.mark.parametrize(
    "bad", [{"bound": 2.0}, {"cells": 1}, {"cells": 2.5}, {"cells": True}]
)
def test_cells_that_are_none_are_refused(bad):
    right = {"bound": 1.0, "cells": 2, **bad}
    with pytest.raises(InputError):
        Statistics(lambda r: r["y"], lambda theta: jnp.ones(2), **right)
