# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a release may cost: an ε of its own, or a share of the run's."""

from typing import Protocol

from dpmcmc.errors import InputError, require_positive, require_probability

__all__ = ["check_shares", "own_budget"]


class Shares(Protocol):
    """What a user says of the budget of a release."""

    @property
    def epsilon(self) -> float | None:
        """Its ε, if it has its own."""
        ...

    @property
    def share(self) -> float | None:
        """Its part of the run's ε, if it was given."""
        ...

    @property
    def delta(self) -> float | None:
        """Its δ, if it has its own."""
        ...


def check_shares(shares: Shares) -> None:
    """Refuse an ε or δ that is none, or both an ε and a share."""
    if shares.epsilon is not None and shares.share is not None:
        raise InputError(
            f"epsilon is {shares.epsilon!r} and share is {shares.share!r}; give one of "
            "the two: the ε of the release, or its share of the run's."
        )
    if shares.epsilon is not None:
        require_positive("epsilon", shares.epsilon, "Give the ε of the release.")
    if shares.share is not None:
        require_probability("share", shares.share, "Three quarters is common.")
    if shares.delta is not None:
        require_probability("delta", shares.delta, "Choose it well below 1/N.")


def own_budget(
    shares: Shares, usual: float, delta: float, epsilon: float | None
) -> tuple[float, float]:
    """Return the ε and δ that a release may cost by itself.

    Parameters
    ----------
    shares
        What the user chose.
    usual
        The share of the run's ε where neither was given.
    delta, epsilon
        The budget of the whole run.

    Raises
    ------
    InputError
        If there is no ε at all.
    """
    own_delta = delta if shares.delta is None else shares.delta
    if shares.epsilon is not None:
        return shares.epsilon, own_delta
    share = usual if shares.share is None else shares.share
    if epsilon is None:
        kind = type(shares).__name__
        raise InputError(
            f"{kind} has a share of {share:g} of the run's ε, but the run has none. "
            f"Give {kind}(epsilon=…), or the run an ε."
        )
    whole = require_positive("epsilon", epsilon, "Give the budget's ε.")
    return whole * share, own_delta
