# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds on ε from below: by other means, and how often they are wrong."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from dpmcmc.accounting import GaussianRelease, LaplaceRelease, certify_epsilon
from dpmcmc.audit.bounds import (
    Scores,
    Seen,
    counting_bound,
    gaussian_bound,
    gaussian_epsilon,
    laplace_bound,
    laplace_epsilon,
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


@pytest.mark.parametrize(("mu", "shift"), [(0.3, 1.0), (2.0, 9.0), (3.0, 0.1)])
@pytest.mark.parametrize("delta", [1e-8, 1e-5, 0.1])
def test_the_epsilon_of_both_kinds_of_noise_is_that_of_the_accountants(
    mu: float, shift: float, delta: float
) -> None:
    events = {GaussianRelease(mu): 1, LaplaceRelease(1, shift): 1}
    certified = certify_epsilon(events, delta).epsilon
    assert laplace_epsilon(mu, shift, delta) == pytest.approx(certified, rel=1e-3)


def test_an_attack_that_sees_nothing_bounds_nothing() -> None:
    assert counting_bound(Seen(0, 100, 0, 100), 1e-5, 0.05) == 0
    assert counting_bound(Seen(50, 100, 50, 100), 1e-5, 0.05) == 0
    assert counting_bound(Seen(10, 100, 100, 100), 1e-5, 0.05) == 0
    same = np.arange(9.0)
    assert gaussian_bound(Scores(same, same), 1e-5, 0.05) == 0
    assert gaussian_bound(Scores(same, same + 9), 1e-5, 0.05) == 0
    assert gaussian_bound(Scores(np.zeros(9), np.zeros(9)), 1e-5, 0.05) == 0


def test_scores_without_noise_break_every_certificate() -> None:
    assert gaussian_bound(Scores(np.ones(30), np.zeros(30)), 1e-5, 1e-5) > 50


def test_scores_that_are_no_numbers_bound_nothing_and_break_what_they_meet() -> None:
    """An alarm is what is not below a certificate."""
    scores = Scores(np.array([0.0, np.nan]), np.zeros(2))
    assert not gaussian_bound(scores, 1e-5, 0.05) <= 1e9


def test_the_shift_against_the_quantiles_of_scipy() -> None:
    """The bound is the μ at which scores as far apart as these are 5% probable."""
    generator = np.random.default_rng(4)
    scores = Scores(generator.normal(2, 1, 30), generator.normal(0, 1, 20))
    found = stats.ttest_ind(*scores)

    def epsilon(mu: float) -> float:
        return gaussian_epsilon(mu, 1e-5)

    bound = gaussian_bound(scores, 1e-5, 0.05)
    mu = optimize.brentq(lambda mu: epsilon(mu) - bound, 0.01, 20.0)
    beyond = stats.nct.sf(found.statistic, 48, mu / math.sqrt(1 / 30 + 1 / 20))
    assert beyond == pytest.approx(0.05, rel=1e-4)


AUDITS, ABOVE = 2000, 480
"""Audits at 80% confidence. Of bounds that were exact, 400 would be above the true ε,
and more than 480 with probability 10⁻⁵."""


def test_counts_are_wrong_no_more_often_than_they_say() -> None:
    mu, delta, runs = 1.0, 0.01, 500
    generator = np.random.default_rng(5)
    truth, threshold = gaussian_epsilon(mu, delta), 1.2
    right, wrong = stats.norm.sf(threshold, mu), stats.norm.sf(threshold)
    hits = (generator.binomial(runs, rate, AUDITS) for rate in (right, wrong))
    found = [
        counting_bound(Seen(int(one), runs, int(other), runs), delta, 0.2)
        for one, other in zip(*hits, strict=True)
    ]
    assert np.count_nonzero(np.array(found) > truth) <= ABOVE


@pytest.mark.parametrize("mu", [0.5, 3.0])
@pytest.mark.parametrize("runs", [3, 60])
def test_shifts_are_wrong_no_more_often_than_they_say(mu: float, runs: int) -> None:
    """Nor much more seldom: fewer than 320 with probability 10⁻⁵."""
    delta, generator = 1e-3, np.random.default_rng(6)
    truth = gaussian_epsilon(mu, delta)
    drawn = generator.standard_normal((AUDITS, 2, runs)) * 7
    drawn[:, 0] += 7 * mu
    found = [gaussian_bound(Scores(*rows), delta, 0.2) for rows in drawn]
    assert 320 <= np.count_nonzero(np.array(found) > truth) <= ABOVE


@pytest.mark.parametrize("mu", [0.5, 3.0])
@pytest.mark.parametrize("runs", [10, 60])
def test_bounds_of_both_kinds_are_wrong_no_more_often_than_they_say(
    mu: float, runs: int
) -> None:
    delta, shift, generator = 1e-3, 4.0, np.random.default_rng(7)
    truth = laplace_epsilon(mu, shift, delta)
    drawn = np.empty((AUDITS // 4, 2, runs, 2))
    drawn[..., 0] = generator.standard_normal(drawn.shape[:3]) * 7
    drawn[..., 1] = generator.laplace(size=drawn.shape[:3]) * 2 / shift
    drawn[:, 0] += [7 * mu, 1]
    drawn[:, 1, :, 1] -= 1
    found = [laplace_bound(Scores(*rows), delta, 0.2) for rows in drawn]
    # more than 142 of 500 with probability 10⁻⁵, if they were wrong in a fifth
    assert np.count_nonzero(np.array(found) > truth) <= 142


def test_numbers_with_less_laplace_noise_bound_more() -> None:
    """Half the noise is seen as a shift that is almost twice as large."""
    generator = np.random.default_rng(8)
    columns = generator.normal(size=(400, 2)), generator.normal(size=(400, 2))
    for column, at in zip(columns, (1, -1), strict=True):
        column[:, 1] = at + generator.laplace(size=400) / 4
    found = laplace_bound(Scores(*columns), 1e-5, 1e-5)
    assert 8 * 0.8 < found < 8


def test_columns_that_are_no_numbers_break_what_they_meet() -> None:
    scores = Scores(np.full((2, 2), np.nan), np.zeros((2, 2)))
    assert not laplace_bound(scores, 1e-5, 0.05) <= 1e9
