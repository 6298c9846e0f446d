# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How far off one private call is, on real tables, wrong models and right ones.

A call is `dpmcmc.sample` with a plain NumPyro model and nothing else. It is compared
with the posterior without privacy: mode and curvature of the log-likelihood by Newton's
method in float64, which for so many records are its mean and sd to a hundredth.

    python benchmarks/real_tables.py FOLDER --processes 8 --repeats 5 --out runs.jsonl
    python benchmarks/real_tables.py FOLDER --fixed --repeats 5 --out fixed.jsonl
    python benchmarks/real_tables.py --table runs.jsonl fixed.jsonl

The folder holds the real tables, which are not part of the project: UCI Adult, CDC
BRFSS 2015, ACS 2018 income, RAND health insurance, New York flights 2013 and MEPS 2003,
as Parquet files. Without it, made tables alone are run.
"""

import argparse
import json
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
from _accuracy_tables import tables
from _regressions import (
    MODELS,
    REAL,
    RIGHT,
    WRONG,
    Regression,
    log_likelihood,
    made,
    real,
)

import dpmcmc
from dpmcmc.accounting import largest
from dpmcmc.sampling.fit.tails import Tail
from dpmcmc.sampling.gaussian_budget import USUAL_SPLIT

DELTA = 1e-6
_WIDE = 1000.0
_BOUNDS = (2.0, 3.0, 4.5, 6.5, 10.0, 15.0, 22.0, 33.0)
"""Bounds on gradients, in typical lengths, of which the best is found by trying."""

_TRIALS = 2
"""Runs with each of them; the best one is then run anew."""


class Exact(NamedTuple):
    """Mean and sd of the posterior without privacy."""

    mean: np.ndarray
    sd: np.ndarray


def without_privacy(given: Regression) -> Exact:
    """Newton's method in float64, halving steps that lead down."""
    with jax.enable_x64(True):
        records = {n: jnp.asarray(c, jnp.float64) for n, c in given.records.items()}
        size = records["x"].shape[1]
        scale = jnp.sqrt(jnp.mean(records["x"] ** 2, axis=0))
        count = size + (given.kind in ("linear", "negative binomial"))
        units = jnp.concatenate([1 / scale, jnp.ones(count - size)])

        def height(v: jax.Array, records: Any) -> jax.Array:
            flat = v * units
            prior = -0.5 * jnp.sum((flat[:size] / _WIDE) ** 2)
            prior -= 0.5 * jnp.sum((flat[size:] / 10) ** 2)
            return jnp.sum(log_likelihood(given.kind, flat, records)) + prior

        every = jax.jit(
            lambda *of: (height(*of), jax.grad(height)(*of), jax.hessian(height)(*of))
        )

        def look(v: jax.Array) -> tuple[jax.Array, ...]:
            return every(v, records)  # not closed over: constants compile slowly

        v = jnp.zeros(count)
        if given.kind == "linear":
            v = v.at[-1].set(jnp.log(jnp.std(records["y"])))
        here = look(v)
        for _ in range(100):
            values, vectors = np.linalg.eigh(-np.asarray(here[2]))
            sizes = np.maximum(np.abs(values), 1e-9 * np.abs(values).max())
            move = vectors @ ((vectors.T @ np.asarray(here[1])) / sizes)
            there = look(v + move)
            while not there[0] >= here[0] and np.abs(move).max() > 1e-12:
                move = move / 2
                there = look(v + move)
            v, here = v + move, there
            if np.abs(move).max() < 1e-10:
                break
        covariance = np.linalg.inv(-np.asarray(here[2]))
        units = np.asarray(units)
        return Exact(np.asarray(v) * units, np.sqrt(np.diag(covariance)) * units)


def with_hindsight(
    given: Regression, exact: Exact, mus: Sequence[float]
) -> list[float]:
    """The error of one release of gradients at the mode, by the best bound there is.

    It has normal noise and, for each μ, three quarters of the budget μ²; and it knows
    the mode, the curvature and the lengths of all gradients. No one can; it says what
    the bounds that a fit chooses lose.
    """
    with jax.enable_x64(True):
        one = {n: jnp.asarray(c, jnp.float64) for n, c in given.records.items()}
        root = np.sqrt(len(given.records["y"]))

        def height(v: jax.Array, record: Any) -> jax.Array:
            row = jax.tree.map(lambda column: column[None], record)
            return log_likelihood(given.kind, exact.mean + exact.sd * v, row)[0]

        @jax.jit
        def look(records: Any) -> tuple[jax.Array, jax.Array]:
            at = jnp.zeros(len(exact.mean))
            each = jax.vmap(jax.grad(height), (None, 0))(at, records)
            all_of_them = jax.hessian(
                lambda v: jnp.sum(jax.vmap(height, (None, 0))(v, records))
            )
            return each, all_of_them(at)

        gradients, hessian = (np.asarray(part) for part in look(one))
    values, vectors = np.linalg.eigh(-hessian)
    spread = vectors / np.sqrt(values)  # coordinates in sd, of whitened ones
    gradients = root * gradients @ spread
    metric = np.mean(gradients**2, axis=0) ** 0.25
    lengths = np.linalg.norm(gradients / metric, axis=1)
    errors = []
    for bound in np.exp(np.linspace(*np.log([np.mean(lengths), lengths.max()]), 60)):
        kept = np.minimum(1, bound / np.maximum(lengths, 1e-300))
        shift = spread @ np.sum(gradients * kept[:, None], axis=0) / root
        noise = 2 * bound / (np.array(mus) * np.sqrt(0.75)) / root
        errors.append(np.mean(shift**2) + noise**2 * np.mean(spread**2 @ metric**2))
    return [float(one) for one in np.sqrt(np.min(errors, axis=0))]


@contextmanager
def bound_fixed(bound: float) -> Iterator[None]:
    """Let fits clip gradients at a bound, whatever their histograms say."""
    choose = Tail.choose

    def chosen(
        self: Tail, noise: float, least: float, quantile: float | None = None
    ) -> float:
        if quantile is None:  # Hessians are bounded as ever
            return choose(self, noise, least)
        return bound

    with patch.object(Tail, "choose", chosen):
        yield


def model_of(given: Regression) -> dpmcmc.Model:
    """The model, made once, so that its programs are compiled once."""
    one = jax.tree.map(
        lambda column: jax.ShapeDtypeStruct(column.shape[1:], column.dtype),
        given.records,
    )
    return dpmcmc.NumPyro(MODELS[given.kind]).for_records(len(given.records["y"]), one)


def one_run(
    model: dpmcmc.Model,
    given: Regression,
    exact: Exact,
    epsilon: float,
    steps: int | None,
) -> dict[str, Any]:
    """One private call, and how it compares."""
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            posterior = dpmcmc.sample(
                model,
                given.records,
                epsilon=epsilon,
                delta=DELTA,
                steps=steps,
                progress=False,
            )
        except dpmcmc.NotUsableError as error:
            return {"verdict": "refused", "reason": error.reason}
    seconds = time.perf_counter() - begun
    names = [n for n in ("b", "sigma", "size") if n in posterior.draws]
    flat = [
        posterior.draws[n].reshape(-1, *posterior.draws[n].shape[2:]) for n in names
    ]
    flat = [
        f if n == "b" else np.log(f)[:, None] for n, f in zip(names, flat, strict=True)
    ]
    draws = np.concatenate(flat, axis=1).astype(np.float64)
    mean, sd = draws.mean(0), draws.std(0)
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    verdict = posterior.statement.verdict
    assert verdict is not None
    fit = next(row for row in posterior.statement.stages if row.name == "fit")
    return {
        "error": float(np.sqrt(np.mean(((mean - exact.mean) / exact.sd) ** 2))),
        "worst": float(np.max(np.abs(mean - exact.mean) / exact.sd)),
        "own": float(np.max(np.abs(mean - exact.mean) / sd)),
        "covered": float(np.mean((low <= exact.mean) & (exact.mean <= high))),
        "width": float(np.sqrt(np.mean((sd / exact.sd) ** 2))),
        "verdict": verdict.usability,
        "reason": verdict.reason,
        "rounds": fit.numbers["rounds"],
        "misfit": fit.numbers["misfit"],
        "seconds": seconds,
    }


def regressions(
    name: str, seeds: range, folder: Path | None
) -> Iterator[tuple[Regression, Exact]]:
    """A regression for each run: a real table every time, or one made anew."""
    if name not in REAL:
        for seed in seeds:
            given = made(name, seed)
            yield given, without_privacy(given)
        return
    assert folder is not None
    given = real(name, folder)
    exact = without_privacy(given)
    for _ in seeds:
        yield given, exact


class Task(NamedTuple):
    """Some runs of one regression with each budget."""

    name: str
    epsilons: Sequence[float]
    seeds: range
    steps: int | None
    folder: Path | None


def runs_of(task: Task) -> list[dict[str, Any]]:
    """Make them in one process, so that programs compile once."""
    name, epsilons, seeds, steps, folder = task
    runs: list[dict[str, Any]] = []
    model, hindsight, before = None, [0.0], None
    for given, exact in regressions(name, seeds, folder):
        model = model or model_of(given)
        records = len(given.records["y"])
        split = partial(USUAL_SPLIT.events, records=records)
        if exact is not before:
            mus = [largest(split, epsilon, DELTA) for epsilon in epsilons]
            hindsight, before = with_hindsight(given, exact, mus), exact
        about = {"row": name, "kind": given.kind, "records": records}
        about |= {"size": len(exact.mean)}
        for epsilon, best in zip(epsilons, hindsight, strict=True):
            found = one_run(model, given, exact, epsilon, steps)
            runs.append({**about, "epsilon": epsilon, "hindsight": best, **found})
    return runs


def runs_with_best_bound(task: Task) -> list[dict[str, Any]]:
    """The same calls, with the bound that was found best by trying each."""
    name, epsilons, seeds, steps, folder = task
    cases = list(regressions(name, range(max(_TRIALS, len(seeds))), folder))
    model = model_of(cases[0][0])

    def runs(epsilon: float, bound: float, count: int) -> list[dict[str, Any]]:
        with bound_fixed(bound):
            return [one_run(model, *case, epsilon, steps) for case in cases[:count]]

    def error(epsilon: float, bound: float) -> float:
        errors = [run.get("error", np.inf) for run in runs(epsilon, bound, _TRIALS)]
        return float(np.mean(np.square(errors)))

    found: list[dict[str, Any]] = []
    for epsilon in epsilons:
        best = min(_BOUNDS, key=partial(error, epsilon))
        about = {"row": name, "epsilon": epsilon, "bound": best}
        found += [{**about, **run} for run in runs(epsilon, best, len(seeds))]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--rows", default="all", help="names, separated by semicolons")
    parser.add_argument("--epsilons", default="0.5,1,2,4")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument(
        "--fixed", action="store_true", help="with the best fixed bound on gradients"
    )
    parser.add_argument("--steps", type=int, default=None, help="of each chain")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=None, help="a file of lines")
    parser.add_argument("--table", type=Path, nargs="+", default=None)
    given = parser.parse_args()
    if given.table is not None:
        lines = [line for path in given.table for line in path.open()]
        print("\n".join(tables([json.loads(line) for line in lines])))
        return
    names = [*(REAL if given.folder is not None else ()), *WRONG, *RIGHT]
    if given.folder is None:
        print("Real tables are left out, since no folder that holds them was given.")
    if given.rows != "all":
        names = given.rows.split(";")
    epsilons = [float(part) for part in given.epsilons.split(",")]
    # First runs of every cell first, so that what is made in time is balanced.
    half = 0 if given.fixed else given.repeats // 2
    tasks = [
        Task(name, epsilons, seeds, given.steps, given.folder)
        for seeds in (range(half, given.repeats), range(half))
        for name in names
        if seeds
    ]
    runs: list[dict[str, Any]] = []
    pool = ProcessPoolExecutor(given.processes, mp_context=get_context("spawn"))
    with pool:
        make = runs_with_best_bound if given.fixed else runs_of
        for future in as_completed([pool.submit(make, task) for task in tasks]):
            runs += future.result()
            if given.out is not None:
                with given.out.open("a") as file:
                    file.writelines(f"{json.dumps(run)}\n" for run in future.result())
    print("\n".join(tables(runs)))


if __name__ == "__main__":
    main()
