# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of noisy sums: their scores, Taylor's correction beside them, and coverage."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from families import FAMILIES, records_of

from dpmcmc import models
from dpmcmc.model.statistics import NoisyTotal
from dpmcmc.surrogates import StatisticsPlan, Sums


def simulated_total(model, theta, count, repeats, seed):
    """Sums of statistics of so many tables of records, simulated at θ."""
    with jax.enable_x64(True):
        like = {"x": jnp.zeros(()), "y": jnp.zeros(())}

        def total(key):
            def one(key):
                own, other = jax.random.split(key)
                record = like
                if "coefficients" in theta:
                    record = {**like, "x": 2 * jax.random.uniform(other, (3,)) - 1}
                return model.statistics.of_record(model.simulate(theta, own, record))

            return jax.vmap(one)(jax.random.split(key, count)).sum(0)

        keys = jax.random.split(jax.random.key(seed), repeats)
        return np.asarray(jax.jit(jax.vmap(total))(keys))


TRUTHS = {
    "bernoulli": {"logit": -1.0},
    "normal": {"mean": 0.7, "log_sd": 0.1},
    "normal mean": {"mean": np.array([1.2, 0.5, -0.7])},
    "poisson": {"log_rate": 0.8},
    "categorical": {"logits": np.array([0.5, -0.5, 0.2])},
    "linear": {
        "coefficients": np.array([0.5, -1.0, 0.3]),
        "intercept": 0.7,
        "log_sd": 0.0,
    },
}


@pytest.mark.parametrize("name", TRUTHS)
def test_scores_of_the_law_are_zero_on_average(name):
    """At the truth the slope of a right log-density has mean zero.

    Of 400 noisy sums, five deviations of the mean: false alarm below 1e-6 each. The
    normal approximation adds an error of order 1/√N, for which a tenth is allowed.
    """
    model, theta, count = FAMILIES[name](), TRUTHS[name], 2000
    totals = simulated_total(model, theta, count, 400, seed=1)
    deviation = 4.0 * model.statistics.bound
    noise = np.random.default_rng(2).standard_normal(totals.shape)
    noisy = totals + deviation * noise
    with jax.enable_x64(True):
        wide = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), theta)

        def score(total, possible):
            told = NoisyTotal(total, possible, deviation, count)
            slope = jax.grad(model.statistics.law)(wide, told)
            return jax.flatten_util.ravel_pytree(slope)[0]

        near = model.statistics.nearest
        possible = noisy
        if near is not None:
            possible = np.stack([near(one, count, deviation) for one in noisy])
        scores = np.asarray(jax.jit(jax.vmap(score))(noisy, possible))
    scaled = scores.mean(0) / scores.std(0)
    assert np.all(np.abs(scaled) < 5 / np.sqrt(len(scores)) + 0.1)


def test_the_law_of_a_noisy_count_is_exact():
    """Against a sum over all counts, for few records and strong noise."""
    statistics, count, deviation = models.bernoulli().statistics, 30, 2.5
    near = np.arange(count + 1)
    with jax.enable_x64(True):
        for noisy in (-20.0, -11.3, 0.2, 9.0, 17.5):
            told = NoisyTotal(jnp.array([noisy]), None, deviation, count)
            logits = [-3.0, -0.5, 1.0]
            found = [float(statistics.law({"logit": z}, told)) for z in logits]
            wanted = [
                np.log(
                    np.sum(
                        scipy.stats.binom.pmf(near, count, 1 / (1 + np.exp(-z)))
                        * scipy.stats.norm.pdf(noisy + count / 2, near, deviation)
                    )
                )
                for z in logits
            ]
            np.testing.assert_allclose(np.diff(found), np.diff(wanted), rtol=1e-7)


def test_a_count_with_much_noise_is_taken_as_normal():
    """The two forms agree where one takes over from the other, at σ = 127."""
    statistics, count = models.poisson(9).statistics, 2000
    with jax.enable_x64(True):
        laws = [
            [
                float(
                    statistics.law(
                        {"log_rate": rate},
                        NoisyTotal(jnp.array([-3000.0]), None, deviation, count),
                    )
                )
                for rate in (0.9, 1.0, 1.1, 1.2)
            ]
            for deviation in (127.0, 128.5)
        ]
    np.testing.assert_allclose(np.diff(laws[0]), np.diff(laws[1]), rtol=0.05, atol=0.02)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_sum_that_no_records_could_have_is_mended(name):
    """The posterior as if there were no noise stays proper, whatever the noise was."""
    model, generator = FAMILIES[name](), np.random.default_rng(3)
    nearest = model.statistics.nearest
    if nearest is None:
        pytest.skip("any sum will do")
    count, deviation = 200, 300 * model.statistics.bound
    raw = records_of(model, generator, 1)
    with jax.enable_x64(True):
        one = jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), raw)
        size = len(model.statistics.of_record(model.preparation(one)))
        for _ in range(20):
            total = deviation * generator.standard_normal(size)
            mended = nearest(total, count, deviation)
            assert np.all(np.isfinite(mended))
            np.testing.assert_allclose(
                nearest(mended, count, deviation), mended, atol=1e-6 * deviation
            )
            sums = Sums(
                total / model.statistics.bound,
                StatisticsPlan(model.statistics, count, 300.0),
                model,
                1.0,
                "float64",
            )
            held = model.statistics.said(model.initial, sums.told.noisy)
            assert np.isfinite(float(held))


# Taylor's correction


@pytest.mark.parametrize("name", ["normal", "poisson"])
def test_the_correction_agrees_with_the_law_where_noise_is_small(name):
    """Deviations of both within 3%, with noise of about half the posterior's own."""
    model, count = FAMILIES[name](), 20_000
    total = simulated_total(model, TRUTHS[name], count, 1, seed=4)[0]
    bound = model.statistics.bound
    plan = StatisticsPlan(model.statistics, count, 12.0)
    sums = Sums(total / bound, plan, model, 1.0, "float64")
    wide = np.diag(sums.shape.covariance + sums.noise_covariance)
    aware = np.diag(sums.aware_shape.covariance)
    np.testing.assert_allclose(np.sqrt(wide), np.sqrt(aware), rtol=0.03)
    assert np.all(wide > 1.02 * np.diag(sums.shape.covariance))


def test_the_law_keeps_inside_what_records_can_be_and_the_correction_does_not():
    """A rare event under strong noise: few counts below zero are believed in."""
    model, count = models.bernoulli(), 1000
    plan = StatisticsPlan(model.statistics, count, 20.0)  # a deviation of 10 counts
    sums = Sums(np.array([(4 - count / 2) / 0.5]), plan, model, 1.0, "float64")
    by_law = sums.aware_shape
    with jax.enable_x64(True):
        grid = np.linspace(-16, 0, 4000)
        logs = jax.vmap(
            lambda z: (
                model.log_prior({"logit": z}) + sums.aware.log_density({"logit": z})
            )
        )(jnp.asarray(grid))
    logs = np.asarray(logs)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = np.sum(weights / (1 + np.exp(-grid)))
    # a normal about 4 with deviation 10, cut off at zero, has mean 4 + 10 · 0.56
    inside = scipy.stats.truncnorm(-0.4, np.inf, 4, 10).mean() / count
    np.testing.assert_allclose(mean, inside, rtol=0.15)
    spread = np.sqrt(sums.noise_covariance[0, 0])
    assert spread > 1.5  # of a logit: half of these draws would say much less than one
    assert np.isfinite(by_law.covariance).all()


# Coverage


def covered(name, repeats, count, multiplier, seed):
    """How often 90% intervals of each coordinate hold the truth, by importance."""
    model, theta = FAMILIES[name](), TRUTHS[name]
    totals = simulated_total(model, theta, count, repeats, seed)
    generator = np.random.default_rng(seed)
    plan = StatisticsPlan(model.statistics, count, multiplier)
    truth = np.concatenate([np.ravel(theta[key]) for key in sorted(theta)])
    hits = []
    with jax.enable_x64(True):
        wide = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), theta)
        unravel = jax.flatten_util.ravel_pytree(wide)[1]

        @jax.jit
        def logs(points, noisy):
            def one(point):
                at = unravel(point)
                return model.log_prior(at) + model.statistics.law(at, noisy)

            return jax.vmap(one)(points)

        aware = jax.jit(
            lambda noisy: jax.hessian(
                lambda point: model.statistics.law(unravel(point), noisy)
            )(jnp.asarray(truth))
        )
        for total in totals:
            noisy_total = total + plan.deviation * generator.standard_normal(total.size)
            noisy = model.statistics.read(noisy_total, count, plan.deviation)
            # points about the truth, three times as wide as the posterior
            spread = np.linalg.cholesky(np.linalg.inv(-_positive(aware(noisy))))
            normals = scipy.stats.qmc.MultivariateNormalQMC(
                np.zeros(len(truth)), seed=1
            ).random(2048)
            points = truth + 3 * normals @ spread.T
            found = np.asarray(logs(jnp.asarray(points), noisy))
            weights = np.exp(
                found - found.max() + np.sum(normals**2, 1) / 2 - np.max(normals) ** 2
            )
            weights /= weights.sum()
            below = ((points < truth) * weights[:, None]).sum(0)
            hits.append((below > 0.05) & (below < 0.95))
    return np.mean(hits, axis=0)


def _positive(bend):
    values, vectors = np.linalg.eigh(np.asarray(bend))
    return (vectors * np.minimum(values, -1e-9)) @ vectors.T


@pytest.mark.parametrize("name", ["bernoulli", "normal"])
def test_intervals_cover(name):
    """60 tables: four binomial deviations below 90%; false alarm below 1e-4."""
    share = covered(name, 60, 500, 6.0, seed=5)
    assert np.all(share > 0.9 - 4 * np.sqrt(0.09 / 60))


@pytest.mark.slow
@pytest.mark.parametrize("name", TRUTHS)
def test_intervals_cover_as_often_as_they_say(name):
    """300 tables: within four binomial deviations of 90%, and 2% for approximations."""
    share = covered(name, 300, 2000, 8.0, seed=6)
    assert np.all(np.abs(share - 0.9) < 4 * np.sqrt(0.09 / 300) + 0.02)
