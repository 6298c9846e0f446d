# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds on ε from counts: by other means, and how often they are wrong."""

import math

import numpy as np
import pytest
from scipy import stats

from dpmcmc.accounting import GaussianRelease, certify_epsilon
from dpmcmc.audit.bounds import (
    Scores,
    Seen,
    counting_bound,
    gaussian_bound,
    gaussian_epsilon,
    seen_above,
)


@pytest.mark.parametrize(
    "seen", [Seen(900, 1000, 30, 1000), Seen(50, 80, 0, 60), Seen(7, 7, 1, 9)]
)
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.1])
def test_counts_against_the_quantiles_of_scipy(seen: Seen, delta: float) -> None:
    least = stats.binomtest(seen.right, seen.of_first, alternative="greater")
    most = stats.binomtest(seen.wrong, seen.of_second, alternative="less")
    low = least.proportion_ci(0.975, "exact").low
    high = most.proportion_ci(0.975, "exact").high
    expected = math.log((low - delta) / high)
    assert counting_bound(seen, delta, 0.05) == pytest.approx(expected, rel=1e-9)


def test_counts_against_jax_privacy() -> None:
    auditing = pytest.importorskip("jax_privacy.auditing")
    generator = np.random.default_rng(3)
    scores = Scores(generator.normal(2, 1, 4000), generator.normal(0, 1, 4000))
    theirs = auditing.CanaryScoreAuditor(*scores).epsilon_clopper_pearson(
        significance=0.05, delta=1e-5, threshold_strategy=auditing.Explicit(1.5)
    )
    ours = counting_bound(seen_above(scores, 1.5), 1e-5, 0.05)
    assert ours == pytest.approx(theirs, rel=0.02)


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("delta", [1e-8, 1e-5, 0.1])
def test_the_epsilon_of_normal_noise_is_that_of_the_accountants(
    mu: float, delta: float
) -> None:
    certified = certify_epsilon(GaussianRelease(mu), delta).epsilon
    assert gaussian_epsilon(mu, delta) == pytest.approx(certified, rel=1e-6, abs=1e-9)


def test_an_attack_that_sees_nothing_bounds_nothing() -> None:
    for bound in (counting_bound, gaussian_bound):
        assert bound(Seen(0, 100, 0, 100), 1e-5, 0.05) == 0
        assert bound(Seen(50, 100, 50, 100), 1e-5, 0.05) == 0
        assert bound(Seen(10, 100, 100, 100), 1e-5, 0.05) == 0


@pytest.mark.parametrize("bound", [counting_bound, gaussian_bound])
def test_bounds_are_wrong_no_more_often_than_they_say(bound) -> None:
    """A mechanism whose ε is known: 2000 audits at 80% confidence.

    Of bounds that were exact, 400 would be above it, and more than 480 with probability
    10⁻⁵.
    """
    mu, delta, runs = 1.0, 0.01, 500
    generator = np.random.default_rng(5)
    truth, threshold = gaussian_epsilon(mu, delta), 1.2
    right, wrong = stats.norm.sf(threshold, mu), stats.norm.sf(threshold)
    hits = generator.binomial(runs, right, 2000), generator.binomial(runs, wrong, 2000)
    found = [
        bound(Seen(int(one), runs, int(other), runs), delta, 0.2)
        for one, other in zip(*hits, strict=True)
    ]
    assert np.count_nonzero(np.array(found) > truth) <= 480
