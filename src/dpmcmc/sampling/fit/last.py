# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The last release: the quadratic part of the log-likelihood, with most of the budget.

Bounds are as a histogram at the very place says. Where the model says what responses a
record might have had, gradients are clipped tightly without bias, and what that leaves,
which is little if the model is right, is asked for apart under a wide bound.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpmcmc.model.responses import Responses, nodes_of, stops_of
from dpmcmc.sampling.fit.asking import Ask, Asking
from dpmcmc.sampling.fit.curvature import Curvature
from dpmcmc.sampling.fit.last_questions import LastAnswer, Tight
from dpmcmc.sampling.fit.last_sums import Bounds, Choice, Fractions, ask_sums
from dpmcmc.sampling.fit.questions import EXTREME, LengthBins, Unravel
from dpmcmc.sampling.fit.rounds import Arrival
from dpmcmc.sampling.fit.tails import Counts, Tail

__all__ = ["Extremes", "Quadratic", "ask_last"]

_LENGTHS, _CLEARLY = (0.42, 0.2), 2.0
"""The fractions of what is left for a histogram of lengths, and for another one; and
what may be cut off, beside the noise of the sum to come, if that is not asked for."""

_EXPECTED = 0.05
"""And for what the model expects, where it says so."""

_FOR_HESSIAN = (0.02, 0.04, 0.08, 0.15, 0.3, 0.5, 0.7)
_STEP, _USUAL, _IN_TWO, _LEAK = 4.0, 2.5, 4.0, 0.1
"""The Hessian's part is chosen as for a step of so many posterior sd at least; and as
for a final bound of so many typical lengths. Tight gradients and their excess have so
many times the variance that gradients alone would have, and such a part of it is left
when the excess is shrunk."""

_TIGHT, _STOPPED = (2.0, 4.0), 3.5
"""Tight bounds, in typical lengths, are between these; that before which durations are
censored, by which more is lost."""

_SHELL, _UNSEEN, _TRIED = 1.4, 0.5, 12
"""How far the first sum looks beyond the tight bound, at least; how much of the excess
may be farther out; and how many bounds are tried for the final sum."""

_LEAST_BOUND = 1.2
_AS_WIDE = 0.8
"""The least bound, and how it compares to that of the rounds."""

_WORTH = 1.25
_CHOSEN, _CAUTIOUS, _SLOWLY = 0.8, 0.85, 0.975
"""Bounds are chosen by the first quantile of what they may cut; intervals hold what the
second says was cut, and the third where most of it may be in records too few to be
seen."""

_CONTINUED = 2.6
"""Those are tails that fall as a lower power: lengths have no variance, or one that
rests on few records."""

_HIDDEN = 0.5
"""And so many sd of a count, of records that are as far beyond the bound as it is."""


class Extremes(NamedTuple):
    """How many records have gradients far longer than usual, and how many should.

    Fractions of the records; ``expected`` is NaN where the model does not say.
    """

    found: float
    sd: float
    expected: float


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The quadratic part about a place, per record, as it was released.

    Attributes
    ----------
    gradient, curvature
        Of the log-likelihood, in v; curvature is positive definite.
    variance
        Of the noise of the gradient.
    cut, wide_cut
        Squares of what a bound may have cut off it: a middle estimate, and a cautious.
    gradient_bound, hessian_bound
        Where gradients were clipped, as lengths of g / metric; and Hessians.
    is_flat
        Whether a direction is too flat to be distinguished from none.
    cut_sd
        What may have been cut, in posterior sd.
    power
        As which power of lengths counts fall, if so slowly that their variance rests on
        records too few to be seen; NaN if not.
    extremes
        What was found beyond usual lengths.
    """

    gradient: np.ndarray
    curvature: Curvature
    variance: np.ndarray
    cut: np.ndarray
    wide_cut: np.ndarray
    gradient_bound: float
    hessian_bound: float
    is_flat: bool
    cut_sd: float
    power: float
    extremes: Extremes


def ask_last(
    arrival: Arrival,
    left: float,
    final_noise: float,
    responses: Responses | None,
    unravel: Unravel,
) -> Asking[tuple[Arrival, Quadratic]]:
    """Ask for lengths, then for two sums; and say where the final one was asked.

    Parameters
    ----------
    arrival
        Where to ask.
    left
        The fraction of the budget for normal noise to pay.
    final_noise
        The sd of the noise of the final sum, in units of its bound.
    responses
        As in `Model`.
    unravel
        Makes θ of its coordinates.
    """
    place = arrival.place
    size, records = place.setting.size, place.setting.records
    typical, metric = place.typical, place.metric
    hessian_tail = Tail([arrival.hessians], records, seed=1)
    tight = Tight(unravel, nodes_of(responses), stops_of(responses))
    question = LastAnswer(tight, place.setting.is_concave)
    expected = _EXPECTED if tight.is_stated else 0.0
    least = max(_LEAST_BOUND, _AS_WIDE * arrival.least_bound)
    observed = [arrival.lengths] if arrival.arrived else []
    kept = 1.0
    one = final_noise * place.noise_per_cut
    for fraction in _LENGTHS:
        (values,), sd = yield Ask(
            LengthBins(unravel, has_hessians=False),
            place.public,
            fraction * left,
            histograms=1,
        )
        observed.append(Counts(values, sd))
        kept -= fraction
        tail = Tail(observed, records, at_mode=arrival.arrived)
        wide = tail.choose(float(np.hypot(one, _HIDDEN * sd)), least, _CHOSEN)
        if _cautious(tail, wide) < _CLEARLY * one * wide:
            break
    # The noise of a sum with all of the rest, in units of its bound: a substitution
    # moves a sum by 2, a histogram by √2.
    noise = sd * np.sqrt(2 * fraction / kept)
    for_hessian, most = _hessian_part(
        hessian_tail,
        noise / question.longer[2],
        final_noise * _USUAL * typical * np.sqrt(np.mean(metric**2)) / records,
        (noise / final_noise) ** -2,
        arrival.curvature.sd,
        size,
        records,
    )
    narrow = _tight(tail, one) if tight.stops is None else _STOPPED
    is_tight = tight.is_stated and wide > _WORTH * narrow
    bounds, choices = Bounds(narrow, wide, most, 0.0, is_tight), [Choice(wide)]
    if is_tight:
        bounds, choices = _choices(tail, bounds)
    cut = hessian_tail.cut(most) * size / records / np.sqrt(2 * size)
    arrival, sums = yield from ask_sums(
        arrival,
        bounds._replace(cut=cut),
        Fractions(for_hessian, expected),
        choices,
        (kept * left, final_noise),
        question,
    )
    cautious = _cautious(tail, wide)
    found = Extremes(
        tail.beyond(EXTREME) / records, tail.sd * np.sqrt(8) / records, np.nan
    )
    if tight.nodes is not None:
        found = found._replace(expected=float(np.clip(sums.extreme, 0, 1)))
    slow = tail.slow()
    cut_sd = cautious * typical * np.sqrt(np.sum(place.directions * metric**2))
    return arrival, Quadratic(
        gradient=sums.gradient,
        curvature=sums.curvature,
        variance=sums.variance,
        cut=place.cut_variance(tail.cut(wide)),
        wide_cut=place.cut_variance(cautious),
        gradient_bound=wide * typical,
        hessian_bound=most * size,
        is_flat=sums.is_flat,
        cut_sd=float(cut_sd / np.sqrt(records * size)),
        power=np.nan if slow is None else slow,
        extremes=found,
    )


def _tight(tail: Tail, noise: float) -> float:
    """The bound of gradients that are clipped without bias.

    If the model is right, what is cut off has expectation zero, and scatters: that is
    compared with the noise, which is given for a bound of 1.
    """
    bounds = np.arange(_TIGHT[0], _TIGHT[1] + 0.1, 0.25)
    errors = [(noise * bound) ** 2 + tail.scatter(bound) for bound in bounds]
    return float(bounds[int(np.argmin(errors))])


def _choices(tail: Tail, bounds: Bounds) -> tuple[Bounds, list[Choice]]:
    """Bounds of the first sum, and those from which that of the final one is chosen.

    The first sum has the excess of lengths that are not much longer than the tight
    bound, if that is half of all or more: so its noise is small beside what most
    records that are cut have there. What is further out is taken to be as much larger
    as lengths say.
    """
    tight, wide = bounds.tight, bounds.wide
    tried = np.geomspace(tight, wide, _TRIED)
    beyond = np.maximum([tail.cut(bound) - tail.cut(wide) for bound in tried], 0.0)
    is_seen = (beyond <= _UNSEEN * beyond[0]) & (tried >= min(_SHELL * tight, wide))
    place = int(np.argmax(is_seen))
    hidden = float(beyond[place])
    seen = float(beyond[0]) - hidden
    if seen <= 0:
        return bounds, [Choice(wide)]
    whole = 1 + hidden / seen
    choices = []
    for bound, left in zip(tried, beyond, strict=True):
        part, out = max(left - hidden, 0.0) / seen, min(left, hidden) / seen
        other = (part * (1 - part) + out) / whole**2
        choices.append(Choice(float(bound), (part + out) / whole, other))
    return bounds._replace(wide=float(tried[place]), whole=whole), choices


def _cautious(tail: Tail, bound: float) -> float:
    """What a bound may have cut off lengths, by a cautious estimate."""
    power = tail.slow()
    is_slow = power is not None and power < _CONTINUED
    cut = tail.cut(bound, _SLOWLY if is_slow else _CAUTIOUS)
    return float(np.hypot(cut, _HIDDEN * tail.sd * bound))


def _hessian_part(
    tail: Tail,
    noise: float,
    final: float,
    precise: float,
    known: float,
    size: int,
    records: int,
) -> tuple[float, float]:
    """The Hessian's fraction of the first sum, and its bound.

    The fraction makes the smallest error of the mode: noise of gradients, that of the
    Hessian times the step from where the first sum leads, and third derivatives times
    its square. Such a step is as long as the noise of the first sum.

    Parameters
    ----------
    tail, noise
        Lengths of Hessians, and their noise with the whole of a sum, for a bound of 1.
    final, precise
        The sd of the final sum, per record and coordinate; and the precision of the
        first, if gradients had all of it, beside that.
    known
        The sd of the curvature that is known.
    size, records
        How many coordinates, and how many records.
    """
    errors = {}
    for fraction in _FOR_HESSIAN:
        one = noise / np.sqrt(fraction) * np.sqrt(2 * size)
        bound = tail.choose(one, 1.0)
        entries = np.hypot(one * bound, tail.cut(bound)) * size / records
        entries = entries / np.sqrt(2 * size)
        error = 2 * size * (entries * known) ** 2 / (entries**2 + known**2)
        gradient = size * final**2
        step = _IN_TWO * gradient / (precise * (1 - fraction))
        total = gradient / (1 + precise * (1 - fraction)) + step**2 / 4
        total += max(step, _STEP**2 * size / records) * error + _LEAK * step
        errors[total] = fraction, bound
    return errors[min(errors)]
