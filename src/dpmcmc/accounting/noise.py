# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The law of V_cor that an event carries, and the checks that every event makes."""

import math
from collections.abc import Sequence

from dpmcmc import errors
from dpmcmc.accounting.mixture import Mixture

__all__ = ["VARIANCE_ROUNDING", "checked_mixture", "gaussian_bit_slack"]

VARIANCE_ROUNDING = 2.0**-46
"""Room for the rounding of the batch variance and of C minus it, for C below 4."""

_BALANCE = 2.0**-50


def gaussian_bit_slack(components: int) -> float:
    """Return the total variation between a bit of a Gaussian test and its ideal.

    A normal distribution function in float64 is off by a few units, a mixture of them
    by no more than its worst component and one unit for each addition; comparing with
    a uniform of 53 bits adds one more.
    """
    return 2.0**-48 + components * 2.0**-53


def checked_mixture(
    positions: Sequence[float], weights: Sequence[float], deviations: Sequence[float]
) -> Mixture:
    """Return the law of V_cor after checking that it is one, and symmetric."""
    spread = tuple(deviations) or (0.0,) * len(positions)
    if not len(positions) == len(weights) == len(spread) > 0:
        raise errors.InputError(
            f"the correction has {len(positions)} positions, {len(weights)} weights "
            f"and {len(spread)} deviations; all three must be equal and above 0. Give "
            "one weight for each position, and one deviation each or none."
        )
    numbers = (*positions, *weights, *spread)
    if not all(map(math.isfinite, numbers)) or min(*weights, *spread) < 0:
        raise errors.InputError(
            "the correction has a negative or infinite number; weights and deviations "
            "must be at least 0 and everything finite. Fit the correction again."
        )
    parts = sorted(zip(positions, spread, weights, strict=True))
    mirrored = sorted((-p, d, w) for p, d, w in parts)
    if parts != mirrored or abs(math.fsum(weights) - 1) > _BALANCE:
        raise errors.InputError(
            f"the correction's weights sum to {math.fsum(weights)!r}; they must sum to "
            "1, and the components must be exactly symmetric about 0. Give mirror "
            "pairs of equal weight."
        )
    return Mixture(tuple(positions), spread, tuple(weights))
