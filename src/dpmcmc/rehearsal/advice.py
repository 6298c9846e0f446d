# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a rehearsal says to do: which way to take, and what would make it usable."""

import math

from dpmcmc.rehearsal.trials import Rehearsal, Trial

__all__ = ["HOPELESS", "USABLE", "advice_on", "best_trial"]

USABLE = 0.5
"""How far off the mean of a usable posterior may be, in posterior deviations."""

HOPELESS = 3.0
"""From here on noise drowns the posterior, and intervals that know of it say little: a
tempered posterior says more."""

ALIKE = 2.0
"""By which factor errors must differ to count, being those of one rehearsal."""


def best_trial(rehearsal: Rehearsal) -> Trial:
    """The first way, in the order of preference, that did about as well as any.

    One rehearsal has one draw of the noise: errors within a factor of two are alike.
    Of such ways the one is taken whose intervals know of its errors.
    """
    least = min(trial.error for trial in rehearsal.trials)
    alike = [trial for trial in rehearsal.trials if trial.error <= ALIKE * least]
    return alike[0]


def advice_on(error: float, records: int, epsilon: float) -> str:
    """What would make a budget enough, as errors fall with ε and the root of N."""
    if not math.isfinite(error):
        return (
            "on simulated records no way gave draws that can be judged: this budget "
            f"does not buy a usable posterior. Give many times ε = {epsilon:.2g}, or "
            f"many times N = {records:.2g} records, or temper, such as tempering=10"
        )
    factor = max(error / USABLE, 1.0)
    return (
        f"on simulated records the best way is off by {error:.1f} posterior "
        "deviations: this budget does not buy a usable posterior. About "
        f"ε = {epsilon * factor:.2g}, or N = {records * factor**2:.2g} records, or "
        f"tempering={records / factor**2:.2g} would"
    )
