# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a rehearsal found: a trial of each way, and a table of them."""

from dataclasses import dataclass

import numpy as np

from dpmcmc.aligned import aligned, filled
from dpmcmc.posterior.posterior import Posterior

__all__ = ["Rehearsal", "Trial"]

_MANY, _LARGE = 10**8, 1000.0
"""Numbers from here on are shown with few digits, as a table has little room."""


@dataclass(frozen=True)
class Trial:
    """How one way of running did on simulated records.

    Attributes
    ----------
    name
        What the way is called.
    steps, epsilon
        How many steps of each chain it made, and the ε that they cost.
    off
        How far its posterior means are from those of the reference, in posterior
        standard deviations, one for each coordinate of θ.
    sd_ratio
        Its posterior standard deviations over those of the reference.
    ess
        The smallest effective sample size of a coordinate.
    accepted
        The share of accepted steps.
    clipped
        The share of records whose ratio was beyond the clip, over accepted moves;
        None where the way has no clip of its own to look at.
    """

    name: str
    steps: int
    epsilon: float
    off: np.ndarray
    sd_ratio: np.ndarray
    ess: float
    accepted: float
    clipped: float | None

    @property
    def error(self) -> float:
        """One number to compare ways by: the smaller, the better.

        The root mean square of what the means are off, which holds the Monte-Carlo
        error of too few draws, plus the mean of |log| of the ratios of deviations.
        Infinite if draws were not finite, as happens where noise drowns everything.
        """
        off = float(np.sqrt(np.mean(self.off**2)))
        ratios = np.maximum(self.sd_ratio, 1e-12)
        error = off + float(np.mean(np.abs(np.log(ratios))))
        return error if np.isfinite(error) else np.inf

    @property
    def is_usable(self) -> bool:
        """Whether means are within half a deviation, and deviations within a fifth."""
        right = np.all(np.abs(self.off) <= 0.5)
        wide = np.all((self.sd_ratio >= 0.8) & (self.sd_ratio <= 1.25))
        return bool(right and wide)


@dataclass(frozen=True)
class Rehearsal:
    """Trials of several ways to run on the same simulated records.

    Attributes
    ----------
    records
        How many records were simulated.
    trials
        One for each way and repeat, in the order given.
    reference
        The posterior of the simulated records by a chain that is not private.
    tempering
        How many records the likelihood counted for; None for all.
    """

    records: int
    trials: tuple[Trial, ...]
    reference: Posterior
    tempering: float | None = None

    @property
    def best(self) -> str:
        """The name of the way with the smallest median error."""
        names = list(dict.fromkeys(trial.name for trial in self.trials))
        return min(names, key=lambda name: self._median(name, "error"))

    def _median(self, name: str, attribute: str) -> float:
        values = [getattr(t, attribute) for t in self.trials if t.name == name]
        return float(np.median(values))

    @property
    def title(self) -> str:
        """What was rehearsed on, and that it cost nothing."""
        colder = "" if self.tempering is None else f", tempered to {self.tempering:g}"
        return (
            f"Rehearsal on {self.records:,} simulated records{colder}; "
            "no privacy was spent."
        )

    def __str__(self) -> str:
        header = ["", "steps", "ε", "off", "sd ratio", "ess", "accepted", "clipped"]
        rows = [header, *map(_cells, self.trials)]
        lines = aligned(rows, right=range(1, len(header)), broken_at=(0,))
        foot = "off: largest error of a posterior mean, in posterior deviations."
        return "\n".join([filled(self.title), "", *lines, "", foot])


def _cells(trial: Trial) -> list[str]:
    ratios = _short(trial.sd_ratio.min()), _short(trial.sd_ratio.max())
    return [
        trial.name,
        f"{trial.steps:,}" if trial.steps < _MANY else f"{trial.steps:.2g}",
        f"{trial.epsilon:.3g}",
        _short(np.abs(trial.off).max()),
        "–".join(ratios),
        f"{trial.ess:.0f}" if trial.ess < _MANY else f"{trial.ess:.2g}",
        f"{trial.accepted:.0%}",
        "–" if trial.clipped is None else f"{trial.clipped:.1%}",
    ]


def _short(number: float) -> str:
    """A number with two decimals, or with two digits that count if it is large."""
    return f"{number:.1e}" if _LARGE <= number < np.inf else f"{number:.2f}"
