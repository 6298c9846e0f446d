# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Adaptation: from the released chain alone, by falling amounts, to the right law."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpmcmc import Barker, InputError, Model, RandomWalk, sample_not_private
from dpmcmc.proposals import Adaptive, best_acceptance, best_scale

DIMENSION = 3
FACTOR = np.array([[1.0, 0.5, 0.0], [0.0, 0.6, 0.3], [0.0, 0.0, 0.1]])
COVARIANCE = FACTOR @ FACTOR.T
PRECISION = np.linalg.inv(COVARIANCE)
RECORDS = 400
DEVIATIONS = np.sqrt(np.diag(COVARIANCE) / RECORDS)


def log_likelihood(theta: Any, record: Any) -> Any:
    return -0.5 * (record - theta) @ PRECISION @ (record - theta)


MODEL = Model(log_likelihood, lambda theta: 0.0, np.zeros(DIMENSION))


class Row(NamedTuple):
    theta: Any
    accepted: jax.Array


adapt = jax.jit(lambda kernel, row: kernel.adapt(row))


def learn(kernel: Any, theta: Any, accepted: list[bool], times: int = 1) -> Any:
    with jax.enable_x64(True):
        kernel = jax.tree.map(jnp.asarray, kernel)
        row = Row(jnp.asarray(theta), jnp.asarray(accepted))
        for _ in range(times):
            kernel = adapt(kernel, row)
        return jax.tree.map(np.asarray, kernel)


# What it does


def steps_to_the_bulk(proposal: Any, seed: int) -> int:
    """Steps until the 99% region of the posterior, from ten deviations away."""
    records = np.random.default_rng(seed).normal(size=(RECORDS, 3)) @ FACTOR.T
    centre = -10 * DEVIATIONS
    posterior = sample_not_private(
        MODEL,
        records - records.mean(axis=0) + centre,
        steps=4000,
        method=Barker(proposal=proposal),
        warmup=0,
        seed=seed,
        precision="float64",
        progress=False,
    )
    away = posterior.draws["theta"][0] - centre
    distances = RECORDS * np.einsum("ij,jk,ik->i", away, PRECISION, away)
    inside = distances < stats.chi2.ppf(0.99, DIMENSION)
    return int(np.argmax(inside)) if inside.any() else 4000


@pytest.mark.parametrize("wrong", [1 / 20, 20.0])
def test_a_scale_wrong_by_twenty_is_corrected_in_time(wrong: float) -> None:
    """Half the steps of the walk as it is, or fewer, in the median of three seeds."""
    walk = RandomWalk(wrong * best_scale(DIMENSION) * DEVIATIONS)
    adapted = Adaptive(walk, until=math.inf)
    plain = np.median([steps_to_the_bulk(walk, seed) for seed in range(3)])
    learnt = np.median([steps_to_the_bulk(adapted, seed) for seed in range(3)])
    assert learnt <= plain / 2


def test_the_rate_and_the_shape_are_learnt() -> None:
    records = np.random.default_rng(5).normal(size=(RECORDS, 3)) @ FACTOR.T
    posterior = sample_not_private(
        MODEL,
        records - records.mean(axis=0),
        steps=10000,
        method=Barker(proposal=Adaptive(RandomWalk(1.0))),
        chains=4,
        warmup=2000,
        seed=1,
        precision="float64",
        progress=False,
    )
    # with an autocorrelation time below 5 for bits, 32,000 of them err by 0.022 at most
    # at four standard errors
    rate = posterior.accepted.mean()
    assert abs(rate - best_acceptance(DIMENSION)) < 0.03
    draws = posterior.draws["theta"].reshape(-1, 3)
    shape = np.cov(draws.T) * RECORDS
    np.testing.assert_allclose(shape, COVARIANCE, atol=0.15 * np.max(COVARIANCE))


@pytest.mark.slow
def test_an_adapted_chain_is_calibrated() -> None:
    """Ranks of the truth among draws are uniform over prior, records and chains.

    Learning goes on all the time here. False-alarm rate of the chi-square: 10⁻³.
    """
    count, thin, ranks = 60, 20, []
    rng = np.random.default_rng(11)
    model = Model(
        lambda theta, record: -0.5 * (record - theta) ** 2,
        lambda theta: -0.5 * theta**2,
        0.0,
    )
    for repeat in range(count):
        truth = rng.normal()
        posterior = sample_not_private(
            model,
            rng.normal(truth, 1.0, 10),
            steps=200 + 19 * thin,
            method=Barker(proposal=Adaptive(RandomWalk(5.0), until=math.inf)),
            warmup=200,
            seed=repeat,
            progress=False,
        )
        draws = posterior.draws["theta"][0, ::thin]
        ranks.append(int(np.sum(draws < truth)))
    counts = np.bincount(ranks, minlength=20).reshape(5, 4).sum(axis=1)
    assert stats.chisquare(counts).pvalue > 1e-3


# How it learns


def test_learning_stops_where_it_should() -> None:
    kernel = Adaptive(RandomWalk(1.0), until=5).fit(jnp.zeros(2))
    early = learn(kernel, np.ones((3, 2)), [True, True, False], 5)
    late = learn(early, 7 * np.ones((3, 2)), [True] * 3, 40)
    assert early.count == late.count == 5
    for one, two in zip(jax.tree.leaves(early), jax.tree.leaves(late), strict=True):
        np.testing.assert_array_equal(one, two)


def test_learning_stops_with_the_warm_up_unless_told() -> None:
    assert Adaptive(RandomWalk(1.0)).stopping_at(70).until == 70
    assert Adaptive(RandomWalk(1.0), until=3).stopping_at(70).until == 3


def test_a_first_mover_moves_as_its_walk() -> None:
    scale = np.array([0.5, 2.0])
    kernel = Adaptive(RandomWalk(scale)).fit(jnp.zeros(2))
    np.testing.assert_allclose(kernel.factor, np.diag(scale))
    refreshed = jax.tree.map(jnp.asarray, kernel)._refreshed()
    np.testing.assert_allclose(refreshed.factor, np.diag(scale), rtol=1e-5)


def test_steps_taken_widen_the_walk_and_steps_refused_narrow_it() -> None:
    kernel = Adaptive(RandomWalk(1.0), shape=False).fit(jnp.zeros(1))
    points = np.zeros((2, 1))
    wide = learn(kernel, points, [True, True], 10).factor
    narrow = learn(kernel, points, [False, False], 10).factor
    assert narrow < 1 < wide


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(
                st.floats(allow_nan=False, allow_infinity=False, width=32),
                min_size=4,
                max_size=4,
            ),
            st.tuples(st.booleans(), st.booleans()),
        ),
        min_size=1,
        max_size=25,
    )
)
def test_whatever_was_released_the_next_move_is_finite(history: Any) -> None:
    with jax.enable_x64(True):
        kernel: Any = Adaptive(RandomWalk(0.3)).fit(jnp.zeros(2))
        kernel = jax.tree.map(jnp.asarray, kernel)
        for points, accepted in history:
            row = Row(jnp.reshape(jnp.asarray(points), (2, 2)), jnp.asarray(accepted))
            kernel = adapt(kernel, row)
        assert np.all(np.isfinite(kernel.factor))
        assert np.all(np.diagonal(kernel.factor) > 0)
        assert abs(float(kernel.log_scale)) <= math.log(1e4)


def test_gains_fall_and_their_sum_does_not_converge() -> None:
    """One step moves the log-scale less and less, and never too little for ever."""
    kernel = jax.tree.map(
        jnp.asarray, Adaptive(RandomWalk(1.0), shape=False).fit(jnp.zeros(1))
    )
    moves = []
    for _ in range(60):
        after = learn(kernel, np.zeros((1, 1)), [False])
        moves.append(float(kernel.log_scale - after.log_scale))
        kernel = after
    assert all(np.diff(moves[:40]) < 0)
    # t^-0.6: twice the steps, 2^-0.6 of the gain
    assert moves[20 - 1] / moves[40 - 1] == pytest.approx(2**0.6, rel=1e-3)


# What it refuses


@pytest.mark.parametrize(
    ("proposal", "words"),
    [
        (Adaptive(0.1), "walk is a float; it must be a RandomWalk"),  # type: ignore[arg-type]
        (Adaptive(RandomWalk(1.0), target=0.6), "target is 0.6; it must lie between"),
        (Adaptive(RandomWalk(1.0), until=-3), "until is -3"),
        (Adaptive(RandomWalk(-1.0)), "scale is -1.0"),
    ],
)
def test_what_cannot_adapt_is_refused(proposal: Any, words: str) -> None:
    with pytest.raises(InputError) as caught:
        proposal.fit(jnp.zeros(2))
    assert words in str(caught.value)
