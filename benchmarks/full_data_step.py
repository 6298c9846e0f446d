# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A private full-data step against its floor and against plain NumPy, in one run.

The floor is what no sampler can avoid: one jitted evaluation of the summed
log-likelihood on the same records, in a compiled loop. The peer is a NumPy loop that
does the same step, unless ``--no-numpy`` leaves it out.
Rounds of all alternate, so that a noisy machine is noisy for each; the table
shows medians, and ratios of each round's times.
"""

import argparse
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from _problems import Problem, mixture
from _rounds import Rounds

from dpmcmc.private import Chains, FullData, Grid, Records, Tape
from dpmcmc.proposals import RandomWalk

CLIP = 0.006
SCALE = 1e-3
STEPS = 50


def private_step(problem: Problem, chains: int) -> Callable[[], None]:
    start = {"mean": jnp.float32(0.0), "gap": jnp.float32(1.0)}
    run = Chains(
        problem.model,
        Records(problem.records),
        RandomWalk(SCALE).fit(start),
        FullData(Grid(CLIP)),
        Tape.fresh(),
        start=jax.tree.map(lambda leaf: jnp.stack([leaf] * chains), start),
        dtype="float32",
        chunk=STEPS,
        devices=jax.local_devices(),
    )
    return lambda: jax.block_until_ready(run.advance(STEPS))


def bare_evaluation(problem: Problem) -> Callable[[], None]:
    placed = jax.tree.map(jnp.asarray, problem.records)

    @jax.jit
    def totals(gap: jax.Array, records: dict[str, jax.Array]) -> jax.Array:
        def evaluate(step: int, sum_: jax.Array) -> jax.Array:
            theta = {"mean": 1e-3 * step, "gap": gap}
            likelihoods = jax.vmap(problem.model.log_likelihood, in_axes=(None, 0))
            each = likelihoods(theta, records)
            return sum_ + jnp.sum(each)

        return jax.lax.fori_loop(0, STEPS, evaluate, jnp.float32(0))

    return lambda: jax.block_until_ready(totals(jnp.float32(1), placed))


def numpy_step(records: np.ndarray) -> Callable[[], None]:
    generator = np.random.default_rng(0)
    scale = np.float32(2**0.5)
    constant = np.float32(np.log(2 * np.pi) / 2 + np.log(scale))
    state = {"theta": np.array([0.0, 1.0], np.float32)}

    def log_likelihood(theta: np.ndarray) -> np.ndarray:
        first = -0.5 * ((records - theta[0]) / scale) ** 2 - constant
        second = -0.5 * ((records - theta[0] - theta[1]) / scale) ** 2 - constant
        return np.logaddexp(first, second) - np.float32(np.log(2))

    state["cache"] = log_likelihood(state["theta"])

    def run() -> None:
        theta = state["theta"]
        proposed = theta + np.float32(SCALE) * generator.standard_normal(2, np.float32)
        cache = log_likelihood(proposed)
        ratios = np.nan_to_num(cache - state["cache"], nan=0.0)
        steps = np.rint(np.clip(ratios, -CLIP, CLIP) * (2**20 / CLIP)).astype(np.int64)
        log_odds = steps.sum() * CLIP / 2**20
        if generator.random() < 1 / (1 + np.exp(-log_odds)):
            state.update(theta=proposed, cache=cache)

    return run


def repeated(problem: Problem, count: int) -> Problem:
    """The same records over and over, up to a number that takes long to simulate."""
    return problem._replace(records={"x": np.resize(problem.records["x"], count)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--no-numpy", action="store_true")
    options = parser.parse_args()
    problem = repeated(mixture(min(options.records, 10**6), seed=1), options.records)
    contenders = {
        "bare jitted log-likelihood (floor)": (bare_evaluation(problem), STEPS),
        "private step, 1 chain": (private_step(problem, 1), STEPS),
        "private step, 4 chains, each": (private_step(problem, 4), 4 * STEPS),
    }
    if not options.no_numpy:
        contenders["NumPy loop, same step"] = (numpy_step(problem.records["x"]), 1)
    measured = Rounds(contenders, options.rounds)
    floor, ours, *_ = contenders
    print(f"{options.records:,} records, mixture, float32, {jax.devices()[0].platform}")
    print(f"{'':<38}{'ms a step':>10}{'ns a record':>13}{'against floor':>15}")
    for name in contenders:
        step = measured.median(name)
        print(
            f"{name:<38}{1e3 * step:>10.3f}{1e9 * step / options.records:>13.3f}"
            f"{measured.ratio(name, floor):>14.2f}×"
        )
    # It reads a record and a cached number and writes one, at 4 bytes each.
    moved = 3 * 4 * options.records / measured.median(ours) / 1e9
    print(f"One chain moves at least 12 bytes a record: {moved:.1f} GB/s.")


if __name__ == "__main__":
    main()
