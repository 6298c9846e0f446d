# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a run fits what is left of a budget; and if not, what would fit."""

import math
from decimal import ROUND_FLOOR, Context
from fractions import Fraction

from dpmcmc.accounting import certify_delta, certify_epsilon
from dpmcmc.ledger.accounts import Account, Run
from dpmcmc.ledger.codec import Events
from dpmcmc.ledger.prices import cost_of
from dpmcmc.ledger.refusals import LedgerError, OverBudgetError
from dpmcmc.ledger.tally import Tally
from dpmcmc.ledger.texts import percent, rounded

__all__ = [
    "epsilon_that_fits",
    "require_alone",
    "require_room",
    "rho_and_mu_that_fit",
]

_NORMAL = Tally(square=Fraction(1))
_DIGITS = Context(prec=3, rounding=ROUND_FLOOR)


def epsilon_that_fits(account: Account, delta: float, run: Run | None = None) -> float:
    """Return the largest ε of one more run that fits what is left.

    As much of one kind of run as fits is certified as a run by itself.

    Parameters
    ----------
    account
        The data set.
    delta
        The δ at which ε is stated.
    run
        A run of the kind that is meant; by default one of releases with normal noise.

    Returns
    -------
    float
        Rounded down to three digits; 0 if nothing fits.
    """
    whole, order = account.capacity.cost, account.capacity.order
    kind, cost, held = _NORMAL, cost_of(_NORMAL, {}, order), account.held()
    if run is not None and not run.only:
        kind, cost, held = run.total, run.reserved, account.held(but=run.name)
    factor = (whole.divergence - held.divergence) / cost.divergence
    if cost.slack:
        factor = min(factor, (whole.slack - held.slack) / cost.slack)
    found = certify_epsilon(kind.scaled(factor).events, delta).epsilon
    return float(_DIGITS.create_decimal(found)) if math.isfinite(found) else 0.0


def rho_and_mu_that_fit(account: Account) -> tuple[float, float]:
    """Return ρ and μ of the largest release with normal noise that fits what is left.

    Both are rounded down to three digits.
    """
    left = account.capacity.cost.divergence - account.held().divergence
    square = float(left / cost_of(_NORMAL, {}, account.capacity.order).divergence)
    rho, mu = map(_DIGITS.create_decimal, (square / 2, math.sqrt(square)))
    return float(rho), float(mu)


def require_room(account: Account, run: Run) -> None:
    """Refuse a run for which there is no room beside what others hold.

    Raises
    ------
    OverBudgetError
        Says what was asked, what is left, and what would fit.
    """
    held = account.held(but=run.name)
    if run.reserved.plus(held).fits(account.capacity.cost):
        return
    asked = rounded(account.fraction(run.reserved), up=True)
    left = rounded(1 - account.fraction(held), up=False)
    delta = account.delta if run.claims is None else run.claims[1] or account.delta
    fits = epsilon_that_fits(account, delta, run)
    said = ""
    if run.claims is not None:
        said = " (ε = {:g} at δ = {:g} by its own statement)".format(*run.claims)
    would = f"ε = {fits:g} at δ = {delta:g} would fit" if fits else "nothing would fit"
    raise OverBudgetError(
        f"the run asks for {percent(asked)} of the budget of {account.name!r}{said}, "
        f"and {percent(left)} is left: {would}. {_advice(account, run)}",
        asked=asked,
        left=left,
        fits=fits,
        delta=delta,
    )


def require_alone(
    account: Account, total: Events, *, tolerance: Fraction = Fraction(0)
) -> None:
    """Refuse an only run that is not proven to be within the budget by itself.

    Parameters
    ----------
    account
        The data set.
    total
        All that the run may release.
    tolerance
        By which part of δ the total may exceed it: for a ledger that another machine
        wrote, which may have rounded differently.

    Guarantee
    ---------
    If this returns, and tolerance is 0, a run whose charges stay within the total is
    (ε, δ)-differentially private, with the ε and δ of the data set.
    """
    try:
        delta = certify_delta(total, account.epsilon).delta
    except OverflowError:  # hardly any noise
        delta = 1.0
    if Fraction(delta) > Fraction(account.delta) * (1 + tolerance):
        raise LedgerError(
            f"by itself the run is proven for δ = {delta:.3g} at ε = "
            f"{account.epsilon:g}, and the budget of {account.name!r} is δ = "
            f"{account.delta:g} at that ε. Take a smaller epsilon or fewer steps."
        )


def _advice(account: Account, run: Run) -> str:
    others = [each for each in account.runs.values() if each.name != run.name]
    holding = [each for each in others if any(each.held)]
    alone = next((each for each in holding if each.only), None)
    if alone is not None:
        return f"Run {alone.name!r} was reserved as the only run ever on these records."
    if run.only:
        return "An only run must be the first on its records: take only=False."
    if not holding and run.claims is not None and run.claims[0] <= account.epsilon:
        return "Take a smaller epsilon, or make it the only run ever (only=True)."
    if any(each.opened_by is not None for each in holding):
        return "Take a smaller epsilon, or release runs that died and still hold some."
    return "Take a smaller epsilon or fewer steps."
