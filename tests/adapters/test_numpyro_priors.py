# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Priors of an adapted model: what stands outside the plate of the records."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from adapting import by_record, of_one, simple
from numpyro import distributions as dist
from numpyro.infer.util import potential_energy
from scipy import stats

from dpmcmc.adapters import from_numpyro


def test_a_support_may_depend_on_another_parameter():
    def model(y):
        top = numpyro.sample("top", dist.Gamma(3, 1))
        below = numpyro.sample("below", dist.Uniform(0, top))
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(below, 1), obs=y)

    with jax.enable_x64(True):
        adapted = simple(model, "y")
        theta = {"top": jnp.array(0.3), "below": jnp.array(-0.7)}
        top = np.exp(0.3)
        below = top / (1 + np.exp(0.7))
        shown = adapted.transform(theta)
        np.testing.assert_allclose([shown["top"], shown["below"]], [top, below])
        jacobian = 0.3 + np.log(below * (top - below) / top)
        expected = stats.gamma.logpdf(top, 3) - np.log(top) + jacobian
        np.testing.assert_allclose(adapted.log_prior(theta), expected)
        records = {"y": jnp.zeros(7)}
        energy = jax.jit(partial(potential_energy, model, ()))(records, theta)
        total = adapted.log_prior(theta) + by_record(adapted, theta, records).sum()
        np.testing.assert_allclose(total, -energy)


def test_factors_and_public_observations_outside_the_plate_are_prior():
    def model(y):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        numpyro.factor("pull", -((mean - 3) ** 2))
        numpyro.sample("earlier study", dist.Normal(mean, 2), obs=1.5)
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(mean, 1), obs=y)

    adapted = simple(model, "y")
    expected = stats.norm.logpdf(0.7) - 2.3**2 + stats.norm.logpdf(1.5, 0.7, 2)
    np.testing.assert_allclose(adapted.log_prior({"mean": 0.7}), expected, rtol=1e-5)
    assert adapted.draw_prior is None  # what the site draws is not the prior
    assert adapted.simulate is not None


def test_a_public_observation_beside_records_in_no_plate_is_prior():
    """Also where a run on few records has as many of them as it has entries."""

    def model(y):
        level = numpyro.sample("level", dist.Normal(0, 1).expand([1]))
        numpyro.sample("guess", dist.Normal(level, 1), obs=jnp.ones(1))
        numpyro.sample("y", dist.Normal(level, 1), obs=y)

    made = from_numpyro(model, 50, {"y": jax.ShapeDtypeStruct((), np.float32)})
    theta = {"level": jnp.array([0.4])}
    found = [made.log_prior(theta), made.log_likelihood(theta, {"y": 2.0})]
    expected = [
        stats.norm.logpdf(0.4) + stats.norm.logpdf(0.6),
        stats.norm.logpdf(1.6),
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_number_of_records_may_enter_the_prior():
    """It is public; the likelihood of one record still sees the right value."""

    def model(y):
        edge = numpyro.sample("edge", dist.Uniform(0, y.shape[0]))
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(edge, 1), obs=y)

    adapted = simple(model, "y", count=10)
    theta = {"edge": jnp.float32(0.0)}
    assert adapted.transform(theta)["edge"] == 5
    found = of_one(adapted, theta, {"y": jnp.float32(4.0)})
    np.testing.assert_allclose(found, stats.norm.logpdf(4, 5), rtol=1e-5)


@pytest.mark.parametrize("validation", [False, True])
def test_a_discrete_parameter_stays_as_it_is(validation):
    """And has no density outside its support, whether or not NumPyro checks it."""

    def model(y):
        is_in = numpyro.sample("is_in", dist.Bernoulli(0.3).expand([2]).to_event(1))
        which = numpyro.sample("which", dist.DiscreteUniform(1, 4))
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(jnp.sum(is_in) + which, 1), obs=y)

    with numpyro.validation_enabled(validation):
        adapted = simple(model, "y")
        assert all(value.dtype.kind == "i" for value in adapted.initial.values())
        theta = {"is_in": jnp.array([1, 0]), "which": jnp.array(2)}
        prior, chance = adapted.log_prior(theta), 0.3 * 0.7 / 4
        np.testing.assert_allclose(prior, np.log(chance), rtol=1e-5)
        found = of_one(adapted, theta, {"y": jnp.float32(1.0)})
        np.testing.assert_allclose(found, stats.norm.logpdf(1, 3), rtol=1e-5)
        for outside in ({"which": jnp.array(5)}, {"is_in": jnp.array([2, 0])}):
            assert adapted.log_prior({**theta, **outside}) == -np.inf


def test_an_improper_prior_cannot_be_drawn_from_but_can_be_used():
    def model(y):
        law = dist.ImproperUniform(dist.constraints.positive, (), ())
        sd = numpyro.sample("sd", law)
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(0, sd), obs=y)

    adapted = simple(model, "y")
    assert adapted.draw_prior is None
    np.testing.assert_allclose(adapted.log_prior({"sd": 0.4}), 0.4, rtol=1e-6)
