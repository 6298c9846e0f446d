# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Residuals: none where all is quadratic, what a clip cuts, and what they add up to."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from dpmcmc import Model
from dpmcmc.influence.derivatives import Frame
from dpmcmc.influence.residual import Residual
from dpmcmc.sampling.fit.misfit import (
    ResidualBins,
    ResidualPublic,
    ResidualSums,
    cut_by,
    missed_by,
)
from dpmcmc.sampling.fit.tails import BINS, EDGES, Counts

CLIP = 0.01
STEPS = np.random.default_rng(0).normal(size=(2, 8, 2)).astype("float32")
UNRAVEL = ravel_pytree(jnp.zeros(2))[1]
RESIDUAL = Residual(
    frame=Frame(np.zeros(2), np.eye(2)),
    inverse=np.eye(2),
    metric=np.ones(2),
    gradient_bound=1e30,
    hessian_bound=1e30,
    gradient=np.zeros(2),
    hessian=np.zeros((2, 2)),
    unravel=UNRAVEL,
)


def ask(question: Any, log_likelihood: Any, record: float, size: float) -> np.ndarray:
    model = Model(log_likelihood, lambda theta: 0.0, np.zeros(2))
    public = ResidualPublic(RESIDUAL, size * STEPS[0], size * STEPS[1], CLIP)
    found = jax.jit(lambda one: question(model, one, public))(record)
    return np.asarray(found)


def bin_of(log_likelihood: Any, record: float, size: float = 1.0) -> int:
    found = ask(ResidualBins("float32"), log_likelihood, record, size)
    assert found.shape == (1,)
    return int(found[0])


def sums_of(log_likelihood: Any, record: float, size: float = 1.0) -> np.ndarray:
    return ask(ResidualSums("float32"), log_likelihood, record, size)


def straight(theta: Any, record: Any) -> Any:
    return -0.5 * (record - theta[0] - 2 * theta[1]) ** 2


def curved(theta: Any, record: Any) -> Any:
    return -0.5 * (record - theta[0] - 3 * theta[1] ** 2) ** 2


def test_a_quadratic_log_likelihood_leaves_no_residual() -> None:
    assert bin_of(straight, 0.7) == 0


def test_a_curved_one_leaves_as_much_as_its_moves_are_long() -> None:
    bins = [bin_of(curved, 0.7, size) for size in (0.01, 0.1, 1.0)]
    assert bins == sorted(bins)
    assert EDGES[bins[-1] - 1] > 100  # in clips


def test_a_residual_that_is_no_number_is_in_no_bin() -> None:
    assert bin_of(lambda theta, record: jnp.log(theta[0] - record), 0.7) == -1


def test_what_is_cut_is_what_lies_beyond_the_clip() -> None:
    """Counts that halve from bin to bin, from half a clip on."""
    first = int(np.searchsorted(EDGES, 0.5))
    values = np.zeros(BINS)
    values[first:] = 5000.0 * 0.5 ** np.arange(BINS - first)
    lengths = np.sqrt(1.3) * EDGES[first - 1 :]
    expected = CLIP * values[first:] @ np.maximum(lengths - 1, 0)
    cut = cut_by(Counts(values, 1.0), CLIP, 10_000)
    assert cut == pytest.approx(expected, rel=0.3)


def test_residuals_on_moves_are_those_of_the_log_likelihood() -> None:
    """The ridge at 0 has the gradient (r, 0) and the Hessian diag(−1, 6r)."""
    record, size = 0.7, 0.1

    def height(v: np.ndarray) -> np.ndarray:
        return -0.5 * (record - v[..., 0] - 3 * v[..., 1] ** 2) ** 2

    def quadratic(v: np.ndarray) -> np.ndarray:
        squares = -(v[..., 0] ** 2) + 6 * record * v[..., 1] ** 2
        return record * v[..., 0] + squares / 2

    current, proposed = size * STEPS.astype(float)
    missed = (height(proposed) - quadratic(proposed)) - (
        height(current) - quadratic(current)
    )
    expected = missed / (CLIP * np.sqrt(8))
    assert np.linalg.norm(expected) < 1
    np.testing.assert_allclose(
        sums_of(curved, record, size), expected, rtol=0.01, atol=2e-5
    )


def test_residuals_of_a_record_are_bounded_together() -> None:
    assert np.linalg.norm(sums_of(curved, 0.7, 10.0)) == pytest.approx(1, rel=1e-5)
    assert np.all(sums_of(straight, 0.7) < 1e-3)
    assert not sums_of(lambda t, record: jnp.log(t[0] - record), 0.7).any()


def test_what_is_missed_is_read_out_of_the_noise() -> None:
    """Sums of 3 on each move, with noise of sd 2; 4,000 moves, 6 standard errors."""
    count, noise = 4000, 2.0
    generator = np.random.default_rng(0)
    sums = (3 + noise * generator.normal(size=count)) / (CLIP * np.sqrt(count))
    error = np.sqrt((2 * noise**4 + 4 * noise**2 * 9) / count) / (2 * 3)
    found = missed_by(sums, noise / (CLIP * np.sqrt(count)), CLIP)
    assert found == pytest.approx(3, abs=6 * error)
    assert missed_by(np.zeros(8), 1.0, CLIP) == 0


def test_nothing_is_cut_where_all_are_below_the_clip() -> None:
    values = np.zeros(BINS)
    values[0] = 10_000.0
    assert cut_by(Counts(values, 0.01), CLIP, 10_000) < 1e-3


@pytest.mark.parametrize("length", [4.9, 300.0])
def test_a_group_far_from_all_others_is_seen(length: float) -> None:
    values = np.zeros(BINS)
    values[0] = 9000.0
    values[np.searchsorted(EDGES, length, side="right")] = 1000.0
    found = cut_by(Counts(values, 10.0), CLIP, 10_000)
    assert 0.8 < found / (1000 * (length - 1) * CLIP) < 2
