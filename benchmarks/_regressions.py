# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Regressions for accuracy tables: real tables, wrong models on purpose, right ones.

Columns are as they are in the files: raw money, codes and skewed ones included. Models
are plain NumPyro models with wide priors; nothing is scaled, bounded or chosen.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd

_WIDE = 1000.0


class Regression(NamedTuple):
    """A table with its model: ``kind`` names the model, ``records`` are its columns."""

    kind: str
    records: dict[str, np.ndarray]


def _coefficients(size: int) -> Any:
    return numpyro.sample("b", dist.Normal(0, _WIDE).expand([size]).to_event(1))


def logistic(x: Any, y: Any) -> None:
    eta = x @ _coefficients(x.shape[-1])
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.Bernoulli(logits=eta), obs=y)


def linear(x: Any, y: Any) -> None:
    mean = x @ _coefficients(x.shape[-1])
    sigma = numpyro.sample("sigma", dist.LogNormal(0, 10))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.Normal(mean, sigma), obs=y)


def poisson(x: Any, y: Any) -> None:
    rate = jnp.exp(x @ _coefficients(x.shape[-1]))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.Poisson(rate), obs=y)


def exposed(x: Any, y: Any, exposure: Any) -> None:
    rate = exposure * jnp.exp(x @ _coefficients(x.shape[-1]))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.Poisson(rate), obs=y)


def negative_binomial(x: Any, y: Any) -> None:
    mean = jnp.exp(x @ _coefficients(x.shape[-1]))
    size = numpyro.sample("size", dist.LogNormal(0, 10))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.NegativeBinomial2(mean, size), obs=y)


MODELS: dict[str, Callable[..., None]] = {
    "logistic": logistic,
    "linear": linear,
    "Poisson": poisson,
    "Poisson with exposure": exposed,
    "negative binomial": negative_binomial,
}


def log_likelihood(kind: str, flat: jax.Array, records: Any) -> jax.Array:
    """The log-likelihood of each record, written apart from NumPyro's, in float64."""
    x, y = records["x"], records["y"]
    size = x.shape[1]
    eta = x @ flat[:size]
    if kind == "logistic":
        return y * eta - jax.nn.softplus(eta)
    if kind == "linear":
        return -flat[size] - 0.5 * ((y - eta) * jnp.exp(-flat[size])) ** 2
    if kind.startswith("Poisson"):
        exposure = records.get("exposure", 1.0)
        return y * eta - exposure * jnp.exp(eta)
    r = jnp.exp(flat[size])
    gamma = jax.scipy.special.gammaln
    return (
        gamma(y + r)
        - gamma(r)
        + r * flat[size]
        + y * eta
        - (y + r) * jnp.logaddexp(eta, flat[size])
    )


def _with_one(frame: pd.DataFrame, *names: str) -> np.ndarray:
    columns = [np.ones(len(frame)), *(frame[name].to_numpy(float) for name in names)]
    return np.column_stack(columns).astype(np.float32)


def _regression(kind: str, x: np.ndarray, y: Any, **more: Any) -> Regression:
    columns = {"x": x, "y": np.asarray(y), **more}
    return Regression(
        kind, {n: np.asarray(column, np.float32) for n, column in columns.items()}
    )


def _adult(folder: Path) -> pd.DataFrame:
    frame = pd.read_parquet(folder / "adult.parquet")
    frame["male"] = (frame.sex.astype(str).str.strip() == "Male").astype(float)
    frame["high"] = frame.income.astype(str).str.contains(">50K").astype(float)
    return frame


def _flights(folder: Path) -> pd.DataFrame:
    frame = pd.read_parquet(folder / "nyc_flights_2013.parquet")
    return frame.dropna(subset=["arr_delay", "dep_delay"])


def _read(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_parquet(folder / f"{name}.parquet")


def real(name: str, folder: Path) -> Regression:
    """A regression on a real table."""
    kind, read, names, response = REAL[name]
    frame = read(folder)
    return _regression(kind, _with_one(frame, *names), frame[response].to_numpy(float))


def _rand(folder: Path) -> pd.DataFrame:
    frame = _read(folder, "rand_hie")
    return frame.assign(log_dollars=np.log1p(frame.meddol))


_VISITS = ("coins", "income", "xage", "female", "disea")

REAL: dict[str, tuple[str, Callable[[Path], pd.DataFrame], tuple[str, ...], str]] = {
    "adult: high income": (
        "logistic",
        _adult,
        ("age", "education_num", "hours_per_week", "male"),
        "high",
    ),
    "adult: with capital gain, raw": (
        "logistic",
        _adult,
        (
            "age",
            "education_num",
            "hours_per_week",
            "male",
            "capital_gain",
            "capital_loss",
        ),
        "high",
    ),
    "brfss: diabetes": (
        "logistic",
        lambda folder: _read(folder, "brfss2015_diabetes"),
        ("BMI", "Age", "HighBP", "GenHlth", "Sex"),
        "Diabetes_binary",
    ),
    "brfss: bad days": (
        "Poisson",
        lambda folder: _read(folder, "brfss2015_diabetes"),
        ("Sex", "Age", "GenHlth", "Income"),
        "MentHlth",
    ),
    "brfss: BMI": (
        "linear",
        lambda folder: _read(folder, "brfss2015_diabetes"),
        ("Sex", "Age", "GenHlth", "Income", "PhysActivity"),
        "BMI",
    ),
    "acs: income": (
        "logistic",
        lambda folder: _read(folder, "acs_income_2018_us"),
        ("AGEP", "SCHL", "WKHP", "SEX"),
        "PINCP",
    ),
    "acs: hours, occupation code": (
        "linear",
        lambda folder: _read(folder, "acs_income_2018_us"),
        ("AGEP", "SCHL", "SEX", "OCCP"),
        "WKHP",
    ),
    "rand: visits": ("Poisson", _rand, _VISITS, "mdvis"),
    "rand: visits, overdispersed": ("negative binomial", _rand, _VISITS, "mdvis"),
    "rand: log dollars": (
        "linear",
        _rand,
        ("coins", "linc", "xage", "female", "disea"),
        "log_dollars",
    ),
    "rand: dollars, raw": (
        "linear",
        _rand,
        ("coins", "income", "xage", "female"),
        "meddol",
    ),
    "flights: delay given delay": (
        "linear",
        _flights,
        ("dep_delay", "distance", "hour"),
        "arr_delay",
    ),
    "flights: delay": ("linear", _flights, ("distance", "hour"), "arr_delay"),
    "meps: log spending": (
        "linear",
        lambda folder: _read(folder, "meps_2003_drugs").dropna(),
        ("totchr", "age", "female", "blhisp", "linc"),
        "ldrugexp",
    ),
    "meps: insured": (
        "logistic",
        lambda folder: _read(folder, "meps_2003_drugs").dropna(),
        ("totchr", "age", "female", "blhisp", "linc", "ssiratio"),
        "hi_empunion",
    ),
}
"""Model, file, what explains, and what is explained."""


def _normal_rows(generator: np.random.Generator, records: int, size: int) -> np.ndarray:
    return np.column_stack([np.ones(records), generator.normal(size=(records, size))])


def _skewed_logistic(records: int, size: int) -> Callable[[Any], Regression]:
    def make(generator: np.random.Generator) -> Regression:
        columns = [
            generator.gamma(1.0, 1.0, records) - 1
            if place % 2
            else generator.normal(size=records)
            for place in range(size - 1)
        ]
        x = np.column_stack([np.ones(records), *columns])
        slopes = 0.5 * (-1.0) ** np.arange(size) / np.sqrt(max(1, (size - 1) / 4))
        slopes[0] = -0.5
        y = generator.random(records) < 1 / (1 + np.exp(-x @ slopes))
        return _regression("logistic", x, y)

    return make


def _few_events(generator: np.random.Generator) -> Regression:
    x = _normal_rows(generator, 2000, 2)
    y = generator.random(2000) < 1 / (1 + np.exp(-x @ [-3.0, 0.5, -0.5]))
    return _regression("logistic", x, y)


def _noisy(
    kind: str, noise: Callable[[np.random.Generator, np.ndarray, np.ndarray], Any]
) -> Callable[[Any], Regression]:
    """Responses made by ``noise`` of the rows and of x · slopes, N = 100,000."""

    def make(generator: np.random.Generator) -> Regression:
        x = _normal_rows(generator, 10**5, 3)
        mean = x @ [1.0, 0.5, -0.5, 0.2]
        return _regression(kind, x, noise(generator, x, mean))

    return make


def _outliers(fraction: float, shift: float) -> Callable[..., np.ndarray]:
    def noise(generator: Any, x: np.ndarray, mean: np.ndarray) -> np.ndarray:
        is_far = generator.random(len(x)) < fraction
        errors = generator.normal(size=len(x)) * np.where(is_far, 10, 1)
        return mean + errors + shift * is_far

    return noise


def _zero_or_huge(generator: np.random.Generator) -> Regression:
    x = _normal_rows(generator, 10**5, 2)
    is_some = generator.random(len(x)) < 0.03
    money = np.where(is_some, np.exp(generator.normal(5, 1.5, len(x))), 0.0)
    eta = x @ [-0.5, 0.5, -0.5] + 0.002 * np.minimum(money, 1000)
    y = generator.random(len(x)) < 1 / (1 + np.exp(-eta))
    return _regression("logistic", np.column_stack([x, money]), y)


WRONG: dict[str, Callable[[Any], Regression]] = {
    "t noise, 3 df": _noisy("linear", lambda g, x, m: m + g.standard_t(3, len(x))),
    "t noise, 5 df": _noisy("linear", lambda g, x, m: m + g.standard_t(5, len(x))),
    "1% gross outliers": _noisy("linear", _outliers(0.01, 0.0)),
    "5% gross outliers": _noisy("linear", _outliers(0.05, 5.0)),
    "heteroscedastic": _noisy(
        "linear", lambda g, x, m: m + g.normal(size=len(x)) * np.exp(0.5 * x[:, 1])
    ),
    "overdispersed counts": _noisy(
        "Poisson",
        lambda g, x, m: g.poisson(np.exp(0.5 * m) * g.gamma(1.0, 1.0, len(x))),
    ),
    "wrong link": _noisy(
        "logistic", lambda g, x, m: g.random(len(x)) < 0.5 + np.arctan(2 * m) / np.pi
    ),
    "mostly zero, sometimes huge": _zero_or_huge,
}

RIGHT: dict[str, Callable[[Any], Regression]] = {
    "logistic, N = 100,000": _skewed_logistic(10**5, 5),
    "logistic, N = 10,000": _skewed_logistic(10**4, 5),
    "logistic, d = 20": _skewed_logistic(10**5, 20),
    "logistic, d = 50": _skewed_logistic(10**5, 50),
    "linear": _noisy("linear", lambda g, x, m: m + g.normal(size=len(x))),
    "Poisson": _noisy("Poisson", lambda g, _, m: g.poisson(np.exp(0.5 * m))),
    "few events, N = 2,000": _few_events,
}


def made(name: str, seed: int) -> Regression:
    """A made table: one for each seed."""
    make = {**WRONG, **RIGHT}[name]
    return make(np.random.default_rng((len(name), seed)))
