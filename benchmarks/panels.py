# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What protecting persons costs, beside protecting single records.

Visits to a doctor in RAND's health insurance experiment (20,190 person-years of 5,912
persons), and a simulated panel of 100,000 persons: each private call is compared with
draws of NUTS from the same log density.

    python benchmarks/panels.py FOLDER --repeats 10 --processes 8 --out panels.json
    python benchmarks/panels.py --table panels.json

The folder holds ``rand_hie.parquet``, which is not part of the project; without it, the
simulated panel alone is run.
"""

import argparse
import json
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from _lines import grouped, middle
from jax.flatten_util import ravel_pytree
from numpyro.infer import MCMC, NUTS

import dpmcmc
from dpmcmc import models
from dpmcmc.model.units import unit_model
from dpmcmc.private.opening import open_on_host

DELTA = 1e-6
EPSILONS = (1.0, 2.0, 4.0)
MOST_YEARS, MOST_VISITS = 5, 80
SIMULATED = 100_000
_BOUNDS = {
    "coins": (0, 100),
    "income": (0, 30_000),
    "xage": (0, 65),
    "female": (0, 1),
    "disea": (0, 60),
}


class Case(NamedTuple):
    """A model, its table, and what is protected."""

    name: str
    model: dpmcmc.Model
    table: dict[str, np.ndarray]
    unit: str | None

    def records(self) -> dpmcmc.Records:
        """Seal the table, grouped by person or not."""
        if self.unit is not None:
            return dpmcmc.Records(self.table, unit=self.unit, most=MOST_YEARS)
        rows = {name: self.table[name] for name in ("x", "y")}
        return dpmcmc.Records(rows)


def rand(folder: Path) -> list[Case]:
    """Visits: as independent counts of records or persons, and with their effects."""
    frame = pd.read_parquet(folder / "rand_hie.parquet")
    scaled = [
        2 * (frame[name].to_numpy(float) - low) / (high - low) - 1
        for name, (low, high) in _BOUNDS.items()
    ]
    x = np.stack(scaled, axis=1).astype(np.float32)
    visits = frame["mdvis"].to_numpy(np.float32)
    table = {"person": frame["zper"].to_numpy(), "x": x, "y": visits}
    settings: dict[str, Any] = {"norm": np.sqrt(x.shape[1]), "most": MOST_VISITS}
    plain = models.poisson_regression(x.shape[1], **settings)
    panel = models.poisson_panel(x.shape[1], **settings)
    return [
        Case("visits, a record", plain, table, None),
        Case("visits, a person", plain, table, "person"),
        Case("visits, a person with an effect", panel, table, "person"),
    ]


def simulated() -> list[Case]:
    """Persons with one to five answers each, and an effect of sd 1."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(SIMULATED), rng.integers(1, 6, SIMULATED))
    x = rng.uniform(-1, 1, (len(person), 4)).astype(np.float32)
    effect = rng.standard_normal(SIMULATED)[person]
    eta = x @ [0.5, -0.5, 1.0, 0.0] - 0.5 + effect
    y = (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(np.float32)
    model = models.logistic_panel(4, norm=2.0)
    table = {"person": person, "x": x, "y": y}
    return [Case("simulated, a person with an effect", model, table, "person")]


def without_privacy(case: Case, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd of the posterior: by NUTS from its mode, or by its curvature there.

    With no draws it is taken as normal about its mode, as that of so many persons is.
    """
    records = case.records()
    model = case.model if case.unit is None else unit_model(case.model, MOST_YEARS)
    arrays, _ = open_on_host(records, np.float32)
    arrays = jax.tree.map(jnp.asarray, arrays)
    start, unravel = ravel_pytree(jax.tree.map(jnp.asarray, model.initial))

    def potential(flat: jax.Array) -> jax.Array:
        theta = unravel(flat)
        each = jax.vmap(lambda one: model.record_log_likelihood(theta, one))(arrays)
        return -jnp.sum(each) - model.log_prior(theta)

    look = jax.jit(lambda v: (jax.grad(potential)(v), jax.hessian(potential)(v)))
    at = start
    for _ in range(30):
        slope, curvature = map(np.asarray, look(at))
        values, vectors = np.linalg.eigh(curvature)
        move = vectors @ ((vectors.T @ slope) / np.maximum(np.abs(values), 1e-3))
        at = at - move * min(1.0, 1.0 / np.abs(move).max())
        if np.all(np.abs(move) < 0.02 / np.sqrt(np.abs(np.diag(curvature)))):
            break
    root = jnp.asarray(np.linalg.cholesky(np.linalg.inv(look(at)[1])))
    centre, constant = at, potential(at)
    if not draws:
        points = centre + jax.random.normal(jax.random.key(0), (4000, len(at))) @ root.T
        shown = jax.vmap(lambda v: ravel_pytree(_shown(model, unravel(v)))[0])(points)
        return np.asarray(shown.mean(0)), np.asarray(shown.std(0))
    kernel = NUTS(
        potential_fn=lambda v: potential(centre + root @ v) - constant,
        adapt_mass_matrix=False,
    )
    sampler = MCMC(kernel, num_warmup=100, num_samples=draws, progress_bar=False)
    sampler.run(jax.random.key(0), init_params=jnp.zeros_like(at))
    points = centre + sampler.get_samples() @ root.T
    shown = jax.vmap(lambda v: ravel_pytree(_shown(model, unravel(v)))[0])(points)
    return np.asarray(shown.mean(0)), np.asarray(shown.std(0))


def _shown(model: dpmcmc.Model, theta: Any) -> Any:
    return theta if model.transform is None else model.transform(theta)


def one_run(
    case: Case, exact: Any, epsilon: float, steps: int | None
) -> dict[str, Any]:
    """One private call, and how it compares."""
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            posterior = dpmcmc.sample(
                case.model,
                case.records(),
                epsilon=epsilon,
                delta=DELTA,
                steps=steps,
                progress=False,
            )
        except dpmcmc.NotUsableError as error:
            return {"verdict": "refused", "reason": error.reason}
    draws = np.concatenate(
        [
            np.reshape(leaf, (leaf.shape[0] * leaf.shape[1], -1))
            for leaf in jax.tree.leaves(posterior.draws)
        ],
        axis=1,
    )
    mean, sd = exact
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    verdict = posterior.statement.verdict
    return {
        "error": float(np.sqrt(np.mean(((draws.mean(0) - mean) / sd) ** 2))),
        "width": float(np.sqrt(np.mean((draws.std(0) / sd) ** 2))),
        "covered": float(np.mean((low <= mean) & (mean <= high))),
        "verdict": None if verdict is None else verdict.usability,
        "reason": None if verdict is None else verdict.reason,
        "seconds": time.perf_counter() - begun,
    }


def table(runs: list[dict[str, Any]]) -> None:
    """Print medians over runs: error and width in posterior sd without privacy."""
    print(
        "| protected | ε | runs | error | width | coverage of 90% | refused "
        "| not usable | seconds |"
    )
    print(f"|{' --- |' * 9}")
    for group in grouped(runs, lambda run: (run["case"], run["epsilon"])):
        done = [run for run in group if run["verdict"] != "refused"]
        numbers = ["–"] * 3
        seconds = "–"
        if done:
            covered = float(np.mean([run["covered"] for run in done]))
            numbers = [f"{middle(done, name):.2f}" for name in ("error", "width")]
            numbers.append(f"{covered:.0%}")
            seconds = f"{middle(done, 'seconds'):.0f}"
        cells = [group[0]["case"], f"{group[0]['epsilon']:g}", str(len(group))]
        bad = sum(run["verdict"] == "not usable" for run in done)
        cells += [*numbers, str(len(group) - len(done)), str(bad), seconds]
        print(f"| {' | '.join(cells)} |")


def cases(folder: Path | None) -> list[Case]:
    """All cases whose tables are there."""
    return [*(rand(folder) if folder else []), *simulated()]


class Task(NamedTuple):
    """One private call: which case, compared with what, at which ε."""

    folder: Path | None
    name: str
    exact: tuple[np.ndarray, np.ndarray]
    epsilon: float
    steps: int | None


def run_task(task: Task) -> dict[str, Any]:
    """Make the call, in any process."""
    (case,) = [one for one in _cases(task.folder) if one.name == task.name]
    found = one_run(case, task.exact, task.epsilon, task.steps)
    return {"case": case.name, "epsilon": task.epsilon, **found}


_cases = cache(cases)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument(
        "--draws", type=int, default=500, help="of NUTS; 0: by the mode"
    )
    parser.add_argument("--steps", type=int, help="of each chain; as many as usual")
    parser.add_argument("--only", default="", help="cases whose name begins so")
    parser.add_argument("--processes", type=int, default=1, help="calls at a time")
    parser.add_argument("--quick", action="store_true", help="one call, by the mode")
    parser.add_argument("--out", type=Path, help="one JSON file, new after each call")
    parser.add_argument("--table", type=Path, help="print the table of such a file")
    chosen = parser.parse_args()
    if chosen.table:
        table(json.loads(chosen.table.read_text())["runs"])
        return
    tasks = []
    for case in cases(chosen.folder):
        if not case.name.startswith(chosen.only):
            continue
        exact = without_privacy(case, 0 if chosen.quick else chosen.draws)
        epsilons = EPSILONS if case.name.startswith("visits") else (1.0,)
        for epsilon in epsilons[-1:] if chosen.quick else epsilons:
            task = Task(chosen.folder, case.name, exact, epsilon, chosen.steps)
            tasks += [task] * (1 if chosen.quick else chosen.repeats)
    runs = []
    with ProcessPoolExecutor(chosen.processes, get_context("spawn")) as pool:
        for found in as_completed([pool.submit(run_task, task) for task in tasks]):
            runs.append(found.result())
            if chosen.out:
                chosen.out.write_text(json.dumps({"delta": DELTA, "runs": runs}))
    table(runs)


if __name__ == "__main__":
    main()
