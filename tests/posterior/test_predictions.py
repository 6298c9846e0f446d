# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What is made from the draws of a formula: predictions, tables and ratios."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from posteriors import STATEMENT

import dpmcmc
from dpmcmc import InputError, Posterior
from dpmcmc.posterior import combine, compare
from dpmcmc.posterior.statement import Statement

CHAINS, DRAWS = 2, 50
BOUNDS = {"age": (0.0, 100.0)}
LEVELS = {"region": ["north", "south"]}


def _posterior(formula: str, family: str, means: dict[str, object], sd: float = 0.01):
    """Draws about known means, as `sample` would return them."""
    model = dpmcmc.formula(
        formula,
        family=family,
        bounds={**BOUNDS, "y": (0.0, 50.0)} if family == "gaussian" else BOUNDS,
        levels=LEVELS,
    )
    rng = np.random.default_rng(0)
    draws = {
        name: np.asarray(mean) + sd * rng.normal(size=(CHAINS, DRAWS, *np.shape(mean)))
        for name, mean in means.items()
    }
    nothing = {name: values[:, :0] for name, values in draws.items()}
    accepted = rng.uniform(size=(CHAINS, DRAWS)) < 0.4
    return Posterior(
        draws,
        accepted,
        STATEMENT,
        draws,
        nothing,
        accepted[:, :0],
        coords=model.coords,
        dims=model.dims,
        declared=model.declared,
    )


@pytest.fixture(scope="module")
def gaussian() -> Posterior:
    means = {"Intercept": 10.0, "coefficients": [0.1, 5.0], "sd": 2.0}
    return _posterior("y ~ age + region", "gaussian", means)


@pytest.fixture(scope="module")
def logistic() -> Posterior:
    means = {"Intercept": -1.0, "coefficients": [0.02, 0.7]}
    return _posterior("ill ~ age + region", "bernoulli", means, 0.001)


ROWS = {"age": [20.0, 60.0], "region": ["north", "south"]}


def test_means_are_those_of_the_draws(gaussian: Posterior) -> None:
    found = gaussian.predict(ROWS)
    draws = gaussian.draws
    by_hand = draws["Intercept"] + draws["coefficients"] @ np.array([60.0, 1.0])
    np.testing.assert_allclose(found.draws["mean"][..., 1], by_hand, rtol=1e-9)
    table = found.table()
    assert list(table.columns) == ["age", "region", "mean", "sd", "3%", "97%"]
    assert table["mean"][0] == pytest.approx(12.0, abs=0.1)
    assert "region" in found._repr_html_()


def test_predictive_intervals_hold_what_they_say(gaussian: Posterior) -> None:
    """Of 1,000 simulated rows 94% ± 4% lie inside, which is 5 standard errors."""
    rng = np.random.default_rng(1)
    age, south = rng.uniform(0, 100, 1000), rng.integers(0, 2, 1000)
    y = 10 + 0.1 * age + 5 * south + rng.normal(0, 2, 1000)
    region = np.array(LEVELS["region"])[south]
    rows = pd.DataFrame({"age": age, "region": region, "y": y})
    found = gaussian.predictive(rows, check=True, seed=1)
    assert found.coverage() == pytest.approx(0.94, abs=0.04)
    worse = found.observed + 5
    assert replace(found, observed=worse).coverage() < 0.6
    with pytest.raises(InputError, match="check"):
        gaussian.predictive(rows, seed=1).coverage()


def test_a_seed_repeats_what_is_drawn(gaussian: Posterior) -> None:
    first, again, other = (
        gaussian.predictive(ROWS, seed=seed).draws["y"] for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_ratios_are_exponentials_of_coefficients(
    logistic: Posterior, gaussian: Posterior
) -> None:
    table = logistic.ratios()
    assert list(table.index) == ["odds ratio[age]", "odds ratio[region=south]"]
    assert table["mean"].iloc[1] == pytest.approx(math.exp(0.7), rel=0.01)
    with pytest.raises(InputError, match="difference"):
        gaussian.ratios()


def test_functions_of_parameters_are_added_with_their_names(
    logistic: Posterior,
) -> None:
    more = logistic.transform(
        odds=lambda draws: np.exp(draws["coefficients"]),
        base=lambda draws: 1 / (1 + np.exp(-draws["Intercept"])),
    )
    assert more.titles[-3:] == ["odds[age]", "odds[region=south]", "base"]
    assert more.statement is logistic.statement
    assert more.summary().loc["base", "mean"] == pytest.approx(0.269, abs=0.001)
    with pytest.raises(InputError, match="already"):
        logistic.transform(Intercept=lambda draws: draws["Intercept"])
    with pytest.raises(InputError, match="shape"):
        logistic.transform(mean=lambda draws: draws["Intercept"].mean())


def test_synthetic_tables_follow_the_model(gaussian: Posterior, tmp_path: Path) -> None:
    """Slopes within 5 standard errors, 2 / (29 √2000) = 0.0015."""
    found = gaussian.synthesize(2000, tables=2, seed=3)
    for table in found.tables:
        assert list(table.columns) == ["age", "region", "y"]
        rows = [np.ones(2000), table["age"], table["region"] == "south"]
        slope = np.linalg.lstsq(np.column_stack(rows).astype(float), table["y"])[0]
        assert slope[1] == pytest.approx(0.1, abs=0.05 + 5 * 0.0015)
        assert table["age"].between(0, 100).all()
    places = found.save(tmp_path / "made.csv")
    assert [place.name for place in places] == ["made-1.csv", "made-2.csv"]
    public = pd.DataFrame({"age": [33.0], "region": ["south"]})
    with_public = gaussian.synthesize(5, covariates=public, seed=1).tables[0]
    assert set(with_public["age"]) == {33.0}
    with pytest.raises(InputError, match="'region'"):
        gaussian.synthesize(5, covariates=public[["age"]])


def test_combining_rules_are_those_of_raghunathan() -> None:
    found = combine([1.0, 2.0, 3.0], [0.5, 0.5, 0.5])
    assert found.estimate == 2.0
    assert found.sd == pytest.approx(math.sqrt(4 / 3 - 0.5))
    assert found.low < 2.0 < found.high
    assert combine([1.0, 1.1], [5.0, 5.0]).sd > 0  # where the difference is negative
    with pytest.raises(InputError, match="two tables"):
        combine([1.0], [1.0])


def test_the_model_that_made_rows_predicts_them_best(logistic: Posterior) -> None:
    wrong = logistic.transform()
    wrong = replace(
        wrong, draws={**wrong.draws, "coefficients": -wrong.draws["coefficients"]}
    )
    rows = logistic.synthesize(500, seed=0).tables[0]
    found = compare({"wrong": wrong, "right": logistic}, rows)
    assert list(found.index) == ["right", "wrong"]
    assert found.loc["wrong", "difference"] < -5 * found.loc["wrong", "difference_se"]
    with pytest.raises(InputError, match="two"):
        compare({"right": logistic}, rows)


def test_rows_are_checked(gaussian: Posterior) -> None:
    with pytest.raises(InputError, match="'region'"):
        gaussian.predict({"age": [1.0]})
    with pytest.raises(InputError, match="row 1"):
        gaussian.predict({"age": [1.0, 2.0], "region": ["north", "moon"]})
    with pytest.raises(InputError, match="formula"):
        replace(gaussian, declared=None).predict(ROWS)


def test_draws_are_a_table_that_r_reads(gaussian: Posterior, tmp_path: Path) -> None:
    table = gaussian.to_table(tmp_path / "draws.parquet")
    assert list(table.columns) == [".chain", ".iteration", ".draw", *gaussian.titles]
    assert table[".chain"].tolist() == [1] * DRAWS + [2] * DRAWS
    np.testing.assert_array_equal(
        table["coefficients[age]"], gaussian.draws["coefficients"][..., 0].ravel()
    )
    import pyarrow.parquet as pq

    metadata = pq.read_schema(tmp_path / "draws.parquet").metadata
    assert Statement.from_json(metadata[b"dpmcmc_statement"].decode()) == STATEMENT
    beside = (tmp_path / "draws.parquet.statement.txt").read_text()
    assert beside == f"{STATEMENT}\n"
    with pytest.raises(InputError, match=r"\.csv or \.parquet"):
        gaussian.to_table(tmp_path / "draws.xlsx")
    with pytest.raises(InputError, match="cannot be written"):
        gaussian.to_table(tmp_path / "no" / "draws.csv")


def test_arviz_has_groups_of_predictions(gaussian: Posterior, tmp_path: Path) -> None:
    data = gaussian.to_arviz(
        predictions=gaussian.predict(ROWS),
        posterior_predictive=gaussian.predictive(ROWS, seed=0),
    )
    assert data.predictions["mean"].shape == (CHAINS, DRAWS, 2)
    assert data.posterior_predictive["y"].shape == (CHAINS, DRAWS, 2)
    assert data.predictions.attrs["privacy"] == STATEMENT.label


def test_a_file_knows_its_formula(gaussian: Posterior, tmp_path: Path) -> None:
    gaussian.save(tmp_path / "p.nc")
    again = Posterior.load(tmp_path / "p.nc")
    assert again.declared == gaussian.declared
    np.testing.assert_allclose(
        again.predict(ROWS).draws["mean"], gaussian.predict(ROWS).draws["mean"]
    )
