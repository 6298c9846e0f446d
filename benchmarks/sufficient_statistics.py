# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Sufficient statistics against Taylor control variates at one budget, in one table.

Every run is one call of `sample` with a fresh tape, within (ε, 1e-6). The records of a
case stay the same; rows are medians over runs. The reference has no privacy, and no
bounds: the posterior of the records as they are.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from _accuracy import flat, middle, reference, score, share, span

from dpmcmc import (
    ControlVariates,
    Model,
    SufficientStatistics,
    Variational,
    models,
    sample,
)
from dpmcmc.private import Records

DELTA = 1e-6
EPSILON = 2.0
COUNT = 100_000
STEPS = {"sufficient statistics": 40_000, "control variates": 3000}


class Case(NamedTuple):
    """Records, the model with its public bounds, and the same without any."""

    name: str
    model: Model
    unbounded: Model
    records: Any


def normal_mean() -> Case:
    """Ten means with a known covariance of condition number 400."""
    generator = np.random.default_rng(0)
    turn = np.linalg.qr(generator.standard_normal((10, 10)))[0]
    root = (turn * np.geomspace(1, 20, 10)) @ turn.T
    mean = generator.standard_normal(10)
    x = mean + generator.standard_normal((COUNT, 10)) @ root
    covariance = root @ root.T
    return Case(
        "normal mean, d = 10",
        models.normal_mean(covariance, radius=6.0),
        models.normal_mean(covariance, radius=1e6),
        {"x": x},
    )


def normal() -> Case:
    """A mean and a deviation, with bounds of six deviations to either side."""
    x = np.random.default_rng(1).normal(1.0, 2.0, COUNT)
    prior = {"mean_centre": 0.0, "mean_scale": 10.0, "sd_centre": 3.0}
    return Case(
        "normal, mean and sd",
        models.normal((-12, 12), **prior),
        models.normal((-1e3, 1e3), **prior),
        {"x": x},
    )


def bernoulli() -> Case:
    """One in ten."""
    x = (np.random.default_rng(2).random(COUNT) < 0.1).astype(float)
    return Case("Bernoulli", models.bernoulli(), models.bernoulli(), {"x": x})


def poisson() -> Case:
    """Three on average, and fifteen at most."""
    x = np.random.default_rng(3).poisson(3.0, COUNT).astype(float)
    return Case("Poisson rate", models.poisson(15), models.poisson(1000), {"x": x})


def linear() -> Case:
    """Five normal covariates and an intercept; bounds that touch one in a thousand."""
    generator = np.random.default_rng(4)
    x = generator.standard_normal((COUNT, 5))
    y = 1 + x @ np.array([0.5, -0.5, 0.3, 0.8, -0.2]) + generator.standard_normal(COUNT)
    prior = {
        "coefficient_scale": 3.0,
        "intercept_scale": 7.0,
        "sd_centre": 3.0,
    }
    return Case(
        "linear regression, d = 5",
        models.linear_regression(5, norm=4.5, bounds=(-6, 8), **prior),
        models.linear_regression(5, norm=1e3, bounds=(-998, 1000), **prior),
        {"x": x, "y": y},
    )


CASES: dict[str, Callable[[], Case]] = {
    "normal-mean": normal_mean,
    "normal": normal,
    "bernoulli": bernoulli,
    "poisson": poisson,
    "linear": linear,
}


def told(way: str) -> dict[str, Any]:
    """What `sample` is given for a way to go."""
    if way == "sufficient statistics":
        return {"control": SufficientStatistics()}
    return {"start": Variational(share=0.2), "control": ControlVariates(share=0.9)}


def one_run(way: str, case: Case, records: Records, exact: Any) -> dict[str, Any]:
    """One call of `sample`, measured against the reference."""
    begun = time.perf_counter()
    posterior = sample(
        case.model,
        records,
        epsilon=EPSILON,
        delta=DELTA,
        steps=STEPS[way],
        progress=False,
        **told(way),
    )
    seconds = time.perf_counter() - begun
    assert posterior.statement.epsilon <= EPSILON
    return {**score(exact, *flat(posterior)), "seconds": seconds}


HEADER = (
    "| case | way | mean off (rms, sd) | sd ratio | noise-aware | ESS | covered | "
    "MMD | s |\n|" + " --- |" * 9
)


def row(case: Case, way: str, runs: list[dict[str, Any]]) -> str:
    return (
        f"| {case.name} | {way} | {middle(runs, 'off'):.2f} | {span(runs, 'sd')} | "
        f"{span(runs, 'aware')} | {middle(runs, 'ess'):.0f} | "
        f"{share(runs, 'covered')} | {middle(runs, 'mmd'):.3f} | "
        f"{middle(runs, 'seconds'):.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--ways", nargs="*", default=list(STEPS))
    options = parser.parse_args()
    print(f"N = {COUNT:,}, ε = {EPSILON:g}, δ = {DELTA:g}\n\n{HEADER}", flush=True)
    for name in options.cases:
        case = CASES[name]()
        exact = reference(case.unbounded, case.records)
        sealed = Records(case.records)
        for way in options.ways:
            runs = [one_run(way, case, sealed, exact) for _ in range(options.runs)]
            print(row(case, way, runs), flush=True)


if __name__ == "__main__":
    main()
