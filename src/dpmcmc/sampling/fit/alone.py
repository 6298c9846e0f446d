# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The posterior that a noisy quadratic makes by itself: no record is read any more."""

from dataclasses import replace

import numpy as np

from dpmcmc.influence.alone import QuadraticAlone
from dpmcmc.sampling.chain import PUBLIC, READS_NOTHING, ChainSetup, repeated
from dpmcmc.sampling.fit.basis import basis_of
from dpmcmc.sampling.fit.fitted import Fitted
from dpmcmc.sampling.fit.prior import LogPrior
from dpmcmc.sampling.normal_shape import proposal_about
from dpmcmc.sampling.problem import Problem

__all__ = ["quadratic_alone"]

_STEPS, _EACH = 2500, 500
"""Steps that read no record cost nothing: at least so many, or so many for each
coordinate, as a random walk takes longer in more of them."""

_CLIMBS = 5
"""How often the noise of the curvature is looked at where the last climb ended."""


def quadratic_alone(
    problem: Problem, fitted: Fitted, tempering: float, chains: int
) -> ChainSetup:
    """A chain on the prior and the likelihood of the noisy quadratic."""
    noisy = fitted.noisy(tempering)
    frame = np.concatenate([fitted.factor, basis_of(problem).rest], axis=1)
    prior = LogPrior(problem)
    v = np.zeros(frame.shape[1])
    for _ in range(_CLIMBS):
        gradient, precision = noisy.normal_at(v[: fitted.factor.shape[1]])
        v, total = prior.climb(fitted.point, frame, gradient, precision)
    covariance = frame @ np.linalg.inv(total) @ frame.T
    top = problem.unravel(fitted.point + frame @ v, np.float64)
    public = replace(
        problem, records=PUBLIC, dtype="float64", devices=(problem.public_device,)
    )
    return ChainSetup(
        public,
        repeated(top, chains),
        proposal_about(top, covariance, has_tails=True),
        replace(
            READS_NOTHING,
            influence=QuadraticAlone.of(fitted.point, fitted.inverse, noisy),
        ),
        steps=max(_STEPS, _EACH * len(v)),
    )
