# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A step on residuals against a plain step, in one run.

Rounds of both alternate, so that a noisy machine is noisy for each; the table shows
medians, and medians of the ratio of each round's times.
"""

import argparse
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
    generator = np.random.default_rng(0)
    x = generator.standard_normal((count, size)).astype(np.float32)
    y = (generator.random(count) < 0.5).astype(np.float32)

    def log_likelihood(theta: Any, record: Any) -> jax.Array:
        place = jnp.dot(record["x"], theta["b"])
        return record["y"] * place - jax.nn.softplus(place)

    start = {"b": np.zeros(size)}
    return Model(log_likelihood, lambda _: 0.0, start), {"x": x, "y": y}


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
    print("| logistic, d | plain step, ms | on residuals, ms | ratio |")
    print("| --- | --- | --- | --- |")
    for size in (2, 5, 10):
        model, data = logistic(size, options.records)
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
        measured = Rounds(contenders, options.rounds)
        plain, residual = (1e3 * measured.median(name) for name in contenders)
        ratio = measured.ratio("residual", "plain")
        print(f"| {size} | {plain:.1f} | {residual:.1f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
