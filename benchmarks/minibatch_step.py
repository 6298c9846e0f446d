# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A minibatch step against its floor and against NumPy loops, in one run.

The floor is the same arithmetic on a contiguous slice with no randomness: both points
evaluated on b records, clipped, rounded and summed, and the probability of acceptance.
The peers are loops in NumPy and SciPy as the published algorithm is written: with the
batch drawn by ``random.sample``, as the published code draws it, and by NumPy's
generator.
Rounds alternate, so that a noisy machine is noisy for each; the table shows medians,
and ratios of each round's times.
"""

import argparse
import random
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from _problems import mixture
from _rounds import Rounds
from jax.scipy.special import ndtr
from scipy.stats import norm

from dpmcmc.correction import correction_for
from dpmcmc.models import two_component_mixture
from dpmcmc.private import BatchDecision, Chains, Grid, Minibatch, Records, Tape
from dpmcmc.proposals import RandomWalk
from dpmcmc.sampling.barker import corrected_noise

BATCH, TEMPERED, SCALE = 1000, 100.0, 0.1
CHUNK, ROWS = 2000, 2**13
"""Most steps of a chunk, and about how many steps of all chains, as in a run."""
MODEL = two_component_mixture((-100.0, 100.0))
TRUTH = {"mean": 0.0, "gap": 1.0}
FITTED = correction_for(2.0)


def private_steps(
    records: np.ndarray, chains: int, replacement: bool = False
) -> tuple[Callable[[], None], int]:
    """Several chunks, so that batches are drawn while the device computes."""
    start = {name: jnp.float32(value) for name, value in TRUTH.items()}
    grid = Grid(1.0, scale=TEMPERED / BATCH**0.5)
    decision = BatchDecision(grid, BATCH, corrected_noise(2.0, None))
    chunk = min(CHUNK, max(16, ROWS // chains))
    run = Chains(
        MODEL,
        Records({"x": records}),
        RandomWalk(SCALE).fit(start),
        Minibatch(decision, replacement),
        Tape.fresh(),
        start=jax.tree.map(lambda leaf: jnp.stack([leaf] * chains), start),
        dtype="float32",
        chunk=chunk,
        devices=jax.local_devices(),
    )
    sizes = [chunk] * 8

    def advance() -> None:
        # As the sampler does: wait for a chunk once the next is under way.
        chunks = run.run(sizes)
        last = next(chunks)
        for released in chunks:
            jax.block_until_ready(last)
            last = released
        jax.block_until_ready(last)

    return advance, sum(sizes) * chains


def floor_steps(records: np.ndarray) -> tuple[Callable[[], None], int]:
    steps = 2000
    placed = jnp.asarray(records[: steps * (len(records) // steps)])
    centres, weights = np.array(FITTED.centres), np.array(FITTED.weights)
    each = jax.vmap(MODEL.log_likelihood, in_axes=(None, 0))
    unit = TEMPERED / BATCH**0.5

    def one(step: jax.Array, theta: dict[str, jax.Array]) -> dict[str, jax.Array]:
        start = (step * BATCH) % (len(placed) - BATCH)
        batch = jax.lax.dynamic_slice(placed, (start,), (BATCH,))
        moved = jax.tree.map(lambda leaf: leaf + jnp.float32(1e-3), theta)
        with jax.enable_x64(False):
            ratios = each(moved, {"x": batch}) - each(theta, {"x": batch})
        scaled = jnp.clip(ratios * jnp.float32(unit * 2**20), -(2**20), 2**20)
        whole = jnp.round(scaled).astype(jnp.int32).astype(jnp.int64)
        zero = jnp.zeros((), jnp.int64)
        first, second = jax.lax.reduce(
            (whole, whole * whole),
            (zero, zero),
            lambda a, b: (a[0] + b[0], a[1] + b[1]),
            (0,),
        )
        mean = first.astype(jnp.float64) / (2**20 * BATCH)
        spread = second.astype(jnp.float64) / (2.0**40 * BATCH) - mean**2
        place = mean * BATCH**0.5
        chance = jnp.sum(weights * ndtr((place - centres) / jnp.sqrt(2 - spread)))
        return jax.tree.map(lambda a, b: jnp.where(chance > 0.5, a, b), moved, theta)

    with jax.enable_x64(True):
        start = {name: jnp.float32(value) for name, value in TRUTH.items()}
        loop = jax.jit(lambda theta: jax.lax.fori_loop(0, steps, one, theta))
        compiled = loop.lower(start).compile()
    return lambda: jax.block_until_ready(compiled(start)), steps


def published_steps(
    records: np.ndarray, by_numpy: bool
) -> tuple[Callable[[], None], int]:
    """The published algorithm, in NumPy and SciPy."""
    steps = 50
    generator = np.random.default_rng(0)
    older = random.Random(0)
    doubles, scale = records.astype(float), 2**0.5
    centres, weights = np.array(FITTED.centres), np.array(FITTED.weights)
    state = {"theta": np.array([0.0, 1.0])}

    def log_likelihood(theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        first = norm.logpdf(batch, theta[0], scale)
        second = norm.logpdf(batch, theta[0] + theta[1], scale)
        return np.logaddexp(first, second) - np.log(2)

    def log_prior(theta: np.ndarray) -> float:
        return norm.logpdf(theta[0], 0, 10**0.5) + norm.logpdf(theta[1], 0, 1)

    def one() -> None:
        theta = state["theta"]
        proposed = theta + SCALE * generator.standard_normal(2)
        if by_numpy:
            chosen = generator.choice(len(doubles), BATCH, replace=False)
        else:
            chosen = older.sample(range(len(doubles)), BATCH)
        batch = doubles[chosen]
        ratios = log_likelihood(proposed, batch) - log_likelihood(theta, batch)
        bound = BATCH**0.5 / TEMPERED
        ratios = np.clip(ratios, -bound, bound) * TEMPERED / BATCH**0.5
        place = ratios.sum() / BATCH**0.5 + log_prior(proposed) - log_prior(theta)
        noise = generator.normal(0, np.sqrt(2 - ratios.var()))
        if place + noise + generator.choice(centres, p=weights) > 0:
            state["theta"] = proposed

    def run() -> None:
        for _ in range(steps):
            one()

    return run, steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    records = mixture(options.records, seed=1).records["x"]
    contenders = {"floor: same arithmetic, no randomness": floor_steps(records)}
    many = [] if jax.devices()[0].platform == "cpu" else [8192]
    for chains in [1, 64, *many]:
        name = f"minibatch step, {chains:,} chains, each"
        contenders[name] = private_steps(records, chains)
        contenders[f"{name}, repl."] = private_steps(records, chains, replacement=True)
    contenders |= {
        "NumPy loop, batch by NumPy": published_steps(records, by_numpy=True),
        "NumPy loop, batch as published": published_steps(records, by_numpy=False),
    }
    measured = Rounds(contenders, options.rounds)
    floor, ours, *_ = contenders
    print(
        f"{options.records:,} records, batch {BATCH}, mixture, float32, "
        f"{jax.devices()[0].platform}"
    )
    print(f"{'':<42}{'µs a step':>10}{'against floor':>15}{'against ours':>14}")
    for name in contenders:
        print(
            f"{name:<42}{1e6 * measured.median(name):>10.2f}"
            f"{measured.ratio(name, floor):>14.2f}×{measured.ratio(name, ours):>13.2f}×"
        )


if __name__ == "__main__":
    main()
