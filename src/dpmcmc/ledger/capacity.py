# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a budget (ε, δ) holds: a Rényi divergence of one fixed order, and a slack.

Later runs are chosen after seeing earlier ones. What still adds up then is the Rényi
divergence of one order, as long as its sum stays below a number fixed beforehand. The
proof is in ``docs/proofs/ledger.md``.
"""

import math
from fractions import Fraction
from typing import NamedTuple

from dpmcmc import errors
from dpmcmc.ledger.refusals import LedgerError

__all__ = ["NOTHING", "Capacity", "Cost", "settle", "settle_in"]

_SET_ASIDE = 1 / 16
"""Twice this part of δ is kept for finite arithmetic and for cut tails."""

_MOST_EPSILON = 100.0
_LARGEST_ORDER = 2**16
_ROUNDING = 1e-12


class Cost(NamedTuple):
    """What something costs: exact numbers, so that sums do not depend on their order.

    Attributes
    ----------
    divergence, slack
        Rényi divergence of the data set's order, and what finite arithmetic and cut
        tails take of δ.
    """

    divergence: Fraction
    slack: Fraction

    def plus(self, other: "Cost") -> "Cost":
        """Return the cost of both."""
        return Cost(self.divergence + other.divergence, self.slack + other.slack)

    def fits(self, other: "Cost") -> bool:
        """Say whether both numbers are at most those of the other."""
        return self.divergence <= other.divergence and self.slack <= other.slack

    def fraction_of(self, whole: "Cost") -> Fraction:
        """Return the larger of the two fractions of a whole."""
        return max(self.divergence / whole.divergence, self.slack / whole.slack)


NOTHING = Cost(Fraction(0), Fraction(0))


class Capacity(NamedTuple):
    """All that a data set may ever release, settled when it is registered.

    Attributes
    ----------
    epsilon, order
        The ε of the budget, and the order α of the divergence.
    divergence, slack
        The most of each; twice the slack is taken from δ.
    currency
        In what the budget was given: "epsilon", "rho" or "mu". Events are priced in
        it, so that the sum of their ρ, or of their μ², never exceeds the budget's.
    """

    epsilon: float
    order: int
    divergence: float
    slack: float
    currency: str = "epsilon"

    @property
    def amount(self) -> float:
        """The budget, in its currency: a divergence of α ρ, or of α μ²/2."""
        concentrated = self.divergence / self.order
        found = {"epsilon": self.epsilon, "rho": concentrated}
        return found.get(self.currency, math.sqrt(2 * concentrated))

    @property
    def cost(self) -> Cost:
        """The capacity as exact numbers."""
        return Cost(Fraction(self.divergence), Fraction(self.slack))

    def holds(self, delta: float) -> bool:
        """Say whether releases within the capacity are (ε, δ)-private together.

        Guarantee
        ---------
        If true, any releases whose costs, each known before its release, sum to at
        most the capacity are (ε, δ)-differentially private together, however they
        were chosen from earlier ones.
        """
        left = delta - 2 * self.slack * (1 + _ROUNDING)
        if left <= 0 or self.order < 2 or min(self.divergence, self.slack) <= 0:
            return False
        return self.divergence + _conversion(self.order, left) <= self.epsilon


def settle(epsilon: float, delta: float) -> Capacity:
    """Return the capacity of a budget for everything that will ever be released.

    Its order is the one at which a release of concentrated privacy finds most room.

    Guarantee
    ---------
    The returned capacity holds for (ε, δ).
    """
    epsilon = errors.require_positive("epsilon", epsilon, "Give the budget's ε.")
    delta = errors.require_probability("delta", delta, "1e-6 is common.")
    if epsilon > _MOST_EPSILON:
        raise LedgerError(
            f"epsilon is {epsilon!r}; a budget above {_MOST_EPSILON:g} protects "
            "nobody. Register at most that."
        )
    slack = _SET_ASIDE * delta
    left = (1 - 2 * _SET_ASIDE) * delta

    def room(order: int) -> float:
        return (epsilon - _conversion(order, left)) * (1 - 1e-9)

    order = max(range(2, _LARGEST_ORDER + 1), key=lambda tried: room(tried) / tried)
    found = Capacity(epsilon, order, room(order), slack * (1 - 1e-9))
    if not found.holds(delta):
        raise LedgerError(
            f"epsilon is {epsilon!r} with delta {delta!r}; no release at all fits "
            "such a budget. Register a larger epsilon or delta."
        )
    return found


def settle_in(currency: str, amount: float, delta: float) -> Capacity:
    """Return the capacity of a budget of ρ or μ, and the least ε that it implies.

    Guarantee
    ---------
    The returned capacity holds for its ε and δ. Its divergence is at most α ρ, or
    α μ²/2.
    """
    delta = errors.require_probability("delta", delta, "1e-6 is common.")
    rho = amount if currency == "rho" else amount**2 / 2
    slack, left = _SET_ASIDE * delta, (1 - 2 * _SET_ASIDE) * delta

    def epsilon(order: int) -> float:
        return order * rho + _conversion(order, left)

    order = min(range(2, _LARGEST_ORDER + 1), key=epsilon)
    least = max(epsilon(order), _ROUNDING) * (1 + 1e-9)
    found = Capacity(
        least, order, order * rho * (1 - _ROUNDING), slack * (1 - 1e-9), currency
    )
    if least > _MOST_EPSILON or not found.holds(delta):
        raise LedgerError(
            f"{currency} is {amount!r} with delta {delta!r}, which comes to ε = "
            f"{least:.3g}; a budget above {_MOST_EPSILON:g} protects nobody. Register "
            "a smaller one."
        )
    return found


def _conversion(order: int, delta: float) -> float:
    """Return what is added to a divergence of this order to make ε, rounded up.

    That is ((α − 1) log(1 − 1/α) − log α − log δ)/(α − 1): Canonne, Kamath and Steinke
    2020, Proposition 12.
    """
    factor = (order - 1) * math.log1p(-1 / order) - math.log(order)
    log_delta = math.log(delta)
    rounding = _ROUNDING * (abs(factor) + abs(log_delta) + order - 1)
    return (factor - log_delta + rounding) / (order - 1)
