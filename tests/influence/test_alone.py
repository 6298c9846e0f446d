# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A noisy quadratic by itself: nothing is read, and its noise is in its likelihood."""

from dataclasses import replace
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from dpmcmc import Model
from dpmcmc.influence.alone import QuadraticAlone

MODEL = Model(lambda theta, record: 0.0, lambda theta: 0.0, {"t": np.zeros(2)})
DRAWS, FAR = 200_000, 5.5
"""Simulations, and how many standard errors they may be off: of n numbers one is
farther once in 3·10⁷/n tries."""


def alone_of(size: int, seed: int = 0) -> QuadraticAlone:
    """With noise of everything, about as large as the curvature."""
    generator = np.random.default_rng(seed)
    one, two, three = generator.normal(size=(3, size, size))
    return QuadraticAlone(
        centre=generator.normal(size=size),
        inverse=generator.normal(size=(size, size)) + 2 * np.eye(size),
        gradient=generator.normal(size=size),
        precision=one @ one.T + np.eye(size),
        noise=two @ two.T,
        curvature_noise=three @ three.T + 0.1 * np.eye(size),
    )


def log_likelihood(alone: QuadraticAlone, v: np.ndarray) -> float:
    with jax.enable_x64(True):
        return float(alone.log_likelihood(jnp.asarray(v, "float64")))


def test_a_move_is_judged_by_the_quadratic_alone() -> None:
    """Without noise, as by a normal density whose gradient scatters by its precision.

    N(g; Kv, K) is that density of v, up to a constant.
    """
    alone = replace(
        alone_of(2), noise=np.zeros((2, 2)), curvature_noise=np.zeros((2, 2))
    )
    mean = np.linalg.solve(alone.precision, alone.gradient)
    old, new = np.random.default_rng(1).normal(size=(2, 2)).astype("float32")
    density = stats.multivariate_normal(mean, np.linalg.inv(alone.precision))
    v = [alone.inverse @ (at - alone.centre) for at in (old, new)]
    expected = np.diff([density.logpdf(one) for one in v])
    found = alone.public(MODEL, {"t": jnp.asarray(old)}, {"t": jnp.asarray(new)})
    np.testing.assert_allclose(found, expected[0], rtol=1e-4, atol=1e-4)


def test_a_move_is_judged_by_differences_of_the_likelihood() -> None:
    alone = alone_of(2)
    old, new = np.random.default_rng(1).normal(size=(2, 2)).astype("float32")
    before, after = (
        log_likelihood(alone, alone.inverse @ (at - alone.centre)) for at in (old, new)
    )
    found = alone.public(MODEL, {"t": jnp.asarray(old)}, {"t": jnp.asarray(new)})
    np.testing.assert_allclose(found, after - before, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [1, 2])
def test_the_noise_of_the_curvature_is_integrated_out(size: int) -> None:
    """∫ N(g; (K − E) v, K + S) dE, for E = L Z Lᵀ, by Gauss and Hermite.

    Z is symmetric, of sd 1 on the diagonal and 1/√2 off it.
    """
    alone = alone_of(size, seed=3)
    alone = replace(alone, curvature_noise=0.1 * alone.curvature_noise)
    root = np.linalg.cholesky(alone.curvature_noise)
    nodes, weights = np.polynomial.hermite_e.hermegauss(50)
    rows, columns = np.triu_indices(size)
    sd = np.where(rows == columns, 1, np.sqrt(0.5))
    numbers = np.array(list(product(nodes, repeat=len(rows))))
    z = np.zeros((len(numbers), size, size))
    z[:, rows, columns] = z[:, columns, rows] = sd * numbers
    each = np.prod(list(product(weights, repeat=len(rows))), axis=1)
    density = stats.multivariate_normal(np.zeros(size), alone.precision + alone.noise)
    differences = []
    for v in np.random.default_rng(4).normal(size=(8, size)):
        rest = alone.gradient - (alone.precision - root @ z @ root.T) @ v
        whole = np.log(each @ np.reshape(density.pdf(rest), -1))
        differences.append(log_likelihood(alone, v) - whole)
    np.testing.assert_allclose(differences, differences[0], atol=1e-6)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_gradients_scatter_as_is_said(size: int) -> None:
    """Released as (K₀ v + N(0, K)) + N(0, S), with K = K₀ + E: what is left of g − Kv.

    Its mean and covariance, beside those of the normal density that is evaluated.
    """
    alone, generator = alone_of(size, seed=5), np.random.default_rng(6)
    v = generator.normal(size=size)
    z = np.triu(generator.normal(size=(DRAWS, size, size)))
    z = (z + np.swapaxes(z, 1, 2)) / np.sqrt(2)
    z[:, np.arange(size), np.arange(size)] /= np.sqrt(2)
    root = np.linalg.cholesky(alone.curvature_noise)
    of_curvature = -(root @ z @ root.T) @ v
    nothing = np.zeros(size)
    by_model = generator.multivariate_normal(nothing, alone.precision, DRAWS)
    noise = generator.multivariate_normal(nothing, alone.noise, DRAWS)
    rest = of_curvature + by_model + noise

    expected = covariance_at(alone, v)
    found = rest.T @ rest / DRAWS
    variances = np.diag(expected)
    errors = np.sqrt((np.outer(variances, variances) + expected**2) / DRAWS)
    assert np.all(np.abs(found - expected) < FAR * errors)
    assert np.all(np.abs(rest.mean(axis=0)) < FAR * np.sqrt(variances / DRAWS))


def covariance_at(alone: QuadraticAlone, v: np.ndarray) -> np.ndarray:
    """Of g − Kv, read off the log density: its differences are quadratic in g."""
    size, middle = len(v), alone.precision @ v

    def at(rest: np.ndarray) -> float:
        return log_likelihood(replace(alone, gradient=middle + rest), v)

    unit, top = np.eye(size), at(np.zeros(size))
    precision = np.empty((size, size))
    for i, j in product(range(size), repeat=2):
        precision[i, j] = at(unit[i]) + at(unit[j]) - at(unit[i] + unit[j]) - top
    return np.linalg.inv(precision)


def test_far_out_nothing_is_known_where_curvature_is_noise() -> None:
    """Of 1 with noise of 1, the likelihood falls as 1/v only: the prior decides."""
    one = np.ones((1, 1))
    alone = QuadraticAlone(np.zeros(1), one, np.zeros(1), one, 0 * one, one)
    near, far = (log_likelihood(alone, np.array([v])) for v in (1e3, 2e3))
    assert near - far == pytest.approx(np.log(2), rel=1e-4)
    known = replace(alone, curvature_noise=0 * one)
    near, far = (log_likelihood(known, np.array([v])) for v in (1e3, 2e3))
    assert near - far == pytest.approx(1.5e6, rel=1e-6)


def test_a_normal_with_the_noise_of_one_point() -> None:
    """That of the likelihood, if noise is everywhere as it is there."""
    alone, v = alone_of(3, seed=7), np.array([0.3, -1.0, 0.5])
    gradient, precision = alone.normal_at(v)
    fixed = replace(
        alone,
        noise=covariance_at(alone, v) - alone.precision,
        curvature_noise=np.zeros((3, 3)),
    )
    points = np.random.default_rng(8).normal(size=(10, 3))
    ours = [gradient @ at - at @ precision @ at / 2 for at in points]
    differences = np.subtract(ours, [log_likelihood(fixed, at) for at in points])
    np.testing.assert_allclose(differences, differences[0], atol=1e-8)


def test_no_record_enters_it() -> None:
    alone = alone_of(2)
    theta = {"t": jnp.ones(2)}
    for record in (0.0, np.nan, 1e30):
        extras = alone.extras(MODEL, record)
        look = alone.look(MODEL, theta, record, extras, "float32")
        assert float(alone.ratio(look, look, record, extras)) == 0.0
