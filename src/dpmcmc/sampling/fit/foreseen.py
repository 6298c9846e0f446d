# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The questions of a fit that follow the first, so that their programs can be compiled.

A program depends on a question and on shapes, which are known as soon as the directions
are that records inform. Numbers that a question is asked with are not: those here stand
for them.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from dpmcmc.influence.residual import Residual
from dpmcmc.model.responses import nodes_of, stops_of
from dpmcmc.sampling.fit.asking import Ask
from dpmcmc.sampling.fit.last_questions import (
    FinalAnswer,
    FinalPublic,
    LastAnswer,
    LastPublic,
    Tight,
)
from dpmcmc.sampling.fit.misfit import ResidualBins, ResidualPublic, ResidualSums
from dpmcmc.sampling.fit.place import Place, Setting
from dpmcmc.sampling.fit.questions import (
    LengthBins,
    RoundAnswer,
    RoundPublic,
    Unravel,
)
from dpmcmc.sampling.problem import Problem

__all__ = ["foreseen"]


def foreseen(
    problem: Problem, setting: Setting, unravel: Unravel, moves: Any
) -> Iterator[Ask]:
    """Each question once, in order, with numbers of the right shapes and no fraction.

    ``moves`` are points like those between which residuals are looked at; None if they
    are not.
    """
    size = setting.size
    start, ones = problem.ravel(problem.initial), np.ones(size)
    place = Place(setting, start, np.eye(size), ones)
    at, responses = place.public, problem.model.responses
    yield Ask(LengthBins(unravel, is_first=True), at, histograms=2)
    yield Ask(LengthBins(unravel), at, histograms=2)
    round_public = RoundPublic(at, 1.0, 1.0, 1.0, np.ones(3))
    yield Ask(RoundAnswer(unravel, setting.is_concave), round_public)
    yield Ask(LengthBins(unravel, has_hessians=False), at, histograms=1)
    last_public = LastPublic(at, 1.0, 1.0, 1.0, np.ones(4))
    tight = Tight(unravel, nodes_of(responses), stops_of(responses))
    yield Ask(LastAnswer(tight, setting.is_concave), last_public)
    yield Ask(FinalAnswer(tight), FinalPublic(at, 1.0, False), is_final=True)
    if moves is None:
        return
    residual = Residual(
        frame=at.frame,
        inverse=setting.basis.inverse,
        metric=ones,
        gradient_bound=1.0,
        hessian_bound=1.0,
        gradient=ones,
        hessian=np.eye(size),
        unravel=unravel,
        tempering=1.0,
    )
    looked = ResidualPublic(residual, moves, moves, 1.0)
    yield Ask(ResidualBins(problem.dtype), looked, histograms=1)
    yield Ask(ResidualSums(problem.dtype), looked)
