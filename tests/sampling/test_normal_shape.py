# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Proposals about a normal approximation, for densities with longer tails."""

import numpy as np
import pytest

from dpmcmc.proposals import Independence
from dpmcmc.sampling.normal_shape import proposal_about

CALLS = 20_000


def stuck(has_tails: bool) -> int:
    """The longest time that independent proposals stay, on Student's t with 8 df.

    In two dimensions, from a point that is six sd out.
    """
    mixture = proposal_about(np.zeros(2), np.eye(2), has_tails=has_tails)
    widths = [
        part.scale[0, 0] for _, part in mixture.parts if isinstance(part, Independence)
    ]
    generator = np.random.default_rng(0)

    def log_density(x: np.ndarray, width: float) -> float:
        """Of the target, less that of the proposal."""
        square = float(x @ x)
        return -5 * np.log1p(square / 8) + square / (2 * width)

    at, stays, longest = np.array([6.0, 0]), 0, 0
    for call in range(CALLS):
        width = widths[call % len(widths)]
        proposed = np.sqrt(width) * generator.standard_normal(2)
        ratio = log_density(proposed, width) - log_density(at, width)
        moves = np.log(generator.random()) < ratio
        at, stays = (proposed, 0) if moves else (at, stays + 1)
        longest = max(longest, stays)
    return longest


def test_wider_proposals_leave_the_tails_of_a_density() -> None:
    """What holds the narrow ones for hundreds of steps."""
    assert stuck(has_tails=True) < stuck(has_tails=False) / 10


@pytest.mark.parametrize("has_tails", [False, True])
def test_weights_add_up(has_tails: bool) -> None:
    mixture = proposal_about(np.zeros(2), np.eye(2), has_tails=has_tails)
    assert sum(weight for weight, _ in mixture.parts) == pytest.approx(1)
