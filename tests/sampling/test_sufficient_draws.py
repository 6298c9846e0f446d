# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Runs on released sums: their draws, and that no record is read after the release."""

from dataclasses import replace

import numpy as np
import pytest

import dpmcmc
from dpmcmc import SufficientStatistics, models
from dpmcmc.accounting import certify_epsilon
from dpmcmc.sampling.checkpoint import MemoryCheckpoint
from dpmcmc.sampling.normal_shape import mode, moved
from dpmcmc.sampling.problem import make_problem
from dpmcmc.sampling.sample import plan_run

MODEL = models.normal((-9, 11), sd=2.0)
X = np.random.default_rng(7).normal(1.0, 2.0, 3000)


def run(model=MODEL, x=X, **given):
    settings = {"epsilon": 0.5, "delta": 1e-6, "steps": 4000, "progress": False}
    method = SufficientStatistics(tempering=given.pop("tempering", None))
    return dpmcmc.sample(model, {"x": x}, method=method, **{**settings, **given})


@pytest.fixture(scope="module")
def kept():
    """One run, and the checkpoint that kept its parts."""
    checkpoint = MemoryCheckpoint()
    return run(chains=2, checkpoint=checkpoint), checkpoint


def planned(steps):
    problem = make_problem(MODEL, {"x": X}, start=None, precision=None, devices=None)
    return plan_run(
        problem, SufficientStatistics(), epsilon=0.5, delta=1e-6, steps=steps
    )


def noise_of(posterior):
    (found,) = [s for s in posterior.statement.stages if s.name == "sum"]
    return found.numbers["noise"]


def test_draws_are_as_wide_as_records_and_noise_make_them(kept):
    """Mean within six sd; sd within 15%: about 800 effective draws of it."""
    posterior, _ = kept
    own = 2.0 / np.sqrt(3000)
    both = np.hypot(own, 10 * noise_of(posterior) / 3000)
    draws = posterior.draws["mean"]
    assert both > 1.1 * own
    np.testing.assert_allclose(draws.std(), both, rtol=0.15)
    assert abs(draws.mean() - X.mean()) < 6 * both


def test_the_statement_counts_one_release_and_no_decision(kept):
    posterior, checkpoint = kept
    charged = checkpoint.charged("sum")
    assert list(charged) == ["sum"]
    assert not checkpoint.charged("chain")
    epsilon = certify_epsilon(charged["sum"], 1e-6).epsilon
    assert posterior.statement.epsilon == pytest.approx(epsilon)
    assert posterior.statement.epsilon <= 0.5


def test_no_record_is_read_after_the_release(kept):
    """A run made again from the kept sum, on records that hold nothing.

    Means differ by less than eight errors of about 400 effective draws.
    """
    first, checkpoint = kept
    only_sum = MemoryCheckpoint()
    (part,) = checkpoint.kept("sum")
    only_sum.charge("sum", "sum", checkpoint.charged("sum")["sum"])
    only_sum.keep("sum", part)
    again = run(x=np.full(3000, np.nan), chains=2, checkpoint=only_sum)
    spread = first.draws["mean"].std()
    gap = first.draws["mean"].mean() - again.draws["mean"].mean()
    assert abs(gap) < 8 * spread / np.sqrt(400)


def test_more_steps_cost_nothing():
    short, long = (planned(steps).certificate.epsilon for steps in (20, 200))
    assert short == long


def test_a_tempered_run_is_as_wide_as_it_says():
    posterior = run(tempering=300.0)
    plain = posterior.chain_draws["mean"].std()
    np.testing.assert_allclose(plain, 2 / np.sqrt(300), rtol=0.15)
    assert posterior.draws["mean"].std() > 0.98 * plain


def test_a_run_that_is_not_private_can_be_made_again():
    one, other = (
        dpmcmc.sample_not_private(
            MODEL,
            {"x": X[:300]},
            method=SufficientStatistics(),
            epsilon=1.0,
            steps=200,
            seed=3,
            progress=False,
        )
        for _ in range(2)
    )
    assert not one.statement.is_private
    np.testing.assert_array_equal(one.draws["mean"], other.draws["mean"])


def halved():
    """A model that states half its statistics: decisions make up for the rest."""
    model = models.normal((-9, 9), sd=1.0)
    own = model.statistics
    half = replace(
        own, is_exact=False, of_record=lambda record: own.of_record(record) / 2
    )
    return replace(model, statistics=half)


def test_statistics_that_are_not_sufficient_leave_the_rest_to_decisions():
    """With no noise to speak of the posterior is that of all records.

    Six errors of about 400 effective draws; sd within 20%.
    """
    x = np.random.default_rng(8).normal(0.5, 1.0, 2000)
    posterior = dpmcmc.sample_not_private(
        halved(),
        {"x": x},
        method=SufficientStatistics(proposal=dpmcmc.RandomWalk(0.05)),
        epsilon=1e4,
        steps=4000,
        chains=1,
        seed=1,
        progress=False,
    )
    draws, scale = posterior.chain_draws["mean"], 1 / np.sqrt(2000)
    assert abs(draws.mean() - x.mean()) < 6 * scale / np.sqrt(400) + 0.05 * scale
    np.testing.assert_allclose(draws.std(), scale, rtol=0.2)


def test_a_private_run_with_decisions_on_the_rest():
    x = np.random.default_rng(8).normal(0.5, 1.0, 2000)
    posterior = run(halved(), x, steps=250, chains=4)
    assert posterior.statement.epsilon <= 0.5
    assert [stage.name for stage in posterior.statement.stages] == ["sum", "chain"]
    assert posterior.accepted.size + posterior.warmup_accepted.size == 1000
    assert posterior.is_noise_aware


def test_a_mode_is_climbed_to_and_its_precision_is_positive():
    top, precision = mode(lambda v: -((v[0] - 3) ** 2) - (v[1] + 1) ** 4, np.zeros(2))
    np.testing.assert_allclose(top, [3.0, -1.0], atol=1e-2)
    assert np.all(np.linalg.eigvalsh(precision) > 0)


def test_draws_are_moved_by_the_covariance_that_is_given():
    """Entries of 200,000 moves within 2%: false alarm below one in a million."""
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    found = moved(np.zeros((200_000, 2)), covariance, np.random.default_rng(1))
    np.testing.assert_allclose(np.cov(found.T), covariance, atol=0.03)
