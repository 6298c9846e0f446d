# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Private control variates against the posterior of all records, in one table.

Every run is one call of `sample` with a fresh tape: a private variational start, the
control variates, and the bits, all within (ε, 1e-6). The records of a case stay the
same; rows are medians over runs. The reference has no privacy: importance sampling
from a normal law about the mode, on the same records, in float64.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc import Model, sample
from dpmcmc.experiments.mixture import mixture_model, simulate_mixture
from dpmcmc.private import Records
from dpmcmc.summary import arviz
from dpmcmc.surrogates import ControlVariates
from dpmcmc.variational import Variational

DELTA = 1e-6
POINTS = 3000


@dataclass(frozen=True)
class Case:
    """Records, a model of them, a budget and how it is shared."""

    name: str
    make: Callable[[int], tuple[Model, Any]]
    records: int
    epsilon: float
    start_share: float = 0.2
    share: float = 0.9
    steps: int = 3000
    gradient_bound: float | None = None


def logistic(count: int) -> tuple[Model, Any]:
    """An intercept and four exponential covariates, skewed and unbounded."""
    generator = np.random.default_rng(0)
    skewed = generator.exponential(size=(count, 4)) - 1
    x = np.concatenate([np.ones((count, 1)), skewed], axis=1).astype(np.float32)
    chance = 1 / (1 + np.exp(-x @ np.array([-0.5, 0.5, -0.5, 0.3, 0.8])))
    y = (generator.random(count) < chance).astype(np.float32)

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        place = jnp.dot(record["x"], theta["b"])
        return record["y"] * place - jax.nn.softplus(place)

    model = Model(
        log_likelihood,
        lambda theta: -jnp.sum(theta["b"] ** 2) / (2 * 2.5**2),
        {"b": np.zeros(5)},
        responses={"y": (0.0, 1.0)},
    )
    return model, {"x": x, "y": y}


def mixture(count: int) -> tuple[Model, Any]:
    """The paper's mixture, started away from the truth."""
    truth = {"mean": 0.0, "gap": 1.0}
    records = simulate_mixture(truth, count, np.random.default_rng(0))
    return mixture_model({"mean": -0.5, "gap": 2.0}), records


def normal_mean(count: int) -> tuple[Model, Any]:
    """Ten means with a known covariance of condition number 400."""
    generator = np.random.default_rng(0)
    turn = np.linalg.qr(generator.standard_normal((10, 10)))[0]
    root = (turn * np.geomspace(1, 20, 10)) @ turn.T
    inverse = np.linalg.inv(root)
    mean = generator.standard_normal(10)
    records = (mean + generator.standard_normal((count, 10)) @ root).astype(np.float32)

    def log_likelihood(theta: jax.Array, record: jax.Array) -> jax.Array:
        return (
            -jnp.sum(jnp.square(jnp.asarray(inverse, theta.dtype) @ (record - theta)))
            / 2
        )

    return Model(log_likelihood, lambda t: -jnp.sum(t**2) / 200, np.zeros(10)), records


CASES = {
    "logistic-5": Case("logistic, d = 5", logistic, 100_000, 1.0),
    "logistic-4-3": Case("logistic, d = 5", logistic, 10_000, 3.0),
    "logistic-4-1": Case("logistic, d = 5", logistic, 10_000, 1.0, 0.35, 0.85),
    "mixture-6": Case("paper's mixture", mixture, 1_000_000, 1.0),
    "mixture-5": Case("paper's mixture", mixture, 100_000, 1.0),
    # scores of a normal law with known covariance have no heavy tails
    "normal": Case(
        "normal mean, d = 10", normal_mean, 100_000, 2.0, gradient_bound=2.3
    ),
}


@dataclass(frozen=True)
class Reference:
    """The posterior of all records, by weighted points."""

    mean: np.ndarray
    covariance: np.ndarray
    effective: float
    points: np.ndarray
    weights: np.ndarray


def reference(model: Model, records: Any) -> Reference:
    """Find the mode by Newton's method, and weigh points about it."""
    with jax.enable_x64(True):
        start = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), model.initial)
        mode, unravel = ravel_pytree(start)
        arrays = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), records)

        @jax.jit
        def log_posterior(flat: jax.Array) -> jax.Array:
            theta = unravel(flat)
            each = jax.vmap(model.record_log_likelihood, (None, 0))(theta, arrays)
            return jnp.sum(each) + model.log_prior(theta)

        slope, bend = (
            jax.jit(jax.grad(log_posterior)),
            jax.jit(jax.hessian(log_posterior)),
        )
        for _ in range(50):
            values, vectors = jnp.linalg.eigh(bend(mode))
            inverse = (vectors / jnp.maximum(jnp.abs(values), 1.0)) @ vectors.T
            move = inverse @ slope(mode)
            mode = mode + move * jnp.minimum(1.0, 0.5 / jnp.linalg.norm(move))
        covariance = np.linalg.inv(-np.asarray(bend(mode)))
        normals = np.random.default_rng(1).standard_normal((POINTS, len(mode)))
        points = np.asarray(mode) + 1.1 * normals @ np.linalg.cholesky(covariance).T
        logs = np.array([log_posterior(point) for point in jnp.asarray(points)])
    logs += np.sum(normals**2, axis=1) / 2
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = weights @ points
    return Reference(
        mean,
        (weights * (points - mean).T) @ (points - mean),
        1 / np.sum(weights**2),
        points,
        weights,
    )


def flat_draws(draws: dict[str, np.ndarray]) -> np.ndarray:
    """Coordinates of the first chain's draws, in the order of their names."""
    return np.concatenate(
        [values[0].reshape(values.shape[1], -1) for _, values in sorted(draws.items())],
        axis=1,
    ).astype(np.float64)


def discrepancy(one: np.ndarray, other: np.ndarray) -> float:
    """Maximum mean discrepancy, with a Gaussian kernel of the median distance."""
    both = np.concatenate([one, other])
    squares = np.sum(both**2, axis=1)
    distances = np.maximum(squares[:, None] + squares - 2 * both @ both.T, 0)
    kernel = np.exp(-distances / (np.median(distances)))
    count = len(one)
    inside = kernel[:count, :count].mean() + kernel[count:, count:].mean()
    return float(np.sqrt(max(inside - 2 * kernel[:count, count:].mean(), 0.0)))


def one_run(
    case: Case, model: Model, records: Records, exact: Reference
) -> dict[str, Any]:
    """One call of `sample`, measured against the reference."""
    begun = time.perf_counter()
    posterior = sample(
        model,
        records,
        epsilon=case.epsilon,
        delta=DELTA,
        steps=case.steps,
        start=Variational(share=case.start_share),
        control=ControlVariates(share=case.share, gradient_bound=case.gradient_bound),
        progress=False,
    )
    seconds = time.perf_counter() - begun
    assert posterior.noise_aware is not None
    draws, aware = flat_draws(posterior.draws), flat_draws(posterior.noise_aware)
    deviations = np.sqrt(np.diag(exact.covariance))
    low, high = np.quantile(aware, [0.05, 0.95], axis=0)
    generator = np.random.default_rng(2)
    chosen = generator.choice(POINTS, 1000, p=exact.weights)
    thinned = draws[np.linspace(0, len(draws) - 1, 1000).astype(int)]
    az = arviz()
    return {
        "off": np.sqrt(np.mean(((draws.mean(0) - exact.mean) / deviations) ** 2)),
        "sd": draws.std(0) / deviations,
        "aware": aware.std(0) / deviations,
        "ess": min(float(az.ess(column[None])) for column in draws.T),
        "covered": (low <= exact.mean) & (exact.mean <= high),
        "mmd": discrepancy(thinned / deviations, exact.points[chosen] / deviations),
        "seconds": seconds,
        "epsilon": posterior.statement.epsilon,
        "clip": posterior.statement.clip,
    }


def row(case: Case, runs: list[dict[str, Any]]) -> str:
    """One line of the table: medians, ranges of medians over coordinates."""
    assert all(run["epsilon"] <= case.epsilon for run in runs)
    sd, aware = (
        np.median([run[name] for run in runs], axis=0) for name in ("sd", "aware")
    )
    covered = np.mean([run["covered"] for run in runs])
    middle = {
        name: np.median([run[name] for run in runs])
        for name in ("off", "ess", "mmd", "seconds", "clip")
    }
    return (
        f"| {case.name} | {case.records:,} | {case.epsilon:g} | {middle['off']:.2f} | "
        f"{sd.min():.2f}–{sd.max():.2f} | {aware.min():.2f}–{aware.max():.2f} | "
        f"{middle['ess']:.0f} | {100 * covered:.0f}% | {middle['mmd']:.3f} | "
        f"{middle['clip']:.2g} | {middle['seconds']:.0f} |"
    )


HEADER = (
    "| case | N | ε | mean off (rms, sd) | sd ratio | noise-aware | ESS | covered | "
    "MMD | clip | s |\n|" + " --- |" * 11
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    print(HEADER, flush=True)
    for name in options.cases:
        case = CASES[name]
        model, data = case.make(case.records)
        exact = reference(model, data)
        assert exact.effective > POINTS / 2
        sealed = Records(data)
        runs = [one_run(case, model, sealed, exact) for _ in range(options.runs)]
        print(row(case, runs), flush=True)


if __name__ == "__main__":
    main()
