# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What of a Hessian to release where there are many coordinates, in one table.

The posterior is normal, as of a regression on correlated covariates, so that a release
is its exact sums and noise, and no record is needed. Three rounds follow a start that
is off by eight deviations at ε = 1, with

- ``shape off``: a covariance that is right but for noise, ± 80% by direction;
- ``mean-field``: the deviations of independent coordinates alone;
- ``shape known``: the right covariance, and a mean that is off by two deviations.

Ways to release curvature: all of the whitened Hessian, as it was once (bounds of 4, no
noise taken away), with noise taken away, and with usual bounds too, which is the
default; its diagonal; its trace. A cell has how far the top is off (rms, posterior
deviations), and in brackets the least and the largest true precision in any direction
over what is said of it.

    python benchmarks/many_coordinates.py --sizes 20,50,100,200

With ``--chain`` it is one private run on simulated records of a logistic regression for
each size and ε instead: a variational start, three rounds, 2000 steps, against the
normal law at the mode.

    python benchmarks/many_coordinates.py --chain --sizes 20,50
"""

import argparse
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from dpmcmc.surrogates import ControlVariates
from dpmcmc.surrogates.spectrum import denoised, negative_definite

from dpmcmc import Model, Variational, sample
from dpmcmc.posterior.summary import arviz

DELTA, SHARE, ROUNDS, REACH = 1e-6, 0.9, 3, 0.7
CORRELATION, CURVATURE = 0.7, 0.18
"""Of neighbouring covariates; of a record's log-likelihood in x · θ."""

Read = Callable[[np.ndarray, float, np.random.Generator], np.ndarray]


class Way(NamedTuple):
    """How curvature is released: what is read of it, by its bound and its part."""

    name: str
    read: Read
    bound: Callable[[float, int], float]
    part: float
    usual: bool = True


def symmetric(matrix: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Add noise of deviation 1 on the diagonal, and 1/√2 elsewhere."""
    drawn = generator.standard_normal(matrix.shape)
    return matrix + (drawn + drawn.T) / 2


def whole(matrix: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    return -negative_definite(-noise * symmetric(matrix / noise, rng), noise)


def mended(matrix: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    noisy = -noise * symmetric(matrix / noise, rng)
    return -negative_definite(denoised(noisy, noise), noise)


def diagonal(matrix: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    entries = np.diag(matrix) + noise * rng.standard_normal(len(matrix))
    return np.diag(np.maximum(entries, noise))


def trace(matrix: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    mean = np.trace(matrix) / len(matrix) + noise * rng.standard_normal()
    return max(mean, noise) * np.eye(len(matrix))


WAYS = [
    Way("as it was", whole, lambda _, size: 4.0 * size, 0.4, usual=False),
    Way("noise taken away", mended, lambda _, size: 4.0 * size, 0.4, usual=False),
    Way("default", mended, lambda usual, _: usual, 0.4),
    Way("diagonal", diagonal, lambda usual, size: usual / math.sqrt(size), 0.2),
    Way("trace", trace, lambda usual, size: usual / size, 0.1),
]


def rounds_of(
    way: Way,
    precision: np.ndarray,
    mean: np.ndarray,
    covariance: np.ndarray,
    records: int,
    epsilon: float,
    generator: np.random.Generator,
) -> tuple[float, float, float]:
    """Make the rounds; the posterior's mean is 0."""
    size = len(precision)
    control = ControlVariates(epsilon=SHARE * epsilon, rounds=ROUNDS)
    deviations = np.sqrt(np.diag(np.linalg.inv(precision)))
    for stage in control.plan(records, size, DELTA).stages:
        factor = np.linalg.cholesky(records * covariance)
        bound = stage.gradient_bound if way.usual else 4.0 * math.sqrt(size)
        noise = stage.noise_multiplier * bound / math.sqrt(1 - way.part**2)
        slope = -factor.T @ precision @ mean + noise * generator.standard_normal(size)
        noise = stage.noise_multiplier * way.bound(stage.hessian_bound, size) / way.part
        curve = way.read(factor.T @ precision @ factor, noise, generator)
        move = np.linalg.solve(curve, slope)
        far = math.sqrt(move @ curve @ move) / (REACH * math.sqrt(records))
        mean = mean + factor @ move / max(far, 1.0)
        root = np.linalg.solve(np.linalg.cholesky(curve), factor.T)
        covariance = root.T @ root
    root = np.linalg.cholesky(covariance)
    ratios = np.linalg.eigvalsh(root.T @ precision @ root)
    return float(np.sqrt(np.mean((mean / deviations) ** 2))), ratios[0], ratios[-1]


def start(
    kind: str, precision: np.ndarray, epsilon: float, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    size = len(precision)
    root = np.linalg.cholesky(np.linalg.inv(precision))
    off = 2.0 if kind == "shape known" else 8.0 / math.sqrt(epsilon)
    mean = off * root @ generator.standard_normal(size)
    if kind == "mean-field":
        return mean, np.diag(1 / np.diag(precision))
    spread = 0.0 if kind == "shape known" else 0.8 / math.sqrt(2 * size)
    wrong = symmetric(np.zeros((size, size)), generator)
    return mean, root @ (np.eye(size) + spread * wrong) @ root.T


def logistic(size: int, records: int) -> tuple[Model, dict[str, np.ndarray]]:
    """An intercept and correlated covariates."""
    generator = np.random.default_rng(0)
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    root = np.linalg.cholesky(CORRELATION**apart)
    x = (generator.standard_normal((records, size)) @ root.T).astype(np.float32)
    x[:, 0] = 1
    truth = 1.2 / math.sqrt(size) * generator.standard_normal(size)
    y = (generator.logistic(size=records) < x @ truth).astype(np.float32)

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        place = jnp.dot(record["x"], theta["b"])
        return record["y"] * place - jax.nn.softplus(place)

    def log_prior(theta: Any) -> jax.Array:
        return -jnp.sum(theta["b"] ** 2) / 8

    start, listed = {"b": np.zeros(size)}, {"y": (0.0, 1.0)}
    return Model(log_likelihood, log_prior, start, responses=listed), {"x": x, "y": y}


def mode_of(data: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Where the posterior is highest, and its deviations, by Newton's method."""
    x, y = data["x"].astype(np.float64), data["y"]
    b, prior = np.zeros(x.shape[1]), np.eye(x.shape[1]) / 4
    for _ in range(12):
        chance = 1 / (1 + np.exp(-x @ b))
        precision = (x.T * (chance * (1 - chance))) @ x + prior
        b = b + np.linalg.solve(precision, x.T @ (y - chance) - prior @ b)
    return b, np.sqrt(np.diag(np.linalg.inv(precision)))


def chain(size: int, epsilon: float, records: int) -> str:
    """One private run, as a row."""
    model, data = logistic(size, records)
    mode, deviations = mode_of(data)
    posterior = sample(
        model,
        data,
        epsilon=epsilon,
        delta=DELTA,
        steps=2000,
        start=Variational(share=0.2),
        control=ControlVariates(share=SHARE, rounds=ROUNDS),
        progress=False,
    )
    assert posterior.noise_aware is not None
    draws, wider = posterior.draws["b"][0], posterior.noise_aware["b"][0]
    off = math.sqrt(np.mean(((draws.mean(0) - mode) / deviations) ** 2))
    own, aware = (np.median(each.std(0) / deviations) for each in (draws, wider))
    effective = [float(arviz().ess(column[None])) for column in draws.T]
    return (
        f"| {size} | {epsilon:g} | {off:.2f} | {own:.2f} | {aware:.2f} | "
        f"{min(effective):.0f} | {np.median(effective):.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="20,50,100,200")
    parser.add_argument("--epsilons", default="1,3")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--chain", action="store_true")
    given = parser.parse_args()
    if given.chain:
        print("| d | ε | off | sd ratio | noise-aware | least ESS | median |")
        print("|" + " --- |" * 7)
        for size in map(int, given.sizes.split(",")):
            for epsilon in map(float, given.epsilons.split(",")):
                print(chain(size, epsilon, given.records), flush=True)
        return
    names = " | ".join(way.name for way in WAYS)
    print(f"| d | ε | start | {names} |\n|" + " --- |" * (3 + len(WAYS)))
    for size in map(int, given.sizes.split(",")):
        apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
        precision = CURVATURE * given.records * CORRELATION**apart
        for epsilon in map(float, given.epsilons.split(",")):
            for kind in ("shape off", "mean-field", "shape known"):
                cells = []
                for way in WAYS:
                    found = []
                    for seed in range(given.repeats):
                        generator = np.random.default_rng(seed)
                        begun = start(kind, precision, epsilon, generator)
                        found.append(
                            rounds_of(
                                way,
                                precision,
                                *begun,
                                given.records,
                                epsilon,
                                generator,
                            )
                        )
                    off, low, high = np.median(found, axis=0)
                    cells.append(f"{off:.2f} ({low:.2f}–{high:.2f})")
                print(f"| {size} | {epsilon:g} | {kind} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
