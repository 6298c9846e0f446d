# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What each way of clipping does to a posterior, at the same privacy cost.

Chains on simulated records start at the mode, with a proposal shaped like the
posterior, and make as many steps as the budget buys at δ = 1e-6. The table shows
medians over repeats: how far the worst posterior mean is off, in posterior standard
deviations, the ratios of standard deviations, and the effective sample size.
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from dpmcmc.clipping import (
    Clipping,
    ConditionalCentring,
    ModelCorrection,
    PlainClipping,
    Shrinking,
)
from dpmcmc.experiments.clipped_chains import (
    Accuracy,
    Problem,
    affordable,
    compare,
    linear_problem,
    logistic_problem,
    mixture_problem,
    reference,
    student_problem,
)

REFERENCE_STEPS = 10_000


@dataclass(frozen=True)
class Case:
    """A problem with a budget, and ways to run it: clipping, clip and scale."""

    title: str
    make: Callable[[int, int], Problem]
    count: int
    epsilon: float
    ways: Mapping[str, tuple[Clipping, float, float]]


def cases(records: int) -> dict[str, Case]:
    """Clips are for ``records`` of a million; they grow as its root shrinks."""
    factor = (1e6 / records) ** 0.5
    plain = PlainClipping()
    near = {
        "plain": (plain, 0.0105 * factor, 0.65),
        "shrinking": (Shrinking(), 0.0105 * factor, 0.65),
        "conditional centring": (ConditionalCentring(), 0.0105 * factor, 0.65),
    }
    return {
        "mixture": Case(
            "The paper's mixture",
            mixture_problem,
            records,
            1.0,
            {
                "plain": (plain, 0.004 * factor, 0.8),
                "plain, wider": (plain, 0.006 * factor, 0.4),
                "model correction": (ModelCorrection(), 0.004 * factor, 0.8),
            },
        ),
        "logistic": Case(
            "Logistic regression, d = 5", logistic_problem, records // 10, 3.0, near
        ),
        "linear": Case(
            "Linear regression, d = 5",
            linear_problem,
            records // 10,
            3.0,
            {
                "plain": (plain, 0.0105 * factor, 0.5),
                "conditional centring": (ConditionalCentring(), 0.0105 * factor, 0.5),
            },
        ),
        "student": Case(
            "t₅ noise under a normal model",
            student_problem,
            records // 10,
            3.0,
            _wrong(factor),
        ),
        "skewed": Case(
            "skewed t₅ noise under a normal model",
            lambda count, seed: student_problem(count, seed, skew=1.0),
            records // 10,
            3.0,
            _wrong(factor),
        ),
    }


def _wrong(factor: float) -> dict[str, tuple[Clipping, float, float]]:
    return {
        "plain": (PlainClipping(), 0.0105 * factor, 0.5),
        "model correction": (ModelCorrection(), 0.0105 * factor, 0.5),
    }


def run(case: Case, repeats: int) -> None:
    found: dict[str, list[Accuracy]] = {name: [] for name in case.ways}
    costs = {
        name: affordable(clip, case.count, case.epsilon)
        for name, (_, clip, _) in case.ways.items()
    }
    for repeat in range(repeats):
        problem = case.make(case.count, repeat)
        truth = reference(problem, REFERENCE_STEPS, seed=repeat)
        for name, (clipping, clip, scale) in case.ways.items():
            found[name].append(
                compare(
                    problem,
                    truth,
                    clipping,
                    clip=clip,
                    scale=scale,
                    steps=costs[name],
                    seed=100 + repeat,
                )
            )
    print(
        f"\n{case.title}, {case.count:,} records, ε = {case.epsilon:g}, "
        f"{repeats} repeats"
    )
    header = f"{'B':>8}{'scale':>7}{'T':>6}{'worst off':>11}{'sd ratios':>14}{'ESS':>6}"
    print(f"{'':<24}{header}")
    for name, results in found.items():
        _, clip, scale = case.ways[name]
        worst = np.median([one.off.max() for one in results])
        ratios = np.median([one.sd_ratio for one in results], axis=0)
        ess = np.median([one.ess for one in results])
        print(
            f"{name:<24}{clip:>8.4f}{scale:>7.2g}{costs[name]:>6}{worst:>11.2f}"
            f"{f'{ratios.min():.2f}–{ratios.max():.2f}':>14}{ess:>6.0f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default=None)
    options = parser.parse_args()
    for name, case in cases(options.records).items():
        if options.only in (None, name):
            run(case, options.repeats)


if __name__ == "__main__":
    main()
