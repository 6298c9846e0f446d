# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How control variates should share a budget, by simulated records.

A wide bound on gradients costs noise, a tight one shortens them. What noise is taken
off a sum by a larger share of the budget narrows the clip of the bits, and what is
taken off the gradient is put on the Hessian. On simulated records all that is cut off
can be added up, so that every error is known, and no chain has to be run.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dpmcmc.rehearsal.looks import Look, Moves, look_along
from dpmcmc.surrogates import Plan

__all__ = ["Offer", "Split", "best_split", "distance"]

PARTS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6)
"""Parts of a record's vector that a Hessian may make."""

_AS_GOOD = 1.4
"""How much more error is taken for a wider bound."""

_AS_GOOD_AS_NONE = 0.3
"""Error, in posterior deviations, that is taken for a wider bound in any case."""

_AS_GOOD_A_SHARE = 1.03
"""How much more error is taken for a wider clip: bits also see what nobody expects."""

_ROUGHLY = 0.4
"""What noise on a curvature, as a part of it, changes |log| of a deviation by."""

_USUAL_BOUND = 4.0
"""The bound for which it is found how far off the last of several rounds is made."""


class Offer(NamedTuple):
    """A share of the budget, the noise that it leaves, and the clip that it leaves."""

    plan: Plan
    clip: float


class Split(NamedTuple):
    """How control variates share a budget.

    Attributes
    ----------
    share
        Their part of what the start has left of ε.
    part
        The part of a record's vector that its Hessian makes, `hessian_part`.
    bound
        The bound on gradients, in units of √d, `gradient_bound`.
    """

    share: float
    part: float
    bound: float


def distance(look: Look, records: int, point: np.ndarray) -> float:
    """How far a point v is off the top, in posterior deviations, rms."""
    away = point - look.top
    return math.sqrt(records * float(away @ look.precision @ away) / len(away))


def best_split(
    look: Look, offers: Mapping[float, Offer], off: float, bounds: Sequence[float]
) -> Split:
    """The share with nearly the smallest error, and the widest bound with it.

    Of shares that err alike the smallest is taken, which leaves the widest clip.
    Records that do not follow the model have longer gradients than simulated ones.
    What a bound cuts off them moves the posterior, and no interval knows of it; the
    noise of a wider bound is known, and intervals are widened by it.

    Parameters
    ----------
    look
        What simulated records say at the start.
    offers
        The plan and the clip that each share leads to.
    off
        How far off the top a start is, in posterior deviations.
    bounds
        Bounds on gradients to choose from, in units of √d.
    """
    least: dict[float, float] = {}
    chosen: dict[float, Split] = {}
    for share, offer in offers.items():
        away = _last_off(offer.plan, off)
        moves = look_along(look, offer.plan.records, away)
        errors, parts = zip(
            *(_best_part(bound, look, moves, offer, away) for bound in bounds),
            strict=True,
        )
        least[share] = float(np.nanmin(errors))
        enough = max(_AS_GOOD * least[share], _AS_GOOD_AS_NONE)
        bound, part = max(
            (bound, part)
            for bound, part, error in zip(bounds, parts, errors, strict=True)
            if error <= enough
        )
        chosen[share] = Split(share, part, bound)
    enough = _AS_GOOD_A_SHARE * min(least.values())
    return chosen[min(share for share, error in least.items() if error <= enough)]


def _last_off(plan: Plan, off: float) -> float:
    """How far off the last round is made: where the noise of the one before led."""
    if plan.settings.rounds == 1:
        return off
    before = plan.stages[-2].noise_multiplier * _USUAL_BOUND
    return before * math.sqrt(plan.dimension / plan.records)


def _best_part(
    bound: float, look: Look, moves: Moves, offer: Offer, off: float
) -> tuple[float, float]:
    """The error with the best part for Hessians, and that part."""
    cut, narrower = _shortened(bound, look, offer.plan)
    tried = []
    for part in PARTS:
        plan = replace(
            offer.plan, settings=replace(offer.plan.settings, hessian_part=part)
        )
        mean, width = _noise(bound, part, plan, off)
        tried.append((math.hypot(cut, mean) + narrower + width, part, plan))
    error, part, plan = min(tried, key=lambda one: one[0])
    return error + _clipped(bound, look, moves, plan, offer.clip), part


def _shortened(bound: float, look: Look, plan: Plan) -> tuple[float, float]:
    """What a bound does by shortening, as `Trial.error` counts it.

    It moves the mean, in posterior deviations, and changes |log| of the deviations.
    """
    longest = bound * math.sqrt(plan.dimension)
    lengths = np.linalg.norm(look.gradients, axis=-1)
    lost = np.maximum(1 - longest / np.maximum(lengths, 1e-300), 0)
    beyond = lost[..., None] * look.gradients
    if not look.is_listed:
        shift = beyond[:, 0].mean(axis=0) * math.sqrt(plan.records)
        return math.sqrt(float(np.mean(shift**2))), 0.0
    others = look.logs[:, 1:]
    chances = np.exp(others - others.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    made_up = np.sum(chances[..., None] * beyond[:, 1:], axis=1)
    scatter = math.sqrt(float(np.mean((made_up - beyond[:, 0]) ** 2)))
    squares = chances * lost[:, 1:] * lengths[:, 1:] ** 2
    told = float(np.sum(squares, axis=1).mean()) / plan.dimension
    return scatter, -math.log(max(1 - told, 1e-6)) / 2


def _noise(bound: float, part: float, plan: Plan, off: float) -> tuple[float, float]:
    """What the noise of gradient and Hessian does to the mean, and to deviations.

    A Hessian that is wrong moves the top by so much of how far it is off.
    """
    size, count = plan.dimension, plan.records
    slope = plan.noise_multiplier * bound * math.sqrt(size / count / (1 - part**2))
    bend = plan.noise_multiplier * plan.hessian_bound / part / count
    return math.hypot(slope, bend * off * math.sqrt((size + 1) / 2)), _ROUGHLY * bend


def _clipped(bound: float, look: Look, moves: Moves, plan: Plan, clip: float) -> float:
    """What the clip takes from the bits, as if all of it moved the mean.

    A shift by s deviations changes a log ratio by s times the length of a move, which
    is √2 for two draws.
    """
    longest = bound * math.sqrt(plan.dimension)
    few = len(look.bends)
    lengths = np.linalg.norm(look.gradients[:few, 0], axis=-1)
    slope = np.minimum(longest / np.maximum(lengths, 1e-300), 1)
    if look.is_listed:  # what was cut off is made up for, and not left to the bits
        slope = np.ones_like(slope)
    bend = np.minimum(plan.hessian_bound / np.maximum(look.bends, 1e-300), 1)
    residuals = moves.values - slope * moves.slopes - bend * moves.bends
    beyond = residuals - np.clip(residuals, -clip, clip)
    changes = plan.records * np.mean(beyond, axis=1)
    return math.sqrt(float(np.mean(changes**2)) / (2 * plan.dimension))
