# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The stage of the fit: answers what the fit asks, on one budget fixed beforehand."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import numpy as np

from dpmcmc.accounting import GaussianRelease, LaplaceRelease
from dpmcmc.posterior.statement import StageSummary
from dpmcmc.private import foresee_counts, foresee_sum, release_counts, release_sum
from dpmcmc.progress import steps_bar
from dpmcmc.sampling.ahead import Ahead
from dpmcmc.sampling.fit.asking import Answer, Ask, Asking
from dpmcmc.sampling.fit.basis import Basis
from dpmcmc.sampling.fit.concavity import is_concave
from dpmcmc.sampling.fit.dispersion import shape_of
from dpmcmc.sampling.fit.fitted import MOST_MISFIT, MOST_MISSED, Fitted, fitted_to
from dpmcmc.sampling.fit.foreseen import foreseen
from dpmcmc.sampling.fit.last import ask_last
from dpmcmc.sampling.fit.misfit import (
    ResidualBins,
    ResidualPublic,
    ResidualSums,
    cut_by,
    missed_by,
)
from dpmcmc.sampling.fit.place import Place, Setting
from dpmcmc.sampling.fit.prior import LogPrior
from dpmcmc.sampling.fit.questions import Unravel
from dpmcmc.sampling.fit.rounds import newton_rounds
from dpmcmc.sampling.fit.scales import find_scales
from dpmcmc.sampling.fit.tails import Counts
from dpmcmc.sampling.problem import Problem
from dpmcmc.sampling.stages import Charge, Charged, Context, Events, Part, SoFar

__all__ = ["Fit"]

_FOUND = "found"
"""The part that holds the result; it is computed from the others."""

_RESIDUALS = 0.02
"""The fraction of the budget for the histogram of residuals, and for their sums."""

_FINAL = "final"
_LOST = {"values": np.zeros(0), "noise": np.asarray(np.inf)}
"""The part that holds the final sum; and what it holds if that was lost."""

_MOVES, _WIDER = 8, 2.0
"""Residuals are looked at on moves between points that scatter twice as widely as the
posterior should: a ridge is straight if looked at too closely."""

_MOST_WIDENING = 100.0
"""Intervals wider than that say nothing."""

_ROUNDING = 1 - 1e-12

_TOO_LITTLE = 1e-6
"""A question that would have less than this part of what it was meant to have, as lost
parts have taken the rest, is not asked."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Ask the records for the quadratic part of their log-likelihood.

    Attributes
    ----------
    mu
        The shift that one substitution makes in all answers with normal noise together,
        in sd of their noise.
    shift
        That in the final answer, in units of the scale of its Laplace noise.
    basis
        The directions that records inform.
    clip
        That of the decisions to come; 0 if they have none.
    tempering
        The power of the likelihood.
    unravel
        Makes θ of its coordinates.
    """

    mu: float
    shift: float
    basis: Basis
    clip: float
    tempering: float
    unravel: Unravel
    name: str = "fit"

    @property
    def final(self) -> LaplaceRelease:
        """The final sum: one number for each direction."""
        return LaplaceRelease(self.basis.factor.shape[1], self.shift)

    @property
    def final_noise(self) -> float:
        """The sd of each of its numbers, in units of the longest vector."""
        return 2 / self.shift * math.sqrt(self.final.dimension + 1)

    @property
    def events(self) -> Events:
        """A release with normal noise that dominates all parts but one, and that."""
        return {GaussianRelease(self.mu): 1, self.final: 1}

    def run(
        self, context: Context, so_far: SoFar, charged: Charged, charge: Charge
    ) -> Iterator[Part]:
        """Answer what the fit asks, part by part.

        Guarantee
        ---------
        Each part is charged before a record is read for it. One at most is ``final``,
        and never again if it was charged before; others are ``GaussianRelease`` of a μ
        that is chosen from earlier parts alone. The squares of all that were ever
        charged, those of lost parts among them, add up to at most μ² of the stage. So
        all parts together are dominated by ``GaussianRelease(mu)`` and ``final``
        (docs/proofs/composition, normal noise of chosen sizes).
        """
        kept = [part for part in so_far[self.name] if part.name != _FOUND]
        if len(kept) < len(so_far[self.name]):
            return
        spent = [
            count * event.mu**2
            for events in charged.values()
            for event, count in events.items()
            if isinstance(event, GaussianRelease)
        ]
        asked, again = 0.0, iter(kept)
        number = len(charged) - (_FINAL in charged)
        asking = self._asking(context.problem)
        ask = next(asking)
        label = context.label("Fitting")
        with (
            steps_bar(100, label, context.progress, "%") as bar,
            closing(Ahead()) as ahead,
        ):
            while True:
                part = next(again, None)
                if part is None and ask.is_final:
                    name = _FINAL
                    if name in charged:
                        part = Part(name, _LOST)
                    else:
                        charge(name, {self.final: 1})
                        ahead.wait(ask.question)
                        part = Part(name, _released(context, ask, self.final, name))
                    yield part
                elif part is None:
                    left = self.mu**2 * _ROUNDING - math.fsum(spent)
                    fraction = ask.fraction / (1 - asked)
                    mu = math.sqrt(max(left * fraction, 0.0)) * _ROUNDING
                    if mu**2 > left:
                        raise ValueError("the fit has asked for more than its budget")
                    if mu**2 < _TOO_LITTLE * ask.fraction * self.mu**2:
                        return
                    name = f"answer-{number:03d}"
                    event = GaussianRelease(mu)
                    charge(name, {event: 1})
                    if ask.to_come:
                        ahead.begin(_programs(context.problem, ask))
                    ahead.wait(ask.question)
                    part = Part(name, _released(context, ask, event, name))
                    spent.append(mu**2)
                    number += 1
                    yield part
                bar(round(100 * (asked + ask.fraction)) - round(100 * asked))
                asked += ask.fraction
                answer = Answer(part.arrays["values"], float(part.arrays["noise"]))
                try:
                    ask = asking.send(answer)
                except StopIteration as end:
                    fitted: Fitted = end.value
                    break
        yield Part(_FOUND, fitted.arrays())

    def found(self, parts: Sequence[Part]) -> Fitted | None:
        """What was found; None if it was not, yet."""
        return next(
            (Fitted.of(part.arrays) for part in parts if part.name == _FOUND), None
        )

    def describe(self, problem: Problem, so_far: SoFar) -> StageSummary:
        """What was asked, and what bounds were found."""
        found = self.found(so_far.get(self.name, ()))
        general = (
            "histograms of scales and lengths, and sums of norm-clipped gradients and "
            f"Hessians over all {problem.size:,} {problem.counts}, in rounds that lead "
            "to the posterior; bounds and rounds are chosen from earlier answers, and "
            f"all together are one Gaussian release with μ = {self.mu:.4g}. A final "
            "sum of gradients has Laplace noise: one substitution moves it by at most "
            f"{self.shift:.4g} times the scale of that"
        )
        numbers = {"mu": self.mu, "shift": self.shift}
        if found is None:
            return StageSummary(self.name, f"{general}.", numbers=numbers)
        usual = found.relative_bound
        return StageSummary(
            self.name,
            f"{general}. There were {found.rounds} rounds; in the last release "
            f"gradients were clipped at {usual:.1f} times their expected length.",
            numbers={
                **numbers,
                "rounds": found.rounds,
                "bound": usual,
                "cut_sd": found.cut_sd,
                "misfit": found.misfit,
                "missed": found.missed,
                "widening": float(np.max(found.widening)),
            },
        )

    def objection(self, problem: Problem, so_far: SoFar) -> str | None:
        """Whether the quadratic that was found can serve at all."""
        del problem
        found = self.found(so_far[self.name])
        if found is None:
            return "the fit was interrupted, and what it had asked was lost"
        is_missed = found.missed > max(MOST_MISSED, found.uncertain)
        is_cut = found.misfit > MOST_MISFIT and not found.is_alone
        if is_cut or is_missed:
            return (
                "about its mode, the log-likelihood is far from quadratic (a curved "
                "ridge, several modes, or a few records that outweigh all others): "
                f"the quadratic misses {found.missed:.1f} of differences of log "
                f"densities, and decisions would cut {found.misfit:.1f} off them, "
                f"where {MOST_MISSED:g} and {MOST_MISFIT:g} are the most that leave "
                "the posterior as it is. Give a larger budget, write the parameters in "
                "another form, or take dpmcmc.Barker, which needs no quadratic"
            )
        usual = float(np.median(found.widening))
        if not usual < _MOST_WIDENING:
            return (
                "noise, and what clipping may have cut, would make intervals "
                f"{usual:.0f} times as wide as without privacy. Give a larger "
                "budget or more records"
            )
        return None

    def _asking(self, problem: Problem) -> Asking[Fitted]:
        """The whole fit: scales, rounds, the last release, and a look at residuals."""
        start = problem.ravel(problem.initial)
        basis = self.basis
        setting = Setting(
            basis,
            LogPrior(problem),
            problem.size,
            self.tempering,
            shape_of(problem, start, basis.factor, self.unravel),
            is_concave(problem),
        )
        moves = _stacked(problem, np.zeros((_MOVES, len(start))))
        to_come = foreseen(problem, setting, self.unravel, moves if self.clip else None)
        scales = yield from find_scales(
            start, setting, self.mu, self.unravel, tuple(to_come)
        )
        first = Place(setting, *scales[:3], is_first=True)
        arrival = yield from newton_rounds(
            first, self.mu, scales.spent, self.final_noise, self.unravel
        )
        arrival, quadratic = yield from ask_last(
            arrival,
            1 - arrival.spent - 2 * _RESIDUALS,
            self.final_noise,
            problem.model.responses,
            self.unravel,
        )
        fitted = fitted_to(arrival, quadratic)
        if not self.clip:
            return fitted
        generator = np.random.default_rng(0)
        values, vectors = np.linalg.eigh(fitted.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0))
        size = len(fitted.mode)
        moves = _WIDER * generator.standard_normal((2, _MOVES, size))
        points = fitted.mode + moves @ root.T
        current, proposed = (_stacked(problem, rows) for rows in points)
        residual = fitted.residual(self.unravel, self.tempering, clipped=False)
        looked = ResidualPublic(residual, current, proposed, self.clip)
        counts, noise = yield Ask(
            ResidualBins(problem.dtype), looked, _RESIDUALS, histograms=1
        )
        sums = yield Ask(ResidualSums(problem.dtype), looked, _RESIDUALS)
        return replace(
            fitted,
            misfit=cut_by(Counts(counts[0], noise), self.clip, problem.size),
            missed=missed_by(*sums, self.clip),
            uncertain=fitted.differences(points[1] - points[0]),
        )


def _programs(
    problem: Problem, ask: Ask
) -> Iterator[tuple[object, Callable[[], object]]]:
    """The programs of a question that was charged and of those to come, once traced.

    Processes that share the records would compile theirs in any order: they wait.
    """
    if problem.records.sizes is not None:
        return
    for one in (ask, *ask.to_come):
        foresee: Any = foresee_counts if one.histograms else foresee_sum
        yield (
            one.question,
            foresee(
                problem.model,
                problem.records,
                one.question,
                one.public,
                dtype=problem.dtype,
                devices=list(problem.devices),
            ),
        )


def _released(
    context: Context, ask: Ask, event: GaussianRelease | LaplaceRelease, name: str
) -> dict[str, np.ndarray]:
    """Release the answer to a question, with the noise that its event says.

    Guarantee
    ---------
    The release is the event, by `release_sum` or `release_counts`.
    """
    problem = context.problem
    release: Any = release_sum
    moved, in_sd, paid = 2.0, 1.0, ask.histograms
    if isinstance(event, LaplaceRelease):
        release = partial(release_sum, laplace=True)
        size, paid = event.shift, event.dimension
        in_sd = math.sqrt(paid + 1)
    else:
        size = event.mu
        if ask.histograms:
            release, moved = release_counts, math.sqrt(2 * ask.histograms)
    noise = math.nextafter(moved / size, math.inf)
    values = release(
        problem.model,
        problem.records,
        ask.question,
        ask.public,
        context.tape(f"fit {name}"),
        noise=noise,
        dtype=problem.dtype,
        devices=list(problem.devices),
    )
    if paid and len(values) != paid:
        raise ValueError(f"{len(values)} were released, but {paid} were paid for")
    return {"values": values, "noise": np.asarray(noise * in_sd)}


def _stacked(problem: Problem, rows: np.ndarray) -> Any:
    """Points of θ with a leading axis."""
    points = [problem.unravel(row) for row in rows]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *points)
