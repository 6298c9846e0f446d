# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A release with normal noise: the event, and what it costs.

dp-accounting's ``GaussianDpEvent(noise_multiplier)`` is read as one: a sum of vectors
of length at most c, plus normal noise of c times the multiplier. Substitution of one
record moves the sum by at most 2c, so that μ = 2 / multiplier.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpmcmc.accounting.accountants import BLOCKS, GAUSSIAN, ZCDP
from dpmcmc.accounting.curves import Array, gaussian_profile
from dpmcmc.accounting.decision_blocks import require_narrow
from dpmcmc.accounting.losses import LossPart
from dpmcmc.accounting.registry import FOREIGN, Event
from dpmcmc.errors import require_positive

__all__ = ["GaussianRelease", "gaussian_reach"]

_CELLS = 64
_STANDARD_DEVIATIONS = 9.0


@dataclass(frozen=True)
class GaussianRelease(Event):
    """A release with normal noise whose mean one substitution moves by at most μ sd.

    The noise must be drawn exactly, or be rounded after it was added; then finite
    arithmetic costs nothing.

    Parameters
    ----------
    mu
        The largest move of the mean, in standard deviations of the noise.
    """

    mu: float

    def __post_init__(self) -> None:
        """Refuse a release without noise, or one that moves nothing."""
        require_positive("mu", self.mu, "Give the move of the mean over the noise.")


def _of_multiplier(event: Any) -> GaussianRelease:
    multiplier = require_positive(
        "noise_multiplier", event.noise_multiplier, "Add noise to the release."
    )
    return GaussianRelease(math.nextafter(2 / multiplier, math.inf))


FOREIGN["GaussianDpEvent"] = _of_multiplier


@GAUSSIAN.rule(GaussianRelease)
def _mu(event: GaussianRelease, count: int) -> float:
    return event.mu * math.sqrt(count)


@ZCDP.rule(GaussianRelease)
def _rho(event: GaussianRelease, count: int) -> float:
    return count * event.mu**2 / 2


@BLOCKS.rule(GaussianRelease)
def _parts(event: GaussianRelease, count: int) -> list[LossPart]:
    # Releases with normal noise compose to one.
    mu = event.mu * math.sqrt(count) * (1 + 2.0**-50)
    require_narrow(mu)
    reach = gaussian_reach(mu)

    def deltas(step: float) -> Array:
        points = math.ceil(reach / step) + 1
        return gaussian_profile(mu, step * np.arange(points, dtype=np.float64))

    return [LossPart(deltas, mu / _CELLS, reach)]


def gaussian_reach(mu: float) -> float:
    """Return a loss that normal noise exceeds with probability below 10⁻¹⁸."""
    return _STANDARD_DEVIATIONS * mu + mu**2 / 2
