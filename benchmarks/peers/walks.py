# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A random walk whose acceptance test reads some of the records, in NumPy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Answer", "Ratios", "Test", "Walk", "walk"]

Ratios = Callable[[np.ndarray], np.ndarray]
"""Log-likelihood ratios of the records at given places."""


class Answer(NamedTuple):
    """Whether a move is accepted, and how many records were read."""

    accepted: bool
    read: int


Test = Callable[[Ratios, float, int, np.random.Generator], Answer]
"""Of ratios, the log ratio of priors, the number of records, and randomness."""


@dataclass(frozen=True, eq=False)
class Walk:
    """A target, and how to move on it.

    Attributes
    ----------
    log_likelihood
        Of θ and an array of records, vectorised; tempered, if it is to be.
    log_prior
        Of θ.
    initial
        Where to start.
    scale
        The sd of a move.
    """

    log_likelihood: Callable[[np.ndarray, Any], np.ndarray]
    log_prior: Callable[[np.ndarray], float]
    initial: np.ndarray
    scale: float


def walk(
    target: Walk, x: np.ndarray, test: Test, steps: int, seed: int
) -> tuple[np.ndarray, int]:
    """The chain, and how many records were read for it."""
    generator = np.random.default_rng(seed)
    theta, made, read = target.initial.astype(float), [], 0
    for _ in range(steps):
        proposed = theta + target.scale * generator.normal(size=len(theta))
        prior = target.log_prior(proposed) - target.log_prior(theta)

        def ratios(places: np.ndarray, here: Any = theta, there: Any = proposed) -> Any:
            heights = (target.log_likelihood(at, x[places]) for at in (there, here))
            return np.subtract(*heights)

        answer = test(ratios, prior, len(x), generator)
        theta = proposed if answer.accepted else theta
        read += answer.read
        made.append(theta)
    return np.array(made), read
