# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Noise-aware private variational inference (Alrawajfeh, Jälkö and Honkela 2025).

The trace of a private fit has more to say than where it ends. Near the optimum φ* the
noisy gradient at φ is H (φ − φ*) + noise, with a diagonal H. Of the trace, H and φ* are
inferred; θ is drawn from the variational distribution at draws of φ*.

The paper infers them by NUTS, or by Laplace's approximation. Here each coordinate's
posterior is summed over a grid of H; φ* is normal given H. Priors are those of the
paper: φ* about the mean of the trace with sd 1, H normal about its least-squares
estimate, with the sd of that estimate (the trace is used twice).

Published price: the PRV accountant for Poisson batches, for a record that is added or
removed.
"""

import numpy as np

from benchmarks.peers import dpvi
from benchmarks.peers.target import Budget, Target

__all__ = ["draws", "optimum"]

_BURN_IN = 0.2
_GRID = np.linspace(-6, 6, 241)


def optimum(
    places: np.ndarray,
    gradients: np.ndarray,
    noise: float,
    generator: np.random.Generator,
    number: int,
) -> np.ndarray:
    """Draws of one coordinate of φ*.

    Parameters
    ----------
    places, gradients
        The coordinate along the trace, and its noisy gradients.
    noise
        The standard deviation of the noise on a gradient. Batches add to it: it is
        taken as the rms residual where that is larger.
    """
    steps, middle, height = len(places), places.mean(), gradients.mean()
    about = places - middle
    square = np.sum(about**2)
    slope = np.sum(about * (gradients - height)) / square
    residual = gradients - height - slope * about
    variance = max(noise**2, np.mean(residual**2))
    # φ* is N(middle, 1): the mean gradient, slope · (middle − φ*), given the slope is
    # normal about 0.
    width = np.sqrt(variance / square)
    slopes = abs(slope) + width * _GRID
    slopes = slopes[slopes > 0]
    log_weights = -((slopes - slope) ** 2 + (slopes - abs(slope)) ** 2) / width**2 / 2
    spread = slopes**2 + variance / steps
    log_weights -= (np.log(spread) + height**2 / spread) / 2
    weights = np.exp(log_weights - log_weights.max())
    drawn = generator.choice(slopes, number, p=weights / weights.sum())
    precision = 1 + steps * drawn**2 / variance
    mean = middle - steps * drawn * height / variance / precision
    return mean + generator.normal(size=number) / np.sqrt(precision)


def draws(
    target: Target,
    budget: Budget,
    given: dpvi.Settings,
    seed: int,
    number: int = 2000,
) -> np.ndarray:
    """Draws of θ that include what is not known of the optimum."""
    found = dpvi.fit(target, budget, given, seed)
    first = round(_BURN_IN * given.steps)
    generator = np.random.default_rng(seed)
    best = np.column_stack(
        [
            optimum(place[first:], gradient[first:], noise, generator, number)
            for place, gradient, noise in zip(
                found.places.T, found.gradients.T, found.noise, strict=True
            )
        ]
    )
    size = target.density.size
    mean, spread = best[:, :size], np.logaddexp(0, best[:, size:])
    return mean + spread * generator.normal(size=mean.shape)
