# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Noisy Newton rounds: from where the model starts to where the posterior is.

Each round asks for histograms of lengths, sets its bounds by them, asks for the sums of
clipped gradients and Hessians, and takes a step no longer than the last one has shown
to be believable. Rounds are cheap until they arrive; the last pays for precision.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dpmcmc.sampling.fit.asking import Asking
from dpmcmc.sampling.fit.curvature import Curvature
from dpmcmc.sampling.fit.known import Known
from dpmcmc.sampling.fit.look import CLOSE, Least, Look, ask_round
from dpmcmc.sampling.fit.place import Place
from dpmcmc.sampling.fit.questions import Unravel
from dpmcmc.sampling.fit.step import Step, newton_step, trusted
from dpmcmc.sampling.fit.tails import Counts

__all__ = ["Arrival", "newton_rounds"]

_MOST_ROUNDS = 40
_KEPT_FOR_LAST = 0.3
"""Rounds end when less than this fraction of the budget would be left."""

_PRECISION_AT_FIRST = 25.0
"""Of the first rounds: noise is so many times smaller than the gradient of one
standard step, for coordinates that are each as long as their sd."""

_COUNTS_AT_FIRST = 200.0
"""And the noise of a count is at most a hundredth or two of the records."""

_LEAST, _MOST = 0.006, CLOSE
"""Fractions of the budget of the first rounds."""

_AT_FIRST = Least()
_WIDEST_HESSIAN = 300.0
_TOO_SMALL, _WIDEST_LEAST = 0.6, 12.0
"""Whitened gradients of a right model have mean squares of 1; where they are smaller
than this, the least bound is widened, up to the other."""

_LAST_CURVATURE, _FIRST_NOISE, _ROUGH = 0.6, 3.0, 1.0
"""Noise of curvatures after the last release beside that of a close round; that of the
first of its two sums beside the final one; and what may be added to the noise of this
before another round is worth its cost."""

_USUAL_BOUND = 2.5
"""That of the final sum, in typical lengths, where a round's is wider."""

_STRAIGHT = 30.0
"""The longest first step where the model says that derivatives are linear."""

_NEAR = 0.5
"""After a shorter step, curvature is taken to be at least its sd, and coordinates are
stretched until it stands out of its noise; after a longer one, more than that."""

_STEADY = 0.3
"""A step has arrived if it is at most √(0.3/√N): its square, times √N, is what a
quadratic about another point would be wrong by."""


class Arrival(NamedTuple):
    """Where the rounds ended.

    Attributes
    ----------
    place
        The place that the last step led to.
    lengths, hessians
        The last histograms of lengths, a step before: of gradients, and of Hessians.
    curvature
        What the rounds know of the curvature of records and prior there, which
        coordinates have made about the identity.
    known
        What the rounds know of the gradient there.
    cut
        The covariance of what the last round may have cut off it.
    rounds
        How many rounds there were.
    arrived
        Whether the last step was short, by a precise round.
    spent
        The fraction of the budget that is spent.
    least_bound
        The least bound on gradients, in typical lengths, that leaves none to hide.
    """

    place: Place
    lengths: Counts
    hessians: Counts
    curvature: Curvature
    known: Known
    cut: np.ndarray
    rounds: int
    arrived: bool
    spent: float
    least_bound: float


def newton_rounds(
    place: Place, budget: float, spent: float, final_noise: float, unravel: Unravel
) -> Asking[Arrival]:
    """Take rounds until a precise one makes but a short step, or the budget ends.

    Parameters
    ----------
    place
        Where to start.
    budget
        The μ of all with normal noise.
    spent
        The fraction of it that is spent before.
    final_noise
        The sd of the noise of the final sum, in units of its bound.
    unravel
        Makes θ of its coordinates.
    """
    size, records = place.setting.size, place.setting.records
    needed = max(_PRECISION_AT_FIRST * size, _COUNTS_AT_FIRST) / (budget * records)
    search = _Search(
        place,
        float(np.clip(needed**2, _LEAST, _MOST)),
        Curvature.whitened(size),
        final_noise,
    )
    search.spent = spent
    if place.is_straight:
        search.radius = _STRAIGHT
    while search.can_go_on:
        look = yield from ask_round(
            search.place, search.fraction, search.least, unravel
        )
        search.spent += search.fraction
        search.rounds += 1
        known, total = search.learn(look)
        radius = trusted(search.last, search.place, look, search.radius)
        if radius is None:
            search.go_back()
            continue
        search.radius = radius
        search.take(look, known, total)
        if search.has_arrived():
            return search.arrival(arrived=True)
    return search.arrival(arrived=False)


@dataclass
class _Search:
    """Where a search is, and what it has learned.

    Attributes
    ----------
    place, fraction
        Where the next round looks, and what it pays.
    final_noise
        The sd of the noise of the final sum, in units of its bound.
    radius
        The longest step that is believed.
    least
        Bounds are at least these.
    curvature
        What is known of the curvature, in the coordinates of the place.
    moved
        How long the last step was.
    is_flat
        Whether a direction is too flat to be distinguished from none.
    last
        The last step.
    """

    place: Place
    fraction: float
    curvature: Curvature
    final_noise: float
    radius: float = 1.0
    least: Least = _AT_FIRST
    moved: float = np.inf
    is_flat: bool = True
    last: Step | None = None
    spent: float = 0.0
    rounds: int = 0

    @property
    def can_go_on(self) -> bool:
        """Whether there is budget for a round and the last release."""
        is_paid = self.spent + self.fraction <= 1 - _KEPT_FOR_LAST
        return is_paid and self.rounds < _MOST_ROUNDS

    @property
    def usual_change(self) -> float:
        """What a step as long as the last one usually changes of the curvature."""
        if self.place.is_straight and self.last is not None:
            return 0.0
        return min(self.moved, 1.0) / float(np.sqrt(self.place.setting.size))

    def learn(self, look: Look) -> tuple[Known, Curvature]:
        """Gradient and curvature, of records and prior, with what was known of them."""
        size, place = len(look.gradient), self.place
        known = Known(look.gradient, np.diag(look.noise**2 + look.cut))
        if self.last is not None:
            known = known.combined(self.last.foreseen(place))
        is_precise = look.curvature_noise * np.sqrt(size) < 0.3
        is_gone = np.linalg.eigvalsh(look.curvature)[0] < 0.5
        if self.moved < 0.5 and not self.is_flat and is_precise and is_gone:
            # Curvature has gone where nothing moved: it was clipped away.
            wider = min(3 * self.least.hessian, _WIDEST_HESSIAN)
            self.least = self.least._replace(hessian=wider)
        seen = Curvature(look.curvature + place.prior[1], np.zeros((size, size)))
        found = self.curvature.combined(
            place.apart(seen, known).mean, look.curvature_noise, self.usual_change
        )
        far = np.sqrt(size) if self.moved > _NEAR else 1.0
        total, self.is_flat = place.apart(found, known).positive(far)
        return known, total

    def go_back(self) -> None:
        """Take a quarter of the last step instead: the gradient has grown."""
        assert self.last is not None
        length = self.last.length
        self.radius = min(self.radius, length * self.last.fraction) / 4
        self.moved = length
        self._go(replace(self.last, fraction=min(1.0, self.radius / length)))

    def take(self, look: Look, known: Known, curvature: Curvature) -> None:
        """Take a Newton step, no longer than the radius."""
        whole = newton_step(known, curvature.mean, self.place)
        step = Step(self.place, look, known, curvature, whole, np.ones(len(whole)))
        part = min(1.0, self.radius / max(step.length, np.finfo(float).tiny))
        self._go(replace(step, fraction=part))
        self.moved = step.length_of(self.place.point - step.place.point)

    def _go(self, step: Step) -> None:
        """Look where a step leads, in coordinates that its curvature makes."""
        point, roots = step.moved()
        self.last = replace(step, roots=roots)
        curvature = step.curvature
        self.place = step.place.whitened(
            point, curvature.mean, step.look.squares, roots
        )
        self.curvature = curvature.turned(self.last.across(self.place, 1))

    def has_arrived(self) -> bool:
        """Whether the last step ends the search; if not, set the next fraction."""
        step = self.last
        assert step is not None
        may_hide = self._widen()
        steady = np.sqrt(_STEADY / np.sqrt(self.place.setting.records))
        is_short = step.length <= max(steady, 2 * step.precision)
        if step.fraction == 1 and is_short and step.precision < 1:
            is_precise = self.fraction >= 0.99 * CLOSE
            if is_precise and not (self.is_flat or may_hide or self._is_rough()):
                return True
            self.fraction = max(self.fraction, min(6 * self.fraction, CLOSE))
        elif step.length < 3 * step.precision:
            self.fraction = max(self.fraction, min(2 * self.fraction, CLOSE))
        return False

    def _is_rough(self) -> bool:
        """Whether steps, as long as they may be, would add to the last noise.

        Noise of the curvature is multiplied by a step, and third derivatives by its
        square: first by the step from here, then by that between the last two sums.
        """
        step = self.last
        assert step is not None
        noise = float(np.linalg.norm(step.look.noise))
        noise *= self.final_noise / step.look.noise_of_one
        noise *= min(1.0, _USUAL_BOUND / step.look.bound)
        of_curvature = step.look.curvature_noise * _LAST_CURVATURE
        of_curvature *= np.sqrt((len(step.whole) + 1) / 2)

        def added(length: float) -> float:
            return float(np.hypot(of_curvature * length, length**2 / 2))

        between = np.hypot(_FIRST_NOISE * noise, added(step.precision))
        return added(float(between)) > _ROUGH * noise

    def arrival(self, *, arrived: bool) -> Arrival:
        """What the last release needs to know."""
        assert self.last is not None
        turn = self.last.across(self.place, 2)
        return Arrival(
            place=self.place,
            lengths=self.last.look.lengths,
            hessians=self.last.look.hessians,
            curvature=self.curvature.changed(self.usual_change),
            known=self.last.foreseen(self.place),
            cut=(turn.T * self.last.look.wide_cut) @ turn,
            rounds=self.rounds,
            arrived=arrived,
            spent=self.spent,
            least_bound=self.least.gradient,
        )

    def _widen(self) -> bool:
        """Widen the least bound where rare long gradients may hide.

        They are not seen in the noise of histograms; what they leave out of the mean
        squares gives them away.
        """
        is_cut = float(np.mean(self.place.squares)) < _TOO_SMALL and self.moved < 1
        if not is_cut or self.least.gradient >= _WIDEST_LEAST:
            return False
        wider = min(2 * self.least.gradient, _WIDEST_LEAST)
        self.least = self.least._replace(gradient=wider)
        return True
