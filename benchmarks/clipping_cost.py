# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How much longer a step is with unbiased clipping than with plain clipping.

Rounds of all ways alternate, so that a noisy machine is noisy for each; the table
shows medians, and ratios of each round's times.
"""

import argparse
from collections.abc import Callable, Mapping

import jax
from _clipped_chains import (
    Problem,
    clipped_test,
    linear_problem,
    logistic_problem,
    mixture_problem,
    running_chains,
)
from _rounds import Rounds

from dpmcmc.influence.choices import (
    Clipping,
    ConditionalCentring,
    ModelCorrection,
    PlainClipping,
    Shrinking,
)
from dpmcmc.private import Grid, Tape

STEPS = 50


def steps_of(problem: Problem, clipping: Clipping, clip: float) -> Callable[[], None]:
    test = clipped_test(problem, clipping, Grid(clip))
    advance = running_chains(problem, test, 0.8, Tape.fresh())
    return lambda: jax.block_until_ready(advance(STEPS))


def show(
    title: str, problem: Problem, ways: Mapping[str, Clipping], clip: float, rounds: int
) -> None:
    contenders = {
        name: (steps_of(problem, way, clip), STEPS) for name, way in ways.items()
    }
    measured = Rounds(contenders, rounds)
    plain = next(iter(ways))
    print(f"\n{title}, {problem.count:,} records, float32, B = {clip:g}")
    print(f"{'':<34}{'ms a step':>10}{'against plain':>15}")
    for name in ways:
        step, ratio = 1e3 * measured.median(name), measured.ratio(name, plain)
        print(f"{name:<34}{step:>10.2f}{ratio:>14.2f}×")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    many, few = options.records, options.records // 10
    ways = {"plain": PlainClipping(), "model correction": ModelCorrection()}
    show("Mixture", mixture_problem(many, 1), ways, 0.004, options.rounds)
    ways = {
        "plain": PlainClipping(),
        "shrinking": Shrinking(),
        "conditional centring": ConditionalCentring(),
    }
    show("Logistic regression", logistic_problem(few, 1), ways, 0.01, options.rounds)
    ways = {
        "plain": PlainClipping(),
        "conditional centring, 2 drawn": ConditionalCentring(simulated=2),
        "conditional centring, 8 drawn": ConditionalCentring(),
    }
    show("Linear regression", linear_problem(few, 1), ways, 0.01, options.rounds)


if __name__ == "__main__":
    main()
