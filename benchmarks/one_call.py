# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""One private call against NumPyro's NUTS on the same records and model, in one run.

The model is a logistic regression in NumPyro, and `dpmcmc.sample` is given it with a
budget and nothing else. NUTS makes four chains of 1,000 steps, 250 of them to warm up,
as the call does. The first call of each compiles; the second is given the same model.
Compilations are counted by JAX's own monitoring. Planning, which is part of a call, is
timed once more alone, with nothing kept of its certificates.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.monitoring
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS

import dpmcmc
from dpmcmc.accounting.barker import bounded_range_blocks
from dpmcmc.sampling.problem import make_problem
from dpmcmc.sampling.sample import plan_run

EPSILON, DELTA = 1.0, 1e-6
_COMPILED = "/jax/core/compile/backend_compile_duration"


def model(x: Any, y: Any) -> None:
    """Logistic regression; the first column of x is 1."""
    b = numpyro.sample("b", dist.Normal(0, 10).expand([x.shape[-1]]).to_event(1))
    with numpyro.plate("records", len(y)):
        numpyro.sample("y", dist.Bernoulli(logits=x @ b), obs=y)


def simulated(count: int, size: int) -> dict[str, np.ndarray]:
    """Records of the model, with normal covariates."""
    generator = np.random.default_rng(0)
    x = generator.standard_normal((count, size)).astype(np.float32)
    x[:, 0] = 1
    y = generator.logistic(size=count) < x @ np.linspace(-0.5, 0.5, size)
    return {"x": x, "y": y.astype(np.int32)}


class Call(NamedTuple):
    """What a call took."""

    seconds: float
    compilations: int


def timed(job: Callable[[], object]) -> Call:
    """Run a job, and count what it compiles."""
    seen = []

    def listen(event: str, _: float, **__: Any) -> None:
        if event == _COMPILED:
            seen.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    start = time.perf_counter()
    job()
    seconds = time.perf_counter() - start
    count = len(seen)
    jax.monitoring.clear_event_listeners()
    return Call(seconds, count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--size", type=int, default=5, help="coefficients")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    records = simulated(options.records, options.size)
    budget = {"epsilon": EPSILON, "delta": DELTA}

    def private() -> None:
        try:
            posterior = dpmcmc.sample(model, records, **budget, progress=False)
        except dpmcmc.NotUsableError as error:
            verdicts.append(f"refused, {error.reason}")
        else:
            verdicts.append(posterior.statement.verdict)

    def nuts() -> None:
        chains = MCMC(
            NUTS(model),
            num_warmup=250,
            num_samples=750,
            num_chains=4,
            chain_method="sequential",
            progress_bar=False,
        )
        chains.run(jax.random.key(0), **records)
        jax.block_until_ready(chains.get_samples())

    verdicts: list[Any] = []
    ours, theirs = [], []
    for _ in range(2):
        ours.append(timed(private))
        theirs.append(timed(nuts))
    print(
        f"Logistic regression, {options.records:,} records, d = {options.size}, "
        f"ε = {EPSILON:g}, {jax.devices()[0].platform}"
    )
    print(
        f"{'':<14}{'sample, s':>11}{'compiled':>10}{'NUTS, s':>10}{'compiled':>10}"
        f"{'ratio':>8}"
    )
    for name, one, other in zip(
        ("first call", "second call"), ours, theirs, strict=True
    ):
        print(
            f"{name:<14}{one.seconds:>11.2f}{one.compilations:>10}"
            f"{other.seconds:>10.2f}{other.compilations:>10}"
            f"{one.seconds / other.seconds:>7.2f}×"
        )
    bounded_range_blocks.cache_clear()
    problem = make_problem(model, records, start=None, precision=None, devices=None)
    plan = timed(lambda: plan_run(problem, None, **budget))
    print(f"Planning alone: {plan.seconds:.2f} s.")
    for verdict in verdicts:
        print(f"Verdict: {verdict}")


if __name__ == "__main__":
    main()
