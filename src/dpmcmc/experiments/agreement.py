# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Do all tests draw from one posterior? The paper's mixture, against its grid.

Run it with ``python -m dpmcmc.experiments.agreement``. The records are simulated.

The tempered posterior has two modes, which differ by an exchange of the two centres. No
record notices that exchange, so that a chain may propose it under any clip; between
exchanges it walks along the ridge. The clip of the minibatch test, √b/N₀ on a record's
ratio, asks for short moves: those here are so short that next to no ratio reaches it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dpmcmc.acceptance import Acceptance, Barker, GaussianBarker, MinibatchBarker
from dpmcmc.experiments.mixture import (
    TRUTH,
    RidgeWalk,
    exchange,
    mixture_model,
    simulate_mixture,
)
from dpmcmc.experiments.tempered_grid import Moments, tempered_grid
from dpmcmc.posterior.posterior import Posterior
from dpmcmc.posterior.summary import arviz
from dpmcmc.proposals import Custom, Mixture
from dpmcmc.sampler import sample_not_private

__all__ = [
    "BATCH",
    "TESTS",
    "Estimate",
    "Plan",
    "draw",
    "estimates",
    "grid_moments",
    "main",
    "quantities",
    "simulate",
]

BATCH = 1000
_RECORDS, _CHAINS = 20_000, 16
_RECORDS_SEED, _SEED = 9, 4
_EXCHANGES = 0.1
_POINTS = 901


@dataclass(frozen=True)
class Plan:
    """A test, how long its chains are, and how they move.

    Attributes
    ----------
    test
        The test.
    steps
        Steps of each of 16 chains at N₀ = 100; a tenth of them are left out.
    walk
        The farthest move at N₀ = 100 of the middle of the centres, and of the gap.
    power
        Moves go with N₀ to this power: −½ as the posterior's width, −1 as the clip.
    """

    test: Acceptance
    steps: int
    walk: tuple[float, float]
    power: float

    def moves(self, tempered: float) -> RidgeWalk:
        """The walk at another N₀."""
        factor = (tempered / 100) ** self.power
        return RidgeWalk(*(factor * farthest for farthest in self.walk))

    def length(self, tempered: float) -> int:
        """Steps at another N₀: as many more as its moves are too short, squared."""
        return round(self.steps * (tempered / 100) ** (-2 * self.power - 1))


TESTS: Mapping[str, Plan] = {
    "exact": Plan(Barker(), 6000, (0.5, 2.0), -0.5),
    "Gaussian": Plan(GaussianBarker(), 6000, (0.5, 2.0), -0.5),
    "minibatch": Plan(MinibatchBarker(BATCH), 50_000, (0.07, 0.28), -1.0),
}
"""The exact test and the Gaussian one on all records, and the paper's on a batch."""


@dataclass(frozen=True)
class Estimate:
    """Mean and sd of a quantity, and the Monte-Carlo standard error of each."""

    mean: float
    mean_error: float
    sd: float
    sd_error: float


def simulate() -> np.ndarray:
    """Simulate the records, the same ones each time."""
    generator = np.random.default_rng(_RECORDS_SEED)
    return simulate_mixture(TRUTH, _RECORDS, generator)


def quantities(mean: np.ndarray, gap: np.ndarray) -> dict[str, np.ndarray]:
    """What is compared: both parameters, and two numbers that no exchange changes.

    Where the modes are far apart, mean and sd of a parameter say little about the
    shape of either; those of the middle of the centres, and of the distance between
    them, say it.
    """
    return {
        "mean": mean,
        "gap": gap,
        "middle": mean + gap / 2,
        "distance": np.abs(gap),
    }


def grid_moments(records: np.ndarray, tempered: float) -> Moments:
    """Mean and sd of each quantity under the tempered posterior."""
    grid = tempered_grid(mixture_model(TRUTH), records, tempered, points=_POINTS)
    moments = {}
    for name, values in quantities(grid.mean[:, None], grid.gap[None, :]).items():
        mean = float((grid.weights * values).sum())
        spread = float((grid.weights * (values - mean) ** 2).sum())
        moments[name] = (mean, spread**0.5)
    return moments


def draw(
    plan: Plan, records: np.ndarray, tempered: float, progress: bool = True
) -> Posterior:
    """Draw from the tempered posterior by one of the tests, without privacy."""
    walk, swap = Custom(plan.moves(tempered)), Custom(exchange)
    return sample_not_private(
        mixture_model(TRUTH),
        records,
        steps=plan.length(tempered),
        warmup=plan.length(tempered) // 10,
        chains=_CHAINS,
        test=plan.test,
        tempering=tempered,
        proposal=Mixture([(1 - _EXCHANGES, walk), (_EXCHANGES, swap)]),
        seed=_SEED,
        progress=progress,
    )


def estimates(posterior: Posterior) -> dict[str, Estimate]:
    """Mean and sd of each quantity, with Monte-Carlo standard errors.

    That of the sd is read off the squares, which may mix slower than the values: an
    exchange changes the sign of the gap and leaves its size.
    """
    draws = {name: each.astype(np.float64) for name, each in posterior.draws.items()}
    found = {}
    for name, values in quantities(**draws).items():
        mean, sd = float(values.mean()), float(values.std())
        of_square = _standard_error((values - mean) ** 2)
        found[name] = Estimate(mean, _standard_error(values), sd, of_square / (2 * sd))
    return found


def main() -> None:
    """Print how far each test is from the grid, at N₀ = 100 and 1000."""
    records = simulate()
    for tempered in (100.0, 1000.0):
        moments = grid_moments(records, tempered)
        print(f"N₀ = {tempered:g}; in posterior sds, ± one Monte-Carlo standard error:")
        for name, plan in TESTS.items():
            found = estimates(draw(plan, records, tempered))
            for quantity, (mean, sd) in moments.items():
                row = _row(found[quantity], mean, sd)
                print(f"{name:<12}{quantity:<10}{row}", flush=True)


def _standard_error(values: np.ndarray) -> float:
    """Of the mean of draws of shape (chains, draws)."""
    effective = float(arviz().ess(values, method="mean"))
    return float(values.std()) / effective**0.5


def _row(found: Estimate, mean: float, sd: float) -> str:
    off, ratio = (found.mean - mean) / sd, found.sd / sd
    return (
        f"mean off {off:+.3f} ± {found.mean_error / sd:.3f}   "
        f"sd ratio {ratio:.3f} ± {found.sd_error / sd:.3f}"
    )


if __name__ == "__main__":
    main()
