# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What an experiment is: records, methods, a score, and what was published."""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import dpmcmc
from benchmarks.peers.scores import coverage_error, reference_frequencies
from benchmarks.peers.target import Budget, Refused, Target

__all__ = [
    "Experiment",
    "Method",
    "Problem",
    "ended",
    "interval",
    "one_call",
    "one_run",
]

Run = dict[str, Any]
"""What is kept of one run: names, numbers and short lists."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Records, with what is known of them without privacy.

    Attributes
    ----------
    target
        The posterior on R^d that every method is given.
    truth
        What draws are compared with.
    about
        More of it, by name, for the score.
    """

    target: Target
    truth: np.ndarray
    about: Mapping[str, Any] = field(default_factory=dict)


Method = Callable[[Problem, Budget, int], tuple[np.ndarray, str]]
"""Returns draws of θ, a row each, and what the run says of itself."""


@dataclass(frozen=True, eq=False)
class Experiment:
    """One experiment.

    Attributes
    ----------
    number, name, title
        Its number on the page, its name in commands, and a line about it.
    epsilons, delta
        The budgets.
    make
        Returns the problem of a seed; a folder holds real tables.
    methods
        By name; the first are those of this package.
    measure
        Returns the numbers of one run.
    summary
        Returns the score of a cell and its spread, from its runs.
    published
        Figures of papers, by method and ε.
    goal
        The score that is aimed at, by ε.
    extras
        Other numbers of a run that are shown, by name, with their headings.
    repeats, slow
        How many runs a cell has, and how many of a method that takes long.
    needs
        The file of the folder that it needs, if any.
    """

    number: int
    name: str
    title: str
    score: str
    epsilons: tuple[float, ...]
    delta: float
    make: Callable[[int, Path | None], Problem]
    methods: Mapping[str, Method]
    measure: Callable[[Problem, np.ndarray, np.random.Generator], Run]
    summary: Callable[[list[Run]], tuple[float, float]]
    published: Mapping[str, Mapping[float, str]]
    goal: Mapping[float, float]
    repeats: int = 10
    slow: Mapping[str, int] = field(default_factory=dict)
    extras: Mapping[str, str] = field(default_factory=dict)
    needs: str | None = None


def one_run(
    experiment: Experiment, method: str, epsilon: float, seed: int, folder: Path | None
) -> Run:
    """Make records, run a method on them, and measure."""
    problem = experiment.make(seed, folder)
    budget = Budget(epsilon, experiment.delta)
    run: Run = {"row": experiment.name, "method": method, "epsilon": epsilon}
    begun = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            draws, said = experiment.methods[method](problem, budget, seed)
    except Refused as error:
        return {**run, "seed": seed, "said": f"refused: {error}"}
    seconds = time.perf_counter() - begun
    run |= {"seed": seed, "said": said, "seconds": round(seconds, 2)}
    if not np.all(np.isfinite(draws)):
        return {**run, "said": "diverged"}
    generator = np.random.default_rng([seed, 1])
    return run | experiment.measure(problem, draws, generator)


def ended(runs: list[Run], name: str) -> list[Any]:
    """A number of each run that has it."""
    return [run[name] for run in runs if name in run]


def interval(runs: list[Run], name: str) -> tuple[float, float]:
    """The mean of a number over runs, and its standard deviation."""
    values = np.array(ended(runs, name), float)
    return float(values.mean()), float(values.std())


def one_call(
    model: Any,
    flat: Callable[[Mapping[str, np.ndarray]], np.ndarray],
    records: Callable[[Problem], Any] | None = None,
    method: Any = None,
) -> Method:
    """`dpmcmc.sample` with a model and a budget, and nothing else unless given.

    Parameters
    ----------
    model
        A NumPyro model or a `dpmcmc.Model`.
    flat
        Makes rows of θ of draws, whose first two axes are one here.
    """

    def run(problem: Problem, budget: Budget, _: int) -> tuple[np.ndarray, str]:
        columns = problem.target.records if records is None else records(problem)
        try:
            found = dpmcmc.sample(
                model,
                columns,
                epsilon=budget.epsilon,
                delta=budget.delta,
                method=method,
                progress=False,
            )
        except dpmcmc.NotUsableError as error:
            raise Refused(error.reason) from error
        merged = {
            name: np.reshape(values, (-1, *np.shape(values)[2:])).astype(np.float64)
            for name, values in found.draws.items()
        }
        verdict = found.statement.verdict
        return flat(merged), "" if verdict is None else verdict.usability

    return run


def peer(function: Callable[..., np.ndarray], given: Any) -> Method:
    """A published method with its settings."""

    def run(problem: Problem, budget: Budget, seed: int) -> tuple[np.ndarray, str]:
        return function(problem.target, budget, given, seed), ""

    return run


def coverage_of(problem: Problem, draws: np.ndarray, generator: Any) -> Run:
    """Frequencies of the coverage test, and how wide draws are."""
    found = reference_frequencies(draws, problem.truth, generator)
    width = np.sqrt(np.mean((draws.std(0) / problem.about["sd"]) ** 2))
    return {"frequencies": [round(float(f), 4) for f in found], "width": float(width)}


def coverage_summary(runs: list[Run]) -> tuple[float, float]:
    """The coverage error × 10³, and its spread by the bootstrap over data sets."""
    rows = np.array(ended(runs, "frequencies"))
    generator = np.random.default_rng(0)
    again = [
        coverage_error(rows[generator.integers(len(rows), size=len(rows))])
        for _ in range(200)
    ]
    return 1e3 * coverage_error(rows), 1e3 * float(np.std(again))
