# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Do all tests draw from one posterior? The paper's mixture, against its grid.

The tempered posterior has two modes, which differ by an exchange of the two centres. No
record's likelihood changes under that exchange, so a chain may propose it under any
clip; between exchanges it walks along the ridge. The clip of the minibatch test, √b/N₀
on a record's ratio, requires short moves: those here are so short that hardly any ratio
reaches it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpmcmc import (
    Barker,
    GaussianBarker,
    MinibatchBarker,
    Posterior,
    sample_not_private,
)
from dpmcmc.posterior.netcdf import arviz
from dpmcmc.proposals import Custom, Mixture
from dpmcmc.sampling.plan import Method
from reproduction.drawing import (
    ALARM,
    COLOURS,
    FigureResult,
    Noted,
    Numbers,
    label_axes,
    panels,
)
from reproduction.paper_chains import Experiment
from reproduction.paper_mixture import (
    TRUTH,
    RidgeWalk,
    exchange,
    mixture_model,
    simulate,
)
from reproduction.tempered_grid import Moments, tempered_grid

__all__ = [
    "BATCH",
    "CHAINS",
    "ChainPlan",
    "Estimate",
    "draw",
    "estimates",
    "figure_agreement",
    "grid_moments",
    "quantities",
    "simulated_records",
]

BATCH = 1000
_RECORDS, _PARALLEL = 20_000, 16
_RECORDS_SEED, _SEED = 9, 4
_EXCHANGES = 0.1
_POINTS = 451


@dataclass(frozen=True)
class ChainPlan:
    """A test, how long its chains are, and how they move.

    Attributes
    ----------
    method
        The test, to be given a proposal and a tempering.
    steps
        Steps of each of 16 chains at N₀ = 100; a tenth of them are left out.
    walk
        The largest move at N₀ = 100 of the middle of the centres, and of the gap.
    power
        Moves go with N₀ to this power: −½ as the posterior's width, −1 as the clip.
    """

    method: Callable[..., Method]
    steps: int
    walk: tuple[float, float]
    power: float

    def moves(self, tempered: float) -> RidgeWalk:
        """The walk at another N₀."""
        factor = (tempered / 100) ** self.power
        return RidgeWalk(*(factor * largest for largest in self.walk))

    def length(self, tempered: float) -> int:
        """Steps at another N₀: more, by the square of how much too short moves are."""
        return round(self.steps * (tempered / 100) ** (-2 * self.power - 1))


CHAINS: Mapping[str, ChainPlan] = {
    "exact": ChainPlan(Barker, 6000, (0.5, 2.0), -0.5),
    "Gaussian": ChainPlan(GaussianBarker, 6000, (0.5, 2.0), -0.5),
    "minibatch": ChainPlan(partial(MinibatchBarker, BATCH), 50_000, (0.07, 0.28), -1.0),
}
"""The exact test and the Gaussian one on all records, and the paper's on a batch."""


@dataclass(frozen=True)
class Estimate:
    """Mean and sd of a quantity, and the Monte-Carlo standard error of each."""

    mean: float
    mean_error: float
    sd: float
    sd_error: float

    def against(self, mean: float, sd: float) -> "Estimate":
        """Error of the mean in posterior sds, and ratio of the sds."""
        return Estimate(
            (self.mean - mean) / sd,
            self.mean_error / sd,
            self.sd / sd,
            self.sd_error / sd,
        )


def simulated_records() -> dict[str, np.ndarray]:
    """Simulate the records, the same ones each time."""
    return simulate(TRUTH, _RECORDS, np.random.default_rng(_RECORDS_SEED))


def quantities(mean: np.ndarray, gap: np.ndarray) -> dict[str, np.ndarray]:
    """What is compared: both parameters, and two numbers that no exchange changes.

    Where the modes are far apart, mean and sd of a parameter say little about the
    shape of either; those of the middle of the centres, and of the distance between
    them, describe it.
    """
    return {
        "mean": mean,
        "gap": gap,
        "middle": mean + gap / 2,
        "distance": np.abs(gap),
    }


def grid_moments(records: Mapping[str, np.ndarray], tempered: float) -> Moments:
    """Mean and sd of each quantity under the tempered posterior."""
    model = mixture_model(TRUTH)
    grid = tempered_grid(model, records["x"], tempered, points=_POINTS)
    values = quantities(grid.mean[:, None], grid.gap[None, :])
    return {name: grid.moment(each) for name, each in values.items()}


def draw(
    plan: ChainPlan,
    records: Mapping[str, np.ndarray],
    tempered: float,
    length: float = 1.0,
    progress: bool = True,
) -> Posterior:
    """Draw from the tempered posterior by one of the tests, without privacy."""
    walk, swap = Custom(plan.moves(tempered)), Custom(exchange)
    steps = round(length * plan.length(tempered))
    proposal = Mixture([(1 - _EXCHANGES, walk), (_EXCHANGES, swap)])
    return sample_not_private(
        mixture_model(TRUTH),
        records,
        method=plan.method(proposal=proposal, tempering=tempered),
        steps=steps,
        warmup=steps // 10,
        chains=_PARALLEL,
        seed=_SEED,
        progress=progress,
    )


def estimates(posterior: Posterior) -> dict[str, Estimate]:
    """Mean and sd of each quantity, with Monte-Carlo standard errors.

    That of the sd is computed from the squares, which may mix more slowly than the
    values: an exchange changes the sign of the gap and not its size.
    """
    draws = {name: each.astype(np.float64) for name, each in posterior.draws.items()}
    found = {}
    for name, values in quantities(**draws).items():
        mean, sd = float(values.mean()), float(values.std())
        of_square = _standard_error((values - mean) ** 2)
        found[name] = Estimate(mean, _standard_error(values), sd, of_square / (2 * sd))
    return found


def figure_agreement(experiment: Experiment) -> FigureResult:
    """Error of each test against the grid, for every quantity and N₀."""
    tempered = experiment.sizes.agreement
    found = {level: _errors(experiment, level) for level in tempered}
    figure, rows = panels(len(tempered), 2, (5.2, 3.6))
    title = "NOT PRIVATE: seeded runs on simulated records, ± one Monte-Carlo error"
    figure.suptitle(title, color=ALARM, weight="bold", fontsize=10)
    for (level, of_tests), row in zip(found.items(), rows, strict=True):
        for place, (test, errors) in enumerate(of_tests.items()):
            at = np.arange(len(errors)) + 0.2 * (place - 1)
            style = {"color": COLOURS[place], "fmt": "o", "capsize": 3, "label": test}
            of = list(errors.values())
            row[0].errorbar(
                at, [e.mean for e in of], [e.mean_error for e in of], **style
            )
            row[1].errorbar(at, [e.sd for e in of], [e.sd_error for e in of], **style)
            for axes, truth in zip(row, (0, 1), strict=True):
                axes.axhline(truth, color="black", linewidth=1)
                axes.set_xticks(range(len(errors)), list(errors))
        label_axes(row[0], "", "error of the mean (posterior sd)", f"N₀ = {level:g}")
        label_axes(row[1], "", "ratio of the sds", f"N₀ = {level:g}")
    rows[0, 0].legend(fontsize=9)
    numbers: Numbers = {"N₀": list(tempered)}
    noted = []
    for level, of_tests in found.items():
        for test, errors in of_tests.items():
            for name, each in errors.items():
                for field, value in vars(each).items():
                    numbers.setdefault(f"{test}, {name}, {field}", []).append(value)
            noted.append(_largest(errors, f"N₀ = {level:g}, {test} test"))
    return FigureResult(figure, numbers, noted)


def _largest(errors: Mapping[str, Estimate], title: str) -> Noted:
    """The largest errors over the quantities, of a mean and of an sd."""
    mean = max(errors, key=lambda name: abs(errors[name].mean))
    sd = max(errors, key=lambda name: abs(errors[name].sd - 1))
    return Noted(
        f"largest error of a mean, in posterior sd; {title}, NOT PRIVATE",
        f"{errors[mean].mean:+.3f} ± {errors[mean].mean_error:.3f} ({mean})",
        f"ratio of sds {errors[sd].sd:.3f} ± {errors[sd].sd_error:.3f} ({sd})",
    )


def _errors(experiment: Experiment, tempered: float) -> dict[str, dict[str, Estimate]]:
    """By test and quantity: error of the mean in posterior sds, ratio of the sds."""
    records = simulated_records()
    moments = grid_moments(records, tempered)
    length, progress = experiment.sizes.agreement_length, experiment.progress
    found = {}
    for test, plan in CHAINS.items():
        of = estimates(draw(plan, records, tempered, length, progress))
        found[test] = {name: of[name].against(*moments[name]) for name in moments}
    return found


def _standard_error(values: np.ndarray) -> float:
    """Of the mean of draws of shape (chains, draws)."""
    effective = float(arviz().ess(values, method="mean"))
    return float(values.std()) / effective**0.5
