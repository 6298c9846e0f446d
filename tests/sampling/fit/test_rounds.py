# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Scales, rounds and the last release, driven with answers worked out in NumPy."""

from dataclasses import replace
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from oracle import (
    Derivatives,
    Oracle,
    final_noise,
    logistic_derivatives,
    normal_derivatives,
)

from dpmcmc import Model
from dpmcmc.sampling.fit import rounds
from dpmcmc.sampling.fit.asking import Asking
from dpmcmc.sampling.fit.basis import Basis
from dpmcmc.sampling.fit.curvature import Curvature
from dpmcmc.sampling.fit.dispersion import Dispersion, Shape
from dpmcmc.sampling.fit.fitted import Fitted, fitted_to
from dpmcmc.sampling.fit.known import Known
from dpmcmc.sampling.fit.last import ask_last
from dpmcmc.sampling.fit.look import Look
from dpmcmc.sampling.fit.place import Place, Setting
from dpmcmc.sampling.fit.prior import LogPrior
from dpmcmc.sampling.fit.rounds import newton_rounds
from dpmcmc.sampling.fit.scales import find_scales
from dpmcmc.sampling.fit.tails import BINS, Counts, Tail
from dpmcmc.sampling.problem import make_problem

RECORDS = 5000
PRIOR_SD = 5.0


def unravel(flat: object) -> object:
    """The answers come from NumPy: nothing is traced."""
    return flat


@cache
def prior_of(size: int) -> LogPrior:
    model = Model(
        lambda theta, record: record * jnp.sum(theta),
        lambda theta: -0.5 * jnp.sum(theta**2) / PRIOR_SD**2,
        np.zeros(size),
    )
    records = np.zeros(3)
    return LogPrior(
        make_problem(model, records, start=None, precision="float64", devices=None)
    )


def fit(
    size: int,
    budget: float,
    cut: float = 0.0,
    shape: Shape | None = None,
    start: np.ndarray | None = None,
) -> Asking[Fitted]:
    """All questions of a fit but those on residuals; as if so much more was cut."""
    whole = Basis(np.eye(size), np.eye(size), np.zeros((size, 0)))
    setting = Setting(whole, prior_of(size), RECORDS, 1.0, shape)
    at = np.zeros(size) if start is None else start
    scales = yield from find_scales(at, setting, budget, unravel)
    place = Place(setting, *scales[:3], is_first=True)
    final = final_noise(budget, size)
    arrival = yield from newton_rounds(place, budget, scales.spent, final, unravel)
    left = 0.99 - arrival.spent
    arrival, found = yield from ask_last(arrival, left, final, None, unravel)
    return fitted_to(arrival, replace(found, wide_cut=found.wide_cut + cut))


def exact_mode(
    derivatives: Derivatives, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mode and covariance of the posterior, by Newton's method."""
    theta = start
    for _ in range(50):
        gradients, hessians = derivatives(theta)
        precision = -hessians.sum(axis=0) + np.eye(len(theta)) / PRIOR_SD**2
        score = gradients.sum(axis=0) - theta / PRIOR_SD**2
        theta = theta + np.linalg.solve(precision, score)
    return theta, np.linalg.inv(precision)


def logistic() -> Derivatives:
    generator = np.random.default_rng(1)
    x = np.column_stack([np.ones(RECORDS), generator.normal(size=(RECORDS, 3))])
    chance = 1 / (1 + np.exp(-x @ np.array([-0.5, 1.0, -1.0, 0.3])))
    return logistic_derivatives(x, (generator.random(RECORDS) < chance) * 1.0)


def money() -> tuple[Derivatives, np.ndarray]:
    """Income, in tens of thousands, beside a plain column; sd 7 from 1."""
    generator = np.random.default_rng(2)
    income = generator.lognormal(10, 0.5, RECORDS)
    x = np.column_stack([np.ones(RECORDS), income, generator.normal(size=RECORDS)])
    truth = np.array([2.0, 3e-4, -1.0])
    y = x @ truth + 7 * generator.normal(size=RECORDS)
    return normal_derivatives(x, y), np.append(truth, np.log(7))


def test_a_logistic_regression_is_found_without_noise() -> None:
    derivatives = logistic()
    found = Oracle(derivatives).drive(fit(4, 1e6))
    mode, covariance = exact_mode(derivatives, np.zeros(4))
    sd = np.sqrt(np.diag(covariance))
    assert found.arrived
    assert not found.is_far
    assert not found.is_flat
    assert np.max(np.abs(found.mode - mode) / sd) < 1e-3
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), sd, rtol=0.02)


def test_what_was_cut_is_in_the_intervals() -> None:
    """A square of κ more, per record and whitened: κ² N² more of the gradient's."""
    derivatives, kappa = logistic(), 0.01
    plain = Oracle(derivatives).drive(fit(4, 1e6))
    cut = Oracle(derivatives).drive(fit(4, 1e6, kappa**2))
    more = cut.noise - plain.noise
    np.testing.assert_allclose(more, (kappa * RECORDS) ** 2 * np.eye(4), atol=1e-3)
    assert np.all(cut.widening > plain.widening)


@pytest.mark.parametrize(
    ("power", "is_cautious"), [(1.5, True), (2.2, True), (2.8, False)]
)
def test_of_a_tail_that_rests_on_few_records_more_is_taken_to_be_cut(
    monkeypatch: pytest.MonkeyPatch, power: float, is_cautious: bool
) -> None:
    """All are kept for the verdict."""
    derivatives = logistic()
    plain = Oracle(derivatives, 3.0).drive(fit(4, 3.0))
    assert np.isnan(plain.power)
    monkeypatch.setattr(Tail, "slow", lambda _: power)
    found = Oracle(derivatives, 3.0).drive(fit(4, 3.0))
    assert found.power == power
    assert (found.cut_sd > 1.2 * plain.cut_sd) == is_cautious
    assert is_cautious or found.cut_sd == plain.cut_sd


def look_of(
    gradient: np.ndarray, curvature: np.ndarray, noise: float, **changes: Any
) -> Look:
    """What a round might have found, with as much noise in each coordinate."""
    size = len(gradient)
    values: dict[str, Any] = {
        "gradient": gradient,
        "noise": np.full(size, noise),
        "cut": np.zeros(size),
        "wide_cut": np.zeros(size),
        "curvature": curvature,
        "curvature_noise": 0.0,
        "squares": np.ones(size),
        "lengths": Counts(np.zeros(BINS), 1.0),
        "hessians": Counts(np.zeros(BINS), 1.0),
        "bound": 2.0,
        "noise_of_one": 1.0,
    }
    return Look(**{**values, **changes})


def test_raw_columns_and_an_unknown_sd_are_found() -> None:
    derivatives, truth = money()
    found = Oracle(derivatives).drive(fit(4, 1e6))
    mode, covariance = exact_mode(derivatives, truth)
    sd = np.sqrt(np.diag(covariance))
    assert found.arrived
    assert np.max(np.abs(found.mode - mode) / sd) < 1e-2
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), sd, rtol=0.05)


@pytest.mark.parametrize("away", [-8.0, -3.0, 0.0, 3.0, 8.0])
def test_an_sd_far_from_that_of_residuals_costs_no_rounds(away: float) -> None:
    """Coefficients are zero, and the log sd by so much too large: five rounds do."""
    derivatives, truth = money()
    scaling = Dispersion(3, 1.0, 2.0, np.full(4, True))
    shape = Shape(scaling, np.arange(4) == 3)
    start = np.array([0.0, 0.0, 0.0, np.log(7) + away])
    found = Oracle(derivatives).drive(fit(4, 1e6, shape=shape, start=start))
    mode, covariance = exact_mode(derivatives, truth)
    assert found.arrived
    assert found.rounds <= 6
    assert np.max(np.abs(found.mode - mode) / np.sqrt(np.diag(covariance))) < 1e-2


@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_noise_moves_the_mode_by_as_much_as_is_said(mu: float) -> None:
    """Of 10 fits of 4 numbers, 40 errors: their mean square, in sd of what is said.

    For honest ones it is about χ²₄₀/40, above 2.2 once in 10⁵; what clipping may have
    cut is stated cautiously, so that it may be far below 1.
    """
    derivatives = logistic()
    mode, _ = exact_mode(derivatives, np.zeros(4))
    squares = []
    for seed in range(10):
        found = Oracle(derivatives, mu, seed).drive(fit(4, mu))
        squares.append((found.mode - mode) ** 2 / np.diag(found.shift))
    assert 0.1 < np.mean(squares) < 2.2


def test_a_fit_never_asks_for_more_than_its_budget() -> None:
    derivatives = logistic()
    for mu in (0.05, 0.3, 5.0):
        oracle = Oracle(derivatives, mu)
        oracle.drive(fit(4, mu))
        assert min(oracle.asked) > 0
        assert sum(oracle.asked) == pytest.approx(0.99, abs=1e-9)
        assert oracle.finals == 1


# One coordinate that scales the log-likelihood: the log sd of a normal regression.

SCALING = Shape(Dispersion(2, 1.0, 2.0, np.full(3, True)), np.arange(3) == 2)
AT_FIRST = np.array([0.8, -1.2, 0.2])


class Exact:
    """A search that is told gradients and curvatures without noise to speak of."""

    def __init__(self, whitening: np.ndarray) -> None:
        generator = np.random.default_rng(3)
        x = generator.normal(size=(RECORDS, 2))
        y = x @ [1.0, -2.0] + 2 * generator.normal(size=RECORDS)
        self.x, self.y = x, y
        self.derivatives = normal_derivatives(x, y)
        whole = Basis(np.eye(3), np.eye(3), np.zeros((3, 0)))
        setting = Setting(whole, prior_of(3), RECORDS, 1.0, SCALING)
        place = Place(setting, AT_FIRST, whitening, np.ones(3))
        self.search = rounds._Search(
            place, 0.07, Curvature.whitened(3), 1.0, radius=1e3
        )

    def of_records(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean gradient and curvature of the records."""
        gradients, hessians = self.derivatives(theta)
        return gradients.mean(axis=0), -hessians.mean(axis=0)

    def of_all(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """And of the prior, per record."""
        gradient, curvature = self.of_records(theta)
        weight = 1 / PRIOR_SD**2 / RECORDS
        return gradient - weight * theta, curvature + weight * np.eye(3)

    def take(self) -> None:
        """A round."""
        place = self.search.place
        gradient, _ = self.of_all(place.point)
        _, curvature = self.of_records(place.point)
        turn = place.whitening
        known = Known(turn.T @ gradient, 1e-18 * np.eye(3))
        seen = Curvature(turn.T @ curvature @ turn + place.prior[1], np.zeros((3, 3)))
        total = replace(place.apart(seen, known), noise=1e-9 * np.eye(3))
        self.search.take(look_of(known.mean, total.mean, 1e-9), known, total)


WHITENING = np.array([[1.0, 0.3, 0.0], [0.2, 0.8, 0.1], [0.0, -0.2, 1.2]])


def test_steps_are_those_of_newton_and_of_the_residuals_that_they_leave() -> None:
    """Coefficients by least squares; log σ² by the mean square that is left then.

    And a prior, which adds to gradients. Both end where the posterior is highest.
    """
    exact, theta = Exact(WHITENING), AT_FIRST
    for _ in range(12):
        exact.take()
        gradient, curvature = exact.of_all(theta)
        slope, _ = exact.of_records(theta)
        curvature[2, :2] = curvature[:2, 2] = 0
        move = np.linalg.solve(curvature, gradient)
        # Half of g · step is gained of ½ r̄²/σ² by records; half the log of 1 plus a
        # gradient, which is r̄²/σ² − 1 and the prior's, as far as 10 times.
        gain = slope[:2] @ move[:2]
        move[2] = np.log(np.clip(1 + gradient[2] - max(gain, 0), 0.1, 10)) / 2
        theta = theta + move
        np.testing.assert_allclose(exact.search.place.point, theta, atol=1e-7)
    mode, _ = exact_mode(exact.derivatives, np.array([1.0, -2.0, np.log(2)]))
    np.testing.assert_allclose(theta, mode, atol=1e-7)


@pytest.mark.parametrize("is_back", [False, True])
def test_what_is_known_is_of_the_scale_there(is_back: bool) -> None:
    """Of the curvature of records but its coupling, and of the coefficients' gradient.

    At the same coefficients and the scale where the step has led, both are exact; the
    prior adds less than 10⁻³. So it is if the search goes back: the scale is then a
    quarter of the way to that of the residuals which a quarter of the step leaves.
    """
    exact = Exact(WHITENING)
    exact.take()
    search = exact.search
    if is_back:
        search.radius = search.last.length
        search.go_back()
        point = search.place.point
        squares = np.mean((exact.y - exact.x @ point[:2]) ** 2)
        whole = np.log(squares) / 2 - AT_FIRST[2]
        assert point[2] - AT_FIRST[2] == pytest.approx(whole / 4, rel=2e-5)
    assert abs(search.place.point[2] - AT_FIRST[2]) > 0.05
    there = np.append(AT_FIRST[:2], search.place.point[2])
    gradient, curvature = exact.of_records(there)
    turn = search.place.whitening
    seen = Curvature(turn.T @ curvature @ turn, np.zeros((3, 3)))
    apart = search.place.apart(seen, Known(turn.T @ gradient, np.zeros((3, 3))))
    np.testing.assert_allclose(apart.mean, np.eye(3), atol=1e-3)
    np.testing.assert_allclose(search.curvature.mean, np.eye(3), atol=1e-9)
    before = search.last.known.turned(search.last.across(search.place, 2)).mean
    found = np.linalg.solve(turn.T, before)
    np.testing.assert_allclose(found[:2], gradient[:2], rtol=1e-3)


def test_a_prior_is_counted_once() -> None:
    """What was known is of records and prior, and so is what is found.

    Both say 1 with noise of 0.5, of which the prior is 0.4.
    """
    size, prior = 3, 0.4
    whole = Basis(np.eye(size), np.eye(size), np.zeros((size, 0)))
    tempering = 1 / PRIOR_SD**2 / prior
    place = Place(
        Setting(whole, prior_of(size), 1, tempering),
        *(np.zeros(size), np.eye(size), np.ones(size)),
    )
    np.testing.assert_allclose(place.prior[1], prior * np.eye(size), rtol=1e-6)
    known = Curvature(np.eye(size), 0.5 * np.eye(size))
    search = rounds._Search(place, 0.07, known, 1.0, moved=0.1)
    own = (1 - prior) * np.eye(size)
    look = look_of(np.zeros(size), own, 0.1, curvature_noise=0.5)
    _, found = search.learn(look)
    np.testing.assert_allclose(found.mean, np.eye(size), rtol=1e-6)
