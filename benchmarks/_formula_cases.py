# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Formulas to measure: simulated tables of every family, and real tables."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["REAL", "SIMULATED", "Case", "RealCase", "covariates", "real_table"]

BOUNDS = {"age": (0, 110), "income": (1, 500), "years": (0.1, 10), "tested": (1, 20)}
LEVELS = {"region": ["north", "south", "west"], "clinic": list(range(20))}
SLOPES = [0.02, -0.3, 0.4, -0.2]


@dataclass(frozen=True)
class Case:
    """A formula, and the parameters that its table is simulated with."""

    family: str
    formula: str
    truth: dict[str, Any]
    bounds: dict[str, Any] = field(default_factory=dict)
    levels: dict[str, Any] = field(default_factory=dict)


def _case(family: str, left: str, intercept: float | None, **more: Any) -> Case:
    right, groups = "age + log(income) + region", more.pop("groups", "")
    truth = {"coefficients": SLOPES, **more.pop("truth", {})}
    if intercept is not None:
        truth["Intercept"] = intercept
    return Case(family, f"{left} ~ {right}{groups}", truth, **more)


_EFFECTS = np.linspace(-0.8, 0.8, 20)
SIMULATED = {
    "gaussian": _case("gaussian", "y", 5.0, bounds={"y": (-10, 20)}, truth={"sd": 2.0}),
    "student-t": _case(
        "student-t", "y", 5.0, bounds={"y": (-10, 20)}, truth={"sd": 1.0, "nu": 5.0}
    ),
    "bernoulli": _case("bernoulli", "y", -1.0),
    "binomial": _case("binomial", "p(y, tested)", -1.0),
    "poisson": _case(
        "poisson", "y", -0.5, bounds={"y": (0, 60)}, groups=" + offset(log(years))"
    ),
    "negative-binomial": _case(
        "negative-binomial",
        "y",
        0.3,
        bounds={"y": (0, 100)},
        truth={"concentration": 1.5},
    ),
    "ordinal": _case(
        "ordinal",
        "y",
        None,
        levels={"y": ["poor", "fair", "good", "best"]},
        truth={"cutpoints": [-1.5, 0.0, 1.2]},
    ),
    "categorical": Case(
        "categorical",
        "y ~ age + region",
        {
            "Intercept": [-1.0, -0.4],
            "coefficients": [[0.02, 0.01], [0.4, -0.2], [0.1, 0.3]],
        },
        levels={"y": ["bus", "car", "walk"]},
    ),
    "gamma": _case("gamma", "y", 2.0, bounds={"y": (0.01, 500)}, truth={"shape": 2.0}),
    "weibull": _case(
        "weibull",
        "censored(y, ended)",
        2.0,
        bounds={"y": (0.01, 60)},
        truth={"shape": 1.4},
    ),
    "intercepts of groups": _case(
        "bernoulli",
        "y",
        -1.0,
        groups=" + (1 | clinic)",
        truth={"1|clinic": _EFFECTS, "1|clinic_sd": 0.5},
    ),
    "slopes of groups": _case(
        "gaussian",
        "y",
        5.0,
        bounds={"y": (-10, 20)},
        groups=" + (1 + age | clinic)",
        truth={
            "sd": 2.0,
            "1|clinic": _EFFECTS,
            "1|clinic_sd": 0.5,
            "age|clinic": _EFFECTS[::-1] / 40,
            "age|clinic_sd": 0.01,
        },
    ),
    "products and splines": Case(
        "bernoulli",
        "y ~ bs(age, df=4) + log(income) * region",
        {
            "Intercept": -1.0,
            "coefficients": [0.3, 0.9, 1.5, 1.0, -0.3, 0.4, -0.2, 0.1, -0.1],
        },
    ),
}


def covariates(count: int, rng: np.random.Generator) -> pd.DataFrame:
    """Covariates that do not fill their bounds, as real ones do not."""
    return pd.DataFrame(
        {
            "age": np.clip(rng.gamma(8, 5.5, count), 0, 110),
            "income": np.clip(rng.lognormal(3.4, 0.6, count), 1, 500),
            "region": rng.choice(LEVELS["region"], count, p=[0.5, 0.3, 0.2]),
            "clinic": rng.integers(0, 20, count),
            "years": rng.uniform(0.5, 5, count),
            "tested": rng.integers(1, 20, count),
        }
    )


@dataclass(frozen=True)
class RealCase:
    """A formula on a real table; bounds are those of its codebook."""

    file: str
    formula: str
    family: str
    bounds: dict[str, Any]
    levels: dict[str, Any]


_MARRIED = [
    "Married-civ-spouse",
    "Never-married",
    "Divorced",
    "Separated",
    "Widowed",
    "Married-spouse-absent",
    "Married-AF-spouse",
]
_CARRIERS = [
    "9E",
    "AA",
    "AS",
    "B6",
    "DL",
    "EV",
    "F9",
    "FL",
    "HA",
    "MQ",
    "OO",
    "UA",
    "US",
    "VX",
    "WN",
    "YV",
]
REAL = {
    "brfss": RealCase(
        "brfss2015_diabetes.parquet",
        "Diabetes_binary ~ HighBP + HighChol + log(BMI) + bs(Age, df=3) + C(GenHlth)",
        "bernoulli",
        {"HighBP": (0, 1), "HighChol": (0, 1), "BMI": (12, 98), "Age": (1, 13)},
        {"GenHlth": [1, 2, 3, 4, 5]},
    ),
    "acs": RealCase(
        "acs_income_2018_us.parquet",
        "PINCP ~ bs(AGEP, df=4) + SCHL + WKHP + C(SEX) + (1 | COW)",
        "bernoulli",
        {"AGEP": (17, 96), "SCHL": (1, 24), "WKHP": (1, 99)},
        {"SEX": [1, 2], "COW": list(range(1, 9))},
    ),
    "adult": RealCase(
        "adult.parquet",
        "income ~ age + education_num + hours_per_week + sex + marital_status",
        "bernoulli",
        {"age": (17, 90), "education_num": (1, 16), "hours_per_week": (1, 99)},
        {
            "income": ["<=50K", ">50K"],
            "sex": ["Male", "Female"],
            "marital_status": _MARRIED,
        },
    ),
    "adult, four columns": RealCase(
        "adult.parquet",
        "income ~ age + education_num + hours_per_week + sex",
        "bernoulli",
        {"age": (17, 90), "education_num": (1, 16), "hours_per_week": (1, 99)},
        {"income": ["<=50K", ">50K"], "sex": ["Male", "Female"]},
    ),
    "acs, hours": RealCase(
        "acs_income_2018_us.parquet",
        "WKHP ~ AGEP + SCHL + C(SEX)",
        "gaussian",
        {"WKHP": (1, 99), "AGEP": (17, 96), "SCHL": (1, 24)},
        {"SEX": [1, 2]},
    ),
    "rand, visits": RealCase(
        "rand_hie.parquet",
        "mdvis ~ coins + linc + xage + female + disea",
        "negative-binomial",
        {
            "mdvis": (0, 100),
            "coins": (0, 100),
            "linc": (0, 12),
            "xage": (0, 65),
            "female": (0, 1),
            "disea": (0, 60),
        },
        {},
    ),
    "flights": RealCase(
        "nyc_flights_2013.parquet",
        "arr_delay ~ dep_delay + air_time + distance + (1 | carrier)",
        "student-t",
        {
            "arr_delay": (-100, 300),
            "dep_delay": (-30, 300),
            "air_time": (20, 700),
            "distance": (0, 5000),
        },
        {"carrier": _CARRIERS},
    ),
}


def real_table(case: RealCase, folder: Path) -> pd.DataFrame:
    """The columns of a real table as numbers and texts; rows with none missing."""
    table = pd.read_parquet(folder / case.file)
    names = [*case.bounds, *case.levels]
    response = case.formula.split("~")[0].strip()
    kept = table[list(dict.fromkeys([response, *names]))].dropna()
    numbers = kept.select_dtypes("number").columns
    return kept.astype(dict.fromkeys(numbers, float)).reset_index(drop=True)
