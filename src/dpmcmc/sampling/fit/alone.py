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

_STEPS = 2500
"""Steps that read no record cost nothing."""


def quadratic_alone(
    problem: Problem, fitted: Fitted, tempering: float, chains: int
) -> ChainSetup:
    """A chain on the prior and the likelihood of the noisy quadratic."""
    gradient, precision = fitted.aware(tempering)
    frame = np.concatenate([fitted.factor, basis_of(problem).rest], axis=1)
    v, total = LogPrior(problem).climb(fitted.point, frame, gradient, precision)
    covariance = frame @ np.linalg.inv(total) @ frame.T
    top = problem.unravel(fitted.point + frame @ v, np.float64)
    public = replace(
        problem, records=PUBLIC, dtype="float64", devices=problem.devices[:1]
    )
    influence = QuadraticAlone(fitted.point, fitted.inverse, gradient, precision)
    return ChainSetup(
        public,
        repeated(top, chains),
        proposal_about(top, covariance),
        replace(READS_NOTHING, influence=influence),
        steps=_STEPS,
    )
