# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The prior beside a released quadratic: closed forms, and modes of other priors."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from dpmcmc import Model
from dpmcmc.sampling.fit.prior import LogPrior
from dpmcmc.sampling.problem import make_problem

MEAN = np.array([0.5, -1.0, 2.0])
PRECISION = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 0.5]])


def prior_of(log_prior: Any, initial: Any, precision: str = "float32") -> LogPrior:
    model = Model(lambda theta, record: 0.0 * record, log_prior, initial)
    problem = make_problem(
        model,
        np.zeros(3),
        start=None,
        precision=precision,  # type: ignore[arg-type]
        devices=None,
    )
    return LogPrior(problem)


def log_normal(theta: Any) -> Any:
    """A normal prior over two leaves, in the order of the coordinates."""
    flat = jnp.concatenate([jnp.reshape(theta["a"], 1), theta["b"]])
    away = flat - jnp.asarray(MEAN.tolist())
    return -0.5 * away @ jnp.asarray(PRECISION.tolist()) @ away


@pytest.fixture(scope="module")
def normal() -> LogPrior:
    return prior_of(log_normal, {"a": 0.0, "b": np.zeros(2)})


@pytest.mark.parametrize(
    ("precision", "close"), [("float32", 1e-6), ("float64", 1e-12)]
)
def test_derivatives_are_those_of_the_log_prior(precision: str, close: float) -> None:
    """In the precision of the chain."""
    prior = prior_of(log_normal, {"a": 0.0, "b": np.zeros(2)}, precision)
    point = np.array([0.1, 0.2, 0.3])
    value, gradient, hessian = prior.at(point)
    away = point - MEAN
    assert value == pytest.approx(-0.5 * away @ PRECISION @ away, rel=close)
    np.testing.assert_allclose(gradient, -PRECISION @ away, rtol=close)
    np.testing.assert_allclose(hessian, -PRECISION, rtol=close)


def test_where_a_derivative_is_not_finite_the_prior_is_flat() -> None:
    prior = prior_of(jnp.sqrt, 1.0)
    _, gradient, hessian = prior.at(np.array([0.0]))
    assert gradient.tolist() == [0.0]
    assert hessian.tolist() == [[0.0]]


@pytest.mark.parametrize("informed", [1, 2, 3])
def test_a_normal_prior_has_a_closed_form(normal: LogPrior, informed: int) -> None:
    """Directions that records do not inform have the prior alone."""
    generator = np.random.default_rng(informed)
    centre = generator.normal(size=3)
    frame = generator.normal(size=(3, 3))
    factor = generator.normal(size=(informed, informed + 2))
    known = factor @ factor.T
    gradient = generator.normal(size=informed)
    both = frame.T @ PRECISION @ frame
    both[:informed, :informed] += known
    pull = frame.T @ PRECISION @ (MEAN - centre)
    pull[:informed] += gradient
    mode, precision = normal.climb(centre, frame, gradient, known)
    np.testing.assert_allclose(mode, np.linalg.solve(both, pull), atol=1e-6)
    np.testing.assert_allclose(precision, both, atol=1e-8)


def test_a_strong_quadratic_overrules_the_prior(normal: LogPrior) -> None:
    """The mode is then where the quadratic has it: v = precision⁻¹ gradient."""
    known = 1e8 * np.eye(3)
    wanted = np.array([1.0, 2.0, 3.0])
    mode, _ = normal.climb(np.zeros(3), np.eye(3), known @ wanted, known)
    np.testing.assert_allclose(mode, wanted, atol=1e-6)


def test_a_mode_of_a_prior_with_long_tails_is_a_mode() -> None:
    """Student's: it curves up where the climb starts, and the climb still arrives."""
    prior = prior_of(lambda theta: -jnp.sum(jnp.log1p((theta - 8.0) ** 2)), np.zeros(2))
    gradient, known = np.array([0.1, 0.0]), np.diag([0.05, 0.01])
    mode, precision = prior.climb(np.zeros(2), np.eye(2), gradient, known)
    _, slope, curve = prior.at(mode)
    np.testing.assert_allclose(gradient - known @ mode + slope, 0, atol=1e-4)
    assert np.linalg.eigvalsh(precision).min() > 0
    np.testing.assert_allclose(precision, known - curve, atol=1e-6)

    # higher than where it started, and than any point of a grid about it
    def height(v: np.ndarray) -> float:
        return float(gradient @ v - v @ known @ v / 2 + prior.at(v)[0])

    assert height(mode) > height(np.zeros(2))
    for step in 0.3 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]):
        assert height(mode) > height(mode + step)


def test_a_climb_stays_where_the_prior_is() -> None:
    """A prior that ends at zero: a step beyond is halved until it is within."""
    prior = prior_of(lambda theta: jnp.sum(jnp.log(theta)), np.ones(1))
    mode, precision = prior.climb(
        np.ones(1), np.eye(1), np.array([-50.0]), np.array([[1.0]])
    )
    point = 1 + mode[0]
    assert point > 0
    # the derivative of log θ − 50 (θ − 1) − (θ − 1)²/2 is zero
    assert 1 / point - 50 - mode[0] == pytest.approx(0, abs=1e-3)
    assert precision[0, 0] == pytest.approx(1 + 1 / point**2, rel=1e-6)


def test_a_flat_prior_beside_nothing_has_a_precision_that_can_be_inverted() -> None:
    prior = prior_of(lambda theta: 0.0 * jnp.sum(theta), np.zeros(2))
    mode, precision = prior.climb(
        np.zeros(2), np.eye(2), np.array([1.0]), np.array([[2.0]])
    )
    assert mode[0] == pytest.approx(0.5)
    assert np.linalg.eigvalsh(precision).min() > 0
