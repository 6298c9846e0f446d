# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Private control variates against the posterior of all records, in one table.

Every run keeps to (ε, 1e-6), the start's cost included. A row is a model with so many
records and a budget; a way is how the budget is spent:

- ``one-call``: `sample` with nothing else given;
- ``control``: a variational start, control variates, and 3000 bits, as told;
- ``unbiased-control``: the same, with residuals that are clipped without bias;
- ``plain``, ``unbiased``: a start, and 3000 bits on ratios clipped plainly, or so that
  the posterior stays where it is;
- ``variational``, ``laplace``: the start alone, or with the control variates, each as
  the normal law that it says; no bits.

Rows can be made in pieces and in many processes, which add lines to a file:

    python benchmarks/control_variates.py --rows logistic-5 --ways control,plain \
        --repeats 10 --out runs/logistic.jsonl
    python benchmarks/control_variates.py --table runs
"""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _accuracy import (
    Reference,
    flat,
    grouped,
    keep,
    lines,
    middle,
    reference,
    score,
    share,
    shown,
    span,
)
from _problems import (
    Problem,
    few_events,
    hierarchical,
    linear,
    logistic,
    mixture,
    mixture_of_three,
    negative_binomial,
    normal_mean,
    poisson,
    student,
    survival,
)
from dpmcmc.model.relevance import told_coordinates
from dpmcmc.surrogates import ControlVariates, release
from dpmcmc.variational import Start, Variational, fit_start
from jax.flatten_util import ravel_pytree

from dpmcmc import Posterior, RandomWalk, sample
from dpmcmc.influence.choices import (
    Clipping,
    ConditionalCentring,
    ModelCorrection,
    PlainClipping,
    Shrinking,
)
from dpmcmc.private import Records, Tape

DELTA = 1e-6
STEPS = 3000
SHORT = 0.8
"""Moves of chains without control variates, in deviations of the start."""


@dataclass(frozen=True)
class Row:
    """Records, a model of them, a budget, and how it is shared where that is told."""

    title: str
    make: Callable[[int, int], Problem]
    records: int
    epsilon: float
    start_share: float = 0.2
    share: float = 0.9
    gradient_bound: float | None = None
    rounds: int = 1


ROWS = {
    "logistic-5": Row("logistic, d = 5", logistic, 100_000, 1.0),
    "logistic-5-3": Row("logistic, d = 5", logistic, 100_000, 3.0),
    "logistic-4-3": Row("logistic, d = 5", logistic, 10_000, 3.0),
    "logistic-4-1": Row("logistic, d = 5", logistic, 10_000, 1.0, 0.35, 0.85),
    "mixture-6": Row("paper's mixture", mixture, 1_000_000, 1.0),
    "mixture-5": Row("paper's mixture", mixture, 100_000, 1.0, gradient_bound=8.0),
    "mixture-5-tight": Row(
        "paper's mixture, tight", mixture, 100_000, 1.0, gradient_bound=4.0
    ),
    "mixture-5-0.3": Row("paper's mixture", mixture, 100_000, 0.3, gradient_bound=8.0),
    "mixture-5-0.3-tight": Row(
        "paper's mixture, tight", mixture, 100_000, 0.3, gradient_bound=4.0
    ),
    # scores of a normal law with known covariance have no heavy tails
    "normal": Row(
        "normal mean, d = 10", normal_mean, 100_000, 2.0, gradient_bound=2.3, rounds=3
    ),
    "linear": Row("linear, d = 5", linear, 100_000, 1.0, gradient_bound=6.0),
    "linear-3": Row("linear, d = 5", linear, 100_000, 3.0, gradient_bound=8.0),
    "student": Row("linear, t₅ noise", student, 100_000, 3.0, gradient_bound=12.0),
    "poisson": Row("Poisson, d = 5", poisson, 100_000, 1.0, gradient_bound=5.0),
    "poisson-tight": Row(
        "Poisson, d = 5, tight", poisson, 100_000, 1.0, gradient_bound=3.0
    ),
    "negative-binomial": Row(
        "negative binomial, d = 5",
        negative_binomial,
        100_000,
        1.0,
        gradient_bound=8.0,
    ),
    "hierarchical": Row("hierarchical, 8 groups", hierarchical, 100_000, 1.0),
    "survival": Row(
        "Weibull survival, d = 4", survival, 100_000, 1.0, gradient_bound=6.0
    ),
    "mixture-of-three": Row("mixture of three, d = 8", mixture_of_three, 100_000, 3.0),
    "few-events": Row("few events, d = 2", few_events, 2000, 8.0, 0.3, 0.8, 6.0),
}


def told(row: Row, problem: Problem, records: Records, clipping: Clipping) -> Posterior:
    return sample(
        problem.model,
        records,
        epsilon=row.epsilon,
        delta=DELTA,
        steps=STEPS,
        start=Variational(share=row.start_share),
        control=ControlVariates(
            share=row.share, gradient_bound=row.gradient_bound, rounds=row.rounds
        ),
        clipping=clipping,
        progress=False,
    )


def one_call(row: Row, problem: Problem, records: Records) -> Posterior:
    return sample(
        problem.model,
        records,
        epsilon=row.epsilon,
        delta=DELTA,
        covariates=problem.covariates,
        progress=False,
    )


def bits(clipping: Clipping, row: Row, problem: Problem, records: Records) -> Posterior:
    """A start that was found before, and short moves that few records clip."""
    part = row.start_share
    plan = Variational(epsilon=part * row.epsilon, delta=part * DELTA)
    found = _start(plan, row, problem, records)
    return sample(
        problem.model,
        records,
        epsilon=row.epsilon,
        delta=DELTA,
        steps=STEPS,
        start=found,
        proposal=RandomWalk(SHORT**2 * found.covariance),
        clipping=clipping,
        progress=False,
    )


def unbiased(problem: Problem) -> Clipping:
    """The way to clip that the model is fit for."""
    responses = problem.model.responses
    if responses is None:
        return ModelCorrection()
    listed = all(values is not None for values in responses.values())
    return Shrinking() if listed else ConditionalCentring()


def _start(plan: Variational, row: Row, problem: Problem, records: Records) -> Start:
    settled = plan.plan(len(records), DELTA, row.epsilon)
    return fit_start(problem.model, records, settled, Tape.fresh())


def variational(
    row: Row, problem: Problem, records: Records
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The whole budget on a normal law."""
    found = _start(Variational(epsilon=row.epsilon), row, problem, records)
    mean = np.asarray(ravel_pytree(found.mean)[0], np.float64)
    return mean, found.covariance, found.covariance


def laplace(
    row: Row, problem: Problem, records: Records
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Start and control variates, and the normal law that they say."""
    part = row.start_share
    plan = Variational(epsilon=part * row.epsilon, delta=part * DELTA)
    found = _start(plan, row, problem, records)
    control = ControlVariates(
        epsilon=(1 - part) * row.epsilon,
        delta=(1 - part) * DELTA,
        gradient_bound=row.gradient_bound,
        rounds=row.rounds,
    )
    centre, covariance = found.mean, found.covariance
    size = int(told_coordinates(problem.model, records).sum())
    for stage in control.plan(len(records), size, DELTA).stages:
        released = release(
            problem.model,
            records,
            stage,
            Tape.fresh(),
            centre=centre,
            covariance=covariance,
        )
        centre = released.part_way(0.7 * len(records) ** 0.5)
        covariance = released.covariance
    mean = np.asarray(ravel_pytree(released.mean)[0], np.float64)
    wider = released.covariance + released.noise_covariance
    return mean, released.covariance, wider


WAYS = (
    *("one-call", "control", "unbiased-control", "plain", "unbiased"),
    *("variational", "laplace"),
)


def one_run(
    way: str, row: Row, problem: Problem, records: Records, exact: Reference
) -> dict[str, Any]:
    """One private run, measured against the posterior without privacy."""
    begun = time.perf_counter()
    if way in ("variational", "laplace"):
        law = variational if way == "variational" else laplace
        mean, covariance, wider = law(row, problem, records)
        generator = np.random.default_rng(3)
        draws, aware = (
            shown(problem.model, generator.multivariate_normal(mean, each, 4000))[None]
            for each in (covariance, wider)
        )
        about: dict[str, Any] = {"clip": None, "steps": 0, "choice": None}
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the choice is kept, and says it
            posterior = _posterior(way, row, problem, records)
        assert posterior.statement.epsilon <= row.epsilon
        draws, aware = flat(posterior)
        choice = posterior.settings.get("choice")
        about = {
            "clip": posterior.statement.clip,
            "steps": posterior.statement.steps,
            "choice": None if choice is None else str(choice).split("\n\n")[0],
        }
    seconds = time.perf_counter() - begun
    return {**score(exact, draws, aware), **about, "seconds": seconds}


def _posterior(way: str, row: Row, problem: Problem, records: Records) -> Posterior:
    if way == "one-call":
        return one_call(row, problem, records)
    is_plain = way in ("control", "plain")
    clipping = PlainClipping() if is_plain else unbiased(problem)
    if way.endswith("control"):
        return told(row, problem, records, clipping)
    return bits(clipping, row, problem, records)


HEADER = (
    "| case | N | ε | way | mean off (rms, sd) | worst | sd ratio | noise-aware | "
    "ESS | covered | quantiles off | MMD | clip | s | runs |\n|" + " --- |" * 15
)


def table(paths: list[Path]) -> None:
    """Print medians over runs."""
    names = list(ROWS)
    print(HEADER)
    for runs in grouped(
        [run for run in lines(paths) if run["table"] == "control"],
        lambda run: (names.index(run["row"]), WAYS.index(run["way"])),
    ):
        row = ROWS[runs[0]["row"]]
        clips = [run["clip"] for run in runs if run["clip"] is not None]
        print(
            f"| {row.title} | {runs[0]['records']:,} | {row.epsilon:g} | "
            f"{runs[0]['way']} | {middle(runs, 'off'):.2f} | "
            f"{middle(runs, 'worst'):.2f} | {span(runs, 'sd')} | "
            f"{span(runs, 'aware')} | {middle(runs, 'ess'):.0f} | "
            f"{share(runs, 'covered')} | {middle(runs, 'quantiles'):.2f} | "
            f"{middle(runs, 'mmd'):.3f} | "
            f"{f'{np.median(clips):.2g}' if clips else '–'} | "
            f"{middle(runs, 'seconds'):.0f} | {len(runs)} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="logistic-5", help="names, or 'all'")
    parser.add_argument("--ways", default="control", help="names, or 'all'")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="of the records")
    parser.add_argument("--records", type=int, default=None, help="for a quick look")
    parser.add_argument("--out", type=Path, default=None, help="a file of lines")
    parser.add_argument("--table", type=Path, nargs="+", default=None)
    given = parser.parse_args()
    if given.table is not None:
        table(given.table)
        return
    rows = list(ROWS) if given.rows == "all" else given.rows.split(",")
    ways = WAYS if given.ways == "all" else given.ways.split(",")
    for name in rows:
        row = ROWS[name]
        problem = row.make(given.records or row.records, given.seed)
        exact = reference(problem.model, problem.records)
        sealed = Records(problem.records)
        about = {
            "table": "control",
            "row": name,
            "records": len(sealed),
            "epsilon": row.epsilon,
            "seed": given.seed,
        }
        for _ in range(given.repeats):
            for way in ways:
                run = one_run(way, row, problem, sealed, exact)
                keep({**about, "way": way, **run}, given.out)


if __name__ == "__main__":
    main()
