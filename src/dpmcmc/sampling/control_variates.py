# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Control variates: a quadratic found privately, and decisions on what it misses.

The fit asks the records, with noise, where the posterior is and for the quadratic part
of the log-likelihood there. A record then enters a decision by what its own quadratic
misses, which is so little that thousands of decisions cost a few hundredths of the
budget. The draws carry the noise of the quadratic, and what clipping may have cut.
"""

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.accounting import BarkerBit, Event, GaussianRelease
from dpmcmc.errors import InputError
from dpmcmc.influence.derivatives import Frame, derivatives, prepared
from dpmcmc.influence.residual import Residual
from dpmcmc.model.tracing import is_double
from dpmcmc.posterior import Posterior, Statement
from dpmcmc.posterior.summary import mixing_of
from dpmcmc.private import FullData, Grid
from dpmcmc.proposals import Proposal
from dpmcmc.sampling.chain import Chain, ChainSetup, chain_lengths, fitted, repeated
from dpmcmc.sampling.check import Check
from dpmcmc.sampling.draws import collect_draws
from dpmcmc.sampling.fit.alone import quadratic_alone
from dpmcmc.sampling.fit.basis import basis_of
from dpmcmc.sampling.fit.fitted import Fitted
from dpmcmc.sampling.fit.questions import Unravel
from dpmcmc.sampling.fit.stage import Fit
from dpmcmc.sampling.fit.twin import find_twin, sentence_on
from dpmcmc.sampling.gaussian_budget import (
    USUAL_SPLIT,
    laplace_beside,
    split_budget,
)
from dpmcmc.sampling.normal_shape import moved, proposal_about
from dpmcmc.sampling.plan import Plan, Request, make_plan
from dpmcmc.sampling.problem import Problem
from dpmcmc.sampling.stages import Context, SoFar, Stage
from dpmcmc.sampling.tempering import Tempering, tempered_records
from dpmcmc.sampling.verdict import verdict_on

__all__ = ["ControlVariates"]

_CHAINS = 4

_NORMAL, _MUCH = (0.3, 0.85), 100.0
"""Fractions of the fit for all but its final sum, in squares of the μ that it would
have with normal noise alone; and the product of that μ and the records, for each
coordinate, from which on less than the larger one finds the posterior."""


class _Bought(NamedTuple):
    """What a budget buys.

    Attributes
    ----------
    mu, shift
        Of the fit's answers with normal noise together, and of its final sum.
    for_check
        The μ of the check.
    clip
        Of a decision; 0 if there are none.
    """

    mu: float
    shift: float
    for_check: float
    clip: float


@dataclass(frozen=True)
class ControlVariates:
    """Find the quadratic part of the log-likelihood privately; decide on the rest.

    For models with continuous parameters whose posterior is about normal, or becomes so
    with the prior. Nothing has to be chosen: scales, bounds and rounds come from the
    records, privately.

    Parameters
    ----------
    proposal
        How a chain proposes; fitted to the released quadratic unless given.
    tempering
        As in `Barker`.
    """

    proposal: Proposal | None = None
    tempering: Tempering = None

    def plan(self, problem: Problem, request: Request) -> Plan:
        """Three stages: the fit, a chain, and a check of what it cut."""
        unravel = _require_derivatives(problem)
        tempered = tempered_records(self.tempering, problem.size)
        tempering = tempered / problem.size
        chains = _CHAINS if request.chains is None else request.chains
        steps = request.steps
        if steps is None:
            steps = max(1, math.ceil(USUAL_SPLIT.decisions / max(1, chains)))
        basis, decisions = basis_of(problem), chains * steps
        bought = _bought(request, problem.size, basis.factor.shape[1], decisions)
        grid = Grid.unclipped(problem.size, tempering)
        if bought.clip:
            grid = Grid(bought.clip, scale=tempering)
        test = FullData(grid)
        lengths = chain_lengths(chains, steps, request.warmup, test)
        if self.proposal is not None:  # refuse it before anything is spent
            fitted(self.proposal, problem, problem.initial, lengths.warmup)
        fit = Fit(bought.mu, bought.shift, basis, bought.clip, tempering, unravel)

        def found(so_far: SoFar) -> Fitted:
            quadratic = fit.found(so_far[fit.name])
            assert quadratic is not None  # the fit has objected otherwise
            return quadratic

        def unread(so_far: SoFar) -> str | None:
            quadratic = fit.found(so_far.get(fit.name, ()))
            return _ALONE if quadratic is not None and quadratic.is_alone else None

        def setup(context: Context, so_far: SoFar) -> ChainSetup:
            del context
            quadratic = found(so_far)
            if quadratic.is_alone:
                alone = quadratic_alone(problem, quadratic, tempering, lengths.chains)
                return alone._replace(proposal=self.proposal or alone.proposal)
            mean = problem.unravel(quadratic.mode, np.float64)
            proposal = self.proposal or proposal_about(mean, quadratic.covariance)
            points = repeated(problem.unravel(quadratic.mode), lengths.chains)
            used = replace(test, influence=quadratic.residual(unravel, tempering))
            return ChainSetup(problem, points, proposal, used)

        decision = BarkerBit(clip=grid.clip, records=problem.size)

        def residual(so_far: SoFar) -> Residual:
            # Unclipped: what clipping of gradients cuts is in the draws already.
            return found(so_far).residual(unravel, tempering, clipped=False)

        chain = Chain(lengths, decision, test, setup, _sentence(bought.clip), unread)
        check = Check(bought.for_check, bought.clip, chain, residual)

        def collect(context: Context, so_far: SoFar, statement: Statement) -> Posterior:
            quadratic = found(so_far)
            generator = np.random.default_rng(context.public_seed)
            own = self.proposal
            words = "fitted to the released quadratic" if own is None else repr(own)
            move = partial(moved, covariance=quadratic.shift, generator=generator)
            posterior = collect_draws(
                problem,
                chain,
                so_far,
                statement,
                proposal=words,
                move=None if quadratic.is_alone else move,
            )
            cut = check.cut(problem, so_far)
            twin = find_twin(problem, quadratic)
            other = "" if twin is None else sentence_on(problem, quadratic.mode, twin)
            mixing = mixing_of(posterior.chain_draws)
            verdict = verdict_on(quadratic, cut, mixing, other)
            return replace(posterior, statement=replace(statement, verdict=verdict))

        stages: list[Stage] = [fit, chain, check] if bought.clip else [fit, chain]
        return make_plan(
            problem, request, stages, collect, tempered=tempered, notes=[_NOTE]
        )


_NOTE = (
    "draws allow for how far noise and clipping may have moved the posterior; where "
    "records decide, the chain's own draws are beside them. The posterior is the "
    "model's: where the model is wrong, intervals are for what the model says without "
    "privacy."
)


_ALONE = (
    "What the released quadratic misses is next to nothing, or less than its noise, so "
    "that decisions on records would tell nothing; draws are of the prior and of the "
    "likelihood of the noisy quadratic"
)


def _bought(request: Request, records: int, size: int, decisions: int) -> _Bought:
    """Split the budget between normal noise, decisions, and the final sum.

    Guarantee
    ---------
    Where ε was given, releases of these sizes composed with the decisions are
    (ε, δ)-differentially private.
    """
    splitting = USUAL_SPLIT._replace(decisions=decisions)
    (whole, for_check), clip = split_budget(request, records, splitting)
    strength = whole * records / max(size, 1)
    fraction = float(np.clip(_NORMAL[1] * (_MUCH / strength) ** 0.25, *_NORMAL))
    mu = whole * math.sqrt(fraction)
    others: Counter[Event] = Counter([GaussianRelease(mu)])
    if clip:
        others[GaussianRelease(for_check)] += 1
        others[BarkerBit(clip=clip, records=records)] += decisions
    return _Bought(mu, laplace_beside(request, others, size), for_check, clip)


def _sentence(clip: float) -> str:
    clipped = f"clipped to ±{clip:.3g}" if clip else "with no clip"
    return (
        "decided on all records, with what each record's log-likelihood ratio differs "
        f"from its quadratic {clipped}, by Barker's exact test"
    )


def _require_derivatives(problem: Problem) -> Unravel:
    """Refuse what has no gradient, now; and return what makes θ of its coordinates."""
    for leaf in jax.tree.leaves(problem.model.initial):
        if np.asarray(leaf).dtype.kind != "f":
            raise InputError(
                f"initial holds {leaf!r}, a discrete parameter; ControlVariates is for "
                "continuous parameters alone. Write 0.0 for a real number, or take "
                "dpmcmc.Barker."
            )
    with jax.enable_x64(is_double(problem.dtype)):
        flat, unravel = ravel_pytree(problem.initial)

        def both(record: Any) -> tuple[jax.Array, jax.Array]:
            frame = Frame(flat, jnp.eye(len(flat)))
            record = prepared(problem.model, record)
            return derivatives(problem.model, record, frame, unravel)

        try:
            jax.eval_shape(both, problem.one_record)
        except Exception as error:
            raise InputError(
                "the log-likelihood has no two derivatives that JAX can find, which "
                "ControlVariates needs. Write it in jax.numpy, or take dpmcmc.Barker."
            ) from error
    return unravel
