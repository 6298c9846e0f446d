# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How a budget stands, in shares: the only numbers of a ledger that people add up."""

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from dpmcmc.aligned import aligned, filled
from dpmcmc.ledger.accounts import Account, Run, percent
from dpmcmc.ledger.entries import Head

__all__ = ["Overview", "RunView", "overview_of"]


@dataclass(frozen=True)
class RunView:
    """One run, as people see it.

    Attributes
    ----------
    run, spender, purpose, time, state, only, claims
        As reserved; ``state`` is "open", "closed" or "released", ``claims`` the
        (ε, δ) of its own statement or None.
    spent
        The share of the budget that it was charged, from 0 to 1, rounded up.
    held
        The share that nobody else can have: all it reserved while it is open.
    """

    run: str
    spender: str
    purpose: str
    time: str
    state: str
    only: bool
    claims: tuple[float, float] | None
    spent: float
    held: float


@dataclass(frozen=True)
class Overview:
    """What was registered, and what became of it.

    Attributes
    ----------
    dataset, records, epsilon, delta, spenders, note, registrar, time
        As registered.
    spent, reserved, left
        Shares of the budget, from 0 to 1: charged, set aside by open runs but not
        charged yet (both rounded up), and free (rounded down).
    runs
        Every run, in the order of their reservations.
    head
        The hash of the last entry of the ledger.
    """

    dataset: str
    records: int
    epsilon: float
    delta: float
    spenders: tuple[str, ...]
    note: str
    registrar: str
    time: str
    spent: float
    reserved: float
    left: float
    runs: tuple[RunView, ...]
    head: str

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON can hold."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            filled(
                f"{self.dataset}: {self.records:,} records, ε = {self.epsilon:g}, "
                f"δ = {self.delta:g}"
            ),
            filled(
                f"Registered {self.time[:10]} by {self.registrar}; may be spent by "
                f"{', '.join(self.spenders)}."
            ),
            *([filled(f"Note: {self.note}")] if self.note else []),
            "",
            f"  spent     {_shown(self.spent):>8}",
            f"  reserved  {_shown(self.reserved):>8}",
            f"  left      {_shown(self.left):>8}",
            "",
            *_table(self.runs),
            "",
            filled(
                "Whatever is asked next, everything together stays "
                f"(ε = {self.epsilon:g}, δ = {self.delta:g})-private."
            ),
        ]
        return "\n".join(lines)


def overview_of(account: Account, head: Head) -> Overview:
    """Return the overview of a data set."""
    spent = account.share(account.spent_by_all())
    held = account.share(account.held_by_all())
    return Overview(
        account.name,
        account.records,
        account.epsilon,
        account.delta,
        account.spenders,
        account.note,
        account.registrar,
        account.time,
        _up(spent),
        _up(held - spent),
        _down(1 - held),
        tuple(_view(account, run) for run in account.runs.values()),
        head.hash,
    )


def _view(account: Account, run: Run) -> RunView:
    return RunView(
        run.name,
        run.spender,
        run.purpose,
        run.time,
        run.state,
        run.only,
        run.claims,
        _up(account.share(account.spent(run))),
        _up(account.share(account.held(run))),
    )


def _table(runs: tuple[RunView, ...]) -> list[str]:
    if not runs:
        return ["No run yet."]
    rows = [("run", "since", "who", "state", "spent", "held", "purpose")]
    rows += [
        (
            view.run,
            view.time[:16].replace("T", " "),
            view.spender,
            f"{view.state}, only" if view.only else view.state,
            _shown(view.spent),
            _shown(view.held),
            view.purpose,
        )
        for view in runs
    ]
    return aligned(rows, right=(4, 5), broken_at=(2, 6))


def _shown(share: float) -> str:
    """Show a share that was rounded already."""
    return percent(Fraction(round(share * 10_000), 10_000), up=True)


def _up(share: Fraction) -> float:
    """Return the smallest ten-thousandth that is at least the share."""
    return -(-share * 10_000 // 1) / 10_000


def _down(share: Fraction) -> float:
    return (share * 10_000 // 1) / 10_000
