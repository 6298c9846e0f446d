# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How wide intervals will be, before any record is read: for the default method.

Noise and clipping move the posterior by about the same number of records, whatever the
model: so intervals are wider by √(1 + (c / (μ √N))²), with μ that of the budget. The
constant c was measured (docs/accuracy.md, right models of 4 to 50 parameters).
"""

import html
import math
from dataclasses import asdict, dataclass
from typing import Any

from dpmcmc import errors
from dpmcmc.accounting import certify_epsilon, largest
from dpmcmc.aligned import filled
from dpmcmc.sampling.gaussian_budget import USUAL_SPLIT

__all__ = ["Outlook", "outlook"]

_MEASURED = 40.0
"""The median of c; 27 to 52 for right models of 10,000 records or more."""

_LEAST_WIDTH = 1.001


@dataclass(frozen=True)
class Outlook:
    """What a budget buys with `ControlVariates`, by a rule of thumb.

    Attributes
    ----------
    records
        The number of records.
    epsilon, delta
        The budget.
    width
        How many times as wide as without privacy intervals will be, about, where the
        model fits the records.
    """

    records: int
    epsilon: float
    delta: float
    width: float

    def to_dict(self) -> dict[str, Any]:
        """The outlook as JSON values."""
        return {"method": "control-variates", **asdict(self)}

    @property
    def _lines(self) -> tuple[str, str]:
        title = (
            f"ControlVariates on {self.records:,} records with ε = {self.epsilon:.4g} "
            f"and δ = {self.delta:g}: intervals about {self.width:.2f} times as wide "
            "as without privacy, where the model fits the records."
        )
        note = (
            "A rule of thumb from measurements (docs/accuracy.md). Records that do not "
            "fit the model make intervals wider; a rehearsal shows what your model "
            "makes of simulated records (dpmcmc rehearse)."
        )
        return title, note

    def __str__(self) -> str:
        return "\n".join(map(filled, self._lines))

    def _repr_html_(self) -> str:
        return "".join(f"<p>{html.escape(line)}</p>" for line in self._lines)


def outlook(
    records: int,
    *,
    delta: float,
    epsilon: float | None = None,
    width: float | None = None,
) -> Outlook:
    """Say how wide intervals will be for a budget, or which ε a width needs.

    Parameters
    ----------
    records, delta
        The number of records, and the δ of the budget.
    epsilon
        The ε of the budget; or
    width
        how many times as wide as without privacy intervals may be.

    Returns
    -------
    Outlook
        With ε rounded up.
    """
    records = errors.require_count("records", records, "Give the number of records.")
    delta = errors.require_probability("delta", delta, "1e-6 is a common choice.")
    if (epsilon is None) == (width is None):
        raise errors.InputError(
            "give either epsilon, to learn how wide intervals will be, or width, to "
            "learn which epsilon it needs."
        )
    if epsilon is not None:
        epsilon = errors.require_positive("epsilon", epsilon, "Give the budget's ε.")
        mu = largest(lambda mu: USUAL_SPLIT.events(mu, records), epsilon, delta)
        wider = _MEASURED / (mu * math.sqrt(records))
        return Outlook(records, epsilon, delta, math.sqrt(1 + wider**2))
    width = errors.require_positive("width", width, "1.1 is 10% wider.")
    if width < _LEAST_WIDTH:
        raise errors.InputError(
            f"width is {width:g}; it must be at least {_LEAST_WIDTH:g}. 1.1 is for "
            "intervals that are 10% wider than without privacy."
        )
    mu = _MEASURED / math.sqrt(records * (width**2 - 1))
    found = certify_epsilon(USUAL_SPLIT.events(mu, records), delta).epsilon
    if not math.isfinite(found):
        raise errors.InputError(
            f"no ε makes intervals of {records:,} records at most {width:g} times as "
            "wide. Allow wider ones, or collect more records."
        )
    return Outlook(records, found, delta, width)
