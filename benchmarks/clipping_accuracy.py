# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What each kind of clipping does to a posterior, at the same privacy cost.

Chains on simulated records start at the mode, with a proposal shaped like the
posterior, and make as many steps as the budget buys at δ = 1e-6. The table shows
medians over repeats: how far the worst posterior mean is off, in posterior standard
deviations, the ratios of standard deviations, and the effective sample size. The peer
is plain clipping, in the first row of each model. (What the default method makes of
such models is in ``real_tables.py``.)

Rows can be made in pieces and in many processes, which add lines to a file:

    python benchmarks/clipping_accuracy.py --rows mixture,logistic --repeats 10 \
        --out runs/clipping.jsonl
    python benchmarks/clipping_accuracy.py --table runs
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _clipped_chains import (
    Problem,
    affordable,
    at_mode,
    compare,
    linear_problem,
    logistic_problem,
    mixture_problem,
    reference,
    student_problem,
)
from _lines import grouped, keep, lines, middle, span
from _problems import mixture_of_three, poisson

from dpmcmc.influence.choices import (
    Clipping,
    ConditionalCentring,
    ModelCorrection,
    PlainClipping,
    Shrinking,
)

REFERENCE_STEPS = 10_000

Way = tuple[Clipping, float, float]
"""A way to clip, the clip and the scale of moves."""


@dataclass(frozen=True)
class Row:
    """A problem with a budget, and ways to run it."""

    title: str
    make: Callable[[int, int], Problem]
    records: int
    epsilon: float
    ways: Mapping[str, Way]


def poisson_problem(count: int, seed: int) -> Problem:
    made = poisson(count, seed)
    truth = {"coefficients": np.array([0.3, -0.3, 0.2, 0.1]), "intercept": 0.5}
    return at_mode(made.model, made.records, truth)


def three_problem(count: int, seed: int) -> Problem:
    made = mixture_of_three(count, seed)
    truth = {
        "first": -4.0,
        "log_gaps": np.array([1.386, 1.386]),
        "log_sds": np.array([-0.22, 0.0, -0.22]),
        "logits": np.array([0.288, 0.0]),
    }
    return at_mode(made.model, made.records, truth)


PLAIN, CENTRED, SHRUNK = PlainClipping(), ConditionalCentring(), Shrinking()


def _regression(clip: float, scale: float) -> dict[str, Way]:
    return {
        "plain": (PLAIN, clip, scale),
        "conditional centring": (CENTRED, clip, scale),
    }


def _whole(clip: float, scale: float) -> dict[str, Way]:
    return {
        "plain": (PLAIN, clip, scale),
        "model correction": (ModelCorrection(), clip, scale),
    }


ROWS = {
    "mixture": Row(
        "the paper's mixture",
        mixture_problem,
        1_000_000,
        1.0,
        {**_whole(0.004, 0.8), "plain, wider": (PLAIN, 0.006, 0.4)},
    ),
    "logistic-3": Row(
        "logistic, d = 5, skewed covariates",
        logistic_problem,
        100_000,
        3.0,
        {**_regression(0.0105, 0.65), "shrinking": (SHRUNK, 0.0105, 0.65)},
    ),
    "logistic-1": Row(
        "logistic, d = 5, skewed covariates",
        logistic_problem,
        100_000,
        1.0,
        {"plain": (PLAIN, 0.004, 0.4), "shrinking": (SHRUNK, 0.004, 0.4)},
    ),
    "linear": Row(
        "linear, d = 5", linear_problem, 100_000, 3.0, _regression(0.0105, 0.5)
    ),
    "poisson": Row(
        "Poisson, d = 5", poisson_problem, 100_000, 3.0, _regression(0.0105, 0.5)
    ),
    "three": Row(
        "mixture of three, d = 8", three_problem, 100_000, 3.0, _whole(0.0105, 0.5)
    ),
    "student": Row(
        "t₅ noise under a normal model",
        student_problem,
        100_000,
        3.0,
        _whole(0.0105, 0.5),
    ),
    "skewed": Row(
        "skewed t₅ noise under a normal model",
        lambda count, seed: student_problem(count, seed, skew=1.0),
        100_000,
        3.0,
        _whole(0.0105, 0.5),
    ),
}


def run(name: str, records: int | None, seeds: range) -> Iterator[dict[str, Any]]:
    row = ROWS[name]
    count = records or row.records
    factor = (row.records / count) ** 0.5  # moves are longer where there are fewer
    for seed in seeds:
        problem = row.make(count, seed)
        truth = reference(problem, REFERENCE_STEPS, seed=seed)
        for way, (clipping, usual, scale) in row.ways.items():
            clip = usual * factor
            begun = time.perf_counter()
            steps = affordable(clip, count, row.epsilon)
            found = compare(
                problem,
                truth,
                clipping,
                clip=clip,
                scale=scale,
                steps=steps,
                seed=100 + seed,
            )
            yield {
                "table": "clipping",
                "row": name,
                "way": way,
                "records": count,
                "seed": seed,
                "clip": clip,
                "steps": steps,
                "worst": float(found.off.max()),
                "sd": found.sd_ratio.round(4).tolist(),
                "ess": found.ess,
                "seconds": time.perf_counter() - begun,
            }


HEADER = (
    "| model | N | ε | way | B | scale | steps | off | sd ratios | ESS | runs |\n|"
    + " --- |" * 11
)


def table(made: list[dict[str, Any]]) -> None:
    """Print medians over runs."""
    names = list(ROWS)
    print(HEADER)
    for runs in grouped(
        [run for run in made if run["table"] == "clipping"],
        lambda run: (
            names.index(run["row"]),
            list(ROWS[run["row"]].ways).index(run["way"]),
        ),
    ):
        first, row = runs[0], ROWS[runs[0]["row"]]
        print(
            f"| {row.title} | {first['records']:,} | {row.epsilon:g} | {first['way']} "
            f"| {first['clip']:.4g} | {row.ways[first['way']][2]:g} | "
            f"{first['steps']} | {middle(runs, 'worst'):.2f} | {span(runs, 'sd')} | "
            f"{middle(runs, 'ess'):.0f} | {len(runs)} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="logistic-3", help="names, or 'all'")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="of the first repeat")
    parser.add_argument("--records", type=int, default=None, help="for a quick look")
    parser.add_argument("--out", type=Path, default=None, help="a file of lines")
    parser.add_argument("--table", type=Path, nargs="+", default=None)
    given = parser.parse_args()
    if given.table is not None:
        table(lines(given.table))
        return
    made = []
    for name in ROWS if given.rows == "all" else given.rows.split(","):
        seeds = range(given.seed, given.seed + given.repeats)
        for line in run(name, given.records, seeds):
            made.append(line)
            if given.out is not None:
                keep(line, given.out)
    table(made)


if __name__ == "__main__":
    main()
