# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A step on residuals against a plain step, in one run.

Rounds of both alternate, and times are of the processor, all cores together, so that
other programs do not count; the table shows medians, and of the ratio of each round's
times the median and the quartiles. What a surrogate reads of a record besides is
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

from dpmcmc import Model
from dpmcmc.private import PLAIN, Chains, FullData, Grid, Influence, Records, Tape
from dpmcmc.proposals import RandomWalk
from dpmcmc.surrogates import ControlVariates, release

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
    """Two predictors: the line, and the logarithm of the deviation."""
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

    return Model(log_likelihood, _flat, {"b": centres}), {"x": x.astype(np.float32)}


CASES = [
    *((logistic, size) for size in (2, 5, 10, 20)),
    *((linear, size) for size in (5, 10)),
    *((mixture, size) for size in (2, 5, 10)),
]


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
        FullData(Grid(0.01), influence=influence),
        Tape.fresh(),
        start=jax.tree.map(lambda leaf: leaf[None], start),
        dtype="float32",
        chunk=STEPS,
        devices=jax.local_devices(),
    )
    return lambda: jax.block_until_ready(run.advance(STEPS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    print("| model | d | plain step, ms | on residuals, ms | ratio | quartiles |")
    print("| --- | --- | --- | --- | --- | --- |")
    for make, size in CASES:
        model, data = make(size, options.records)
        records = Records(data)
        surrogate = release(
            model,
            records,
            ControlVariates(epsilon=1.0).plan(options.records, size, 1e-6),
            Tape.fresh(),
            centre=model.initial,
            covariance=4 / options.records * np.eye(size),
        )
        contenders = {
            "plain": (steps(model, records, PLAIN), STEPS),
            "residual": (steps(model, records, surrogate.influence), STEPS),
        }
        measured = Rounds(contenders, options.rounds, time.process_time)
        plain, residual = (1e3 * measured.median(name) for name in contenders)
        times = (measured.times[name] for name in ("residual", "plain"))
        ratios = [ours / theirs for ours, theirs in zip(*times, strict=True)]
        low, middle, high = np.quantile(ratios, (0.25, 0.5, 0.75))
        print(
            f"| {make.__name__} | {size} | {plain:.1f} | {residual:.1f} | "
            f"{middle:.2f} | {low:.2f}–{high:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
