# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A step on residuals against a plain step, in one run.

Rounds of both alternate, and times are of the processor, all cores together, so that
other programs do not count; the table shows medians, and of the ratio of each round's
times the median and the quartiles. What a residual reads of a record in addition is
k(k + 3)/2 numbers for k predictors, and the predictors themselves where they depend on
the record.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _rounds import Rounds
from jax.flatten_util import ravel_pytree

from dpmcmc import Model
from dpmcmc.influence import Residual
from dpmcmc.influence.derivatives import Frame
from dpmcmc.private import PLAIN, Chains, FullData, Grid, Influence, Records, Tape
from dpmcmc.proposals import RandomWalk

STEPS = 20


def logistic(size: int, count: int) -> tuple[Model, Any]:
    """One predictor, whatever the size."""
    x, generator = _covariates(size, count)
    y = (generator.random(count) < 0.5).astype(np.float32)

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        place = jnp.dot(record["x"], theta["b"])
        return record["y"] * place - jax.nn.softplus(place)

    return Model(log_likelihood, _flat, {"b": np.zeros(size)}), {"x": x, "y": y}


def linear(size: int, count: int) -> tuple[Model, Any]:
    """Two predictors: the line, and the logarithm of the sd."""
    x, generator = _covariates(size - 1, count)
    y = generator.standard_normal(count).astype(np.float32)

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        off = record["y"] - jnp.dot(record["x"], theta["b"][1:])
        log_sd = theta["b"][0]
        return -0.5 * (off * jnp.exp(-log_sd)) ** 2 - log_sd

    return Model(log_likelihood, _flat, {"b": np.zeros(size)}), {"x": x, "y": y}


def mixture(size: int, count: int) -> tuple[Model, Any]:
    """As many predictors as coordinates: every mean enters by itself."""
    centres, generator = np.linspace(-2, 2, size), np.random.default_rng(0)
    x = generator.choice(centres, count) + generator.standard_normal(count)

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        return jax.nn.logsumexp(-0.5 * (record["x"] - theta["b"]) ** 2)

    model = Model(log_likelihood, _flat, {"b": centres})
    return model, {"x": x.astype(np.float32)}


CASES = [
    *((logistic, size) for size in (2, 5, 10, 20)),
    *((linear, size) for size in (5, 10)),
    *((mixture, size) for size in (2, 5, 10)),
]
CLIP = 0.01


def _covariates(size: int, count: int) -> tuple[np.ndarray, np.random.Generator]:
    generator = np.random.default_rng(0)
    return generator.standard_normal((count, size)).astype(np.float32), generator


def _flat(_: Any) -> float:
    return 0.0


def steps(model: Model, records: Records, influence: Influence) -> Callable[[], None]:
    start = {"b": jnp.asarray(model.initial["b"], jnp.float32)}
    run = Chains(
        model,
        records,
        RandomWalk(1e-3).fit(start),
        FullData(Grid(CLIP), influence=influence),
        Tape.fresh(),
        start=jax.tree.map(lambda leaf: leaf[None], start),
        dtype="float32",
        chunk=STEPS,
        devices=jax.local_devices(),
    )
    return lambda: jax.block_until_ready(run.advance(STEPS))


def residual(model: Model, count: int) -> Residual:
    """About the start, with a quadratic of usual size; what it says costs nothing."""
    start = {"b": jnp.asarray(model.initial["b"], jnp.float32)}
    flat, unravel = ravel_pytree(start)
    size = len(flat)
    return Residual(
        frame=Frame(np.asarray(flat, float), np.eye(size)),
        inverse=np.eye(size),
        metric=np.ones(size),
        gradient_bound=3 * size**0.5,
        hessian_bound=3.0 * size,
        gradient=np.zeros(size),
        hessian=-count * np.eye(size),
        unravel=unravel,
    )


def quartiles(measured: Rounds, ours: str, theirs: str) -> str:
    """Of the ratios of each round's times: the median, and the quartiles."""
    times = measured.times[ours], measured.times[theirs]
    ratios = [one / other for one, other in zip(*times, strict=True)]
    low, middle, high = np.quantile(ratios, (0.25, 0.5, 0.75))
    return f"{middle:.2f} ({low:.2f}–{high:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--most", type=int, default=20, help="coordinates")
    options = parser.parse_args()
    print(
        "| model | d | plain step, ms | on residuals, ms | against plain |\n|"
        + " --- |" * 5
    )
    for make, size in CASES:
        if size > options.most:
            continue
        model, data = make(size, options.records)
        records = Records(data)
        influences: dict[str, Influence] = {
            "plain": PLAIN,
            "residual": residual(model, options.records),
        }
        contenders = {
            name: (steps(model, records, influence), STEPS)
            for name, influence in influences.items()
        }
        measured = Rounds(contenders, options.rounds, time.process_time)
        plain, ours = (1e3 * measured.median(name) for name in contenders)
        print(
            f"| {make.__name__} | {size} | {plain:.1f} | {ours:.1f} | "
            f"{quartiles(measured, 'residual', 'plain')} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
