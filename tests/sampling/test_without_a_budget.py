# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Runs that are not private need no budget: their noise is negligible."""

from dataclasses import replace

import numpy as np
import pytest

import dpmcmc
from dpmcmc import Model, models

X = np.random.default_rng(5).random(2000) < 0.3


def bernoulli(is_exact: bool) -> Model:
    model = models.bernoulli()
    assert model.statistics is not None
    return replace(model, statistics=replace(model.statistics, is_exact=is_exact))


@pytest.mark.parametrize("is_exact", [True, False], ids=["exact", "nearly sufficient"])
def test_a_sum_without_a_budget_has_no_noise_to_speak_of(is_exact: bool) -> None:
    """The posterior is a Beta; the false-alarm rate at 6 Monte Carlo sd is below 1e-8.

    With the seed fixed, the test cannot fail by accident.
    """
    found = dpmcmc.sample_not_private(
        bernoulli(is_exact),
        {"x": X.astype(float)},
        method=dpmcmc.SufficientStatistics(),
        steps=2500,
        seed=1,
        progress=False,
    )
    count = 1 + X.sum()
    exact = count / (2 + len(X))
    sd = np.sqrt(exact * (1 - exact) / (3 + len(X)))
    draws = found.draws["probability"]
    effective = found.summary()["ess_bulk"].min()
    assert abs(draws.mean() - exact) < 6 * sd / np.sqrt(effective)
    assert draws.std() == pytest.approx(sd, rel=0.1)
    assert not found.statement.is_private


def test_a_private_sum_needs_a_budget() -> None:
    with pytest.raises(dpmcmc.InputError):
        dpmcmc.sample(models.bernoulli(), {"x": X.astype(float)}, delta=1e-6)
