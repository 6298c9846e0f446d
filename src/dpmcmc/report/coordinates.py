# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Every number of θ by itself: its draws, their summary, and how far to trust them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpmcmc.posterior.posterior import Posterior
from dpmcmc.posterior.summary import arviz

__all__ = ["Coordinate", "coordinates_of", "number", "shown_in_figures"]

ENOUGH, PLENTY = 100, 400
"""Effective draws from which means are usable, and from which they are good."""

APART, CLOSE = 1.05, 1.01
"""The R-hat above which parts of a run disagree, and below which they agree."""

_MOST_SHOWN, _FIRST_SHOWN = 12, 8


@dataclass(frozen=True)
class Coordinate:
    """One number of θ.

    Attributes
    ----------
    title
        What it is called, with its place in a larger parameter.
    chain
        The chain's own draws, of shape (chains, draws).
    honest
        The draws that means and intervals are of; those of the chain, unless the
        posterior has noise-aware ones.
    is_discrete
        Whether it takes whole numbers.
    mean, sd
        Of the honest draws.
    low_90, high_90, low_94, high_94
        The shortest intervals that hold 90% and 94% of the honest draws.
    ess, ess_tail, r_hat
        Of the chain; NaN where there are too few draws.
    """

    title: str
    chain: np.ndarray
    honest: np.ndarray
    is_discrete: bool
    mean: float
    sd: float
    low_90: float
    high_90: float
    low_94: float
    high_94: float
    ess: float
    ess_tail: float
    r_hat: float

    @property
    def is_noise_aware(self) -> bool:
        """Whether the honest draws are other than the chain's own."""
        return self.honest is not self.chain

    @property
    def is_stuck(self) -> bool:
        """Whether the chain never moved."""
        return bool(np.ptp(self.chain) == 0)

    @property
    def error(self) -> float:
        """How far the mean may be off by the chain's length, in deviations."""
        return 1 / math.sqrt(self.ess) if self.ess > 0 else math.nan

    @property
    def verdict(self) -> str:
        """How far to trust it, in a few words."""
        if self.is_stuck:
            return "never moved"
        if not self.ess >= ENOUGH:
            return "too short to say much"
        if not self.r_hat <= APART:
            return "parts of the run disagree"
        if self.ess < PLENTY or self.r_hat > CLOSE:
            return "usable"
        return "good"

    @property
    def is_weak(self) -> bool:
        """Whether to read it with care."""
        return self.verdict not in ("usable", "good")

    def show(self, value: float) -> str:
        """A value of it, with the digits that its deviation justifies."""
        if self.is_discrete and value == round(value):
            return f"{value:,.0f}".replace("-", "\u2212")
        return number(value, self.sd)


def coordinates_of(posterior: Posterior) -> list[Coordinate]:
    """All numbers of θ, in its order."""
    summary = posterior.summary()
    found: list[Coordinate] = []
    for name, draws in posterior.draws.items():
        for index in np.ndindex(draws.shape[2:]):
            place: Any = (..., *index)
            chain = draws[place].astype(np.float64)
            honest = chain
            if posterior.noise_aware is not None:
                honest = posterior.noise_aware[name][place].astype(np.float64)
            row = summary.iloc[len(found)]
            low, high = arviz().hdi(honest.ravel(), hdi_prob=0.90)
            found.append(
                Coordinate(
                    title=str(summary.index[len(found)]),
                    chain=chain,
                    honest=honest,
                    is_discrete=draws.dtype.kind in "iub",
                    mean=float(row["mean"]),
                    sd=float(row["sd"]),
                    low_90=float(low),
                    high_90=float(high),
                    low_94=float(row["hdi_3%"]),
                    high_94=float(row["hdi_97%"]),
                    ess=float(row["ess_bulk"]),
                    ess_tail=float(row["ess_tail"]),
                    r_hat=float(row["r_hat"]),
                )
            )
    return found


def shown_in_figures(found: Sequence[Coordinate]) -> list[Coordinate]:
    """Those that figures show: all, or the first and those of fewest effective draws.

    They keep their order.
    """
    if len(found) <= _MOST_SHOWN:
        return list(found)
    rest = range(_FIRST_SHOWN, len(found))
    weakest = sorted(rest, key=lambda place: np.nan_to_num(found[place].ess))
    chosen = [*range(_FIRST_SHOWN), *weakest[: _MOST_SHOWN - _FIRST_SHOWN]]
    return [found[place] for place in sorted(chosen)]


def number(value: float, sd: float) -> str:
    """A number with the digits that a deviation justifies; a dash for none."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else f"{value:g}"
    size = max(abs(value), sd) if math.isfinite(sd) else abs(value)
    if not (math.isfinite(sd) and sd > 0) or size >= 1e7 or sd < 1e-9:
        return f"{value:.5g}"
    places = max(1 - math.floor(math.log10(sd)), 0)
    shown = f"{value:.{places}f}"
    return shown.replace("-", "\u2212") if float(shown) else shown.lstrip("-")
