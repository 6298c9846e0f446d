# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Sup-error and time of each correction, fitted afresh, in one run.

The Gaussian mixture is fitted with the paper's settings for fewer C, because one fit
takes as long as all others together; its time includes compilation. Ridge regression
and the linear programme alternate; the table shows medians of their rounds.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from statistics import median

from dpmcmc.correction import Correction, gaussian_mixture, linear_programme, ridge

VARIANCES = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
MIXTURE_VARIANCES = (1.0, 2.0)


def timed(
    fit: Callable[[float], Correction], variance: float
) -> tuple[Correction, float]:
    begun = time.perf_counter()
    made = fit(variance)
    return made, time.perf_counter() - begun


def report(method: str, variance: float, made: Correction, seconds: float) -> None:
    print(
        f"{variance:>5g}  {method:<17}{made.sup_error():>10.2e}"
        f"{len(made.weights):>12}{seconds:>10.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    print(f"{'C':>5}  {'method':<17}{'sup-error':>10}{'components':>12}{'seconds':>10}")
    for variance in VARIANCES:
        runs = [
            (timed(linear_programme, variance), timed(ridge, variance))
            for _ in range(rounds)
        ]
        for place, method in enumerate(("linear_programme", "ridge")):
            seconds = median(run[place][1] for run in runs)
            report(method, variance, runs[0][place][0], seconds)
    for variance in MIXTURE_VARIANCES:
        made, seconds = timed(partial(gaussian_mixture, seed=1), variance)
        report("gaussian_mixture", variance, made, seconds)


if __name__ == "__main__":
    main()
