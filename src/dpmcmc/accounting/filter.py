# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A filter for clips that are chosen along the way.

The best-attack accountants need every clip beforehand. When a later clip depends on
earlier bits, what still holds is zCDP: as long as the ρ of all steps stay below a
budget fixed in advance, the whole chain has that ρ. The proof is in
``docs/proofs/composition.md``.
"""

import math
from dataclasses import dataclass

from dp_accounting.dp_event import DpEvent, SelfComposedDpEvent

from dpmcmc import errors
from dpmcmc.accounting.accountants import ZCDP
from dpmcmc.accounting.registry import flatten, require_supported, total_slack
from dpmcmc.accounting.zcdp import ZcdpCurve

__all__ = ["ZcdpFilter"]

_SEARCHES = 200


@dataclass(frozen=True)
class ZcdpFilter:
    """How much of a zCDP budget is spent, and how much finite arithmetic was used.

    Attributes
    ----------
    rho
        The budget, fixed before the first step.
    slack
        The total variation set aside for finite arithmetic.
    spent, used
        How much of each is gone.
    """

    rho: float
    slack: float
    spent: float = 0.0
    used: float = 0.0

    @classmethod
    def for_budget(
        cls, epsilon: float, delta: float, slack: float = 2.0**-30
    ) -> "ZcdpFilter":
        """Return an unspent filter for a budget.

        Parameters
        ----------
        epsilon, delta
            The budget of everything that passes the filter.
        slack
            The total variation to set aside; 2⁻³⁰ is enough for two million exact
            Barker bits.

        Guarantee
        ---------
        Whatever passes the filter is (ε, δ)-differentially private together, however
        its clips and its length were chosen from earlier bits.
        """
        epsilon = errors.require_positive("epsilon", epsilon, "Give the budget's ε.")
        delta = errors.require_probability("delta", delta, "1e-6 is common.")
        left = delta - slack * (1 + math.exp(min(epsilon, 700.0)))
        if left <= 0:
            raise errors.InputError(
                f"delta is {delta!r}; it must be above {delta - left:.3g}, which is "
                "set aside for finite arithmetic. Take a larger delta or less slack."
            )
        low, high = 0.0, epsilon
        for _ in range(_SEARCHES):
            middle = (low + high) / 2
            if ZcdpCurve(middle).delta(epsilon) <= left:
                low = middle
            else:
                high = middle
        return cls(low, slack)

    def allows(self, bit: DpEvent, count: int = 1) -> bool:
        """Say whether an event, repeated, still fits."""
        spent, used = self._after(bit, count)
        return spent <= self.rho and used <= self.slack

    def spend(self, bit: DpEvent, count: int = 1) -> "ZcdpFilter":
        """Return the filter after an event, repeated; refuse one that does not fit."""
        if not self.allows(bit, count):
            raise errors.InputError(
                f"{count} more of {bit!r} would spend {self._after(bit, count)[0]:.6g} "
                f"of a zCDP budget of {self.rho:.6g}, of which {self.spent:.6g} is "
                "spent. Take a smaller clip, or stop."
            )
        spent, used = self._after(bit, count)
        return ZcdpFilter(self.rho, self.slack, spent, used)

    def _after(self, bit: DpEvent, count: int) -> tuple[float, float]:
        leaves = flatten(SelfComposedDpEvent(bit, count))
        require_supported(leaves)
        if not ZCDP.supports(leaves):
            return math.inf, math.inf
        parts = [self.spent, *(ZCDP.piece(e, n) for e, n in leaves.items())]
        # Rounded up, so that many small steps cannot creep past the budget.
        spent = math.nextafter(math.fsum(parts), math.inf)
        return spent, self.used + total_slack(leaves)
