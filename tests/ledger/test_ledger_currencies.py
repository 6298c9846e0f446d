# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Budgets of ρ and μ: they add up, and no race overspends them."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from ledger_cases import bits

from dpmcmc.accounting import GaussianRelease, MinibatchBit, gdp_cost, zcdp_cost
from dpmcmc.errors import InputError
from dpmcmc.ledger import Ledger, LedgerError, OverBudgetError

WORKER = Path(__file__).with_name("ledger_worker.py")
BUDGETS = {"rho": 0.5, "mu": 1.0}
COSTS = {"rho": zcdp_cost, "mu": lambda events: gdp_cost(events) ** 2}
WHOLE = {"rho": 0.5, "mu": 1.0}
"""A budget, and what adds up: ρ, and the square of μ."""


@pytest.fixture(params=BUDGETS)
def currency(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def ledger(sqlite: str, currency: str):
    with Ledger.open(sqlite) as opened:
        opened.register(
            "people",
            records=_records(),
            delta=1e-6,
            **{currency: BUDGETS[currency]},
        )
        yield opened


def _records() -> int:
    (event,) = bits(1)
    return event.records


def test_the_budget_is_shown_in_its_currency(ledger: Ledger, currency: str) -> None:
    view = ledger.overview("people")
    assert view.currency == currency
    assert view.amount == pytest.approx(BUDGETS[currency])
    assert view.fits_rho == pytest.approx(0.5, rel=0.01)
    assert view.fits_mu == pytest.approx(1.0, rel=0.01)
    assert view.fits <= view.epsilon
    assert {"rho": "ρ = 0.5", "mu": "μ = 1"}[currency] in str(view)


def test_normal_noise_can_spend_all_of_it_and_no_more(ledger: Ledger) -> None:
    ledger.reserve("people", {GaussianRelease(0.6): 1})
    ledger.reserve("people", {GaussianRelease(0.79999): 1})
    with pytest.raises(OverBudgetError):
        ledger.reserve("people", {GaussianRelease(0.01): 1})


def test_sixteen_race_and_the_budget_holds(
    ledger: Ledger, sqlite: str, currency: str
) -> None:
    """Five fit, by the costs of accounting; a sixth would be too many."""
    steps = int(WHOLE[currency] / COSTS[currency](bits(1)) * 2 / 11)
    command = [sys.executable, str(WORKER), "race", sqlite, "16", str(steps)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    fates = Counter(json.loads(done.stdout)["fates"])
    assert fates == {"ran": 5, "refused": 11}
    assert ledger.verify().ok
    spent = sum(
        COSTS[currency](events)
        for run in ledger.overview("people").runs
        for _, events in ledger.charges(run.run)
    )
    assert 0.9 * WHOLE[currency] < spent <= WHOLE[currency]


def test_what_has_no_price_in_the_currency_is_refused(ledger: Ledger) -> None:
    with pytest.raises(LedgerError):
        ledger.reserve("people", {MinibatchBit(batch=10, records=_records()): 1})
    with pytest.raises(LedgerError, match="only"):
        ledger.reserve("people", {GaussianRelease(0.1): 1}, only=True)


@pytest.mark.parametrize(
    "budget", [{}, {"rho": 1.0, "epsilon": 1.0}, {"rho": -1.0}, {"mu": 1e6}], ids=str
)
def test_a_budget_that_is_none_is_refused(sqlite: str, budget: dict) -> None:
    with Ledger.open(sqlite) as ledger, pytest.raises(InputError):
        ledger.register("people", records=10, delta=1e-6, **budget)
