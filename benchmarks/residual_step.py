# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A step on residuals against a plain step, and clipped without bias, in one run.

Rounds of both alternate, and times are of the processor, all cores together, so that
other programs do not count; the table shows medians, and of the ratio of each round's
times the median and the quartiles. What a surrogate reads of a record besides is
k(k + 3)/2 numbers for k predictors, and the predictors themselves where they depend on
the record. Clipping without bias keeps them for other responses, too: two that are
listed (logistic) or eight that are drawn (linear); or it makes them at every step, for
a sixteenth as many simulated records (mixture).
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _rounds import Rounds
from dpmcmc.surrogates import ControlVariates, release

from dpmcmc import Model
from dpmcmc.influence.choices import (
    Clipping,
    ConditionalCentring,
    ModelCorrection,
    Shrinking,
)
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

    model = Model(
        log_likelihood, _flat, {"b": np.zeros(size)}, responses={"y": (0.0, 1.0)}
    )
    return model, {"x": x, "y": y}


def linear(size: int, count: int) -> tuple[Model, Any]:
    """Two predictors: the line, and the logarithm of the deviation."""
    x, generator = _covariates(size - 1, count)
    y = generator.standard_normal(count).astype(np.float32)

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        off = record["y"] - jnp.dot(record["x"], theta["b"][1:])
        log_sd = theta["b"][0]
        return -0.5 * (off * jnp.exp(-log_sd)) ** 2 - log_sd

    def simulate(theta: Any, key: jax.Array, record: Any) -> Any:
        noise = jnp.exp(theta["b"][0]) * jax.random.normal(key)
        return {**record, "y": jnp.dot(record["x"], theta["b"][1:]) + noise}

    model = Model(
        log_likelihood,
        _flat,
        {"b": np.zeros(size)},
        simulate=simulate,
        responses={"y": None},
    )
    return model, {"x": x, "y": y}


def mixture(size: int, count: int) -> tuple[Model, Any]:
    """As many predictors as coordinates: every mean enters by itself."""
    centres, generator = np.linspace(-2, 2, size), np.random.default_rng(0)
    x = generator.choice(centres, count) + generator.standard_normal(count)

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        return jax.nn.logsumexp(-0.5 * (record["x"] - theta["b"]) ** 2)

    def simulate(theta: Any, key: jax.Array, _: Any) -> Any:
        which, noise = jax.random.split(key)
        centre = jax.random.choice(which, theta["b"])
        return {"x": centre + jax.random.normal(noise)}

    model = Model(log_likelihood, _flat, {"b": centres}, simulate=simulate)
    return model, {"x": x.astype(np.float32)}


CASES = [
    *((logistic, size) for size in (2, 5, 10, 20)),
    *((linear, size) for size in (5, 10)),
    *((mixture, size) for size in (2, 5, 10)),
]
UNBIASED: dict[Any, Clipping] = {
    logistic: Shrinking(),
    linear: ConditionalCentring(),
    mixture: ModelCorrection(),
}
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
        "| model | d | plain step, ms | on residuals, ms | against plain | without "
        "bias, ms | against residuals |\n|" + " --- |" * 7
    )
    for make, size in CASES:
        if size > options.most:
            continue
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
        unbiased = UNBIASED[make].influence(
            model,
            records.shape_of_one("float32"),
            Grid(CLIP),
            options.records,
            surrogate.influence,
        )
        influences: dict[str, Influence] = {
            "plain": PLAIN,
            "residual": surrogate.influence,
            "unbiased": unbiased,
        }
        contenders = {
            name: (steps(model, records, influence), STEPS)
            for name, influence in influences.items()
        }
        measured = Rounds(contenders, options.rounds, time.process_time)
        plain, residual, third = (1e3 * measured.median(name) for name in contenders)
        print(
            f"| {make.__name__} | {size} | {plain:.1f} | {residual:.1f} | "
            f"{quartiles(measured, 'residual', 'plain')} | {third:.1f} | "
            f"{quartiles(measured, 'unbiased', 'residual')} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
