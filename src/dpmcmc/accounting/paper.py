# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's published bounds, for comparison: its theorems, its ε and its steps."""

import math

from dpmcmc.accounting.accountants import PAPER
from dpmcmc.accounting.registry import Event, NotApplicableError
from dpmcmc.accounting.renyi import Divergence

__all__ = ["paper_epsilon", "paper_full_data", "paper_minibatch", "paper_steps"]

_MOST = 10**12


def paper_full_data(clip: float, variance: float) -> Divergence:
    """Return the divergence of one bit on all records (the paper, Theorem 2).

    Guarantee
    ---------
    The divergence of order α between the two Gaussians that the test thresholds is
    at most 2 α B² / C, for every α > 1.
    """
    return Divergence(lambda order: 2 * order * clip**2 / variance)


def paper_minibatch(batch: int) -> Divergence:
    """Return the divergence of one batch of b records (the paper, Theorem 3).

    Guarantee
    ---------
    Holds for C = 2, ratios of at most √b/N each, and orders α < b/5.
    """
    largest = math.ceil(batch / 5) - 1
    if largest < 2:
        raise NotApplicableError(
            f"batch is {batch}; Theorem 3 needs an integer order α with 2 ≤ α < b/5, "
            "so a batch of at least 11. Take a larger batch."
        )

    def at(order: int) -> float:
        rest = batch - 5 * order
        return (
            5 / (2 * batch)
            + math.log(2 * batch / rest) / (2 * (order - 1))
            + 2 * order / rest
        )

    return Divergence(at, largest)


def paper_epsilon(bit: Event, steps: int, delta: float) -> tuple[float, str]:
    """Return the paper's ε for a chain, and how it comes about.

    Parameters
    ----------
    bit
        The event of one step of a test that the paper covers.
    steps
        The number of steps.
    delta
        The δ of the statement.

    Returns
    -------
    tuple of float and str
        The ε, in real arithmetic, and a note; infinite, with the reason, where the
        paper has no answer.
    """
    if steps == 0:
        return 0.0, PAPER.note
    try:
        return PAPER.curve({bit: steps}).epsilon(delta), PAPER.note
    except NotApplicableError as reason:
        return math.inf, str(reason)


def paper_steps(bit: Event, epsilon: float, delta: float) -> int:
    """Return the most steps that the paper's accountant finds in a budget."""
    fitting, above = 0, 1
    while above < _MOST and paper_epsilon(bit, above, delta)[0] <= epsilon:
        fitting, above = above, 2 * above
    while above - fitting > 1:
        middle = (fitting + above) // 2
        if paper_epsilon(bit, middle, delta)[0] <= epsilon:
            fitting = middle
        else:
            above = middle
    return fitting
