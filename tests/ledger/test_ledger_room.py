# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What fits what is left of a budget, and what a refusal says."""

import pytest
from ledger_cases import BIT, RECORDS, bits, most_steps, noise, opened, reserve

from dpmcmc.accounting import (
    BarkerBit,
    Event,
    GaussianRelease,
    MinibatchBit,
    certify_delta,
    certify_epsilon,
    largest_clip,
)
from dpmcmc.ledger import Ledger, LedgerError, OverBudgetError
from dpmcmc.ledger.codec import Events

BUDGETS = [(0.2, 1e-5), (1.0, 1e-6), (3.0, 1e-6), (8.0, 1e-8)]


def fits(ledger: Ledger, delta: float | None = None) -> float:
    return ledger.overview("people", delta).fits


def holds(ledger: Ledger, total: Events) -> bool:
    try:
        ledger.quote("people", total)
    except OverBudgetError:
        return False
    return True


def normal_run(epsilon: float, delta: float) -> Events:
    """The release with the least noise that is certified for (ε, δ)."""
    low, high = 1e-6, 1e3
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        within = certify_epsilon(noise(middle), delta).epsilon <= epsilon
        low, high = (middle, high) if within else (low, middle)
    return noise(low)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("spent", [0.0, 0.4])
def test_the_epsilon_that_fits_is_reserved_and_hardly_more(
    sqlite: str, epsilon: float, delta: float, spent: float
) -> None:
    with opened(sqlite, epsilon=epsilon, delta=delta) as ledger:
        if spent:
            first = normal_run(epsilon * spent, delta)
            reserve(ledger, total=first).charge(first)
        for at in (delta, delta / 20):
            view = ledger.overview("people", at)
            assert view.fits_delta == at
            ledger.quote("people", normal_run(view.fits, at))
            with pytest.raises(OverBudgetError):
                ledger.quote("people", normal_run(view.fits * 1.011, at))
        assert fits(ledger, delta / 20) > fits(ledger)
        low, high = (0.5, 0.9) if spent else (0.8, 1.0)
        assert low * epsilon < fits(ledger) < high * epsilon


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_chain_of_that_epsilon_fits_too(
    sqlite: str, epsilon: float, delta: float
) -> None:
    with opened(sqlite, epsilon=epsilon, delta=delta) as ledger:
        epsilon = fits(ledger)
        clip = largest_clip(lambda c: BarkerBit(c, RECORDS), 1000, epsilon, delta)
        assert 0.95 < ledger.quote("people", bits(1000, BarkerBit(clip, RECORDS))) <= 1


def test_nothing_fits_when_nothing_is_left(sqlite: str) -> None:
    with opened(sqlite) as ledger:
        most = most_steps(ledger)
        run = reserve(ledger, total=bits(most))
        assert fits(ledger) < 0.05
        run.close()
        assert fits(ledger) > 0.9
        reserve(ledger, 10, only=True)
        assert fits(ledger) == 0


KINDS = [
    BIT,
    MinibatchBit(1000, RECORDS),
    GaussianRelease(0.01),
]


@pytest.mark.parametrize("bit", KINDS, ids=lambda e: str(e)[:30])
def test_a_refusal_says_what_fits(sqlite: str, bit: Event) -> None:
    """A run of the same kind with the ε that the refusal names is reserved."""
    with opened(sqlite) as ledger:
        fitting = 1
        while holds(ledger, bits(2 * fitting, bit)):
            fitting *= 2
        above = 2 * fitting
        with pytest.raises(OverBudgetError) as caught:
            reserve(ledger, total=bits(40 * fitting, bit), claims=(7.25, 1e-7))
        refusal = caught.value
        assert (refusal.left, refusal.delta) == (1, 1e-7)
        assert refusal.asked > 20
        for said in (f"{refusal.fits:g}", "7.25", "1e-07", "'people'"):
            assert said in str(refusal)
        assert "rounding" not in str(refusal)
        while above - fitting > max(1, 0.02 * fitting):
            middle = (fitting + above) // 2
            fits_it = certify_epsilon(bits(middle, bit), 1e-7).epsilon <= refusal.fits
            fitting, above = (middle, above) if fits_it else (fitting, middle)
        assert ledger.quote("people", bits(fitting, bit)) > 0.93
        assert len(ledger.entries()) == 1


def test_many_steps_that_cost_little_are_refused_in_the_same_words(sqlite: str) -> None:
    """What runs out here is not ε but what is kept for finite arithmetic."""
    cheap = BarkerBit(1e-9, RECORDS)
    with opened(sqlite) as ledger:
        with pytest.raises(OverBudgetError) as caught:
            reserve(ledger, total=bits(10**9, cheap), claims=(0.3, 1e-6))
        assert caught.value.asked > 1
        assert 0 < caught.value.fits < 0.3
        assert "ε = 0.3" in str(caught.value)
        assert "rounding" not in str(caught.value)


@pytest.mark.parametrize("mu", [1e300, 1e200, 1e150])
def test_hardly_any_noise_is_refused_in_words(sqlite: str, mu: float) -> None:
    event = bits(10**6, GaussianRelease(mu))
    with opened(sqlite) as ledger:
        with pytest.raises(OverBudgetError, match=r"more than 100,000%"):
            reserve(ledger, total=event)
        with pytest.raises(LedgerError, match="by itself the run is proven for"):
            reserve(ledger, total=event, only=True)


def test_an_only_run_has_the_budget_for_itself(place: str) -> None:
    with opened(place) as ledger:
        most = most_steps(ledger)
        steps = most + most // 20
        claims = (certify_epsilon(bits(steps), 1e-6).epsilon, 1e-6)
        with pytest.raises(OverBudgetError, match="only=True"):
            reserve(ledger, steps, claims=claims)
        run = reserve(ledger, steps, claims=claims, only=True)
        for only in (False, True):
            with pytest.raises(OverBudgetError, match="only run ever on"):
                reserve(ledger, 1, only=only)
        run.charge(bits(steps - 1))
        run.close()
        with pytest.raises(OverBudgetError, match="only run ever on"):
            reserve(ledger, 1)
        again = ledger.resume(run.run, "bo")
        again.charge(bits(1))
        with pytest.raises(LedgerError, match="reserved less than this charge"):
            again.charge(bits(1))
        again.close()
        overview = ledger.overview("people")
        assert (overview.spent, overview.left, overview.fits) == (1, 0, 0)
        assert ledger.verify().ok


def test_an_only_run_must_be_the_first_to_read(place: str) -> None:
    with opened(place) as ledger:
        first = reserve(ledger, 10)
        with pytest.raises(OverBudgetError, match="must be the first"):
            reserve(ledger, 20, only=True)
        first.close()  # nothing was charged, so nothing was read
        only = reserve(ledger, 20, only=True)
        with pytest.raises(OverBudgetError, match="only run ever on"):
            ledger.resume(first.run)
        only.close()
        first = ledger.resume(first.run)
        first.charge(bits(1))
        first.close()
        with pytest.raises(OverBudgetError, match="must be the first"):
            ledger.resume(only.run)


def test_an_only_run_must_be_certified_within_the_budget(sqlite: str) -> None:
    with opened(sqlite) as ledger:
        delta = certify_delta(bits(10**4), 1.0).delta
        with pytest.raises(LedgerError, match=f"proven for δ = {delta:.3g} at ε = 1"):
            reserve(ledger, 10**4, only=True, claims=(0.5, 1e-6))
        assert len(ledger.entries()) == 1


def test_an_only_run_splits_its_noise_as_it_likes(sqlite: str) -> None:
    with opened(sqlite) as ledger:
        total = normal_run(1.0, 1e-6)
        run = reserve(ledger, total=total, only=True)
        (whole,) = total
        assert isinstance(whole, GaussianRelease)
        run.charge({GaussianRelease(whole.mu / 2): 1})
        run.charge({GaussianRelease(whole.mu / 2): 3})
        with pytest.raises(LedgerError, match="reserved less than this charge"):
            run.charge(noise(1e-6))
