# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Chains that decide on all records: Barker's exact test, and the paper's Gaussian one.

From one choice come the test that the boundary runs and the event that the accountants
charge for, so that what is done is what is paid for.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from dpmcmc.accounting import BarkerBit, Event, GaussianBarkerBit
from dpmcmc.correction import Correction, correction_for
from dpmcmc.errors import InputError, require_positive
from dpmcmc.influence.choices import (
    Clipping,
    ConditionalCentring,
    ModelCorrection,
    PlainClipping,
    Shrinking,
)
from dpmcmc.posterior import Posterior, Statement
from dpmcmc.private import (
    PLAIN,
    CorrectedNoise,
    FullData,
    Grid,
    Influence,
    NormalMixture,
)
from dpmcmc.proposals import Proposal, reach_of
from dpmcmc.sampling.affordable import affordable_steps, widest_clip
from dpmcmc.sampling.chain import Chain, ChainSetup, chain_lengths, fitted
from dpmcmc.sampling.draws import collect_draws
from dpmcmc.sampling.plan import Plan, Request, make_plan
from dpmcmc.sampling.problem import Problem
from dpmcmc.sampling.stages import Context, SoFar
from dpmcmc.sampling.starting import starting_points
from dpmcmc.sampling.tempering import Tempering, tempered_records

__all__ = ["Barker", "GaussianBarker", "corrected_noise", "require_proposal"]

_LEAST_CLIP, _MOST_CLIP, _MOST_PRIVATE_CLIP = 1e-30, 1e30, 100.0
"""Clips whose grid float32 can hold; and beyond which no decision hides a record."""

_LEAST_VARIANCE = 1e-3
_LOGISTIC = f"π²/3 ≈ {math.pi**2 / 3:.4f}"
_CLIPPINGS = (PlainClipping, ModelCorrection, ConditionalCentring, Shrinking)
_PLAIN_CLIPPING = PlainClipping()


@dataclass(frozen=True)
class Barker:
    """Barker's test on all records, exact: accept with probability σ(Δ).

    Parameters
    ----------
    clip
        The bound B on one record's (tempered) log-likelihood ratio in one step. A
        smaller clip buys more steps, but biases the posterior once it cuts many
        records. Unless given: the widest that fits, where both ε and steps are given;
        or the one that cuts no record, where the model has a Lipschitz constant and
        the proposal bounds its moves.
    clipping
        How ratios are bounded: `dpmcmc.clipping.PlainClipping` unless given;
        `ModelCorrection`, `ConditionalCentring` and `Shrinking` keep the posterior
        where it is if the model is right, at no cost of privacy.
    proposal
        How a chain proposes its next point, such as `RandomWalk`.
    tempering
        The number N₀ of records that the likelihood is to count for, or a
        `Coarsening`: the likelihood is raised to the power N₀/N.
    """

    clip: float | None = None
    clipping: Clipping = _PLAIN_CLIPPING
    proposal: Proposal | None = None
    tempering: Tempering = None

    def plan(self, problem: Problem, request: Request) -> Plan:
        """One stage: a chain."""
        return _plan(self, problem, request, _barker_decision(problem.size), None)


@dataclass(frozen=True)
class GaussianBarker:
    """The paper's test on all records: Δ with N(0, C) noise and a correction.

    `Barker` is exact and costs less; this is here because it is in the paper (§3.1).

    Parameters
    ----------
    clip, clipping, proposal, tempering
        As in `Barker`.
    variance
        The variance C of the normal noise, in (0, π²/3).
    correction
        The distribution of V_cor; fitted by linear programme unless given.
    """

    clip: float | None = None
    clipping: Clipping = _PLAIN_CLIPPING
    proposal: Proposal | None = None
    tempering: Tempering = None
    variance: float = 2.0
    correction: Correction | None = None

    def plan(self, problem: Problem, request: Request) -> Plan:
        """One stage: a chain."""
        noise = corrected_noise(self.variance, self.correction)
        return _plan(
            self, problem, request, _gaussian_decision(problem.size, noise), noise
        )


def _plan(
    method: Barker | GaussianBarker,
    problem: Problem,
    request: Request,
    decision_of: Callable[[float], Event],
    noise: CorrectedNoise | None,
) -> Plan:
    proposal = require_proposal(method.proposal)
    chains = 1 if request.chains is None else request.chains
    tempered = tempered_records(method.tempering, problem.size)
    clip = _settled_clip(method, problem, request, tempered, decision_of, chains)
    grid = _grid(clip, problem.size, tempered, request.is_private)
    test = FullData(grid, noise, _influence(method.clipping, problem, grid))
    decision = decision_of(grid.clip)
    steps = affordable_steps(request, decision, chains)
    lengths = chain_lengths(chains, steps, request.warmup, test)
    fitted(proposal, problem, problem.initial, lengths.warmup)  # refuse it now

    def setup(context: Context, so_far: SoFar) -> ChainSetup:
        del so_far
        points = starting_points(problem, lengths.chains, context.public_seed)
        return ChainSetup(problem, points, proposal, test)

    sentence = _sentence(method, clip, tempered < problem.size)
    chain = Chain(lengths, decision, test, setup, sentence)

    def collect(context: Context, so_far: SoFar, statement: Statement) -> Posterior:
        del context
        return collect_draws(problem, chain, so_far, statement, proposal=repr(proposal))

    notes = _lipschitz_note(method, problem, grid, proposal)
    return make_plan(problem, request, [chain], collect, tempered=tempered, notes=notes)


def require_proposal(proposal: Proposal | None) -> Proposal:
    """Refuse a method that cannot move."""
    if proposal is None:
        raise InputError(
            "the method has no proposal. Give one, such as "
            "Barker(proposal=dpmcmc.RandomWalk(scale=0.1))."
        )
    return proposal


def corrected_noise(variance: float, correction: Correction | None) -> CorrectedNoise:
    """Normal noise of a variance, with the correction that makes it nearly logistic."""
    variance = require_positive("variance", variance, "The paper takes C = 2.")
    if not _LEAST_VARIANCE <= variance < math.pi**2 / 3:
        raise InputError(
            f"variance is {variance!r}; C must lie between {_LEAST_VARIANCE:g} and "
            f"{_LOGISTIC}. The paper takes 2."
        )
    fitted = correction_for(variance) if correction is None else correction
    if type(fitted) is not Correction or fitted.variance != variance:
        raise InputError(
            f"correction is {type(fitted).__name__} for C = "
            f"{getattr(fitted, 'variance', None)!r}, but variance is {variance!r}; it "
            "must be a Correction fitted for the C of the test."
        )
    mixture = NormalMixture(fitted.centres, fitted.widths, fitted.weights)
    return CorrectedNoise(variance, mixture)


def _barker_decision(records: int) -> Callable[[float], Event]:
    """A decision whose log odds one record moves by at most twice the clip."""
    return partial(BarkerBit, records=records)


def _gaussian_decision(records: int, noise: CorrectedNoise) -> Callable[[float], Event]:
    mixture = noise.correction
    return partial(
        GaussianBarkerBit,
        records=records,
        variance=noise.variance,
        positions=mixture.centres,
        weights=mixture.weights,
        deviations=mixture.widths,
    )


def _settled_clip(
    method: Barker | GaussianBarker,
    problem: Problem,
    request: Request,
    tempered: float,
    decision_of: Callable[[float], Event],
    chains: int,
) -> float | None:
    """The clip that was given or can be found; None if none is needed."""
    if method.clip is not None or request.is_open:
        return method.clip
    if type(method.clipping) is PlainClipping:
        clip = _lipschitz_clip(problem, method.proposal, tempered / problem.size)
        if clip is not None:
            return clip
    return widest_clip(request, decision_of, chains)


def _lipschitz_clip(
    problem: Problem, proposal: Proposal | None, tempering: float
) -> float | None:
    """The clip that cuts no record, where the model and the proposal give one.

    A record's log-likelihoods at two points differ by at most L times their distance
    (paper, the lemma on Lipschitz likelihoods). The clip is enforced all the same: if
    L is wrong, accuracy suffers, not privacy.
    """
    lipschitz = problem.model.lipschitz
    if lipschitz is None or proposal is None or isinstance(proposal, type):
        return None
    bound = lipschitz * reach_of(proposal, problem.model.initial) * tempering
    return math.nextafter(bound, math.inf) if math.isfinite(bound) else None


def _grid(clip: float | None, records: int, tempered: float, is_private: bool) -> Grid:
    if clip is None:
        return Grid.unclipped(records, tempered / records)
    advice = "Choose the largest ratio that a record may have in a step."
    most = _MOST_PRIVATE_CLIP if is_private else _MOST_CLIP
    bound = require_positive("clip", clip, advice)
    if not _LEAST_CLIP <= bound <= most:
        raise InputError(
            f"clip is {bound:g}; it must lie between {_LEAST_CLIP:g} and {most:g}. "
            f"{advice}"
        )
    return Grid(bound, scale=tempered / records)


def _influence(clipping: Clipping, problem: Problem, grid: Grid) -> Influence:
    """The number of a record that enters a decision."""
    if type(clipping) not in _CLIPPINGS:
        raise InputError(
            f"clipping is a {type(clipping).__name__}; it must be one of "
            f"{', '.join(f'dpmcmc.clipping.{kind.__name__}' for kind in _CLIPPINGS)}."
        )
    if type(clipping) is PlainClipping:
        return PLAIN
    return clipping.influence(problem.model, problem.one_record, grid, problem.size)


def _sentence(
    method: Barker | GaussianBarker, clip: float | None, is_tempered: bool
) -> str:
    ratio = f"{'tempered ' if is_tempered else ''}log-likelihood ratio"
    clipped = "with no clip"
    if clip is not None:
        clipped = f"with each record's {ratio} clipped to ±{clip:g}"
    test = "Barker's exact test"
    if isinstance(method, GaussianBarker):
        test = f"the Gaussian test with C = {method.variance:g}"
    words = f"decided on all records, {clipped}, by {test}"
    if type(method.clipping) is not PlainClipping:
        words = f"{words}; {method.clipping.describe()}"
    return words


def _lipschitz_note(
    method: Barker | GaussianBarker, problem: Problem, grid: Grid, proposal: Any
) -> list[str]:
    """A remark where no ratio is clipped."""
    lipschitz = problem.model.lipschitz
    reach = reach_of(proposal, problem.initial)
    is_plain = type(method.clipping) is PlainClipping
    if not is_plain or lipschitz is None or not math.isfinite(reach):
        return []
    if lipschitz * reach * grid.scale > grid.clip:
        return []
    return [
        f"no ratio is clipped, if the model's Lipschitz constant {lipschitz:g} is "
        f"right: no move is longer than {reach:g}. The clip holds in any case."
    ]
