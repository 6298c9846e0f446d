# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Survey weights: what a record counts for, and whose posterior it is."""

import numpy as np
import pytest

from dpmcmc import InputError, Records, models, sample_not_private
from dpmcmc.sampling.problem import make_problem

MODEL = models.logistic_regression(1, norm=1.0)
THETA = {"coefficients": np.array([0.4]), "intercept": np.array(0.1)}


@pytest.mark.parametrize(
    ("weight", "counted"),
    [(2.0, 1.0), (5.0, 2.5), (1e9, 4.0), (np.inf, 4.0), (-3.0, 0.0), (np.nan, 0.0)],
)
def test_a_record_counts_as_often_as_its_weight_says(weight, counted):
    weighted = models.survey_weighted(MODEL, "w", usual=2.0, most=4.0)
    record = {"x": np.array([0.5]), "y": 1.0, "w": weight}
    whole = float(MODEL.log_likelihood(THETA, record))
    assert float(weighted.log_likelihood(THETA, record)) == pytest.approx(
        counted * whole
    )
    assert weighted.lipschitz == 4 * MODEL.lipschitz
    assert weighted.responses is weighted.simulate is weighted.statistics is None


@pytest.mark.slow
def test_the_posterior_is_that_of_the_population():
    """Half of the yes were left out of the sample, and count twice."""
    rng = np.random.default_rng(1)
    y = (rng.random(8000) < 0.5).astype(float)
    kept = rng.random(8000) < np.where(y == 1, 0.5, 1.0)
    table = {"x": np.zeros((kept.sum(), 1)), "y": y[kept], "w": 1.0 + y[kept]}
    posterior = sample_not_private(
        models.survey_weighted(MODEL, "w", most=3.0), table, seed=2, progress=False
    )
    logits = posterior.draws["intercept"]
    assert abs(logits.mean()) < 0.12  # half; without weights it is −0.69
    assert logits.std() < 0.1


def test_weights_of_records_count_in_units():
    table = {
        "id": np.array([1, 1]),
        "x": np.ones((2, 1)),
        "y": np.ones(2),
        "w": np.array([1.0, 3.0]),
    }
    model = models.survey_weighted(MODEL, "w", most=2.0)
    found = make_problem(
        model,
        Records(table, unit="id", most=2),
        start=None,
        precision=None,
        devices=None,
    )
    one = {"x": np.ones(1), "y": 1.0}
    unit = found.one_record._replace(
        rows={name: table[name] for name in ("x", "y", "w")}, present=np.ones(2, bool)
    )
    value = float(found.model.log_likelihood(THETA, unit))
    assert value == pytest.approx(3 * float(MODEL.log_likelihood(THETA, one)))


@pytest.mark.parametrize("given", [{"usual": 0.0}, {"most": -1.0}])
def test_bad_weights_are_refused(given):
    with pytest.raises(InputError):
        models.survey_weighted(MODEL, "w", **given)
    with pytest.raises(InputError):
        models.survey_weighted(MODEL, 3)
    with pytest.raises(InputError):
        models.survey_weighted(models.logistic_panel(1, norm=1.0), "w")


def test_a_table_without_weights_is_refused():
    with pytest.raises(InputError, match="weight"):
        make_problem(
            models.survey_weighted(MODEL, "w"),
            {"x": np.zeros((3, 1)), "y": np.zeros(3)},
            start=None,
            precision=None,
            devices=None,
        )
