# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Columns, public arguments and a place to start are matched with a NumPyro model."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from adapting import ONE, adapt, mean_of_records, observe, refused
from numpyro import distributions as dist
from refusals import assert_refused

from dpmcmc.adapters import from_numpyro
from dpmcmc.model.preparation import Clamp, Preparation

ORDERED = dist.constraints.ordered_vector


# Arguments and columns.


def test_a_model_must_be_a_function():
    refused("model", "model is a str", "Pass the function itself")


@pytest.mark.parametrize("model", [dict, zip, min])
def test_a_model_must_be_written_in_python(model):
    refused(model, "NumPyro model: a function of the columns")


def test_a_missing_column_is_named():
    def model(x, weight, y): ...

    refused(model, "the model needs 'weight'", "columns are 'x', 'y'", "partial")


@pytest.mark.parametrize(
    "one", [ONE["x"], (ONE["x"], ONE["y"]), {"x": {"inner": ONE["x"]}}, {1: ONE["x"]}]
)
def test_records_without_names_are_refused(one):
    refused(mean_of_records(observe), "takes columns by name", one=one)


def test_a_bound_argument_must_not_be_a_column():
    model = partial(mean_of_records(observe), x=1.0)
    refused(model, "the argument 'x' is bound", "Rename or drop the column")


def test_public_arguments_may_be_bound_and_columns_ignored():
    def model(y, /, sd, *, size=3, **rest):
        assert size == 3
        assert set(rest) <= {"x"}
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(mean, sd), obs=y)

    adapted = adapt(partial(model, sd=2.0))
    record = {"x": jnp.float32(0), "y": jnp.float32(1), "unused": jnp.float32(0)}
    found = jax.jit(adapted.log_likelihood)({"mean": 1.0}, record)
    assert found == pytest.approx(-np.log(2 * np.sqrt(2 * np.pi)), rel=1e-5)


def test_a_preparation_comes_first():
    """The model reads the column that the preparation makes."""
    preparation = Preparation({"y": Clamp(-1.0, 1.0)})
    adapted = adapt(mean_of_records(observe), preparation=preparation)
    record = {"x": jnp.float32(0), "y": jnp.float32(5)}
    found = jax.jit(adapted.record_log_likelihood)({"mean": 1.0}, record)
    assert found == pytest.approx(-0.5 * np.log(2 * np.pi), rel=1e-5)


def test_no_array_of_all_records_is_made():
    """Forty gigabytes stand in for the records, on paper only."""
    wide = {"x": jax.ShapeDtypeStruct((100,), np.float32), "y": ONE["y"]}

    def model(x, y):
        slope = numpyro.sample("slope", dist.Normal(0, 1).expand([100]).to_event(1))
        numpyro.deterministic("size", jnp.sum(slope**2))
        with numpyro.plate("records", y.shape[0]):
            part = numpyro.sample("part", dist.Bernoulli(0.5))
            numpyro.sample("y", dist.Normal(x @ slope + part, 1), obs=y)

    adapted = from_numpyro(model, 10**8, wide)
    assert np.isfinite(adapted.log_prior(adapted.initial))
    theta = adapted.draw_prior(jax.random.key(0))
    assert adapted.transform(theta)["size"] > 0


def test_a_count_must_be_a_number():
    assert_refused(lambda: from_numpyro(observe, 0, ONE), "count is 0", "at least 1")


# The place to start.


def positive(y):
    sd = numpyro.sample("sd", dist.HalfNormal(1).expand([2]).to_event(1))
    which = numpyro.sample("which", dist.Bernoulli(0.5))
    with numpyro.plate("records", y.shape[0]):
        numpyro.sample("y", dist.Normal(which, sd[0]), obs=y)


def test_a_start_is_given_on_the_scale_of_the_sites():
    adapted = adapt(positive, initial={"sd": [2.0, 3.0], "which": 1})
    shown = adapted.transform(adapted.initial)
    np.testing.assert_allclose(shown["sd"], [2, 3], rtol=1e-6)
    assert shown["which"] == 1


def test_a_chain_starts_at_the_centre_of_the_prior():
    default = adapt(positive)
    shown = default.transform(default.initial)
    np.testing.assert_allclose(shown["sd"], 0.6744898, rtol=1e-5)  # the median

    def heavy(y):
        sd = numpyro.sample("sd", dist.HalfCauchy(3))  # its mean is infinite
        cuts = numpyro.sample("cuts", dist.ImproperUniform(ORDERED, (), (2,)))
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(cuts[0], sd), obs=y)

    start = adapt(heavy).initial
    np.testing.assert_allclose(np.exp(start["sd"]), 3, rtol=1e-5)
    assert not np.any(start["cuts"])


@pytest.mark.parametrize(
    ("initial", "said"),
    [
        ({"mean": 0.0}, "initial names 'mean', which is no parameter"),
        ({"sd": 1.0}, "'sd' as float32[scalar]; it must be real numbers of shape (2,)"),
        ({"sd": ["a", "b"]}, "'sd' as"),
        ({"sd": [1.0, -1.0]}, "initial has 'sd' outside the support"),
        ({"sd": [1.0, np.nan]}, "initial has 'sd' outside the support"),
        ({"which": 2}, "initial has 'which' outside the support"),
    ],
)
def test_a_start_that_cannot_be_is_refused(initial, said):
    refused(positive, said, initial=initial)


def test_a_start_must_have_a_finite_prior():
    def model(y):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        numpyro.factor("far", jnp.where(mean > 100, 0.0, -jnp.inf))
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(mean, 1), obs=y)

    refused(model, "prior is -inf at the starting point mean = ", "Give initial=")
    adapt(model, initial={"mean": 101.0})
