# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One verdict on a result, from what was released: can it be used, and why not."""

import math

from dpmcmc.posterior.statement import Verdict
from dpmcmc.sampling.fit.fitted import Fitted
from dpmcmc.sampling.fit.questions import EXTREME

__all__ = ["verdict_on"]

_WIDE = 2.0
_MUCH_CUT = 1.0
"""Beyond these, intervals are wide; what was cut is in posterior sd."""

_MUCH_BY_DECISIONS = 1.0


def verdict_on(fitted: Fitted, cut: float | None) -> Verdict:
    """Say whether means and intervals can be used.

    Parameters
    ----------
    fitted
        What the fit found.
    cut
        What decisions cut off a difference of log densities; None if not known.
    """
    model = _on_model(fitted)
    width = f"intervals are {fitted.widening:.2f} times as wide as without privacy"
    if fitted.is_far or fitted.is_flat:
        return Verdict(
            "not usable",
            "the last release contradicts the rounds before it; the fit may be far "
            f"from the posterior. Give a larger budget or a closer start.{model}",
        )
    if not fitted.arrived:
        return Verdict(
            "usable with wide intervals",
            "the budget of the rounds was spent before one was as precise as it "
            f"should be; {width}.{model}",
        )
    if fitted.cut_sd > _MUCH_CUT or fitted.widening > _WIDE:
        return Verdict(
            "usable with wide intervals", f"{width}.{_on_cut(fitted)}{model}"
        )
    if cut is not None and cut > _MUCH_BY_DECISIONS:
        return Verdict(
            "usable with wide intervals",
            "the shape of the posterior is uncertain: decisions cut "
            f"{cut:.1f} off differences of log densities; {width}.{model}",
        )
    return Verdict("usable", f"{width}.{model}")


def _on_cut(fitted: Fitted) -> str:
    if fitted.cut_sd <= _MUCH_CUT:
        return ""
    return (
        f" Clipping may have moved means by up to {fitted.cut_sd:.1f} posterior sd, "
        "as a few records have gradients far beyond the others; intervals allow for it."
    )


def _on_model(fitted: Fitted) -> str:
    """What the records say of the model, if they say that it does not fit."""
    found, sd, expected = (float(part) for part in fitted.extremes)
    if not math.isfinite(expected) or abs(found - expected) < 4 * sd + 0.2 * expected:
        return ""
    return (
        f" The model may not fit: {100 * found:.2g}% ± {100 * sd:.1g}% of records have "
        f"gradients more than {EXTREME:.1f} times as long as usual, where the model "
        f"expects {100 * expected:.2g}%."
    )
