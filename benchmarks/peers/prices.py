# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What published prices say, calculated: the same noise by their rule and by ours."""

import math
from collections.abc import Iterator

from dp_accounting import dp_event, privacy_accountant
from dp_accounting.pld import pld_privacy_accountant

from benchmarks.peers import dp_sgld, dp_sgnht
from benchmarks.peers.target import Budget
from dpmcmc.accounting import GaussianBatchSum, certify_epsilon, least_noise
from dpmcmc.accounting.curves import GaussianCurve, ZcdpCurve

__all__ = ["composed", "poisson_epsilon", "price_table"]

_RELATION = privacy_accountant.NeighboringRelation.ADD_OR_REMOVE_ONE


def poisson_epsilon(multiplier: float, rate: float, steps: int, delta: float) -> float:
    """ε of noisy sums over Poisson batches, for a record that is added or removed."""
    accountant = pld_privacy_accountant.PLDAccountant(_RELATION)
    one = dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(multiplier))
    accountant.compose(one, steps)
    return float(accountant.get_epsilon(delta))


def poisson_noise(rate: float, steps: int, budget: Budget) -> float:
    """The multiplier by that rule."""
    low, high = 0.1, 1000.0
    while high / low > 1.002:
        middle = math.sqrt(low * high)
        is_enough = poisson_epsilon(middle, rate, steps, budget.delta) <= budget.epsilon
        low, high = (low, middle) if is_enough else (middle, high)
    return high


def composed(epsilon: float, steps: int, delta: float) -> tuple[float, float]:
    """ε of steps that are each ε₁-DP: by basic composition, and at δ by zCDP.

    An ε₁-DP step is (ε₁²/2)-zCDP. What steps have of δ of their own adds up beside it.
    """
    return steps * epsilon, ZcdpCurve(steps * epsilon**2 / 2).epsilon(delta)


def price_table() -> Iterator[str]:
    """Lines of Markdown."""
    yield "| method and setting | published price | price here |"
    yield "| --- | --- | --- |"
    steps, rate, count, delta = 10_000, 0.1, 5000, 1e-5
    batch = round(rate * count)
    for epsilon in (0.1, 1.0):
        budget = Budget(epsilon, delta)
        theirs = poisson_noise(rate, steps, budget)
        ours = least_noise(steps, batch, count, *budget)
        sum_of = {GaussianBatchSum(theirs, batch, count): steps}
        same = certify_epsilon(sum_of, delta).epsilon
        yield (
            f"| DPVI, NA-DPVI: 10,000 steps, batches of 10%, ε = {epsilon:g}, δ = 1e-5 "
            f"| noise of {theirs:.1f} clips | noise of {ours:.1f} clips; theirs is "
            f"ε = {same:.2f} |"
        )
    budget = Budget(4.0, 1e-6)
    for name, module, given in (
        (
            "DP-SGLD, its drift",
            dp_sgld,
            dp_sgld.Settings(1000, 15.0, 0.008, 1),
        ),
        ("DP-SGNHT", dp_sgnht, dp_sgnht.Settings(1000, 12.0, 0.2, 30.0)),
    ):
        # four chains share a budget
        theirs_steps = module.published_steps(given, 100_000, budget)
        our_steps = module.affordable(given, 100_000, budget)
        yield (
            f"| {name}: the normal mean, ε = 4, δ = 1e-6 | {theirs_steps:,} steps a "
            f"chain | {our_steps:,} steps a chain |"
        )
    for one in (0.01, 0.05):
        basic, best = composed(one, 500, 1e-5)
        yield (
            f"| DP-Fast-MH: 500 steps, each of ε₁ = {one:g} | ε = {one:g} | the chain "
            f"is {basic:g}-DP, and ε = {best:.2f} at δ = 1e-5, beside 500 δ₁ |"
        )
    noise = 2 / GaussianCurve.within(1.0, 1e-5).mu
    # v vᵀ, v y, y² of a record with |v| = |y| = 1 in 12 numbers: at most Σ|entries|
    taxicab = 12 * 13 / 2 / 12
    yield (
        "| Bernstein–Sheldon: 78 products of 12 numbers of length 1, ε = 1 | Laplace "
        f"noise of scale up to {2 * taxicab:.0f}, sd {2 * taxicab * 2**0.5:.0f} | "
        f"normal noise of sd {noise:.1f}, δ = 1e-5 |"
    )
