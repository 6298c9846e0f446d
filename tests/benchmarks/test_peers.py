# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Published methods do what their papers say, on posteriors that are known."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.peers import (
    dp_fast_mh,
    dp_hmc,
    dp_sgld,
    dp_sgnht,
    dpvi,
    na_dpvi,
    noisy_statistics,
    one_posterior_sample,
    penalty,
)
from benchmarks.peers.bardenet import BernsteinTest
from benchmarks.peers.experiments import linear
from benchmarks.peers.korattikara import SequentialTest
from benchmarks.peers.scores import (
    LEVELS,
    calibration_error,
    coverage_error,
    discrepancy,
    reference_frequencies,
    symmetric_divergence,
)
from benchmarks.peers.seita import BarkerBatchTest
from benchmarks.peers.target import Budget, Density, Refused, Target, batch_of
from benchmarks.peers.walks import Test, Walk, walk
from dpmcmc.accounting import GaussianBatchSum, certify_delta, certify_epsilon
from dpmcmc.accounting.curves import GaussianCurve

RICH = Budget(1e4, 1e-5)
"""So large that noise is nothing; μ is about 130."""

COUNT = 64

# x ~ N(θ, 1), θ ~ N(0, 10²): the posterior is normal, with sd 1/8.
NORMAL = Density(
    lambda theta, record: -((record["x"] - theta[0]) ** 2) / 2,
    lambda theta: -(theta[0] ** 2) / 200,
    np.zeros(1),
)


@pytest.fixture(scope="module")
def target() -> Target:
    x = np.random.default_rng(0).normal(0.5, 1, COUNT).astype(np.float32)
    return Target(NORMAL, {"x": x - x.mean() + 0.5})


def is_right(draws: np.ndarray, mean: float = 0.15, ratio: float = 0.35) -> None:
    """Mean and sd of the posterior, N(0.5, 1/8)."""
    assert abs(draws.mean() - 0.5) < mean
    assert abs(draws.std() * 8 - 1) < ratio


def test_variational_inference_finds_the_posterior(target: Target) -> None:
    given = dpvi.Settings(clip=10.0, steps=1500, rate=1.0, scale=1.0, start=-1.0)
    width = given.clip * 1e-6
    places, _ = dpvi._run(  # with next to no noise, a small step is asked for
        jax.random.key(0),
        target.records,
        width,
        NORMAL,
        replace(given, speed=2e-3 * width * (given.steps * 2) ** 0.5),
        COUNT,
    )
    mean, spread = np.asarray(places)[-500:].mean(0)
    assert abs(mean - 0.5) < 0.02
    assert abs(np.logaddexp(0, spread) * 8 - 1) < 0.1


def test_aligned_gradients_find_the_same(target: Target) -> None:
    given = dpvi.Settings(clip=10.0, steps=3000, rate=1.0, start=-1.0, is_aligned=True)
    width = given.clip * 1e-6
    speed = 1e-3 * width * (given.steps * 2) ** 0.5
    places, _ = dpvi._run(
        jax.random.key(0),
        target.records,
        width,
        NORMAL,
        replace(given, speed=speed),
        COUNT,
    )
    mean, spread = np.asarray(places)[-1500:].mean(0)
    assert abs(mean - 0.5) < 0.05
    assert abs(np.logaddexp(0, spread) * 8 - 1) < 0.25


def test_the_noise_of_a_fit_is_what_the_budget_asks_for(target: Target) -> None:
    given = dpvi.Settings(clip=2.0, steps=50, rate=1.0)
    found = dpvi.fit(target, Budget(1.0, 1e-5), given, 0)
    # 50 releases of sums over all records are one with noise smaller by √50.
    mu = 2 * given.clip / found.noise[0] * 50**0.5
    assert abs(mu / GaussianCurve.within(1.0, 1e-5).mu - 1) < 1e-3
    assert found.places.shape == (50, 2)


def test_a_noisy_trace_says_where_the_optimum_is() -> None:
    generator = np.random.default_rng(1)
    steps, slope, best, noise = 4000, 3.0, 0.7, 2.0
    inside, drawn = 0, []
    for _ in range(40):
        places = generator.normal(0, 0.5, steps)
        gradients = slope * (places - best) + noise * generator.normal(size=steps)
        found = na_dpvi.optimum(places, gradients, noise, generator, 400)
        low, high = np.quantile(found, [0.05, 0.95])
        inside += low <= best <= high
        drawn.append(found.std())
    # Least squares: the intercept has noise/√T, the slope noise/(0.5 √T).
    exact = noise / slope / steps**0.5 * (1 + (best / 0.5) ** 2) ** 0.5
    assert abs(np.mean(drawn) / exact - 1) < 0.35
    assert inside >= 30  # 36 expected; fewer than 30 have probability 0.005


def test_the_penalty_keeps_detailed_balance() -> None:
    """P(accept | r) / P(accept | −r) is eʳ whatever the noise."""
    keys = jax.random.split(jax.random.key(0), 200_000)
    sd, ratio = jnp.array(1.0), 0.8
    up, down = (
        float(jnp.mean(jax.vmap(lambda k: penalty.is_accepted(k, r, sd))(keys)))  # noqa: B023
        for r in (jnp.array(ratio), jnp.array(-ratio))
    )
    assert abs(np.log(up / down) - ratio) < 0.02


def test_chains_find_the_posterior(target: Target) -> None:
    # τ so small that 1,000 steps cost about the budget; s is then 0.1 of a ratio.
    found = penalty.draws(target, RICH, penalty.Settings(0.03, 4.0, 0.25), 0)
    is_right(found)
    given = dp_hmc.Settings(0.06, 0.06, 4.0, 10.0, 0.1, 4)
    is_right(dp_hmc.draws(target, RICH, given, 0))


def test_langevin_dynamics_finds_the_posterior(target: Target) -> None:
    given = dp_sgld.Settings(COUNT, 100.0, 0.05)
    is_right(dp_sgld.draws(target, Budget(1e7, 1e-5), given, 0))
    doubled = dp_sgld.draws(target, Budget(1e7, 1e-5), replace(given, drift=1.0), 0)
    # with the drift of the published code, half the variance
    assert abs(doubled.var() * 128 - 1) < 0.35


def test_a_thermostat_finds_the_posterior(target: Target) -> None:
    given = dp_sgnht.Settings(COUNT, 100.0, 2.0, 10.0)
    is_right(dp_sgnht.draws(target, Budget(1e7, 1e-5), given, 0), ratio=0.4)


def test_published_prices_are_higher() -> None:
    """A sensitivity that is charged twice buys about a quarter of the steps."""
    given, budget = dp_sgld.Settings(100, 1.0, 0.1), Budget(1.0, 1e-6)
    ours = dp_sgld.affordable(given, 1000, budget)
    theirs = dp_sgld.published_steps(given, 1000, budget)
    assert 0.15 < theirs / ours < 0.3
    spent = certify_epsilon({dp_sgld.event(given, 1000): ours * given.chains}, 1e-6)
    assert spent.epsilon <= 1.0


def test_noisy_statistics_include_the_noise(target: Target) -> None:
    given = noisy_statistics.Settings(
        lambda record: jnp.reshape(record["x"], (1,)),
        lambda theta: (theta, jnp.eye(1)),
        bound=5.0,
    )
    budget = Budget(2.0, 1e-5)
    sd = noisy_statistics.noise_of(5.0, budget)
    found = noisy_statistics.draws(target, budget, given, 0)
    variance = (COUNT + sd**2) / COUNT**2
    exact = (1 / variance + 1 / 100) ** -0.5
    assert abs(found.std() / exact - 1) < 0.1


def test_statistics_of_covariates_may_be_conditioned_on() -> None:
    """Conditional and joint densities differ by a constant; so do no draws."""
    given, generator = linear._STATISTICS, np.random.default_rng(0)
    fixed, spread = given.covariates

    def whole(theta: jax.Array) -> tuple[jax.Array, jax.Array]:
        mean, covariance, cross = given.moments(theta)
        rows = [[jnp.asarray(spread), cross.T], [cross, covariance]]
        return jnp.append(jnp.asarray(fixed), mean), jnp.block(rows)

    joint = replace(given, moments=whole, covariates=None)
    count, sd = 5000, 300.0
    with jax.enable_x64(True):
        thetas = generator.normal(size=(6, 12)) * 0.3 - np.eye(12)[-1] * 4
        mean, _ = whole(jnp.asarray(thetas[0]))
        noisy = count * np.asarray(mean) + sd * generator.normal(size=78)
        one, two = (
            np.asarray(jax.vmap(density)(jnp.asarray(thetas)))
            for density in (
                noisy_statistics.log_density(noisy, count, sd, some)
                for some in (given, joint)
            )
        )
    assert np.std(one) > 10
    np.testing.assert_allclose(one - two, (one - two)[0], atol=1e-7)


def test_moments_of_products_are_those_of_records() -> None:
    given, generator = linear._STATISTICS, np.random.default_rng(1)
    count, variance = 40_000, 0.03
    w = 0.3 * generator.normal(size=11)
    x = np.column_stack([generator.normal(size=(count, 10)), np.ones(count)])
    y = x @ w + variance**0.5 * generator.normal(size=count)
    with jax.enable_x64(True):
        made = np.asarray(jax.vmap(given.statistic)({"x": x, "y": y}))
        theta = jnp.append(jnp.asarray(w), np.log(variance))
        parts = [np.asarray(part) for part in given.moments(theta)]
    mean = np.append(given.covariates[0], parts[0])
    covariance = np.block([[given.covariates[1], parts[2].T], [parts[2], parts[1]]])
    # 5 sd of 78 means: a false alarm below 1e-4; a covariance of products has an sd of
    # up to 10 / √n (the squares of squares of normal variables)
    wide = np.sqrt(np.diag(covariance)) + 1e-9
    assert np.max(np.abs(made.mean(0) - mean) / wide) < 5 / count**0.5
    found = np.cov(made.T)
    assert np.max(np.abs(found - covariance) / np.outer(wide, wide)) < 50 / count**0.5


def test_one_draw_costs_the_range_of_its_density(target: Target) -> None:
    power = one_posterior_sample.power
    assert abs(2 * 3.0 * power(3.0, 1, Budget(1.0, 1e-12)) - 1.0) < 1e-4
    assert power(0.1, 1, Budget(1.0, 1e-6)) > 1 - 1e-5
    assert power(3.0, 100, Budget(1.0, 1e-6)) < power(3.0, 10, Budget(1.0, 1e-6)) / 2
    given = one_posterior_sample.Settings(0.0, 50.0, walk=0.2, steps=200, draws=300)
    is_right(one_posterior_sample.draws(target, Budget(1e6, 1e-5), given, 0))


def test_a_budget_may_buy_nothing(target: Target) -> None:
    with pytest.raises(Refused):
        penalty.draws(target, Budget(0.01, 1e-9), penalty.Settings(0.01, 1.0, 0.1), 0)


@pytest.mark.parametrize("batch", [3, 30, 60])
def test_batches_hold_no_record_twice(batch: int) -> None:
    records = {"x": jnp.arange(100)}
    drawn = jax.vmap(lambda key: batch_of(key, records, batch)["x"])(
        jax.random.split(jax.random.key(0), 2000)
    )
    rows = np.asarray(drawn)
    assert all(len(set(row)) == batch for row in rows)
    counts = np.bincount(rows.ravel(), minlength=100)
    # binomial, sd 7.6, 20 or 22: 5 sd
    assert np.abs(counts - 20 * batch).max() < 5 * (20 * batch) ** 0.5


def test_scores_of_known_draws() -> None:
    generator = np.random.default_rng(0)
    truths, right, narrow = generator.normal(size=(400, 2)), [], []
    for truth in truths:
        seen = truth + generator.normal(size=2)
        draws = seen / 2 + generator.normal(size=(200, 2)) / 2**0.5
        right.append(reference_frequencies(draws, truth, generator))
        about = draws.mean(0)
        draws = about + (draws - about) / 4
        narrow.append(reference_frequencies(draws, truth, generator))
    assert coverage_error(np.array(right)) < 0.035  # 0.02 expected
    assert coverage_error(np.array(narrow)) > 0.2
    assert coverage_error(np.tile((np.arange(1000) + 0.5) / 1000, (2, 1))) < 1e-3
    assert len(LEVELS) == 21

    predicted = generator.random(40_000)
    outcomes = generator.random(40_000) < predicted
    assert calibration_error(outcomes, predicted) < 0.012
    assert calibration_error(outcomes, predicted / 2) > 0.2

    one, two = generator.normal(size=(2, 800, 3))
    assert discrepancy(one, two, generator) < 0.06
    assert discrepancy(one, two + 2, generator) > 0.4


@pytest.mark.parametrize(
    "test",
    [
        dp_fast_mh.NoisyPoissonTest(0.5, 40.0, 0.3),
        SequentialTest(batch=20, tolerance=0.02),
        BernsteinTest(range=1.0, first=20),
        BarkerBatchTest(batch=16),
    ],
    ids=["DP-Fast-MH", "Korattikara", "Bardenet", "Seita"],
)
def test_subsampled_walks_find_the_posterior(test: Test, target: Target) -> None:
    of = Walk(
        lambda theta, x: -((x - theta[0]) ** 2) / 2,
        lambda theta: -(theta[0] ** 2) / 200,
        np.array([0.5]),
        0.15,
    )
    made, read = walk(of, target.records["x"], test, 3000, 0)
    is_right(made, mean=0.06, ratio=0.3)
    assert read > 0


def test_a_poisson_batch_costs_about_what_a_fixed_one_costs() -> None:
    """A little more, for the records that are drawn twice."""
    mu, rate = 0.5, 0.02
    poisson = certify_delta({dp_fast_mh.PoissonBatchSum(mu, rate): 100}, 0.2).delta
    fixed = certify_delta({GaussianBatchSum(2 / mu, 20, 1000): 100}, 0.2).delta
    assert 0.9 * fixed < poisson < 3 * fixed
    noise = dp_fast_mh.noise_of(0.01, 500.0, 1000, 100, Budget(1.0, 1e-6))
    v = 2 * np.arctanh(10 / 1010)
    event = dp_fast_mh.PoissonBatchSum(2 * v / noise, 0.51)
    assert certify_epsilon({event: 100}, 1e-6).epsilon <= 1.0 + 1e-6


def test_divergence_is_zero_for_the_exact_weights() -> None:
    edges = (np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 2.0]))
    weights = np.array([[0.4, 0.1], [0.2, 0.3]])
    centres = np.array([[0.5, 0.5], [0.5, 1.5], [1.5, 0.5], [1.5, 1.5]])
    exact = np.repeat(centres, [400, 100, 200, 300], axis=0)
    assert symmetric_divergence(exact, weights, edges) < 1e-6
    assert symmetric_divergence(exact[:400], weights, edges) > 1
