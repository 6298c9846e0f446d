# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A PyMC model that cannot be run by record is refused, with what to do."""

from functools import partial
from typing import Any

import jax
import numpy as np
import pymc as pm
import pytensor
import pytest
from refusals import assert_refused

from dpmcmc.adapters import from_pymc

COUNT = 30
ONE = {
    "x": jax.ShapeDtypeStruct((), np.float32),
    "y": jax.ShapeDtypeStruct((), np.float32),
}


def refused(model: Any, *parts: str, one: Any = ONE, **settings: Any) -> str:
    return assert_refused(lambda: from_pymc(model, COUNT, one, **settings), *parts)


def with_mean(inside):
    """A model with a mean, and what ``inside`` says."""

    def model(x, y):
        with pm.Model() as made:
            inside(pm.Normal("mean", 0, 1), x, y)
        return made

    return model


MIXED = {
    "mean of x": lambda mean, x, y: pm.Normal("y", mean * x.mean(), 1, observed=y),
    "centred": lambda mean, x, y: pm.Normal("y", mean, 1, observed=y - y.mean()),
    "number": lambda mean, x, y: pm.Normal("y", mean, len(y), observed=y),
    "neighbours": lambda mean, x, y: pm.Normal("y", mean, 1, observed=y[::-1] + x),
}


@pytest.mark.parametrize("name", MIXED)
def test_a_likelihood_that_mixes_records_is_refused(name):
    refused(with_mean(MIXED[name]), "depends on the other records", "synthetic")


PRIORS = {
    "mean": lambda y: {"mu": y.mean(), "sigma": 1},
    "sd": lambda y: {"mu": 0, "sigma": pm.math.maximum(1, y.std())},
    "one": lambda y: {"mu": 0, "sigma": pm.math.exp(y[0])},
}


@pytest.mark.parametrize("name", PRIORS)
def test_a_prior_made_from_records_is_refused(name):
    def model(y):
        with pm.Model() as made:
            mean = pm.Normal("mean", **PRIORS[name](y))
            pm.Normal("y", mean, 1, observed=y)
        return made

    refused(model, "the prior of 'mean' depends on the records", "'y'", "public")


@pytest.mark.parametrize("kind", ["continuous", "discrete"])
def test_a_latent_for_each_record_is_refused(kind):
    def inside(mean, x, y):
        if kind == "continuous":
            own = pm.Normal("own", mean, 1, shape=y.shape[0])
        else:
            own = pm.Bernoulli("own", 0.5, shape=len(y))
        pm.Normal("y", own, 1, observed=y)

    advice = "Marginalise it" if kind == "continuous" else "Sum over it"
    refused(with_mean(inside), "'own' has shape (30,), which changes", advice)


def test_a_column_that_is_not_observed_is_refused():
    def model(x, y=None):
        with pm.Model() as made:
            mean = pm.Normal("mean", 0, 1)
            pm.Normal("y", mean * x, 1, observed=y)
        return made

    refused(model, "'y' has shape (30,)", "observed=", one={"x": ONE["x"]})
    refused(with_mean(lambda mean, x, y: None), "no observed variable that reads")


def test_each_record_has_its_own_term():
    def sums(mean, x, y):
        pm.Potential("all", -pm.math.sum((y - mean) ** 2))

    refused(with_mean(sums), "the potential 'all' has log-densities of shape ()")

    def constants(mean, x, y):
        pm.Normal("y", mean + np.zeros(COUNT), 1, observed=y)

    refused(with_mean(constants), "of the model of 1 record cannot", "len(y)")


def test_what_changes_with_the_number_of_records_is_refused():
    def inside(mean, x, y):
        if len(y) > 1:
            pm.Normal("more", 0, 1)
        pm.Normal("y", mean, 1, observed=y)

    refused(with_mean(inside), "other variables ('more')", "one record at a time")


def test_randomness_that_is_no_variable_is_refused():
    def inside(mean, x, y):
        pm.Normal("y", mean + pm.Normal.dist(0, 1), 1, observed=y)

    refused(with_mean(inside), "holds a random draw", "Name it")

    def scaled(mean, x, y):
        pm.Normal("y", mean, 1, observed=y, total_size=1000)

    refused(with_mean(scaled), "minibatch (total_size)", "MinibatchBarker")


def test_values_cannot_be_read_while_a_model_is_built():
    def sized(mean, x, y):
        pm.Normal("effect", 0, 1, shape=int(y.max()))

    line = sized.__code__.co_firstlineno + 1
    said = refused(with_mean(sized), f"{__file__}:{line}", "functools.partial")
    assert said.startswith("the model failed with TypeError")

    def listed(mean, x, y):
        pm.Normal("effect", 0, 1, shape=len(np.unique(y)))

    refused(with_mean(listed), "the model failed with TypeError", "pm.math")

    def shared(mean, x, y):
        pm.Normal("y", mean, 1, observed=pytensor.shared(y))

    refused(with_mean(shared), "or as pm.Data(name, column)")

    def by_group(group, y):
        with pm.Model() as made:
            mean = pm.Normal("mean", 0, 1)
            pm.Normal("y", mean * np.arange(3.0)[group], 1, observed=y)
        return made

    groups = {"group": jax.ShapeDtypeStruct((), np.int32), "y": ONE["y"]}
    refused(by_group, "pytensor.tensor.as_tensor(array)[column]", one=groups)

    def ranked(mean, x, y):
        pm.Normal("y", mean, 1, observed=np.percentile(y, 50))

    refused(with_mean(ranked), "NumPy and pandas cannot compute with it")


def test_what_is_no_model_is_refused():
    def forgotten(y):
        with pm.Model():
            pm.Normal("y", 0, 1, observed=y)

    refused(forgotten, "returns a NoneType", "return model")

    def nothing(y):
        with pm.Model() as made:
            pm.Normal("y", 0, 1, observed=y)
        return made

    refused(nothing, "no free random variable")
    refused(partial(nothing, y=1.0), "'y' is bound with functools.partial")
    refused(pm.Model, "must be a PyMC model")
    refused(lambda z: None, "needs 'z'", "columns are 'x', 'y'")


def test_places_to_start_are_checked():
    def model(y):
        with pm.Model() as made:
            sd = pm.HalfNormal("sd", 1)
            pm.Normal("y", 0, sd, observed=y)
        return made

    start = from_pymc(model, COUNT, ONE, initial={"sd": 2.0}).initial["sd"]
    np.testing.assert_allclose(start, np.log(2), rtol=1e-6)
    refused(model, "'sd' outside the support", initial={"sd": -1.0})
    refused(model, "'scale', which is no parameter", initial={"scale": 1.0})
    refused(model, "shape ()", initial={"sd": [1.0, 2.0]})


def test_a_model_built_beforehand_needs_names_of_columns():
    with pm.Model() as made:
        mean = pm.Normal("mean", 0, 1)
        pm.Normal("z", mean, 1, observed=np.zeros(4))
    refused(made, "no column ('x', 'y')", "which are 'z'")

    with pm.Model() as partly:
        mean = pm.Normal("mean", 0, 1)
        pm.Normal("y", mean * np.arange(4.0), 1, observed=np.zeros(4))
    refused(partly, "of the model of 30 records cannot be computed")
