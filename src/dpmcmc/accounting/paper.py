# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's own answers, quoted for comparison: its ε, and the steps it allows."""

import math

from dp_accounting.dp_event import DpEvent

from dpmcmc.accounting.accountants import PAPER
from dpmcmc.accounting.registry import NotApplicableError

__all__ = ["paper_epsilon", "paper_steps"]

_MOST = 10**12


def paper_epsilon(bit: DpEvent | None, steps: int, delta: float) -> tuple[float, str]:
    """Return the paper's ε for a chain, and how it comes about.

    Parameters
    ----------
    bit
        The event of one step of a test that the paper covers, or None.
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
    if bit is None:
        return math.inf, "the clip is too wide for its theorems"
    if steps == 0:
        return 0.0, PAPER.note
    try:
        return PAPER.curve({bit: steps}).epsilon(delta), PAPER.note
    except NotApplicableError as reason:
        return math.inf, str(reason)


def paper_steps(bit: DpEvent | None, epsilon: float, delta: float) -> int:
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
