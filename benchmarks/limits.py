# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How accurate one noisy sum of tightly clipped gradients can be, at the very best.

Logistic regressions for which the model is right; the mode and the curvature are known,
and the whole budget is one sum of gradients, clipped without bias. What is left is the
noise, normal or Laplace, and the scatter of clipped gradients beside whole ones. No fit
can be better by such sums, whatever it spends on finding the mode and the bounds.

    python benchmarks/limits.py
"""

import argparse

import numpy as np
from _regressions import made

from dpmcmc.accounting import GaussianRelease, LaplaceRelease, largest

_BOUNDS = np.arange(1.0, 4.1, 0.25)
_CENTRINGS, _NEWTON_STEPS = 50, 30
_DELTA = 1e-6


def errors(x: np.ndarray, y: np.ndarray, sd: float) -> np.ndarray:
    """Scatter and noise of the mode, in posterior sd, rms, for each bound.

    ``sd`` is that of the noise for gradients of length 1 at most.
    """
    count, size = x.shape
    mode = np.zeros(size)
    for _ in range(_NEWTON_STEPS):
        p = 1 / (1 + np.exp(-x @ mode))
        information = (x * (p * (1 - p))[:, None]).T @ x
        mode = mode + np.linalg.solve(information, x.T @ (y - p))
    p = 1 / (1 + np.exp(-x @ mode))
    information = (x * (p * (1 - p))[:, None]).T @ x / count
    rows = x @ np.linalg.inv(np.linalg.cholesky(information)).T
    lengths = np.linalg.norm(rows, axis=1)
    return np.array([_error(rows, lengths, p, sd, bound) for bound in _BOUNDS])


def _error(
    rows: np.ndarray, lengths: np.ndarray, p: np.ndarray, sd: float, bound: float
) -> tuple[float, float]:
    """Scatter and noise for a bound in typical lengths.

    The gradient of a record is (y − p) times its row: of both responses it has the
    lengths (1 − p)‖row‖ and −p‖row‖ along it.
    """
    count, size = rows.shape
    longest = bound * np.sqrt(size)
    centre = np.zeros(count)
    for _ in range(_CENTRINGS):
        one, none = _clipped(lengths, p, centre, longest)
        centre = centre + p * one + (1 - p) * none
    one, none = _clipped(lengths, p, centre, longest)
    slopes = p * one * (1 - p) - (1 - p) * none * p
    squares = p * one**2 + (1 - p) * none**2
    bread = np.linalg.inv((rows * (slopes / lengths)[:, None]).T @ rows / count)
    meat = (rows * (squares / lengths**2)[:, None]).T @ rows / count
    scatter = np.mean(np.diag(bread @ meat @ bread.T)) - 1
    noise = sd * longest / np.sqrt(count)
    return float(np.sqrt(scatter)), float(noise * np.sqrt(np.sum(bread**2) / size))


def _clipped(
    lengths: np.ndarray, p: np.ndarray, centre: np.ndarray, longest: float
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients along the row with either response, clipped about a centre."""
    return (
        np.clip((1 - p) * lengths - centre, -longest, longest),
        np.clip(-p * lengths - centre, -longest, longest),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=4)
    given = parser.parse_args()
    print("| regression | ε | noise | limit | scatter | noise | bound |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in ("logistic, N = 100,000", "logistic, N = 10,000"):
        tables = [made(name, seed).records for seed in range(given.repeats)]
        for epsilon in (1.0, 3.0):
            for kind, sd in sds(tables[0]["x"].shape[1], epsilon).items():
                both = [
                    errors(one["x"].astype(float), one["y"].astype(float), sd)
                    for one in tables
                ]
                squares = np.mean(np.square(both), axis=0)
                best = int(np.argmin(squares.sum(axis=1)))
                scatter, noise = np.sqrt(squares[best])
                print(
                    f"| {name} | {epsilon:g} | {kind} | {np.hypot(scatter, noise):.2f}"
                    f" | {scatter:.2f} | {noise:.2f} | {_BOUNDS[best]:g} |",
                    flush=True,
                )


def sds(size: int, epsilon: float) -> dict[str, float]:
    """The sd of each kind of noise, for vectors that are at most 1 long."""
    mu = largest(lambda one: {GaussianRelease(one): 1}, epsilon, _DELTA)
    shift = largest(lambda one: {LaplaceRelease(size, one): 1}, epsilon, _DELTA)
    return {"normal": 2 / mu, "Laplace": 2 / shift * np.sqrt(size + 1)}


if __name__ == "__main__":
    main()
