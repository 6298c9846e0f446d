# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Logistic regressions on real tables: one private call, against NUTS.

The tables are ``adult.parquet`` (UCI Adult), ``brfss2015_diabetes.parquet`` (CDC BRFSS
2015) and ``acs_income_2018_us.parquet`` (ACS 2018), which are not part of the project:

    python benchmarks/real_tables.py FOLDER [--repeats 3] [--epsilons 0.5 1 2 4]
"""

import argparse
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

import dpmcmc

Spec = tuple[str, str, Any, dict[str, tuple[float, float]]]

TABLES: list[Spec] = [
    (
        "adult.parquet",
        "income",
        lambda column: (column == ">50K").to_numpy(float),
        {
            "age": (17, 90),
            "education_num": (1, 16),
            "hours_per_week": (1, 99),
            "sex": (0, 1),
        },
    ),
    (
        "brfss2015_diabetes.parquet",
        "Diabetes_binary",
        lambda column: column.to_numpy(float),
        {
            "HighBP": (0, 1),
            "HighChol": (0, 1),
            "BMI": (12, 60),
            "Age": (1, 13),
            "GenHlth": (1, 5),
            "Sex": (0, 1),
        },
    ),
    (
        "acs_income_2018_us.parquet",
        "PINCP",
        lambda column: column.to_numpy(float),
        {"AGEP": (16, 95), "SCHL": (1, 24), "WKHP": (1, 99), "SEX": (1, 2)},
    ),
]


def log_likelihood(theta: Any, record: Any) -> Any:
    score = theta["intercept"] + record["x"] @ theta["slopes"]
    return record["y"] * score - jax.nn.softplus(score)


def log_prior(theta: Any) -> Any:
    return -0.5 * (theta["intercept"] ** 2 + jnp.sum(theta["slopes"] ** 2)) / 2.5**2


def read(path: Path, spec: Spec) -> dict[str, np.ndarray]:
    """Columns scaled to [−1, 1] by public bounds."""
    _, outcome, encode, bounds = spec
    frame = pd.read_parquet(path, columns=[outcome, *bounds])
    if spec[0].startswith("adult"):
        frame["sex"] = (frame["sex"] == "Male").astype(float)
    columns = [
        np.clip(2 * (frame[name].to_numpy(float) - low) / (high - low) - 1, -1, 1)
        for name, (low, high) in bounds.items()
    ]
    return {"x": np.stack(columns, axis=1), "y": encode(frame[outcome])}


def nuts(records: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Means and deviations by NumPyro's NUTS, of intercept and slopes."""
    from numpyro.infer import MCMC, NUTS  # noqa: PLC0415 - slow to import

    x, y = (
        jnp.asarray(records["x"], jnp.float32),
        jnp.asarray(records["y"], jnp.float32),
    )

    def potential(theta: Any) -> Any:
        score = theta["intercept"] + x @ theta["slopes"]
        return -jnp.sum(y * score - jax.nn.softplus(score)) - log_prior(theta)

    mcmc = MCMC(
        NUTS(potential_fn=potential, dense_mass=True),
        num_warmup=300,
        num_samples=600,
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), init_params=start(records))
    return flat_moments(mcmc.get_samples())


def start(records: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {"intercept": np.zeros(()), "slopes": np.zeros(records["x"].shape[1])}


def flat_moments(draws: Any) -> tuple[np.ndarray, np.ndarray]:
    flat = np.column_stack([draws["intercept"], draws["slopes"]])
    return flat.mean(axis=0), flat.std(axis=0)


def private(records: dict[str, np.ndarray], epsilon: float) -> tuple[Any, float]:
    model = dpmcmc.Model(log_likelihood, log_prior, start(records))
    begun = time.perf_counter()
    posterior = dpmcmc.sample(
        model, records, epsilon=epsilon, delta=1e-6, progress=False
    )
    return posterior, time.perf_counter() - begun


def row(
    records: dict[str, np.ndarray], reference: Any, epsilon: float, repeats: int
) -> str:
    mean, deviation = reference
    off, ratios, covered, sizes, times = [], [], [], [], []
    for _ in range(repeats):
        posterior, seconds = private(records, epsilon)
        honest = {name: values[0] for name, values in posterior.honest.items()}
        mine, width = flat_moments(honest)
        flat = np.column_stack([honest["intercept"], honest["slopes"]])
        low, high = np.quantile(flat, [0.05, 0.95], axis=0)
        off.append(np.sqrt(np.mean(((mine - mean) / deviation) ** 2)))
        ratios.append(width / deviation)
        covered.append((low <= mean) & (mean <= high))
        sizes.append(posterior.summary()["ess_bulk"].min())
        times.append(seconds)
    return (
        f"{epsilon:>5g}  {np.median(off):>8.2f}  {np.min(ratios):>5.2f}–"
        f"{np.max(ratios):<5.2f}  {np.mean(covered):>7.0%}  {np.median(sizes):>5.0f}"
        f"  {np.median(times):>6.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.5, 1, 2, 4])
    given = parser.parse_args()
    if given.folder is None or not given.folder.is_dir():
        print("Real tables: left out, since no folder that holds them was given.")
        return
    for spec in TABLES:
        records = read(given.folder / spec[0], spec)
        begun = time.perf_counter()
        reference = nuts(records)
        seconds = time.perf_counter() - begun
        print(
            f"\n{spec[0]}: {len(records['y']):,} records, {len(spec[3])} slopes; NUTS"
        )
        print(f"took {seconds:.0f} s. δ = 1e-6, {given.repeats} repeats, medians.")
        print("    ε  mean off  sd ratio      covered    ess  seconds")
        for epsilon in given.epsilons:
            print(row(records, reference, epsilon, given.repeats), flush=True)
    print("\nmean off: rms over coefficients, in posterior deviations of NUTS.")
    print("covered: NUTS means inside noise-aware 90% intervals.")


if __name__ == "__main__":
    main()
