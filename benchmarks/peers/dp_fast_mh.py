# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""DP-Fast-MH (Zhang and Zhang 2023): exact minibatches, with noise.

TunaMH (Zhang, Cooper and De Sa 2020) draws a Poisson number of records, keeps each with
a probability that depends on its log-likelihood ratio d, |d| ≤ B, and accepts by the
sum of 2 artanh(N d/(N B + 2λ)) over those kept: exactly the posterior, whatever λ.
Normal noise with the penalty of `penalty` keeps it exact and makes a step private.

Published price: ε of one step; a chain composes its steps. By our accountants: a record
is drawn Poisson(r) times, r = (λ + N B)/N, and each time moves the sum by at most 2v,
v = 2 artanh(N B/(N B + 2λ)). With advanced joint convexity over the number of times,
δ′(ε′) = Σ P(k) δ(ε; 2vk/σ), ε′ = log(1 + (1 − e⁻ʳ)(e^ε − 1)), and steps compose by
their loss distributions.

The paper takes all records where the Poisson number is above N, which has no
probability to speak of here.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.peers.target import Budget
from benchmarks.peers.walks import Answer, Ratios
from dpmcmc.accounting import Event, largest
from dpmcmc.accounting.accountants import BLOCKS
from dpmcmc.accounting.curves import gaussian_profile
from dpmcmc.accounting.gaussian_release import gaussian_reach
from dpmcmc.accounting.losses import LossPart

__all__ = ["NoisyPoissonTest", "PoissonBatchSum", "noise_of"]

_TIMES = 12


@dataclass(frozen=True)
class PoissonBatchSum(Event):
    """A noisy sum in which a record counts Poisson(rate) times, each moves it by μ."""

    mu: float
    rate: float


@BLOCKS.rule(PoissonBatchSum)
def _parts(event: PoissonBatchSum, count: int) -> list[LossPart]:
    drawn = -math.expm1(-event.rate)
    times = np.arange(1, _TIMES + 1)
    logs = times * math.log(event.rate) - np.cumsum(np.log(times)) - event.rate
    masses = np.exp(logs)
    rest = max(0.0, drawn - masses.sum()) + 1e-18
    reach = math.log1p(drawn * math.expm1(min(gaussian_reach(3 * event.mu), 600.0)))

    def deltas(step: float) -> np.ndarray:
        epsilons = step * np.arange(math.ceil(reach / step) + 1)
        inner = np.log1p(np.expm1(epsilons) / drawn)
        parts = [
            mass * gaussian_profile(k * event.mu, inner)
            for k, mass in zip(times, masses, strict=True)
        ]
        return np.sum(parts, axis=0) + rest

    spread = math.log1p(drawn * math.sqrt(math.expm1(min(event.mu**2, 50.0))))
    step = max(min(spread, event.mu) / 32, reach / 20_000)
    return [LossPart(deltas, step, reach, count)]


@dataclass(frozen=True)
class NoisyPoissonTest:
    """The test: the bound B on ratios, λ, and the sd of the noise."""

    bound: float
    lam: float
    noise: float

    def __call__(
        self, ratios: Ratios, prior: float, count: int, generator: np.random.Generator
    ) -> Answer:
        """Decide about one move."""
        whole = count * self.bound
        drawn = generator.poisson(self.lam + whole)
        found = ratios(generator.integers(count, size=drawn))
        found = np.clip(found, -self.bound, self.bound)
        # rates λ/N + (B − d)/2 of being kept: their ratio at θ′ and θ makes the terms
        keep = (self.lam + (whole - count * found) / 2) / (self.lam + whole)
        kept = generator.random(drawn) < keep
        terms = 2 * np.arctanh(count * found / (whole + 2 * self.lam))
        noisy = terms[kept].sum() + self.noise * generator.normal()
        total = noisy - self.noise**2 / 2 + prior
        return Answer(bool(np.log(generator.random()) < total), drawn)


@cache
def noise_of(bound: float, lam: float, count: int, steps: int, budget: Budget) -> float:
    """The sd of the noise at which so many steps fit a budget."""
    rate = lam / count + bound
    mu = largest(lambda scale: {PoissonBatchSum(scale, rate): steps}, *budget)
    whole = count * bound
    return 4 * math.atanh(whole / (whole + 2 * lam)) / mu
