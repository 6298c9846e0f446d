# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a report says of budgets: the parts of one run, and all runs on a data set."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpmcmc.errors import InputError

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent

__all__ = ["Budget", "Entry", "Part", "parts_of"]

_NAMES = {
    "start": "finding a start",
    "control": "noisy sums over all records",
    "chunk": "accept-or-reject bits",
}


@dataclass(frozen=True)
class Part:
    """One thing that a run released, and the ε that it costs by itself.

    Attributes
    ----------
    name
        What was released: the start, control variates, bits.
    epsilon
        Its ε at the δ of the run, as if nothing else had been released.
    """

    name: str
    epsilon: float


@dataclass(frozen=True)
class Entry:
    """One run in a ledger.

    Attributes
    ----------
    run
        Its public name.
    analyst, purpose
        Who spent, and on what.
    epsilon
        The ε that its own statement claims; None if it has none.
    state
        Where it stands, in a word or two, such as "closed".
    share
        The share of the budget that it was charged, from 0 to 1; None if it is not
        known.
    """

    run: str
    analyst: str
    purpose: str
    epsilon: float | None
    state: str = ""
    share: float | None = None


@dataclass(frozen=True)
class Budget:
    """The budget of a data set, and what has become of it.

    Attributes
    ----------
    name
        The name of the data set.
    epsilon, delta
        The whole budget.
    spent, reserved, left
        Shares of it, from 0 to 1, that add up to 1: what all runs so far have spent,
        what open runs may still spend, and what is left.
    entries
        The runs, in the order of the ledger.
    this_run
        Which of them the report is about; empty if none.

    Raises
    ------
    InputError
        If the shares are no shares of one budget.
    """

    name: str
    epsilon: float
    delta: float
    spent: float
    reserved: float
    left: float
    entries: tuple[Entry, ...] = ()
    this_run: str = ""

    def __post_init__(self) -> None:
        shares = (self.spent, self.reserved, self.left)
        if not (
            all(0 <= share <= 1 for share in shares)
            and math.isclose(sum(shares), 1, abs_tol=1e-6)
        ):
            raise InputError(
                f"spent, reserved and left are {shares}; they must be shares from 0 "
                "to 1 that add up to 1. Divide each by the whole budget."
            )


def parts_of(
    charges: Iterable[tuple[str, "DpEvent"]], delta: float
) -> tuple[Part, ...]:
    """Price what a run released, each kind of it by itself.

    Parameters
    ----------
    charges
        What was charged, by the names that a custody is given: ``start``,
        ``control``, ``chunk-000007``. Chunks are priced together.
    delta
        The δ of the run.
    """
    from dp_accounting.dp_event import (  # noqa: PLC0415 - slow to import
        ComposedDpEvent,
        SelfComposedDpEvent,
    )

    from dpmcmc.accounting import certify_epsilon  # noqa: PLC0415

    kinds: dict[str, Counter[DpEvent]] = {}
    for name, event in charges:
        one, count = event, 1
        if isinstance(event, SelfComposedDpEvent):
            one, count = event.event, event.count
        kinds.setdefault(name.partition("-")[0], Counter())[one] += count
    found = []
    for kind, events in kinds.items():
        whole = ComposedDpEvent(
            [SelfComposedDpEvent(one, count) for one, count in events.items()]
        )
        epsilon = certify_epsilon(whole, delta).epsilon
        found.append(Part(_NAMES.get(kind, kind), epsilon))
    return tuple(found)
