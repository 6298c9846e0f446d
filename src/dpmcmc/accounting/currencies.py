# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One cost in every currency: ρ of zCDP, μ of GDP, and the whole privacy profile.

They are for the events in exact arithmetic, but for the profile, which includes what
rounding may cost. The proofs are in ``docs/proofs/currencies.md``.
"""

import math
from collections.abc import Iterable
from numbers import Real
from typing import NamedTuple

from scipy import special

from dpmcmc.accounting.accountants import GAUSSIAN, ZCDP
from dpmcmc.accounting.barker_bit import BarkerBit
from dpmcmc.accounting.certify import certify_epsilon
from dpmcmc.accounting.curves import GaussianCurve, ZcdpCurve
from dpmcmc.accounting.registry import Event, NotApplicableError, Released, flatten
from dpmcmc.errors import InputError

__all__ = [
    "CURRENCIES",
    "ProfilePoint",
    "cost_in",
    "epsilon_of",
    "gdp_cost",
    "one_currency",
    "privacy_profile",
    "zcdp_cost",
]

CURRENCIES = ("epsilon", "rho", "mu")
"""A budget is given in one of them: ε at a δ, ρ of zCDP, or μ of GDP."""

DELTAS = tuple(10.0**-power for power in range(3, 11))
_UP = 1 + 1e-9


class ProfilePoint(NamedTuple):
    """A valid pair: for this δ, the smallest ε that was proven."""

    epsilon: float
    delta: float


def zcdp_cost(released: Released) -> float:
    """Return the ρ of zero-concentrated privacy, which adds up over stages.

    It is infinite if an event has no known one.

    Guarantee
    ---------
    In exact arithmetic the events, adaptively composed, are ρ-zCDP.
    """
    return math.fsum(_rho(*leaf) for leaf in flatten(released).items()) * _UP


def gdp_cost(released: Released) -> float:
    """Return the μ of Gaussian differential privacy, whose squares add up.

    It is infinite if an event has no known one.

    Guarantee
    ---------
    In exact arithmetic the events, adaptively composed, are μ-GDP.
    """
    squares = (n * _mu(event) ** 2 for event, n in flatten(released).items())
    return math.sqrt(math.fsum(squares)) * _UP


def cost_in(currency: str, released: Released) -> float:
    """Return the ρ or the μ of what was released."""
    return {"rho": zcdp_cost, "mu": gdp_cost}[currency](released)


def privacy_profile(
    released: Released, deltas: Iterable[float] = DELTAS
) -> tuple[ProfilePoint, ...]:
    """Return the smallest proven ε for each δ; pairs without a finite ε are left out.

    Guarantee
    ---------
    The events as computed are (ε, δ)-differentially private for each pair.
    """
    found = ((certify_epsilon(released, delta).epsilon, delta) for delta in deltas)
    return tuple(ProfilePoint(*pair) for pair in found if math.isfinite(pair[0]))


def epsilon_of(currency: str, amount: float, delta: float) -> float:
    """Return the ε at a δ of what costs that amount of ρ or μ."""
    if currency == "rho":
        return ZcdpCurve(amount).epsilon(delta)
    return GaussianCurve(amount).epsilon(delta)


def one_currency(**given: float | None) -> tuple[str, float] | None:
    """The currency that a budget was given in, and how much; None if in none.

    Raises
    ------
    InputError
        If it was given in several, or is not a positive number.
    """
    amounts = {name: value for name, value in given.items() if value is not None}
    if len(amounts) > 1:
        said = ", ".join(f"{name} = {value!r}" for name, value in amounts.items())
        raise InputError(f"the budget was given as {said}. Give one of them alone.")
    for name, value in amounts.items():
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or not 0 < value < math.inf:
            raise InputError(f"{name} is {value!r}; it must be a positive number.")
        return name, float(value)
    return None


def _rho(event: Event, count: int) -> float:
    try:
        return ZCDP.piece(event, count)
    except (KeyError, NotApplicableError):
        return math.inf


def _mu(event: Event) -> float:
    """The μ of one event."""
    if isinstance(event, BarkerBit):
        return bounded_range_mu(event.log_odds_range)
    try:
        return GAUSSIAN.piece(event, 1)
    except (KeyError, NotApplicableError):
        return math.inf


def bounded_range_mu(eta: float) -> float:
    """Return the smallest μ for which every η-bounded-range bit is μ-GDP.

    It is 2 Φ⁻¹(σ(η/2)), about 1.2533 η/2 for a small η: 25% more than normal noise of
    the same zCDP cost, as one decision is not like one draw of it.

    Guarantee
    ---------
    The trade-off between errors of any test on the bits of neighbours is above that of
    N(0, 1) against N(μ, 1), with the returned μ, which is rounded up.
    """
    # Φ(x) = σ(η/2) = 1/2 + tanh(η/4)/2, without loss of digits where η is small
    return 2 * math.sqrt(2) * float(special.erfinv(math.tanh(eta / 4))) * _UP
