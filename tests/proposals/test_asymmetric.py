# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Proposals that are not symmetric have the law and the density ratio they claim."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from words import FALSE_ALARM, moves

from dpmcmc.errors import InputError
from dpmcmc.proposals import Independence, LogNormalWalk

THETA = {"a": jnp.float32(1.0), "b": jnp.array([2.0, 0.3], jnp.float32)}
FACTOR = np.array([[1.0, 0, 0], [0.8, 0.5, 0], [-0.3, 0.2, 0.7]])
COVARIANCE = FACTOR @ FACTOR.T
SCALES = {
    "number": (0.4, 0.16 * np.eye(3)),
    "tree": ({"a": 0.1, "b": [0.5, 0.7]}, np.diag([0.1, 0.5, 0.7]) ** 2),
    "covariance": (COVARIANCE, COVARIANCE),
}
COUNT = 50_000


def flat(theta, count=1):
    leaves = [np.reshape(np.float64(a), (count, -1)) for a in jax.tree.leaves(theta)]
    return np.hstack(leaves)


def assert_normal(sample, covariance):
    """Whitened coordinates are standard normal by Kolmogorov–Smirnov, 3 tests."""
    whitened = np.linalg.solve(np.linalg.cholesky(covariance), sample.T)
    for column in whitened:
        assert stats.kstest(column, stats.norm.cdf).pvalue > FALSE_ALARM / 3
    z = stats.norm.isf(FALSE_ALARM / 2 / 3)
    apart = np.corrcoef(whitened)[np.triu_indices(3, 1)]
    assert np.all(np.abs(apart) < z / np.sqrt(len(sample)))


@pytest.mark.parametrize("form", SCALES)
def test_a_log_normal_walk_is_a_random_walk_of_logarithms(form):
    scale, covariance = SCALES[form]
    proposed, log_ratio = moves(LogNormalWalk(scale), THETA, COUNT, seed=2)
    old, new = np.log(flat(THETA)), np.log(flat(proposed, COUNT))
    assert_normal(new - old, covariance)
    # log q(θ | θ′) − log q(θ′ | θ), from the densities of the log-normal law
    law = stats.multivariate_normal(np.zeros(3), covariance)
    back = law.logpdf(old - new) - old.sum()
    forth = law.logpdf(new - old) - new.sum(axis=1)
    np.testing.assert_allclose(log_ratio, back - forth, atol=1e-5)


@pytest.mark.parametrize("form", SCALES)
def test_an_independence_proposal_is_normal_wherever_the_chain_is(form):
    scale, covariance = SCALES[form]
    mean = {"a": -1.0, "b": [0.5, 2.0]}
    proposed, log_ratio = moves(Independence(mean, scale), THETA, COUNT, seed=3)
    new = flat(proposed, COUNT)
    assert_normal(new - [-1.0, 0.5, 2.0], covariance)
    law = stats.multivariate_normal([-1.0, 0.5, 2.0], covariance)
    expected = law.logpdf(flat(THETA)) - law.logpdf(new)
    np.testing.assert_allclose(log_ratio, expected, rtol=1e-5, atol=1e-4)


def test_where_a_factor_underflows_the_move_is_refused():
    """From 0 the walk could never leave."""
    _, log_ratio = moves(LogNormalWalk(1000.0), jnp.float32(1.0), 1000, seed=4)
    assert 0 < np.mean(log_ratio == -np.inf) < 1


@pytest.mark.parametrize(
    ("proposal", "theta", "parts"),
    [
        (
            LogNormalWalk(0.1),
            {"s": jnp.float32(0.0)},
            ["s = 0.0", "Start above 0", "RandomWalk"],
        ),
        (LogNormalWalk(0.1), {"s": jnp.array([1.0, -1.0])}, ["positive parameters"]),
        (LogNormalWalk("wide"), THETA, ["scale is", "covariance of shape (3, 3)"]),
        (Independence([1.0], 0.1), THETA, ["mean is [", "structure of θ"]),
        (Independence(np.nan, 0.1), THETA, ["mean is float", "finite number"]),
        (Independence(0.0, -1.0), THETA, ["scale is -1.0", "above 0"]),
    ],
)
def test_refusals(proposal, theta, parts):
    with pytest.raises(InputError) as caught:
        proposal.fit(theta)
    for part in parts:
        assert part in str(caught.value)
