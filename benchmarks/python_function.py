# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A step on a plain Python log-likelihood against the same one traced, in one run.

Both are the normal log-density of one number; the chains make the same draws. Rounds
alternate, so that a noisy machine is noisy for both; ratios are of each round's times.
"""

import argparse
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _rounds import Rounds

from dpmcmc import Model, RandomWalk
from dpmcmc.model.python_function import PythonFunction
from dpmcmc.private import Chains, FullData, Grid, Records, Tape


def log_likelihood(theta: Any, record: Any) -> Any:
    return -0.5 * (record - theta) ** 2


def steps(model: Model, records: np.ndarray, count: int) -> Callable[[], None]:
    chains = Chains(
        model,
        Records(records),
        RandomWalk(0.01).fit(jnp.float32(0)),
        FullData(Grid(0.01)),
        Tape.fresh(),
        start=jnp.zeros(1),
        dtype="float32",
        chunk=count,
        devices=jax.local_devices(),
    )
    return lambda: jax.block_until_ready(chains.advance(count))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=10_240)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    records = np.random.default_rng(1).normal(size=options.records)
    contenders = {
        name: (steps(Model(function, lambda _: 0.0, 0.0), records, count), count)
        for name, function, count in [
            ("traced by JAX", log_likelihood, 2000),
            ("called in Python", PythonFunction(log_likelihood), 2),
        ]
    }
    measured = Rounds(contenders, options.rounds)
    traced, called = contenders
    print(f"{options.records:,} records, normal, float32, {jax.devices()[0].platform}")
    print(f"{'':<20}{'ms a step':>12}{'ns a record':>14}")
    for name in contenders:
        step = measured.median(name)
        print(f"{name:<20}{1e3 * step:>12.3f}{1e9 * step / options.records:>14.1f}")
    slower = measured.ratio(called, traced)
    print(f"A Python function is {slower:,.0f} times as slow as a traced one.")


if __name__ == "__main__":
    main()
