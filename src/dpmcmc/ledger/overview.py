# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How a budget stands: fractions of it, which add up, and the ε that still fits."""

from dataclasses import asdict, dataclass
from typing import Any

from dpmcmc.aligned import aligned, filled
from dpmcmc.ledger.accounts import Account
from dpmcmc.ledger.room import epsilon_that_fits, rho_and_mu_that_fit
from dpmcmc.ledger.texts import percent, rounded

__all__ = ["Overview", "RunView", "overview_of"]


@dataclass(frozen=True)
class RunView:
    """One run, as people see it.

    Attributes
    ----------
    run, analyst, purpose, time, state, only, claims
        As reserved; ``state`` is "open", "closed" or "released", ``claims`` the
        (ε, δ) of its own statement or None.
    spent, held
        Fractions of the budget, rounded up: what it was charged, and what nobody else
        can have, which is all it reserved while it is open.
    """

    run: str
    analyst: str
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
    dataset, records, unit, epsilon, delta, note, registrar, time
        As registered.
    currency, amount
        In what the budget was given, "epsilon", "rho" or "mu", and how much.
    spent, reserved, left
        Fractions of the budget: charged, set aside by open runs but not charged yet
        (both rounded up), and free (rounded down).
    fits, fits_delta
        The largest ε, rounded down, of one more run that fits what is left, and the δ
        at which it is stated. It is that of releases with normal noise; chains of
        decisions on all records come to the same, and a run over drawn batches to a
        few percent less.
    fits_rho, fits_mu
        The same in ρ and μ, rounded down.
    runs
        Every run, in the order of their reservations.
    """

    dataset: str
    records: int
    unit: str
    epsilon: float
    delta: float
    note: str
    registrar: str
    time: str
    currency: str
    amount: float
    spent: float
    reserved: float
    left: float
    fits: float
    fits_delta: float
    fits_rho: float
    fits_mu: float
    runs: tuple[RunView, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON can hold."""
        return asdict(self)

    def __str__(self) -> str:
        what = f"units (by {self.unit})" if self.unit else "records"
        budget = f"ε = {self.epsilon:.6g}, δ = {self.delta:g}"
        if self.currency != "epsilon":
            letter = {"rho": "ρ", "mu": "μ"}[self.currency]
            budget = f"{letter} = {self.amount:.6g}, which implies {budget}"
        lines = [
            filled(f"{self.dataset}: {self.records:,} {what}, {budget}"),
            filled(f"Registered {self.time[:10]} by {self.registrar}."),
            *([filled(f"Note: {self.note}")] if self.note else []),
            "",
            f"  spent     {percent(self.spent):>8}",
            f"  reserved  {percent(self.reserved):>8}",
            f"  left      {percent(self.left):>8}",
            f"  one more run fits with ε = {self.fits:g} at δ = {self.fits_delta:g}"
            f" (ρ = {self.fits_rho:g}, μ = {self.fits_mu:g})",
            "",
            *_table(self.runs),
            "",
            filled(f"Whatever is asked next, all together stays ({budget})-private."),
        ]
        return "\n".join(lines)


def overview_of(account: Account, delta: float) -> Overview:
    """Return the overview of a data set, and which ε still fits at a δ."""
    spent, held = account.fraction(account.spent()), account.fraction(account.held())
    return Overview(
        account.name,
        account.records,
        account.unit,
        account.epsilon,
        account.delta,
        account.note,
        account.registrar,
        account.time,
        account.capacity.currency,
        account.capacity.amount,
        rounded(spent, up=True),
        rounded(held - spent, up=True),
        rounded(1 - held, up=False),
        epsilon_that_fits(account, delta),
        delta,
        *rho_and_mu_that_fit(account),
        tuple(
            RunView(
                run.name,
                run.analyst,
                run.purpose,
                run.time,
                run.state,
                run.only,
                run.claims,
                rounded(account.fraction(run.cost), up=True),
                rounded(account.fraction(run.held), up=True),
            )
            for run in account.runs.values()
        ),
    )


def _table(runs: tuple[RunView, ...]) -> list[str]:
    if not runs:
        return ["No run yet."]
    rows = [("run", "since", "analyst", "state", "spent", "held", "purpose")]
    for view in runs:
        since = view.time[:16].replace("T", " ")
        state = f"{view.state}, only" if view.only else view.state
        fractions = (percent(view.spent), percent(view.held))
        rows.append((view.run, since, view.analyst, state, *fractions, view.purpose))
    return aligned(rows, right=(4, 5), broken_at=(2, 6))
