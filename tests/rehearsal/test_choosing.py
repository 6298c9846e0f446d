# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a choice is made of: the bound on gradients, covariates, and tempering."""

import math
from typing import Any

import jax
import numpy as np
import pytest

from dpmcmc import ControlVariates, Preparation, models
from dpmcmc.posterior import Posterior
from dpmcmc.preparation import Clamp, OneHot, Scale, Stack
from dpmcmc.private import Records
from dpmcmc.rehearsal import Rehearsal, Trial, automatic, simulate_records
from dpmcmc.rehearsal.advice import advice_on, best_trial
from dpmcmc.rehearsal.bounds import best_bound
from dpmcmc.rehearsal.declared import covariates_for, within_bounds
from dpmcmc.rehearsal.simulate import without_preparation
from dpmcmc.rehearsal.ways import BOUNDS, bounded, named
from dpmcmc.variational import Start

COUNT, DELTA = 50_000, 1e-6


def bound_for(model: Any, theta: Any, covariates: Any, epsilon: float) -> float:
    table = simulate_records(model, theta, COUNT, covariates, 0)
    plain = without_preparation(model)
    size = len(jax.flatten_util.ravel_pytree(theta)[0])
    information = np.zeros((size, size))
    flat, unravel = jax.flatten_util.ravel_pytree(theta)

    def score(record: Any) -> Any:
        return jax.grad(lambda at: plain.log_likelihood(unravel(at), record))(flat)

    scores = np.asarray(jax.vmap(score)(table), float)
    information = scores.T @ scores
    plan = ControlVariates(epsilon=epsilon).plan(COUNT, size, DELTA)
    covariance = np.linalg.inv(information)
    return best_bound(plain, table, theta, covariance, plan, BOUNDS)


def test_more_budget_buys_a_wider_bound() -> None:
    """Without listed responses what is cut off biases, so that noise is weighed."""
    model = models.two_component_mixture((-100.0, 100.0))
    theta = {"mean": np.float32(0.0), "gap": np.float32(1.0)}
    found = [bound_for(model, theta, None, epsilon) for epsilon in (0.1, 1.0, 10.0)]
    assert found == sorted(found)
    assert found[0] < found[-1]
    assert found[1] > 4


def test_a_bound_is_as_wide_as_its_noise_allows() -> None:
    """Records that the model does not expect are longer than simulated ones."""
    model = models.two_component_mixture((-100.0, 100.0))
    theta = {"mean": np.float32(0.0), "gap": np.float32(1.0)}
    # so much budget that no bound has noise to speak of
    assert bound_for(model, theta, None, 100.0) == max(BOUNDS)


def test_listed_responses_allow_a_tight_bound() -> None:
    model = models.logistic_regression(2, norm=30.0)
    theta = {"coefficients": np.zeros(2, np.float32), "intercept": np.float32(0.0)}
    skewed = {"x": np.random.default_rng(0).exponential(size=(1000, 2)) - 1}
    skewed["y"] = np.zeros(1000)
    assert bound_for(model, theta, skewed, 1.0) <= 4


PREPARED = Preparation(
    {
        "age": [Clamp(20, 80), Scale(20, 80)],
        "region": OneHot(3, drop_first=True),
        "x": Stack(["age", "region"]),
    }
)
SHAPES = {
    "age": jax.ShapeDtypeStruct((), np.float32),
    "region": jax.ShapeDtypeStruct((), np.float32),
    "y": jax.ShapeDtypeStruct((), np.float32),
}


def test_covariates_are_drawn_evenly_within_declared_bounds() -> None:
    model = models.logistic_regression(3, norm=3.0, before=PREPARED)
    make = within_bounds(model, SHAPES)
    assert make is not None
    drawn = jax.vmap(make)(jax.random.split(jax.random.key(0), 6000))
    age = np.asarray(drawn["x"][:, 0])
    # a mean of 6000 even numbers: five of its errors, 3.7e-3 each
    assert abs(age.mean() - 0.5) < 5 * math.sqrt(1 / 12 / 6000)
    assert age.min() >= 0
    assert age.max() <= 1
    shares = np.asarray(drawn["x"][:, 1:]).mean(axis=0)
    assert np.abs(shares - 1 / 3).max() < 5 * math.sqrt(2 / 9 / 6000)
    theta = model.initial
    given, said, unable = covariates_for(model, SHAPES, theta, None)
    assert callable(given)
    assert "even within their declared bounds" in said
    assert unable is None


def test_columns_without_declared_bounds_cannot_be_drawn() -> None:
    model = models.logistic_regression(3, norm=3.0)
    shapes = {"x": jax.ShapeDtypeStruct((3,), np.float32), "y": SHAPES["y"]}
    assert within_bounds(model, shapes) is None
    assert covariates_for(model, shapes, model.initial, None)[2] is not None


def test_a_name_says_its_bound() -> None:
    ways = {"control variates": {"control": ControlVariates(share=0.9)}}
    name = named("control variates", 2.5)
    assert name == "control variates, c_g = 2.5√d"
    assert bounded(ways, name) == {
        "control": ControlVariates(share=0.9, gradient_bound=2.5)
    }
    assert bounded(ways, "control variates") == ways["control variates"]


def trial(off: float) -> Trial:
    return Trial("control variates", 10, 1.0, np.array([off]), np.ones(1), 9, 0.5, None)


@pytest.mark.parametrize(
    ("cooler", "way"),
    [(0.2, "control variates, tempered to 312"), (3.0, "control variates")],
)
def test_it_tempers_only_if_needed_and_says_so(
    monkeypatch: pytest.MonkeyPatch, cooler: float, way: str
) -> None:
    """Four deviations off ask for a 64th of the records; half of it, to be safe."""
    model = models.two_component_mixture((-100.0, 100.0))
    ways = {"control variates": {"control": ControlVariates(share=0.9)}}
    records = Records({"x": np.zeros(40_000)})
    nothing: Any = None
    task = automatic._Task(
        nothing, model, records, "float32", DELTA, 1.0, nothing, ways
    )
    told: list[float | None] = []

    def rehearsed(*_: Any) -> Rehearsal:
        tempering = _[5] if len(_) > 5 else None
        told.append(tempering)
        off = 4.0 if tempering is None else cooler
        reference: Posterior = nothing
        return Rehearsal(40_000, (trial(off),), reference)

    monkeypatch.setattr(automatic, "_rehearsed", rehearsed)
    monkeypatch.setattr(automatic, "_screened", lambda task, *_: tuple(task.ways))
    start = Start(model.initial, np.eye(2), 0.1, 1e-7, "a start")
    with pytest.warns(UserWarning, match="does not buy a usable posterior"):
        choice = automatic._choose(task, start, None)
    assert told == [None, 312.0]
    assert choice.way == way
    assert choice.settings.get("tempering") == (312.0 if "tempered" in way else None)
    assert ("So it runs" in str(choice)) == ("tempered" in way)
    if "tempered" in way:
        chosen = automatic._told(task, way, start)
        assert chosen == choice.settings


@pytest.mark.parametrize(
    ("errors", "best"),
    [
        ((0.5, 0.4, 0.3), 0),
        ((0.9, 0.4, 0.3), 1),
        ((9.0, 2.0, 0.3), 2),
        ((math.nan, 2.0, 0.3), 2),
        ((math.nan, math.inf), 0),
    ],
)
def test_errors_of_one_rehearsal_count_by_a_factor(
    errors: tuple[float, ...], best: int
) -> None:
    """The order of ways is that of preference, unless one did clearly better."""
    trials = tuple(trial(error) for error in errors)
    nothing: Any = None
    assert best_trial(Rehearsal(10, trials, nothing)) is trials[best]


def test_advice_where_nothing_was_finite() -> None:
    """Noise may drown a run so that its draws are no numbers; that is said, too."""
    said = advice_on(trial(math.nan).error, 300, 0.1)
    assert "no way gave finite draws" in said
    assert "does not buy a usable posterior" in said
    assert "inf" not in said
    assert "nan" not in said
