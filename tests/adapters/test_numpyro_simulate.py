# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Records drawn from an adapted model have the law of the model."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from numpyro import distributions as dist
from numpyro import handlers
from scipy import stats
from zoo import ZOO, adapted, columns

from dpmcmc.adapters import from_numpyro

FALSE_ALARM = 1e-6
"""The chance that one comparison fails although the law is right."""

DRAWS = 20_000


def simulated(model, theta, record, seed=1):
    keys = jax.random.split(jax.random.key(seed), DRAWS)
    draw = jax.jit(jax.vmap(model.simulate, (None, 0, None)))
    return jax.device_get(draw(theta, keys, record))


def assert_law(draws, law):
    """By a Kolmogorov–Smirnov test, of a continuous law."""
    assert stats.kstest(draws.astype(float), law.cdf).pvalue > FALSE_ALARM
    shifted = stats.kstest(draws.astype(float), lambda x: law.cdf(x - 0.1 * law.std()))
    assert shifted.pvalue < FALSE_ALARM, "the test can fail"


def assert_frequencies(draws, chances):
    """By a χ² test, of a law on 0, 1, …, k; the last holds all that is larger."""
    counts = np.bincount(np.minimum(draws, len(chances) - 1), minlength=len(chances))
    expected = np.asarray(chances) / np.sum(chances) * len(draws)
    assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM


def one_of(name, row=0):
    return {key: column[row] for key, column in columns(ZOO[name], "float32").items()}


def test_a_regression_copies_the_covariates():
    model, record = adapted("linear"), one_of("linear")
    theta = {
        "intercept": jnp.float32(1),
        "slope": jnp.array([1.0, 0.0, 2.0]),
        "sd": jnp.float32(np.log(1.5)),
    }
    found = simulated(model, theta, record)
    np.testing.assert_array_equal(found["x"], np.tile(record["x"], (DRAWS, 1)))
    line = float(1 + record["x"] @ theta["slope"])
    assert_law(found["y"], stats.norm(line, 1.5))
    assert found["y"].dtype == np.float32


def test_whole_numbers_stay_whole():
    model, record = adapted("logistic"), one_of("logistic")
    theta = {"slope": jnp.array([0.5, 1.0, -1.0])}
    found = simulated(model, theta, record)["y"]
    assert found.dtype == record["y"].dtype
    chance = 1 / (1 + np.exp(-float(record["x"] @ theta["slope"])))
    assert_frequencies(found, [1 - chance, chance])


def test_discrete_latents_are_drawn_too():
    model, record = adapted("mixture_enumerated"), one_of("mixture_enumerated")
    theta = {name: jnp.asarray(value) for name, value in model.initial.items()}
    theta = {**theta, "low": jnp.float32(-2), "gap": jnp.float32(np.log(5))}
    found = simulated(model, theta, record)["y"]
    low = float(model.transform(theta)["weights"][0])
    # Five deviations apart: what lies below the middle is the lower part.
    tail = stats.norm.sf(2.5)
    chance = low * (1 - tail) + (1 - low) * tail
    assert_frequencies((found > 0.5).astype(int), [chance, 1 - chance])
    mean, square = 3 - 5 * low, 1 + 4 * low + 9 * (1 - low)
    z = (found.mean() - mean) / np.sqrt((square - mean**2) / DRAWS)
    assert abs(z) < stats.norm.isf(FALSE_ALARM / 2)


def test_a_later_site_sees_the_earlier_one_redrawn():
    """Although the model reads the column, not the site."""
    model, record = adapted("several_sites"), one_of("several_sites")
    theta = {
        "rate": jnp.float32(np.log(2)),
        "price": jnp.array([1.0, 3.0]),
        "sd": jnp.float32(np.log(0.5)),
    }
    found = simulated(model, theta, record)
    rate = 2 * np.exp(0.3 * float(record["x"]))
    chances = [*stats.poisson.pmf(np.arange(6), rate), stats.poisson.sf(5, rate)]
    assert_frequencies(found["visits"], chances)
    assert_law(found["cost"] - 1 - 3 * found["visits"], stats.norm(0, 0.5))


def test_a_latent_and_two_sites_in_a_row():
    def model(z, a, b):
        shift = numpyro.sample("shift", dist.Normal(0, 1))
        with numpyro.plate("records", a.shape[0]):
            part = numpyro.sample("part", dist.Bernoulli(z))
            first = numpyro.sample("a", dist.Normal(10.0 * part + shift, 1), obs=a)
            numpyro.sample("b", dist.Normal(first - 10.0 * part, 0.5), obs=b)

    one = {name: jax.ShapeDtypeStruct((), np.float32) for name in "zab"}
    adapted_model = from_numpyro(model, 5, one)
    record = {"z": jnp.float32(0.3), "a": jnp.float32(0), "b": jnp.float32(0)}
    found = simulated(adapted_model, {"shift": jnp.float32(0.5)}, record)
    part = (found["a"] > 5).astype(int)
    assert_frequencies(part, [0.7, 0.3])
    assert_law(found["a"] - 10 * part, stats.norm(0.5, 1))
    assert_law(found["b"] - found["a"] + 10 * part, stats.norm(0, 0.5))


@pytest.mark.parametrize("name", ZOO)
def test_every_model_that_observes_columns_can_be_drawn_from(name):
    """Not one with a factor: it has a density, but nothing that draws."""
    model = adapted(name)
    if name == "survival":
        assert model.simulate is None
        return
    record = one_of(name)
    theta = {key: jnp.asarray(value) for key, value in model.initial.items()}
    key = jax.random.key(0)
    drawn = jax.eval_shape(model.simulate, theta, key, record)
    assert jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), drawn) == jax.tree.map(
        lambda leaf: (leaf.shape, leaf.dtype), record
    )


def test_a_changed_column_cannot_be_drawn():
    def model(y):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        with numpyro.plate("records", y.shape[0]):
            numpyro.sample("y", dist.Normal(mean, 1), obs=jnp.log(y))

    one = {"y": jax.ShapeDtypeStruct((), np.float32)}
    assert from_numpyro(model, 5, one).simulate is None


def test_the_prior_is_drawn_unconstrained():
    """The scale has a half-normal prior, the weight a beta one, given the scale."""

    def model(y):
        sd = numpyro.sample("sd", dist.HalfNormal(2))
        share = numpyro.sample("share", dist.Uniform(0, sd))
        with numpyro.plate("records", y.shape[0]), handlers.scale(scale=2.0):
            numpyro.sample("y", dist.Normal(share, sd), obs=y)

    one = {"y": jax.ShapeDtypeStruct((), np.float32)}
    adapted_model = from_numpyro(model, 5, one)
    keys = jax.random.split(jax.random.key(2), DRAWS)
    theta = jax.jit(jax.vmap(adapted_model.draw_prior))(keys)
    shown = jax.device_get(jax.vmap(adapted_model.transform)(theta))
    assert_law(np.exp(np.asarray(theta["sd"])), stats.halfnorm(0, 2))
    assert_law(shown["sd"], stats.halfnorm(0, 2))
    assert_law(shown["share"] / shown["sd"], stats.uniform())
