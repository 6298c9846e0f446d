# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One verdict on a result, from what was released: can it be used, and why not."""

import math

import numpy as np

from dpmcmc.posterior.statement import Verdict
from dpmcmc.posterior.summary import Mixing
from dpmcmc.sampling.fit.fitted import MOST_MISFIT, MOST_MISSED, Fitted
from dpmcmc.sampling.fit.questions import EXTREME

__all__ = ["verdict_on"]

_WIDE = 2.0
_MUCH_CUT = 1.0
"""Beyond these, intervals are wide; what was cut is in posterior sd."""

_BLIND = 0.02
"""The sd of the fraction of records with long gradients, beyond which too many of them
could hide."""

_MUCH_BY_DECISIONS = 1.0
_MIXED, _FEW_DRAWS = 1.2, 20
"""Chains with a larger r-hat, or fewer effective draws, have not mixed."""


def verdict_on(
    fitted: Fitted,
    cut: float | None,
    mixing: Mixing,
    other_mode: str = "",
) -> Verdict:
    """Say whether means and intervals can be used.

    Parameters
    ----------
    fitted
        What the fit found.
    cut
        What decisions cut off a difference of log densities; None if not known.
    mixing
        How well the chains have mixed.
    other_mode
        A sentence on another mode, if there is one.
    """
    problem = _problem(fitted, mixing)
    model = _on_model(fitted) + (f" {other_mode}" if other_mode else "")
    if problem is not None:
        return Verdict("not usable", f"{problem}{model}")
    widest = float(np.max(fitted.widening))
    width = f"intervals are up to {widest:.2f} times as wide as without privacy"
    reason = _why_wide(fitted, cut, width)
    if reason is not None:
        return Verdict("usable with wide intervals", f"{reason}{model}")
    return Verdict("usable", f"{width}.{model}")


def _problem(fitted: Fitted, mixing: Mixing) -> str | None:
    """Why a result cannot be used; None if it can."""
    if fitted.is_far:
        return (
            "the last release contradicts the rounds before it; the fit may be far "
            "from the posterior. Give a larger budget or a closer start."
        )
    # A chain that never moved has no r-hat: that is none below the limit.
    worst, fewest = np.max(mixing.r_hat), np.min(mixing.ess_bulk)
    if not (worst < _MIXED and fewest > _FEW_DRAWS):
        return (
            "the chains have not mixed, so that the posterior is not about normal (a "
            "curved ridge, or a funnel), or there were too few steps. Write the "
            "parameters in another form, or take dpmcmc.Barker."
        )
    return None


def _why_wide(fitted: Fitted, cut: float | None, width: str) -> str | None:
    """Why intervals are wide; None if they are not."""
    unsettled = _unsettled(fitted, width)
    if unsettled is not None:
        return unsettled
    is_hidden = fitted.misfit > MOST_MISFIT or fitted.missed > MOST_MISSED
    if fitted.is_alone and is_hidden:
        return (
            "noise is larger than what the records could add to the normal "
            f"approximation, of which draws are; {width}.{_on_cut(fitted)}"
        )
    hidden = _may_hide(fitted)
    if hidden is not None:
        return f"{hidden}; {width}.{_on_cut(fitted)}"
    if fitted.cut_sd > _MUCH_CUT or np.max(fitted.widening) > _WIDE:
        return f"{width}.{_on_cut(fitted)}"
    if cut is not None and cut > _MUCH_BY_DECISIONS:
        return (
            f"the shape of the posterior is uncertain: decisions cut {cut:.1f} off "
            f"differences of log densities; {width}."
        )
    return None


def _unsettled(fitted: Fitted, width: str) -> str | None:
    """What the rounds have left open; None if nothing."""
    if fitted.is_flat:
        return (
            "in some direction, what the records say is within the noise (two "
            "columns that say the same, or a level that few records have); there the "
            f"prior decides, and {width}, or more."
        )
    if not fitted.arrived:
        return (
            "the budget of the rounds was spent before one was as precise as it "
            f"should be; {width}."
        )
    return None


def _may_hide(fitted: Fitted) -> str | None:
    """Why records that no histogram shows may matter; None if they should not."""
    if fitted.extremes[1] > _BLIND:
        return (
            "for so few records the noise of histograms hides a group of up to "
            f"{400 * fitted.extremes[1]:.0f}% of them whose gradients are longer than "
            "others, and it may move means by more than intervals say"
        )
    if fitted.power > 0:
        return (
            "gradients become rare as slowly as the power "
            f"−{fitted.power:.1f} of their length, so that records too few to be seen "
            "in any histogram matter: what rests on the most extreme ones, such as the "
            "sd of noise, may be wrong by more than intervals say"
        )
    return None


def _on_cut(fitted: Fitted) -> str:
    if fitted.cut_sd <= _MUCH_CUT:
        return ""
    return (
        f" Clipping may have moved means by up to {fitted.cut_sd:.1f} posterior sd, "
        "as a few records have gradients far beyond the others; intervals allow for "
        "it, but not for records so few that no histogram shows them."
    )


def _on_model(fitted: Fitted) -> str:
    """What the records say of the model, if they say that it does not fit."""
    found, sd, expected = (float(part) for part in fitted.extremes)
    if not math.isfinite(expected) or abs(found - expected) < 4 * sd + 0.2 * expected:
        return ""
    extreme = (
        " What rests on the most extreme records, such as the sd of noise, may be "
        "wrong by more than intervals say."
        if found > expected
        else ""
    )
    return (
        f" The model may not fit: {100 * found:.2g}% ± {100 * sd:.1g}% of records have "
        f"gradients more than {EXTREME:.1f} times as long as usual, where the model "
        f"expects {100 * expected:.2g}%.{extreme}"
    )
