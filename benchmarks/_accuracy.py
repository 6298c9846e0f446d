# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How far draws are from a posterior without privacy, kept as lines of JSON.

A line is one run. So a table can be made of runs in many processes, each of which
adds its lines to one file or to files of its own.
"""

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc import Model, Posterior
from dpmcmc.posterior.summary import arviz

_NEWTON_STEPS = 60
_SPREAD = 1.1


@dataclass(frozen=True)
class Reference:
    """The posterior of all records, by points that are drawn from it."""

    mean: np.ndarray
    sd: np.ndarray
    points: np.ndarray


def reference(model: Model, records: Any, start: Any = None) -> Reference:
    """Weigh points about the mode, or run NUTS where these are too uneven."""
    with jax.enable_x64(True):
        given = model.initial if start is None else start
        first = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), given)
        flat, unravel = ravel_pytree(first)
        arrays = jax.tree.map(_wide, records)

        @jax.jit
        def log_posterior(point: jax.Array) -> jax.Array:
            theta = unravel(point)
            each = jax.vmap(model.record_log_likelihood, (None, 0))(theta, arrays)
            return jnp.sum(each) + model.log_prior(theta)

        mode, covariance = _mode(log_posterior, flat)
        count = len(jax.tree.leaves(records)[0])
        tried = 2000 if count > 300_000 else 4000
        points = _weighed(log_posterior, mode, covariance, tried)
        if points is None:
            points = _nuts(log_posterior, mode, covariance)
    seen = shown(model, points)
    return Reference(seen.mean(0), seen.std(0), seen)


def shown(model: Model, points: np.ndarray) -> np.ndarray:
    """Coordinates of θ as draws show them: transformed, if the model says so."""
    with jax.enable_x64(True):
        wide = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), model.initial)
        unravel = ravel_pytree(wide)[1]
        transform = model.transform or (lambda theta: theta)

        def one(point: jax.Array) -> jax.Array:
            return ravel_pytree(transform(unravel(point)))[0]

        return np.asarray(jax.jit(jax.vmap(one))(jnp.asarray(points)))


def _wide(leaf: Any) -> jax.Array:
    array = np.asarray(leaf)
    return jnp.asarray(array, jnp.float64 if array.dtype.kind == "f" else None)


def _mode(log_posterior: Any, start: jax.Array) -> tuple[np.ndarray, np.ndarray]:
    """The highest point by Newton's method, halving moves that lead down."""
    slope = jax.jit(jax.grad(log_posterior))
    bend = jax.jit(jax.hessian(log_posterior))
    point, height = start, log_posterior(start)
    for _ in range(_NEWTON_STEPS):
        values, vectors = jnp.linalg.eigh(bend(point))
        inverse = (vectors / jnp.maximum(jnp.abs(values), 1e-3)) @ vectors.T
        move = inverse @ slope(point)
        while (after := log_posterior(point + move)) < height - 1e-6 * abs(height):
            move = move / 2
        point, height = point + move, after
        if jnp.sqrt(move @ -bend(point) @ move) < 1e-3:
            break
    return np.asarray(point), np.linalg.inv(-np.asarray(bend(point)))


def _weighed(
    log_posterior: Any, mode: np.ndarray, covariance: np.ndarray, count: int
) -> np.ndarray | None:
    """Points drawn by their weights, or None if few of them bear most weight."""
    generator = np.random.default_rng(1)
    normals = generator.standard_normal((count, len(mode)))
    points = mode + _SPREAD * normals @ np.linalg.cholesky(covariance).T
    logs = np.array([log_posterior(point) for point in jnp.asarray(points)])
    logs += np.sum(normals**2, axis=1) / 2
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    if 1 / np.sum(weights**2) < count / 3:
        return None
    return points[generator.choice(count, 10 * count, p=weights)]


def _nuts(log_posterior: Any, mode: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Draws by NumPyro's NUTS in whitened coordinates, in float64."""
    from numpyro.infer import MCMC, NUTS  # noqa: PLC0415 - slow to import

    factor = jnp.asarray(np.linalg.cholesky(covariance))
    kernel = NUTS(
        potential_fn=lambda v: -log_posterior(jnp.asarray(mode) + factor @ v),
        dense_mass=True,
    )
    mcmc = MCMC(kernel, num_warmup=1000, num_samples=8000, progress_bar=False)
    mcmc.run(jax.random.key(0), init_params=jnp.zeros(len(mode)))
    return mode + np.asarray(mcmc.get_samples()) @ np.asarray(factor).T


def flat(posterior: Posterior) -> tuple[np.ndarray, np.ndarray]:
    """Plain and noise-aware draws, (chains, draws, d), parameters by their names."""
    plain, aware = (
        np.concatenate(
            [values.reshape(*values.shape[:2], -1) for _, values in sorted(all_)],
            axis=2,
        ).astype(np.float64)
        for all_ in (posterior.draws.items(), posterior.honest.items())
    )
    return plain, aware


def score(exact: Reference, chains: np.ndarray, aware: np.ndarray) -> dict[str, Any]:
    """Compare draws of chains, and draws that know of noise, with the posterior."""
    sd = exact.sd
    draws, aware = (one.reshape(-1, one.shape[-1]) for one in (chains, aware))
    low, high = np.quantile(aware, [0.05, 0.95], axis=0)
    off = (aware.mean(0) - exact.mean) / sd
    levels = [0.05, 0.5, 0.95]
    apart = np.quantile(draws, levels, axis=0) - np.quantile(exact.points, levels, 0)
    centred = [(one - one.mean(0)) / one.std(0) for one in (draws, exact.points)]
    skew = [np.mean(one**3, axis=0).round(3).tolist() for one in centred]
    chosen = np.random.default_rng(2).choice(len(exact.points), 1000)
    thinned = draws[np.linspace(0, len(draws) - 1, 1000).astype(int)]
    az = arviz()
    return {
        "off": float(np.sqrt(np.mean(off**2))),
        "worst": float(np.max(np.abs(off))),
        "sd": (draws.std(0) / sd).round(4).tolist(),
        "aware": (aware.std(0) / sd).round(4).tolist(),
        "ess": min(float(az.ess(one)) for one in np.moveaxis(chains, -1, 0)),
        "chains": len(chains),
        "covered": ((low <= exact.mean) & (exact.mean <= high)).tolist(),
        "mmd": discrepancy(thinned / sd, exact.points[chosen] / sd),
        "quantiles": float(np.sqrt(np.mean((apart / sd) ** 2))),
        "skew": skew,
    }


def discrepancy(one: np.ndarray, other: np.ndarray) -> float:
    """Maximum mean discrepancy, with a Gaussian kernel of the median distance."""
    both = np.concatenate([one, other])
    squares = np.sum(both**2, axis=1)
    distances = np.maximum(squares[:, None] + squares - 2 * both @ both.T, 0)
    kernel = np.exp(-distances / np.median(distances))
    count = len(one)
    inside = kernel[:count, :count].mean() + kernel[count:, count:].mean()
    return float(np.sqrt(max(inside - 2 * kernel[:count, count:].mean(), 0.0)))


def keep(line: dict[str, Any], path: Path | None) -> None:
    """Add one run to a file of lines; they are short enough to be written at once."""
    text = json.dumps(line) + "\n"
    if path is None:
        print(text, end="", flush=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)


def lines(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """All runs of all files; a folder stands for the files of lines in it."""
    files = [
        file
        for path in paths
        for file in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path])
    ]
    return [json.loads(text) for file in files for text in file.open() if text.strip()]


def grouped(
    runs: list[dict[str, Any]], order: Callable[[dict[str, Any]], Any]
) -> list[list[dict[str, Any]]]:
    """Runs of the same row of a table together, rows in order."""
    groups: dict[Any, list[dict[str, Any]]] = {}
    for run in sorted(runs, key=order):
        groups.setdefault(order(run), []).append(run)
    return list(groups.values())


def middle(runs: list[dict[str, Any]], name: str) -> float:
    """The median of a number over runs."""
    return float(np.median([run[name] for run in runs]))


def span(runs: list[dict[str, Any]], name: str) -> str:
    """The smallest and largest median over runs, of the coordinates."""
    ratios = np.median([run[name] for run in runs], axis=0)
    return f"{ratios.min():.2f}–{ratios.max():.2f}"


def share(runs: list[dict[str, Any]], name: str) -> str:
    """The share of true values, over coordinates and runs."""
    return f"{np.mean([np.mean(run[name]) for run in runs]):.0%}"
