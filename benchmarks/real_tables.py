# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Logistic regressions on real tables: one private call, against NUTS.

The tables are ``adult.parquet`` (UCI Adult), ``brfss2015_diabetes.parquet`` (CDC BRFSS
2015) and ``acs_income_2018_us.parquet`` (ACS 2018), which are not part of the project.
A call is `sample` with the ready model, whose columns are prepared by public bounds,
and nothing else. Rows can be made in pieces and in many processes:

    python benchmarks/real_tables.py FOLDER --rows adult,brfss --epsilons 1,4 \
        --repeats 10 --out runs/real.jsonl
    python benchmarks/real_tables.py --table runs
"""

import argparse
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from _accuracy import Reference, flat, grouped, keep, lines, middle, score, share, span

from dpmcmc import models, sample
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Clamp, Preparation, Scale, Stack

DELTA = 1e-6

Range = tuple[float, float]


@dataclass(frozen=True)
class Row:
    """A table: its file, what is explained, and public ranges of what explains."""

    title: str
    file: str
    outcome: str
    encode: Callable[[Any], np.ndarray]
    bounds: Mapping[str, Range]


def _as_is(column: Any) -> np.ndarray:
    return np.asarray(column.to_numpy(), np.float32)


ADULT: dict[str, Range] = {
    "age": (17, 90),
    "education_num": (1, 16),
    "hours_per_week": (1, 99),
    "sex": (0, 1),
}

ROWS = {
    "adult": Row(
        "UCI Adult, 4 columns",
        "adult.parquet",
        "income",
        lambda column: (column == ">50K").to_numpy(np.float32),
        ADULT,
    ),
    # nearly always zero, sometimes huge: a few records tell nearly all of its slope
    "adult-gain": Row(
        "UCI Adult, with capital gain",
        "adult.parquet",
        "income",
        lambda column: (column == ">50K").to_numpy(np.float32),
        {**ADULT, "capital_gain": (0, 99_999)},
    ),
    "brfss": Row(
        "CDC BRFSS 2015, 6 columns",
        "brfss2015_diabetes.parquet",
        "Diabetes_binary",
        _as_is,
        {
            "HighBP": (0, 1),
            "HighChol": (0, 1),
            "BMI": (12, 60),
            "Age": (1, 13),
            "GenHlth": (1, 5),
            "Sex": (0, 1),
        },
    ),
    "acs": Row(
        "ACS 2018 income, 4 columns",
        "acs_income_2018_us.parquet",
        "PINCP",
        _as_is,
        {"AGEP": (16, 95), "SCHL": (1, 24), "WKHP": (1, 99), "SEX": (1, 2)},
    ),
}


def read(folder: Path, row: Row) -> dict[str, np.ndarray]:
    """The columns as they are, and the outcome."""
    frame = pd.read_parquet(folder / row.file, columns=[row.outcome, *row.bounds])
    if "sex" in row.bounds:
        frame["sex"] = (frame["sex"] == "Male").astype(np.float32)
    columns = {name: _as_is(frame[name]) for name in row.bounds}
    return {**columns, "y": row.encode(frame[row.outcome])}


def stated(row: Row) -> Model:
    """Logistic regression on columns scaled to [−1, 1] by their public ranges."""
    steps = {
        name: [Clamp(low, high), Scale(low, high, to=(-1.0, 1.0))]
        for name, (low, high) in row.bounds.items()
    }
    before = Preparation({**steps, "x": Stack(list(row.bounds))})
    size = len(row.bounds)
    return models.logistic_regression(size, norm=size**0.5, before=before)


def nuts(model: Model, records: dict[str, np.ndarray]) -> Reference:
    """Draws by NumPyro's NUTS on the same records."""
    from numpyro.infer import MCMC, NUTS  # noqa: PLC0415 - slow to import

    assert model.preparation is not None
    prepared = jax.jit(jax.vmap(model.preparation))(records)
    x, y = prepared["x"], prepared["y"]

    def potential(theta: Any) -> Any:
        logit = x @ theta["coefficients"] + theta["intercept"]
        return -jnp.sum(y * logit - jax.nn.softplus(logit)) - model.log_prior(theta)

    kernel = NUTS(potential_fn=potential, dense_mass=True)
    mcmc = MCMC(kernel, num_warmup=400, num_samples=1000, progress_bar=False)
    mcmc.run(jax.random.key(0), init_params=model.initial)
    drawn = mcmc.get_samples()
    points = np.column_stack([drawn["coefficients"], drawn["intercept"]])
    points = points.astype(np.float64)
    return Reference(points.mean(0), points.std(0), points)


def one_run(
    model: Model, records: dict[str, np.ndarray], epsilon: float, exact: Reference
) -> dict[str, Any]:
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the choice is kept, and says it
        posterior = sample(model, records, epsilon=epsilon, delta=DELTA, progress=False)
    seconds = time.perf_counter() - begun
    assert posterior.statement.epsilon <= epsilon
    choice = str(posterior.settings["choice"]).split("\n\n")[0]
    return {**score(exact, *flat(posterior)), "choice": choice, "seconds": seconds}


HEADER = (
    "| table | N | ε | mean off (rms, sd) | worst | noise-aware sd ratio | covered | "
    "ESS | s | NUTS, s | runs |\n|" + " --- |" * 11
)


def table(paths: list[Path]) -> None:
    """Print medians over runs."""
    names = list(ROWS)
    print(HEADER)
    for runs in grouped(
        [run for run in lines(paths) if run["table"] == "real"],
        lambda run: (names.index(run["row"]), run["epsilon"]),
    ):
        first = runs[0]
        print(
            f"| {ROWS[first['row']].title} | {first['records']:,} | "
            f"{first['epsilon']:g} | {middle(runs, 'off'):.2f} | "
            f"{middle(runs, 'worst'):.2f} | {span(runs, 'aware')} | "
            f"{share(runs, 'covered')} | {middle(runs, 'ess'):.0f} | "
            f"{middle(runs, 'seconds'):.0f} | {middle(runs, 'nuts_seconds'):.0f} | "
            f"{len(runs)} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--rows", default="all", help="names, or 'all'")
    parser.add_argument("--epsilons", default="0.5,1,2,4")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--out", type=Path, default=None, help="a file of lines")
    parser.add_argument("--table", type=Path, nargs="+", default=None)
    given = parser.parse_args()
    if given.table is not None:
        table(given.table)
        return
    if given.folder is None or not given.folder.is_dir():
        print("Real tables: left out, since no folder that holds them was given.")
        return
    for name in ROWS if given.rows == "all" else given.rows.split(","):
        row = ROWS[name]
        records, model = read(given.folder, row), stated(row)
        begun = time.perf_counter()
        exact = nuts(model, records)
        about = {
            "table": "real",
            "row": name,
            "records": len(records["y"]),
            "nuts_seconds": time.perf_counter() - begun,
        }
        for epsilon in map(float, given.epsilons.split(",")):
            for _ in range(given.repeats):
                run = one_run(model, records, epsilon, exact)
                keep({**about, "epsilon": epsilon, **run}, given.out)


if __name__ == "__main__":
    main()
