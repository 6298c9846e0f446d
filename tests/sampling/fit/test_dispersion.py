# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What scales a log-likelihood, and what is linear, is found from the model alone."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from jax.scipy.special import gammaln

from dpmcmc import Model
from dpmcmc.sampling.fit.basis import basis_of
from dpmcmc.sampling.fit.dispersion import Dispersion, Shape, shape_of
from dpmcmc.sampling.problem import make_problem

RECORDS = {"x": np.zeros((50, 2)), "y": np.zeros(50), "z": np.zeros(50)}
START = {"a": 0.1, "b": np.array([0.3, -0.2]), "s": 0.2}
A, S = 0, 3
"""Places of the intercept and of the log sd, among a, b and s."""


def wide_prior(theta: Any) -> Any:
    return -0.005 * sum(jnp.sum(leaf**2) for leaf in theta.values())


def shape(
    likelihood: Callable[[Any, Any], Any],
    start: dict[str, Any] = START,
    records: Any = RECORDS,
    precision: str = "float32",
) -> Shape:
    model = Model(likelihood, wide_prior, start)
    problem = make_problem(
        model, records, start=None, precision=precision, devices=None
    )
    point, basis = problem.ravel(problem.initial), basis_of(problem)
    with jax.enable_x64(precision == "float64"):
        _, unravel = ravel_pytree(problem.initial)
    return shape_of(problem, point, basis.factor, unravel)


def find(
    likelihood: Callable[[Any, Any], Any], *arguments: Any, **options: Any
) -> Dispersion | None:
    return shape(likelihood, *arguments, **options).scaling


def mean(theta: Any, record: Any) -> Any:
    return theta["a"] + record["x"] @ theta["b"]


def normal(theta: Any, record: Any) -> Any:
    away = (record["y"] - mean(theta, record)) * jnp.exp(-theta["s"])
    return -theta["s"] - 0.5 * away**2


def laplace(theta: Any, record: Any) -> Any:
    away = jnp.abs(record["y"] - mean(theta, record))
    return -theta["s"] - away * jnp.exp(-theta["s"])


def gamma(theta: Any, record: Any) -> Any:
    """Of shape 2, whose mean has a logarithm that is linear."""
    eta = mean(theta, record)
    return -2 * eta - 2 * jnp.abs(record["y"]) * jnp.exp(-eta)


def exponential(theta: Any, record: Any) -> Any:
    return theta["rate"] - jnp.abs(record["y"]) * jnp.exp(theta["rate"])


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_the_log_sd_of_a_normal_regression(precision: str) -> None:
    """ℓ = −t − q e^{−2t}; and so does it scale the curvature of all else."""
    found = find(normal, precision=precision)
    assert found is not None
    assert found.place == S
    assert (found.level, found.rate) == pytest.approx((1.0, 2.0), rel=2e-3)
    np.testing.assert_array_equal(found.scaled, True)


def test_the_log_rate_of_an_exponential_distribution() -> None:
    found = find(exponential, {"rate": 0.3})
    assert found is not None
    assert (found.place, found.level, found.rate) == pytest.approx(
        (0, -1.0, -1.0), rel=2e-3
    )


def test_the_intercept_of_a_log_link() -> None:
    """A gamma regression is scaled by its mean."""
    found = find(gamma, {"a": 0.1, "b": np.array([1e-4, 0.0])})
    assert found is not None
    assert found.place == A
    assert (found.level, found.rate) == pytest.approx((2.0, 1.0), rel=2e-3)
    np.testing.assert_array_equal(found.scaled, True)


def test_what_is_not_scaled_is_told_from_what_is() -> None:
    """A coefficient of another part of the model, whose noise is known."""

    def likelihood(theta: Any, record: Any) -> Any:
        rest = {**theta, "b": theta["b"] * jnp.array([1.0, 0.0])}
        other = record["z"] - theta["b"][1] * record["x"][1]
        return normal(rest, record) - 0.5 * other**2

    found = find(likelihood)
    assert found is not None
    assert found.place == S
    np.testing.assert_array_equal(found.scaled, [True, True, False, True])


def poisson(theta: Any, record: Any) -> Any:
    eta = mean(theta, record)
    return record["y"] * eta - jnp.exp(eta)


def logistic(theta: Any, record: Any) -> Any:
    eta = mean(theta, record)
    return record["y"] * eta - jnp.logaddexp(0.0, eta)


def student(theta: Any, record: Any) -> Any:
    away = (record["y"] - mean(theta, record)) * jnp.exp(-theta["s"])
    return -theta["s"] - 2.5 * jnp.log1p(away**2 / 4)


def by_sd(theta: Any, record: Any) -> Any:
    """The sd itself, and not its logarithm."""
    sd = 1 + theta["s"]
    return -jnp.log(sd) - 0.5 * ((record["y"] - mean(theta, record)) / sd) ** 2


def by_record(theta: Any, record: Any) -> Any:
    """A log sd that has a slope: a and c differ from record to record."""
    log_sd = theta["s"] * record["x"][0]
    away = (record["y"] - theta["a"] - theta["b"][0] * record["x"][1]) ** 2
    return -log_sd - 0.5 * away * jnp.exp(-2 * log_sd)


def two(theta: Any, record: Any) -> Any:
    """Two responses, each with its own log sd."""
    first = (record["y"] - theta["a"]) * jnp.exp(-theta["s"])
    second = (record["z"] - theta["a"]) * jnp.exp(-theta["b"][0])
    return -theta["s"] - theta["b"][0] - 0.5 * (first**2 + second**2)


def negative_binomial(theta: Any, record: Any) -> Any:
    shape, count = jnp.exp(theta["s"]), jnp.abs(record["y"])
    eta = theta["a"]
    return (
        gammaln(count + shape)
        - gammaln(shape)
        + shape * theta["s"]
        + count * eta
        - (count + shape) * jnp.logaddexp(eta, theta["s"])
    )


@pytest.mark.parametrize(
    "likelihood",
    [poisson, logistic, student, by_sd, by_record, two, negative_binomial],
)
def test_others_have_none(likelihood: Any) -> None:
    assert find(likelihood) is None


def test_no_record_is_read() -> None:
    """What is found is the same whatever records are, and if they are no numbers."""
    first = find(normal)
    assert first is not None
    for fill in (np.nan, 1e30, -3.0):
        records = {name: np.full_like(column, fill) for name, column in RECORDS.items()}
        other = find(normal, records=records)
        assert other is not None
        assert other[:3] == first[:3]
        np.testing.assert_array_equal(other.scaled, first.scaled)


# Whose derivatives are linear in the others.


def known_sd(theta: Any, record: Any) -> Any:
    return -0.5 * (record["y"] - mean(theta, record)) ** 2 / 9


def log_variance(theta: Any, record: Any) -> Any:
    away = (record["y"] - mean(theta, record)) ** 2
    return -theta["s"] / 2 - 0.5 * away * jnp.exp(-theta["s"])


COEFFICIENTS = {"a": START["a"], "b": START["b"]}


def test_a_normal_regression_with_a_known_sd_is_straight() -> None:
    found = shape(known_sd, COEFFICIENTS)
    assert found.is_straight
    assert found.scaling is None
    np.testing.assert_array_equal(found.bent, False)


@pytest.mark.parametrize(
    ("likelihood", "level", "rate"), [(normal, 1.0, 2.0), (log_variance, 0.5, 1.0)]
)
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_normal_regression_is_straight_but_along_its_scale(
    likelihood: Any, level: float, rate: float, precision: str
) -> None:
    """Its own curvature is scaled with all others."""
    found = shape(likelihood, precision=precision)
    assert found.is_straight
    assert found.scaling is not None
    assert found.scaling[:3] == pytest.approx((S, level, rate), rel=2e-3)
    assert found.scaling.scaled[S]
    np.testing.assert_array_equal(found.bent, np.arange(4) == S)


def log_normal(theta: Any, record: Any) -> Any:
    """NaN wherever made-up responses are not positive."""
    return normal(theta, {**record, "y": jnp.log(record["y"])})


def test_records_without_derivatives_do_not_count() -> None:
    found = shape(log_normal)
    assert found.is_straight
    assert found.scaling is not None
    np.testing.assert_array_equal(found.scaling.scaled, True)


def test_where_hardly_any_record_has_derivatives_all_may_be_bent() -> None:
    def likelihood(theta: Any, record: Any) -> Any:
        return jnp.log(-1 - jnp.abs(record["y"])) * mean(theta, record)

    found = shape(likelihood, COEFFICIENTS)
    assert found.scaling is None
    np.testing.assert_array_equal(found.bent, True)


@pytest.mark.parametrize("likelihood", [logistic, poisson])
def test_a_regression_that_is_not_linear_is_bent(likelihood: Any) -> None:
    found = shape(likelihood, COEFFICIENTS)
    np.testing.assert_array_equal(found.bent, True)
    assert not found.is_straight


def test_a_t_regression_is_bent() -> None:
    found = shape(student)
    np.testing.assert_array_equal(found.bent, True)
    assert not found.is_straight


def test_parts_of_a_model_are_told_apart() -> None:
    """A logistic and a normal regression, which share nothing."""

    def likelihood(theta: Any, record: Any) -> Any:
        eta = theta["b"][0] + theta["b"][1] * record["x"][0]
        away = record["y"] - theta["a"]
        return record["z"] * eta - jnp.logaddexp(0.0, eta) - 0.5 * away**2

    found = shape(likelihood, COEFFICIENTS)
    np.testing.assert_array_equal(found.bent, [False, True, True])
    assert not found.is_straight


def test_what_a_scale_changes_in_part_is_bent() -> None:
    """An intercept of two responses; the sd of one is known."""

    def likelihood(theta: Any, record: Any) -> Any:
        return normal(theta, record) - 0.5 * (record["z"] - theta["a"]) ** 2

    found = shape(likelihood)
    assert found.scaling is not None
    np.testing.assert_array_equal(found.scaling.scaled, [False, True, True, True])
    np.testing.assert_array_equal(found.bent, [True, False, False, True])
    assert not found.is_straight


@pytest.mark.parametrize(
    ("likelihood", "bent", "is_straight"),
    [
        (lambda theta, record: -0.5 * (record["y"] - theta["a"]) ** 2, False, True),
        (lambda theta, record: exponential({"rate": theta["a"]}, record), True, True),
        (lambda theta, record: -jnp.logaddexp(0.0, theta["a"]), True, False),
        (lambda theta, record: 0 * record["y"], False, True),
    ],
    ids=["mean", "log rate", "log odds", "the prior alone"],
)
def test_models_of_one_coordinate(
    likelihood: Any, bent: bool, is_straight: bool
) -> None:
    """A scale is bent by itself: its derivative is exponential in it."""
    found = shape(likelihood, {"a": 0.1})
    np.testing.assert_array_equal(found.bent, [bent])
    assert found.is_straight == is_straight


# How far the highest point is: of −a t − q e^{−ct}, at log(cq / a) / c.

SHAPES = [(1.0, 2.0), (-1.0, -1.0), (2.0, 1.0)]


@pytest.mark.parametrize(("level", "rate"), SHAPES)
@pytest.mark.parametrize("ratio", [0.2, 1.0, 7.0])
def test_the_highest_point_is_reached_at_once(
    level: float, rate: float, ratio: float
) -> None:
    """cq = a · ratio; from the gradient −a + cq, and from the curvature c² q."""
    one = Dispersion(0, level, rate, np.array([True]))
    expected = np.log(ratio) / rate
    own = ratio * level
    assert one.by_gradient(own - level, 0.0) == pytest.approx(expected)
    assert one.by_curvature(rate * own) == pytest.approx(expected)


@pytest.mark.parametrize(("level", "rate"), SHAPES)
def test_no_step_is_longer_than_is_believed(level: float, rate: float) -> None:
    """A gradient of −a is the least there is; noise may show less."""
    one = Dispersion(0, level, rate, np.array([True]))
    farthest = np.log(10.0) / rate
    assert one.by_gradient(1e6 * level, 0.0) == pytest.approx(farthest)
    for gradient in (-level, -5 * level):
        assert one.by_gradient(gradient, 0.0) == pytest.approx(-farthest)


def test_what_noise_hides_is_not_believed() -> None:
    one = Dispersion(0, 1.0, 2.0, np.array([True]))
    steps = [one.by_gradient(2.0, sd) for sd in (0.0, 0.5, 1.0, 10.0, 1e4)]
    assert np.all(np.diff(steps) < 0)
    assert steps[2] == pytest.approx(np.log(2.0) / 2)
    assert steps[-1] == pytest.approx(0.0, abs=1e-6)
