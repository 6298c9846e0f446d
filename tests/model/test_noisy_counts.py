# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What noisy counts say of θ: calibrated, whether or not the model is right."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from dpmcmc.model.noisy_counts import log_density_of_score

GRID = np.linspace(-4, 4, 801)


def heights(counts, log_probabilities, deviation):
    """At each point of a grid of a single parameter; ``counts`` a table each."""

    def at(table, theta):
        gradients = jax.jacfwd(log_probabilities)(theta)[..., None]
        noise = deviation**2 * jnp.sum(gradients**2).reshape(1, 1)
        return log_density_of_score(table, log_probabilities(theta), gradients, noise)

    over = jax.vmap(jax.vmap(at, (None, 0)), (0, None))
    return np.asarray(jax.jit(over)(counts, jnp.asarray(GRID)))


def intervals(heights, level):
    weights = np.exp(heights - heights.max(1, keepdims=True))
    below = np.cumsum(weights, axis=1) / weights.sum(1, keepdims=True)
    ends = [(1 - level) / 2, (1 + level) / 2]
    return [GRID[np.argmax(below >= end, axis=1)] for end in ends]


def logits(rows):
    """Log-probabilities of 0 and 1 with the predictor θ times the row's number."""

    def log_probabilities(theta):
        eta = theta * jnp.asarray(rows)
        return jnp.stack([-jax.nn.softplus(eta), -jax.nn.softplus(-eta)], axis=1)

    return log_probabilities


def tables(generator, sizes, probabilities, count):
    drawn = generator.binomial(sizes, probabilities, (count, len(sizes)))
    return np.stack([np.asarray(sizes) - drawn, drawn], axis=-1).astype(float)


def test_without_noise_it_is_the_posterior_to_second_order():
    """The mode is that of the likelihood, and so is the curvature there."""
    with jax.enable_x64(True):
        table = np.array([[60.0, 40.0], [130.0, 270.0]])
        log_p = logits([0.5, 1.0])
        ours = heights(table[None], log_p, 0.0)[0]
        exact = np.array([np.sum(table * np.asarray(log_p(t))) for t in GRID])
    assert GRID[ours.argmax()] == GRID[exact.argmax()]
    near = np.abs(GRID - GRID[exact.argmax()]) < 0.1
    curvatures = [np.polyfit(GRID[near], h[near], 2)[0] for h in (ours, exact)]
    assert curvatures[0] == pytest.approx(curvatures[1], rel=0.02)


@pytest.mark.parametrize("is_right", [True, False])
@pytest.mark.parametrize("noise", [3.0, 30.0])
def test_intervals_hold_what_they_should(is_right, noise):
    """90% intervals; 2,000 tables, the probability of a false alarm is 10⁻⁶.

    The truth is θ where the model is right. Where it is wrong it is the mode without
    noise, and the counts are the same in all tables; then intervals, which have
    the spread of the posterior as well, must hold it at least as often.
    """
    generator = np.random.default_rng(5)
    rows, sizes, count = np.array([-1.0, 0.5, 2.0]), [300, 500, 40], 2000
    p = 1 / (1 + np.exp(-0.8 * rows)) if is_right else np.array([0.6, 0.55, 0.3])
    with jax.enable_x64(True):
        if is_right:
            exact, truth = tables(generator, sizes, p, count), 0.8
        else:
            one = np.round(np.asarray(sizes) * p)
            exact = np.repeat(np.stack([sizes - one, one], -1)[None], count, axis=0)
            truth = GRID[heights(exact[:1], logits(rows), 0.0)[0].argmax()]
        noisy = exact + generator.normal(0, noise, exact.shape)
        low, high = intervals(heights(noisy, logits(rows), noise), 0.9)
    held = int(np.sum((low <= truth) & (truth <= high)))
    least, most = stats.binom.ppf([5e-7, 1 - 5e-7], count, 0.9)
    # the normal approximation of a binomial of 40 costs a percent or two
    assert held >= least - 0.02 * count
    if is_right:
        assert held <= most + 0.02 * count


def test_a_parameter_that_no_cell_informs_is_left_to_the_prior():
    counts, log_p = jnp.ones((2, 2)), jnp.log(jnp.full((2, 2), 0.5))
    gradients = jnp.stack([jnp.array([[1.0, -1.0]] * 2), jnp.zeros((2, 2))], axis=-1)
    noise = jnp.einsum("xyi,xyj->ij", gradients, gradients)
    both = log_density_of_score(counts, log_p, gradients, noise)
    one = log_density_of_score(counts, log_p, gradients[..., :1], noise[:1, :1])
    assert float(both) == pytest.approx(float(one), abs=1e-6)


@pytest.mark.parametrize("noise", [8.0, 15.0, 50.0])
@pytest.mark.parametrize("events", [3, 10, 47])
def test_a_rare_response_has_an_interval_that_ends(events, noise):
    """95% intervals for the logit of few of 375, as noise hides them or not.

    The prior is wide. At least 93% hold the mode without noise; 1,000 tables, the
    probability of a false alarm is 10⁻⁶ where they hold it as often as they say. The
    prior's sd is 10: intervals that reached as far would be 20 wide.
    """
    generator, count = np.random.default_rng(8), 1000
    grid = np.linspace(-30, 20, 2001)
    exact = np.array([375.0 - events, events])
    noisy = (exact + generator.normal(0, noise, (count, 2)))[:, None]
    log_p = logits([1.0])

    def at(table, theta):
        gradients = jax.jacfwd(log_p)(theta)[..., None]
        extra = noise**2 * jnp.sum(gradients**2).reshape(1, 1)
        return log_density_of_score(table, log_p(theta), gradients, extra)

    with jax.enable_x64(True):
        over = jax.jit(jax.vmap(jax.vmap(at, (None, 0)), (0, None)))
        found = np.asarray(over(jnp.asarray(noisy), jnp.asarray(grid)))
    weights = np.exp(found - grid**2 / 200 - found.max(1, keepdims=True))
    below = np.cumsum(weights, axis=1) / weights.sum(1, keepdims=True)
    low, high = (grid[np.argmax(below >= end, axis=1)] for end in (0.025, 0.975))
    truth = np.log(events / (375 - events))
    held = np.sum((low <= truth) & (truth <= high))
    assert held >= stats.binom.ppf(1e-6, count, 0.95)
    assert np.median(high - low) < 8
