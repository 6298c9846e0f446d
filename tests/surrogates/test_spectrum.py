# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Matrices with noise on them: what is taken away, what is kept, what is bent down."""

import numpy as np
import pytest

from dpmcmc.surrogates.spectrum import denoised, negative_definite


def noise_of(size, deviation, seed):
    """Symmetric, with that deviation on the diagonal and 1/√2 of it elsewhere."""
    drawn = np.random.default_rng(seed).normal(0, deviation, (size, size))
    return (drawn + drawn.T) / 2


def far(matrix, truth):
    return np.linalg.norm(matrix - truth)


def test_a_hessian_that_noise_bent_up_is_bent_down():
    hessian = np.array([[3.0, 1.0], [1.0, -5.0]])
    bent = negative_definite(hessian, 0.5)
    assert np.linalg.eigvalsh(bent).max() <= -0.5 + 1e-12
    already = -np.eye(2)
    np.testing.assert_allclose(negative_definite(already, 0.5), already)


def test_where_nothing_but_noise_is_all_directions_are_alike():
    """The noise alone would bend some directions by nothing, and others twice."""
    size, truth = 80, -10.0 * np.eye(80)
    noisy = truth + noise_of(size, 0.7, 1)
    assert np.ptp(np.linalg.eigvalsh(noisy)) > 16
    mended = denoised(noisy, 0.7)
    assert np.ptp(np.linalg.eigvalsh(mended)) < 5
    assert far(mended, truth) < 0.2 * far(noisy, truth)


def test_a_direction_that_stands_out_is_kept():
    size = 60
    along = np.ones(size) / np.sqrt(size)
    truth = -10.0 * np.eye(size) - 30.0 * np.outer(along, along)
    noisy = truth + noise_of(size, 0.7, 2)
    mended = denoised(noisy, 0.7)
    np.testing.assert_allclose(along @ mended @ along, -40.0, rtol=0.05)
    assert far(mended, truth) < 0.5 * far(noisy, truth)


@pytest.mark.parametrize(
    ("size", "spread", "left"),
    [
        (2, 0.1, 0.8),
        (2, 10.0, 1.01),
        (20, 0.1, 0.15),
        (20, 1.0, 0.25),
        (20, 10.0, 0.95),
    ],
)
def test_it_is_nearer_to_the_truth(size, spread, left):
    """Squares over 100 matrices of any turn and spread, with noise of deviation 1.

    Their sum is within 6% or so of its mean; the seed is fixed.
    """
    generator, before, after = np.random.default_rng(size), 0.0, 0.0
    for _ in range(100):
        turn = np.linalg.qr(generator.normal(size=(size, size)))[0]
        truth = (turn * (spread * generator.normal(size=size) - 30)) @ turn.T
        noisy = truth + noise_of(size, 1.0, generator.integers(2**30))
        before += far(noisy, truth) ** 2
        after += far(denoised(noisy, 1.0), truth) ** 2
    assert after < left * before


def test_noise_that_is_small_against_the_gaps_changes_little():
    """To second order: by s² over the gaps, as perturbation theory has it."""
    truth = np.diag([-1.0, -2.0, -4.0])
    mended = denoised(truth, 1e-3)
    wanted = [-1 + 1e-6 * (-1 - 1 / 3), -2 + 1e-6 * (1 - 1 / 2), -4 + 1e-6 * (5 / 6)]
    np.testing.assert_allclose(np.diag(mended), wanted, atol=1e-11)


@pytest.mark.parametrize("size", [1, 4])
def test_nothing_is_changed_where_all_directions_are_alike(size):
    truth = -3.0 * np.eye(size)
    np.testing.assert_allclose(denoised(truth, 0.5), truth, atol=1e-12)
