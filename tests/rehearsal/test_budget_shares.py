# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""How a budget is shared: by public numbers before the start, by simulation after."""

import math
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.flatten_util import ravel_pytree

from dpmcmc import ControlVariates, Model, models
from dpmcmc.private import Records, Tape
from dpmcmc.rehearsal import simulate_records
from dpmcmc.rehearsal.looks import Look, look_along, look_at
from dpmcmc.rehearsal.shares import Offer, best_split, distance
from dpmcmc.rehearsal.simulate import without_preparation
from dpmcmc.rehearsal.starting import off_by, plan_fit
from dpmcmc.rehearsal.ways import BOUNDS
from dpmcmc.variational import Variational, fit_start

COUNT, DELTA = 50_000, 1e-6
MIXTURE = models.two_component_mixture((-100.0, 100.0))
AT = {"mean": np.float32(0.0), "gap": np.float32(1.0)}


def look_for(model: Model, theta: Any, covariates: Any) -> Look:
    """Records simulated at θ, whitened by what they tell there."""
    table = simulate_records(model, theta, COUNT, covariates, 0)
    plain = without_preparation(model)
    flat, unravel = ravel_pytree(theta)

    def score(record: Any) -> Any:
        return jax.grad(lambda at: plain.log_likelihood(unravel(at), record))(flat)

    scores = np.asarray(jax.vmap(score)(table), float)
    factor = np.linalg.cholesky(COUNT * np.linalg.inv(scores.T @ scores))
    return look_at(plain, table, theta, factor, centred=True)


def offer(look: Look, epsilon: float, clip: float, rounds: int = 1) -> Offer:
    settled = ControlVariates(epsilon=epsilon, rounds=rounds)
    return Offer(settled.plan(COUNT, len(look.top), DELTA), clip)


@pytest.fixture(scope="module")
def mixture() -> Look:
    return look_for(MIXTURE, AT, None)


def bound_for(look: Look, epsilon: float) -> float:
    return best_split(look, {0.9: offer(look, epsilon, 1.0)}, 0.0, BOUNDS).bound


def test_more_budget_buys_a_wider_bound(mixture: Look) -> None:
    """Without listed responses what is cut off biases, so that noise is weighed."""
    found = [bound_for(mixture, epsilon) for epsilon in (0.1, 1.0, 10.0)]
    assert found == sorted(found)
    assert found[0] < found[-1]
    assert found[1] > 4


def test_a_bound_is_as_wide_as_its_noise_allows(mixture: Look) -> None:
    """Records that the model does not expect are longer than simulated ones."""
    # so much budget that no bound has noise to speak of
    assert bound_for(mixture, 100.0) == max(BOUNDS)


def test_listed_responses_allow_a_tight_bound() -> None:
    model = models.logistic_regression(2, norm=30.0)
    theta = {"coefficients": np.zeros(2, np.float32), "intercept": np.float32(0.0)}
    skewed = {"x": np.random.default_rng(0).exponential(size=(1000, 2)) - 1}
    skewed["y"] = np.zeros(1000)
    look = look_for(model, theta, skewed)
    assert look.is_listed
    assert bound_for(look, 1.0) <= 4


def test_bits_get_more_where_their_clip_cuts(mixture: Look) -> None:
    """A clip that cuts nothing leaves all to the sum; one that cuts all, to bits."""

    def share(narrow: float, wide: float, off: float) -> float:
        offers = {0.75: offer(mixture, 0.75, wide), 0.95: offer(mixture, 0.95, narrow)}
        return best_split(mixture, offers, off, BOUNDS).share

    assert share(1.0, 2.0, off=1.0) == 0.95
    assert share(1e-9, 1.0, off=30.0) == 0.75


def test_hessians_get_more_where_the_start_is_far(mixture: Look) -> None:
    """Noise on a Hessian matters by how far the top is off."""

    def part(off: float) -> float:
        return best_split(mixture, {0.9: offer(mixture, 0.3, 1.0)}, off, BOUNDS).part

    assert part(0.0) < part(20.0)


def test_rounds_forget_how_far_the_start_was(mixture: Look) -> None:
    offers = {0.9: offer(mixture, 0.3, 1e-4, rounds=3)}
    near, far = (best_split(mixture, offers, off, BOUNDS) for off in (0.0, 50.0))
    assert near == far


def test_what_an_expansion_misses_is_of_third_order(mixture: Look) -> None:
    """An eighth as much for moves half as long; the fourth order changes it little."""
    missed = []
    for count in (1000, 4000):
        moves = look_along(mixture, count, 0.0)
        residuals = moves.values - moves.slopes - moves.bends
        missed.append(float(np.sqrt(np.mean(residuals.astype(float) ** 2))))
    assert missed[0] / missed[1] == pytest.approx(8, rel=0.3)


def test_a_distance_is_in_posterior_deviations(mixture: Look) -> None:
    """A deviation along one of two coordinates is 1/√2 as a root mean square."""
    deviation = np.linalg.inv(np.linalg.cholesky(COUNT * mixture.precision)).T[:, 0]
    assert distance(mixture, COUNT, mixture.top) == 0
    found = distance(mixture, COUNT, mixture.top + deviation)
    assert found == pytest.approx(math.sqrt(1 / 2))


@pytest.mark.parametrize(
    ("records", "dimension", "share"),
    [(100_000, 5, 0.15), (10_000, 5, 0.3), (1_000_000, 2, 0.05)],
)
def test_the_start_has_less_where_there_are_more_records(
    records: int, dimension: int, share: float
) -> None:
    plan = plan_fit(records, dimension, DELTA, 1.0)
    assert plan.epsilon == pytest.approx(share)
    assert plan.delta == pytest.approx(share * DELTA)


@settings(max_examples=10, deadline=None)
@given(
    records=st.integers(10, 3000),
    dimension=st.integers(1, 30),
    epsilon=st.floats(1e-3, 20),
)
def test_a_start_always_leaves_most_of_the_budget(
    records: int, dimension: int, epsilon: float
) -> None:
    plan = plan_fit(records, dimension, DELTA, epsilon)
    assert plan.epsilon <= 0.4 * epsilon * (1 + 1e-12)
    assert plan.delta <= 0.4 * DELTA * (1 + 1e-12)


def test_a_start_is_about_as_far_off_as_is_said() -> None:
    """Ten means of a normal law, whose posterior is a parabola.

    The mean square over 10 coordinates is that of 10 normal numbers: it is between
    0.1 and 4 times what is expected but for a chance of 10⁻⁴.
    """
    x = np.random.default_rng(3).standard_normal((4000, 10))
    model = Model(
        lambda theta, r: -0.5 * ((r["x"] - theta) ** 2).sum(),
        lambda theta: -0.5 * (theta**2).sum(),
        np.zeros(10),
    )
    plan = Variational(epsilon=0.5, steps=300).plan(4000, DELTA)
    fit = fit_start(model, Records({"x": x}), plan, Tape.seeded(1, "fit"))
    squares = 4000 * (np.asarray(fit.mean) - x.mean(axis=0)) ** 2
    assert 0.1 < np.mean(squares) / off_by(plan, 10) ** 2 < 4
