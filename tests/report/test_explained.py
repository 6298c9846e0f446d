# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The model of a formula in a report: words, ratios, units, predictions."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from posteriors import STATEMENT

import dpmcmc
from dpmcmc.model.schema import Schema
from dpmcmc.posterior import Posterior
from dpmcmc.report import write_report


def _posterior(formula: str, family: str, **more: object) -> Posterior:
    model = dpmcmc.formula(
        formula,
        family=family,
        bounds={"age": (0, 100), "income": (1, 500), "smoker": (0, 1)},
        levels={
            "region": ["north", "south"],
            "clinic": [1, 2],
            "mood": ["low", "<b>mid</b>", "high"],
        },
        units={"age": "years"},
    )
    rng = np.random.default_rng(0)
    means = {
        name: np.zeros(tuple(len(model.coords[dim]) for dim in model.dims[name]))
        for name in model.dims
    }
    means |= {f"{name}_sd": np.ones(()) for name in means if "|" in name}
    if "Intercept" not in means and family != "ordinal":
        means["Intercept"] = np.zeros(())
    if family == "ordinal":
        means["cutpoints"] = np.array([-1.0, 1.0])
    draws = {
        name: mean + 0.01 * rng.normal(size=(2, 40, *mean.shape))
        for name, mean in means.items()
    }
    accepted = np.arange(80).reshape(2, 40) % 2 == 0
    nothing = {name: one[:, :0] for name, one in draws.items()}
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
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    formula = "ill ~ age + log(income) + (1 | clinic)"
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(_posterior(formula, "bernoulli"), path)
    return path.read_text()


def _section(page: str, name: str) -> str:
    return page.partition(f'<section id="{name}">')[2].partition("</section>")[0]


def test_the_model_stands_in_words_and_in_the_user_s_formula(page: str) -> None:
    model = _section(page, "model")
    assert "<code>ill ~ age + log(income) + (1 | clinic)</code>" in model
    assert "the log odds that ill is 1" in model
    assert "levels of clinic" in model
    assert "sd of 2.5" in model
    assert "years" in model
    assert 'href="#model"' in page
    assert 'href="#predictions"' in page


def test_ratios_are_named_by_their_columns(page: str) -> None:
    """Also where groups are as many as coefficients."""
    ratios = _section(page, "model").partition("Odds ratios")[2]
    assert re.findall(r'<th scope="row">(.*?)</th>', ratios) == ["age", "log(income)"]


def test_predictions_are_for_rows_made_of_what_was_declared(page: str) -> None:
    section = _section(page, "predictions")
    assert "the probability that ill is 1" in section
    rows = re.findall(r'<th scope="row">(.*?)</th>', section)
    assert rows[0] == "as said above"
    assert "age 25 years" in rows
    assert "clinic 2" in rows


def test_a_mark_is_predicted_at_both_of_its_values(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(_posterior("ill ~ age + smoker", "bernoulli"), path)
    section = _section(path.read_text(), "predictions")
    rows = re.findall(r'<th scope="row">(.*?)</th>', section)
    assert rows == ["as said above", "age 25 years", "age 75 years", "smoker 1"]
    assert "smoker 0." in section


def test_levels_are_predicted_and_escaped(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(_posterior("mood ~ age", "ordinal"), path)
    text = path.read_text()
    assert "P(&lt;b&gt;mid&lt;/b&gt;)" in text
    assert "<b>mid</b>" not in text


def test_a_model_that_is_no_formula_has_no_such_sections(tmp_path: Path) -> None:
    posterior = replace(_posterior("ill ~ age", "bernoulli"), declared=None)
    write_report(posterior, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert 'id="model"' not in text
    assert 'id="predictions"' not in text


def test_columns_stand_once(tmp_path: Path) -> None:
    found = _posterior("ill ~ age", "bernoulli")
    schema = Schema({"age": {"type": "number", "bounds": [18, 90]}})
    path = tmp_path / "report.html"
    for posterior in (found, replace(found, declared=None)):
        write_report(posterior, path, schema=schema)
        captions = re.findall("<caption>Columns[^<]*</caption>", path.read_text())
        assert len(captions) == 1
