# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Forms that records and θ may take."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from runs import assert_same_draws, seeded

from dpmcmc import Model, Posterior, RandomWalk, Records

# Forms of records.

X = np.random.default_rng(2).normal(size=60)
N = np.random.default_rng(3).integers(0, 5, size=60)


class Row(NamedTuple):
    x: Any
    n: Any


FORMS = [
    pytest.param((X, N), lambda r: r, id="tuple"),
    pytest.param(Row(X, N), lambda r: (r.x, r.n), id="named tuple"),
    pytest.param(
        {"x": X, "more": {"n": N}}, lambda r: (r["x"], r["more"]["n"]), id="nested"
    ),
    pytest.param(np.stack([X, N], axis=1), lambda r: (r[0], r[1]), id="matrix"),
    pytest.param((jnp.asarray(X), jnp.asarray(N)), lambda r: r, id="arrays of JAX"),
    pytest.param(
        pd.DataFrame({"x": X, "n": N}), lambda r: (r["x"], r["n"]), id="pandas"
    ),
    pytest.param(
        pl.DataFrame({"x": X, "n": N}), lambda r: (r["x"], r["n"]), id="polars"
    ),
    pytest.param(pa.table({"x": X, "n": N}), lambda r: (r["x"], r["n"]), id="pyarrow"),
    pytest.param(
        Records(pl.DataFrame({"x": X, "n": N})),
        lambda r: (r["x"], r["n"]),
        id="Records of a table",
    ),
]


def model_of(parts: Callable[[Any], tuple[Any, Any]]) -> Model:
    def log_likelihood(theta: dict, record: Any) -> Any:
        x, n = parts(record)
        return -((x - theta["mean"] * n) ** 2) / 2

    return Model(log_likelihood, lambda theta: -(theta["mean"] ** 2), {"mean": 0.0})


@pytest.fixture(scope="module")
def reference() -> Posterior:
    return seeded(model_of(lambda r: (r["x"], r["n"])), {"x": X, "n": N})


@pytest.mark.parametrize(("form", "parts"), FORMS)
def test_records_of_any_form_give_the_same_draws(
    form: Any, parts: Callable[[Any], tuple[Any, Any]], reference: Posterior
) -> None:
    posterior = seeded(model_of(parts), form)
    assert posterior.statement.records == 60
    np.testing.assert_allclose(posterior.draws["mean"], reference.draws["mean"])
    np.testing.assert_array_equal(posterior.accepted, reference.accepted)


def test_a_bare_array_and_a_bare_series_are_records(model: Model) -> None:
    assert_same_draws(seeded(model, X), seeded(model, pd.Series(X)))


def test_records_may_have_any_shape(records: np.ndarray) -> None:
    model = Model(
        lambda theta, record: -jnp.sum((record - theta) ** 2),
        lambda theta: 0.0,
        initial=np.zeros((2, 3)),
    )
    images = np.ones((30, 2, 3))
    assert seeded(model, images).draws["theta"].shape == (1, 30, 2, 3)


def test_booleans_and_whole_numbers_stay_what_they_are() -> None:
    seen = {}

    def log_likelihood(theta: Any, record: dict) -> Any:
        seen.update({name: str(value.dtype) for name, value in record.items()})
        return theta * jnp.where(record["flag"], 1.0, -1.0) + 0 * record["count"]

    records = {
        "flag": np.ones(9, bool),
        "count": np.ones(9, np.int64),
        "small": np.ones(9, np.uint8),
        "x": np.ones(9),
    }
    model = Model(log_likelihood, lambda theta: -(theta**2), initial=0.0)
    seeded(model, records)
    assert seen == {"flag": "bool", "count": "int32", "small": "uint8", "x": "float32"}
    seeded(model, records, precision="float64")
    assert seen == {"flag": "bool", "count": "int64", "small": "uint8", "x": "float64"}


def test_the_user_s_records_are_not_changed(model: Model) -> None:
    mine = X.copy()
    seeded(model, mine)
    np.testing.assert_array_equal(mine, X)


# Forms of θ.


class Line(NamedTuple):
    slope: Any
    centre: Any


@pytest.mark.parametrize(
    ("initial", "read", "names"),
    [
        (0.0, lambda t: t, {"theta": ()}),
        (jnp.zeros((2, 2)), lambda t: t.sum(), {"theta": (2, 2)}),
        ((0.0, np.zeros(2)), lambda t: t[0] + t[1].sum(), {"0": (), "1": (2,)}),
        (Line(0.0, 0.0), lambda t: t.slope + t.centre, {"slope": (), "centre": ()}),
        (
            {"group": {"scale": 1.0, "at": [0.0, 0.0]}},
            lambda t: t["group"]["scale"] * t["group"]["at"][1],
            {"group.at.0": (), "group.at.1": (), "group.scale": ()},
        ),
    ],
    ids=lambda value: repr(value) if isinstance(value, dict) else None,
)
def test_theta_of_any_form(
    records: np.ndarray, initial: Any, read: Callable[[Any], Any], names: dict
) -> None:
    model = Model(
        lambda theta, record: -((record - read(theta)) ** 2) / 2,
        lambda theta: -sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(theta)),
        initial=initial,
    )
    posterior = seeded(model, records, chains=2)
    assert {k: v.shape[2:] for k, v in posterior.draws.items()} == names
    assert list(posterior.draws) == list(names)
    assert all(v.shape[:2] == (2, 30) for v in posterior.draws.values())
    assert all(v.dtype == "float32" for v in posterior.draws.values())
    for name in names:
        assert re.search(rf"^{re.escape(name)}\b", str(posterior), re.MULTILINE)


def test_scales_that_mean_the_same_make_the_same_chain(records: np.ndarray) -> None:
    model = Model(
        lambda theta, record: -((record - theta["a"] - theta["b"].sum()) ** 2),
        lambda theta: -(theta["a"] ** 2) - jnp.sum(theta["b"] ** 2),
        initial={"a": 0.0, "b": np.zeros(2)},
    )
    one = seeded(model, records, proposal=RandomWalk(0.2))
    like_theta, covariance = {"a": 0.2, "b": np.full(2, 0.2)}, 0.04 * np.eye(3)
    for scale in (like_theta, {"a": 0.2, "b": 0.2}, covariance):
        other = seeded(model, records, proposal=RandomWalk(scale))
        np.testing.assert_array_equal(one.accepted, other.accepted)
        np.testing.assert_allclose(
            one.draws["b"], other.draws["b"], rtol=1e-4, atol=1e-6
        )
