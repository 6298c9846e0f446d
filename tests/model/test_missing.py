# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Missing covariates: integrated over what is declared, by sum or quadrature."""

from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import dpmcmc
from dpmcmc import InputError, Records, Schema, models, sample_not_private
from dpmcmc.files import DataFile
from dpmcmc.model.missing import Missing, integrate_missing
from dpmcmc.model.preparation import OneHot, Preparation, Scale, Stack
from dpmcmc.sampling.problem import make_problem

COLUMNS = Preparation(
    {
        "age": Scale(0, 100, to=(-1, 1)),
        "region": OneHot(3, drop_first=True),
        "x": Stack(["age", "region"]),
    }
)
MODEL = models.logistic_regression(3, norm=5.0, before=COLUMNS)
SCHEMA = Schema(
    {
        "age": {
            "type": "number",
            "bounds": [0, 100],
            "if_missing": {"mean": 50, "sd": 10},
        },
        "region": {
            "levels": ["north", "south", "west"],
            "if_missing": {"probabilities": [0.2, 0.3, 0.5]},
        },
        "y": {"type": "number"},
    }
)
THETA = {"coefficients": np.array([1.5, -1.0, 0.5]), "intercept": np.array(0.2)}


def likelihood(age: float, region: float, y: float) -> float:
    record = {"age": age, "region": region, "y": y}
    return float(np.exp(MODEL.record_log_likelihood(THETA, record)))


def found(**record: float) -> float:
    made = SCHEMA.applied_to(MODEL)
    return float(np.exp(made.record_log_likelihood(THETA, record)))


def test_what_is_not_missing_counts_as_before() -> None:
    with jax.enable_x64(True):
        for record in ((20.0, 2.0, 1.0), (999.0, 0.0, 0.0)):
            whole = likelihood(min(record[0], 100.0), *record[1:])
            age, region, y = record
            assert found(age=age, region=region, y=y) == pytest.approx(whole, rel=1e-12)


def test_levels_are_summed_and_numbers_integrated() -> None:
    with jax.enable_x64(True):
        by_sum = sum(
            p * likelihood(30.0, place, 1.0) for place, p in enumerate((0.2, 0.3, 0.5))
        )
        assert found(age=30.0, region=np.nan, y=1.0) == pytest.approx(by_sum, rel=1e-12)
        grid = np.linspace(0, 100, 401)
        values = [likelihood(age, 1.0, 0.0) for age in grid]
        by_area = integrate.simpson(values * stats.norm.pdf(grid, 50, 10), x=grid)
        assert found(age=np.nan, region=1.0, y=0.0) == pytest.approx(by_area, rel=1e-5)
        both = sum(
            p * found(age=np.nan, region=place, y=0.0)
            for place, p in enumerate((0.2, 0.3, 0.5))
        )
        assert found(age=np.nan, region=np.nan, y=0.0) == pytest.approx(both)


def table(seed: int = 3, size: int = 1500) -> pd.DataFrame:
    """Half of the regions are missing, at random."""
    rng = np.random.default_rng(seed)
    age, region = rng.normal(50, 10, size), rng.choice(3, size, p=[0.2, 0.3, 0.5])
    coefficients = THETA["coefficients"]
    eta = (age / 50 - 1) * coefficients[0] + np.r_[0, coefficients[1:]][region] + 0.2
    y = rng.random(size) < 1 / (1 + np.exp(-eta))
    texts = np.array(["north", "south", "west"], object)[region]
    texts[rng.random(size) < 0.5] = None
    return pd.DataFrame({"age": age, "region": texts, "y": y.astype(float)})


def test_a_run_reads_records_with_missing_covariates() -> None:
    problem = make_problem(
        MODEL,
        Records(table(), schema=SCHEMA),
        start=None,
        precision=None,
        devices=None,
    )
    assert problem.one_record["region"].dtype == np.float32  # NaN where it is missing
    assert "then scaled from" in problem.prepared[0]
    assert "summed over with probabilities 0.2, 0.3, 0.5" in problem.prepared[1]
    names = ["age", "region=south", "region=west"]
    assert list(problem.model.coords["predictor"]) == names


@pytest.mark.slow
def test_records_with_missing_covariates_count() -> None:
    """Seven sds are allowed for each coefficient: false alarms below 1e-10."""
    schema = SCHEMA.joined(Schema({"age": {"type": "number"}}))
    posterior = sample_not_private(
        MODEL, Records(table(), schema=schema), seed=1, steps=100, progress=False
    )
    means = posterior.draws["coefficients"].mean(axis=(0, 1))
    sds = posterior.draws["coefficients"].std(axis=(0, 1))
    assert np.all(np.abs(means - THETA["coefficients"]) < 7 * sds)
    assert sds.max() < 0.6


def test_a_file_is_read_with_what_is_missing(tmp_path: Any) -> None:
    path = tmp_path / "table.csv"
    path.write_text("age,region,y\n30,north,1\n,nowhere,0\n40,south,\n")
    values, present = DataFile(path, schema=SCHEMA).read_values()
    assert present.tolist() == [True, True, False]
    np.testing.assert_array_equal(values["age"], [30.0, np.nan, 40.0])
    np.testing.assert_array_equal(values["region"], [0.0, np.nan, 1.0])


@pytest.mark.parametrize(
    "declared",
    [
        {"type": "number", "if_missing": 3},
        {"type": "number", "if_missing": {"mean": 3}},
        {"type": "number", "if_missing": {"mean": 3, "sd": 0}},
        {"type": "number", "if_missing": {"mean": "x", "sd": 1}},
        {"type": "number", "if_missing": {"probabilities": [0.5, 0.5]}},
        {"type": "integer", "if_missing": {"mean": 3, "sd": 1}},
        {"type": "boolean", "if_missing": {"mean": 3, "sd": 1}},
        {"levels": ["a", "b"], "if_missing": {"mean": 3, "sd": 1}},
        {"levels": ["a", "b"], "if_missing": {"probabilities": [1.0]}},
        {"levels": ["a", "b"], "if_missing": {"probabilities": [1.0, 0.0]}},
        {"levels": ["a", "b"], "if_missing": {"probabilities": [0.5, 0.6]}},
    ],
    ids=str,
)
def test_what_is_no_distribution_is_refused(declared: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="'x': if_missing"):
        Schema({"x": declared})


def test_models_that_cannot_be_integrated_are_refused() -> None:
    with pytest.raises(InputError, match="if_missing"):
        integrate_missing(models.logistic_panel(1, norm=1.0), {"x": Missing(sd=1.0)})
    many = dict.fromkeys("abc", Missing(sd=1.0))
    with pytest.raises(InputError, match="3375 points"):
        integrate_missing(MODEL, many)


def test_a_schema_with_distributions_is_plain_values() -> None:
    assert dpmcmc.model.schema.as_schema(SCHEMA.to_dict()) == SCHEMA
