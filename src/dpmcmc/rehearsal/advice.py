# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a rehearsal says to do: which way to take, and what would make it usable."""

import math

import numpy as np

from dpmcmc.rehearsal.results import Rehearsal, Trial

__all__ = [
    "CHAINS",
    "ENOUGH_DRAWS",
    "HOPELESS",
    "LEAST_TEMPERED",
    "USABLE",
    "advice_on",
    "best_trial",
    "chains_for",
]

USABLE = 0.5
"""How far off the mean of a usable posterior may be, in posterior deviations."""

_USABLE_WIDTH = math.log(1.25)
"""How far off its deviations may be, as |log| of their ratio."""

HOPELESS = 3.0
"""From here on noise drowns the posterior, and intervals that know of it say little: a
tempered posterior says more."""

LEAST_TEMPERED = 10
"""Records that the likelihood of a tempered posterior counts for at least."""

ENOUGH_DRAWS = 100
"""Effective draws that a chain must have for its steps to be shared by several."""

CHAINS = (4, 2, 1)
"""How many chains may share the steps of a way."""

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


def chains_for(trial: Trial) -> int:
    """How many chains, 1, 2 or 4, the steps of a way are best shared by.

    As many as have enough effective draws each, going by how many one chain had: they
    say what one cannot, whether chains agree. A warm-up, a quarter of a chain, is then
    some 33 effective draws long, which is plenty where a chain starts at the top.
    """
    return next(
        chains
        for chains in CHAINS
        if chains == 1
        or (trial.ess >= chains * ENOUGH_DRAWS and trial.steps % chains == 0)
    )


def advice_on(trial: Trial, records: int, epsilon: float) -> str:
    """What would make a budget enough, as errors fall with ε and the root of N.

    The trial is one that `Trial.is_usable` says no to.
    """
    if not math.isfinite(trial.error):
        return (
            "on simulated records no way gave draws that can be judged: this budget "
            f"does not buy a usable posterior. Give many times ε = {epsilon:.2g}, or "
            f"many times N = {records:,} records, or temper, such as tempering=10"
        )
    off = float(np.abs(trial.off).max())
    wrong = float(np.abs(np.log(np.maximum(trial.sd_ratio, 1e-12))).max())
    factor = max(trial.error / USABLE, off / USABLE, wrong / _USABLE_WIDTH)
    enough, cooler = (_rounded(records * factor**power) for power in (2, -2))
    return (
        f"on simulated records the best way has means off by up to {off:.1f} posterior "
        f"deviations, and deviations by up to a factor of {math.exp(wrong):.2g}: this "
        "budget does not buy a usable posterior. What would: about "
        f"ε = {epsilon * factor:.2g}, or N = {enough:,} records"
        + f", or tempering={cooler}"
        * (cooler >= LEAST_TEMPERED)
    )


def _rounded(number: float) -> int:
    """A number with two digits that count."""
    return int(float(f"{number:.2g}"))
