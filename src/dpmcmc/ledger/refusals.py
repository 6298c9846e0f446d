# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The errors that a ledger raises."""

from dpmcmc.errors import InputError

__all__ = ["LedgerError", "OverBudgetError"]


class LedgerError(InputError):
    """A ledger cannot be read, or does not allow what was asked."""


class OverBudgetError(LedgerError):
    """A run asks for more than is left of a budget.

    Attributes
    ----------
    asked, left
        Fractions of the budget: what the run asks for, rounded up, and what is left,
        rounded down.
    fits, delta
        The largest ε of a run of this kind that fits what is left, and the δ at which
        that ε is stated.
    """

    def __init__(
        self, message: str, *, asked: float, left: float, fits: float, delta: float
    ) -> None:
        super().__init__(message)
        self.asked, self.left, self.fits, self.delta = asked, left, fits, delta
