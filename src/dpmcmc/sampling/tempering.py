# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Tempering: how many records the likelihood counts for."""

from dataclasses import dataclass

from dpmcmc.errors import InputError, require_positive

__all__ = ["Coarsening", "Tempering", "tempered_records"]


@dataclass(frozen=True)
class Coarsening:
    """Temper to the c-posterior: N₀ = N β / (β + N) (paper, §2.3).

    Parameters
    ----------
    beta
        The rate β of the exponential that says how far, in Kullback–Leibler
        divergence, the records may be from records of the model.
    """

    beta: float


Tempering = float | Coarsening | None
"""N₀, or how to find it; None for no tempering."""


def tempered_records(tempering: Tempering, records: int) -> float:
    """How many records the tempered likelihood counts for: N₀, in (0, N]."""
    if tempering is None:
        return float(records)
    if isinstance(tempering, Coarsening):
        beta = require_positive("beta", tempering.beta, "Larger is less tempering.")
        return records * beta / (beta + records)
    advice = "Give N₀, the number of records that the likelihood is to count for."
    tempered = require_positive("tempering", tempering, advice)
    if tempered > records:
        raise InputError(
            f"tempering is {tempering!r}; N₀ must be at most the {records} records. "
            "Leave it out for the posterior itself."
        )
    return tempered
