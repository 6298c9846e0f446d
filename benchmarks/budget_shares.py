# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How far off a private start is with a share of the budget, and what follows of it.

The first is what the share of a start is chosen by: a formula of public numbers,
beside fits on simulated records. With ``--chains`` each fit is followed by control
variates and a chain, with the rest of the budget.

    python benchmarks/budget_shares.py --rows few-events --shares 0.15,0.25 --repeats 3
"""

import argparse
import warnings

import numpy as np
from _accuracy import Reference, flat, reference, score
from _problems import Problem
from control_variates import DELTA, ROWS, Row
from dpmcmc.rehearsal.starting import off_by, plan_fit
from dpmcmc.surrogates import ControlVariates
from dpmcmc.variational import Start, Variational, fit_start
from jax.flatten_util import ravel_pytree

from dpmcmc import sample
from dpmcmc.private import Records, Tape


def distance(exact: Reference, found: Start) -> float:
    """How far a start is off, in posterior deviations, rms over coordinates."""
    away = np.asarray(ravel_pytree(found.mean)[0], np.float64) - exact.mean
    inverse = np.linalg.inv(np.atleast_2d(np.cov(exact.points.T)))
    return float(np.sqrt(away @ inverse @ away / len(away)))


def follow(
    row: Row, problem: Problem, records: Records, found: Start, exact: Reference
) -> float:
    """How far off a chain from there is, with control variates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of starts that are far off
        posterior = sample(
            problem.model,
            records,
            epsilon=row.epsilon,
            delta=DELTA,
            start=found,
            control=ControlVariates(share=0.9, gradient_bound=4.0),
            progress=False,
        )
    return float(score(exact, *flat(posterior))["off"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="logistic-5,logistic-4-1,few-events")
    parser.add_argument("--shares", default="0.05,0.1,0.15,0.25,0.4")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--chains", action="store_true")
    given = parser.parse_args()
    print("| case | N | ε | share | off by the formula | start off | chain off |")
    print("|" + " --- |" * 7)
    for row in (ROWS[name] for name in given.rows.split(",")):
        problem = row.make(row.records, 0)
        exact = reference(problem.model, problem.records)
        records, size = Records(problem.records), len(exact.mean)
        chosen = plan_fit(row.records, size, DELTA, row.epsilon).epsilon / row.epsilon
        for share in map(float, given.shares.split(",")):
            fit = Variational(epsilon=share * row.epsilon, delta=share * DELTA)
            plan = fit.plan(row.records, DELTA)
            starts, chains = [], []
            for _ in range(given.repeats):
                found = fit_start(problem.model, records, plan, Tape.fresh())
                starts.append(distance(exact, found))
                if given.chains:
                    chains.append(follow(row, problem, records, found, exact))
            mark = " (chosen)" if abs(share - chosen) < 1e-6 else ""
            print(
                f"| {row.title} | {row.records:,} | {row.epsilon:g} | {share:g}{mark} "
                f"| {off_by(plan, size):.1f} | {np.median(starts):.1f} "
                f"| {np.median(chains) if chains else float('nan'):.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
