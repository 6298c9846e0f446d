# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How far off one private call is on the paper's mixture, untempered.

Beside the posterior without privacy, by a sum over a grid about its mode. The two
centres may change places: a call that finds the other order is compared with that.

    python benchmarks/papers_mixture.py
"""

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import dpmcmc
from reproduction.paper_mixture import TRUTH, mixture_model, simulate

_BINS, _STEP = 20_000, 2e-3


def _log_posterior(x: np.ndarray) -> Callable[[float, float], float]:
    """Of records in narrow bins."""
    counts, edges = np.histogram(x.astype(np.float64), bins=_BINS)
    middles = (edges[1:] + edges[:-1]) / 2

    def height(mean: float, gap: float) -> float:
        first = -((middles - mean) ** 2) / 4
        second = -((middles - mean - gap) ** 2) / 4
        own = -(mean**2) / 20 - gap**2 / 2
        return float(counts @ np.logaddexp(first, second) + own)

    return height


def without_privacy(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd of (mean, gap)."""
    height = _log_posterior(x)
    start = [TRUTH["mean"], TRUTH["gap"]]
    options = {"xatol": 1e-8, "fatol": 1e-8}
    mode = minimize(lambda p: -height(*p), start, method="Nelder-Mead", options=options)

    def near(first: int, second: int) -> float:
        return height(*(mode.x + _STEP * np.array([first, second])))

    across = (near(1, 1) - near(1, -1) - near(-1, 1) + near(-1, -1)) / 4
    along = [near(1, 0) + near(-1, 0), near(0, 1) + near(0, -1)]
    curved = np.array(along) - 2 * near(0, 0)
    hessian = np.array([[curved[0], across], [across, curved[1]]]) / _STEP**2
    root = np.linalg.cholesky(np.linalg.inv(-hessian))
    offsets = np.linspace(-6, 6, 61)
    grid = np.array([mode.x + root @ (a, b) for a in offsets for b in offsets])
    logs = np.array([height(*point) for point in grid])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = weights @ grid
    return mean, np.sqrt(weights @ (grid - mean) ** 2)


def one_run(records: int, epsilon: float, seed: int) -> tuple[float, float, str]:
    """Error of the mean in posterior sd, rms; width; and the verdict."""
    table = simulate(TRUTH, records, np.random.default_rng(seed))
    exact, sd = without_privacy(table["x"])
    model = mixture_model({"mean": 0.2, "gap": 0.7})
    try:
        found = dpmcmc.sample(model, table, epsilon=epsilon, delta=1e-6, progress=False)
    except dpmcmc.NotUsableError:
        return np.nan, np.nan, "refused"
    mean, gap = (found.draws[name].ravel() for name in ("mean", "gap"))
    if gap.mean() < 0:
        mean, gap = mean + gap, -gap
    draws = np.stack([mean, gap], axis=1)
    error = np.sqrt(np.mean(((draws.mean(axis=0) - exact) / sd) ** 2))
    width = np.sqrt(np.mean((draws.std(axis=0) / sd) ** 2))
    assert found.statement.verdict is not None
    return float(error), float(width), found.statement.verdict.usability


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--epsilon", type=float, default=1.0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| records | error | largest | width | usable |")
    print("| --- | --- | --- | --- | --- |")
    for records in (10**6, 10**5):
        runs = [one_run(records, given.epsilon, seed) for seed in range(given.repeats)]
        errors = np.array([error for error, _, _ in runs])
        widths = np.array([width for _, width, _ in runs])
        usable = sum(word == "usable" for _, _, word in runs)
        print(
            f"| {records:,} | {np.sqrt(np.nanmean(errors**2)):.2f} | "
            f"{np.nanmax(errors):.2f} | {np.nanmedian(widths):.2f} | "
            f"{usable} of {len(runs)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
