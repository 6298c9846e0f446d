# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The verdict on a result, by what was found."""

from typing import Any

import numpy as np
import pytest

from dpmcmc.posterior.statement import Verdict
from dpmcmc.posterior.summary import Mixing
from dpmcmc.sampling.fit.fitted import Fitted
from dpmcmc.sampling.verdict import verdict_on

MIXED = Mixing(
    ess_bulk=np.array([500.0, 900.0]),
    ess_tail=np.array([400.0, 700.0]),
    r_hat=np.array([1.0, 1.01]),
)


def fitted(**changes: Any) -> Fitted:
    values: dict[str, Any] = {
        "point": np.zeros(2),
        "factor": np.eye(2),
        "inverse": np.eye(2),
        "metric": np.ones(2),
        "gradient_bound": 3.0,
        "relative_bound": 2.0,
        "hessian_bound": 1.0,
        "gradient": np.zeros(2),
        "hessian": -np.eye(2),
        "mode": np.zeros(2),
        "covariance": np.eye(2),
        "noise": 0.21 * np.eye(2),
        "curvature_noise": np.zeros((2, 2)),
        "shift": 0.21 * np.eye(2),
        "rounds": 5,
        "arrived": True,
        "is_far": False,
        "is_flat": False,
        "cut_sd": 0.2,
        "power": np.nan,
        "extremes": np.array([0.01, 0.005, 0.012]),
    }
    return Fitted(**{**values, **changes})


def verdict(cut: float | None = 0.1, mixing: Mixing = MIXED, **changes: Any) -> Verdict:
    return verdict_on(fitted(**changes), cut, mixing)


@pytest.mark.parametrize("cut", [None, 0.0, 0.9])
def test_a_good_fit_can_be_used(cut: float | None) -> None:
    found = verdict(cut)
    assert found.usability == "usable"
    assert "1.10" in found.reason


@pytest.mark.parametrize(
    "changes",
    [
        {"arrived": False},
        {"cut_sd": 1.5},
        {"shift": 4 * np.eye(2)},
        {"cut": 1.5},
        {"power": 1.6},
        {"extremes": np.array([0.01, 0.03, 0.012])},
        {"is_flat": True},
        {"is_flat": True, "arrived": False, "cut": 5.0},
    ],
    ids=[
        "not arrived",
        "cut",
        "noise",
        "decisions cut",
        "slow tail",
        "few records",
        "flat",
        "several",
    ],
)
def test_intervals_may_be_wide(changes: Any) -> None:
    assert verdict(**changes).usability == "usable with wide intervals"


@pytest.mark.parametrize(
    "changes",
    [
        {"is_far": True},
        {"mixing": MIXED._replace(r_hat=np.array([1.0, 1.3]))},
        {"mixing": MIXED._replace(r_hat=np.array([1.0, np.nan]))},
        {"mixing": MIXED._replace(ess_bulk=np.array([500.0, 10.0]))},
        {"is_far": True, "is_flat": True, "arrived": False, "cut": 5.0},
    ],
    ids=["far", "not mixed", "stuck", "few", "several"],
)
def test_some_results_cannot_be_used(changes: Any) -> None:
    assert verdict(**changes).usability == "not usable"


def test_a_flat_direction_is_named() -> None:
    """Draws are right there, as the prior has a say in them: they are as wide as it."""
    assert "the prior decides" in verdict(is_flat=True).reason


@pytest.mark.parametrize(
    ("extremes", "is_said"),
    [
        ([0.010, 0.005, 0.012], False),
        ([0.100, 0.005, 0.012], True),
        ([0.000, 0.001, 0.012], True),
        ([0.100, 0.050, 0.012], False),
        ([0.100, 0.005, np.nan], False),
    ],
    ids=["right", "too many", "too few", "noise", "the model does not say"],
)
def test_a_model_that_does_not_fit_is_named(
    extremes: list[float], is_said: bool
) -> None:
    found = verdict(extremes=np.array(extremes))
    is_blind = extremes[1] > 0.02
    assert found.usability == ("usable with wide intervals" if is_blind else "usable")
    assert ("model may not fit" in found.reason) == is_said


def test_a_tail_that_falls_too_slowly_is_named() -> None:
    found = verdict(power=1.6)
    assert "−1.6" in found.reason
    assert "more than intervals say" in found.reason


def test_what_was_found_can_be_kept() -> None:
    first = fitted(misfit=0.3)
    again = Fitted.of(first.arrays())
    for name, value in vars(first).items():
        kept = getattr(again, name)
        np.testing.assert_array_equal(kept, value)
        assert isinstance(kept, type(value))
    assert again.widening == pytest.approx(1.1)


def test_another_mode_is_said_whatever_the_verdict() -> None:
    for changes in ({}, {"arrived": False}, {"is_flat": True}):
        found = verdict_on(fitted(**changes), 0.1, MIXED, "There is another mode.")
        assert found.reason.endswith(" There is another mode.")
