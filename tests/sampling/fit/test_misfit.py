# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Histograms of residuals: none where all is quadratic, and what a clip cuts."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from dpmcmc import Model
from dpmcmc.influence.derivatives import Frame
from dpmcmc.influence.residual import Residual
from dpmcmc.sampling.fit.misfit import ResidualBins, ResidualPublic, cut_by, in_all
from dpmcmc.sampling.fit.tails import BINS, EDGES, Counts

CLIP = 0.01
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


def bin_of(log_likelihood: Any, record: float, size: float = 1.0) -> int:
    model = Model(log_likelihood, lambda theta: 0.0, np.zeros(2))
    steps = np.random.default_rng(0).normal(size=(2, 8, 2)).astype("float32")
    public = ResidualPublic(RESIDUAL, size * steps[0], size * steps[1], CLIP)
    found = jax.jit(lambda one: ResidualBins("float32")(model, one, public))(record)
    assert found.shape == (1,)
    return int(found[0])


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


@pytest.mark.parametrize("clips", [0.1, 1.0, 30.0])
def test_all_residuals_are_added_up(clips: float) -> None:
    """Half of the records below every edge, and half at one length."""
    values = np.zeros(BINS)
    values[0] = values[np.searchsorted(EDGES, clips, side="right")] = 5000.0
    found = in_all(Counts(values, 1.0), CLIP, 10_000)
    assert 5000 * CLIP * clips / 1.3 < found < 5000 * CLIP * (clips * 1.3 + EDGES[0])


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
