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
from dpmcmc.influence.alone import NoisyQuadratic, QuadraticAlone

MODEL = Model(lambda theta, record: 0.0, lambda theta: 0.0, {"t": np.zeros(2)})
DRAWS, FAR = 200_000, 5.5
"""Simulations, and how many standard errors they may be off: of n numbers one is
farther once in 3·10⁷/n tries."""


def noisy_of(size: int, seed: int = 0) -> NoisyQuadratic:
    """With noise of everything, about as large as the curvature."""
    generator = np.random.default_rng(seed)
    one, two, three = generator.normal(size=(3, size, size))
    return NoisyQuadratic(
        gradient=generator.normal(size=size),
        precision=one @ one.T + np.eye(size),
        noise=two @ two.T,
        curvature_noise=three @ three.T + 0.1 * np.eye(size),
    )


def placed(noisy: NoisyQuadratic) -> tuple[QuadraticAlone, np.ndarray, np.ndarray]:
    """The likelihood about some centre, and what makes v of θ: centre and inverse."""
    size, generator = len(noisy.gradient), np.random.default_rng(9)
    centre = generator.normal(size=size)
    inverse = generator.normal(size=(size, size)) + 2 * np.eye(size)
    return QuadraticAlone.of(centre, inverse, noisy), centre, inverse


def log_likelihood(noisy: NoisyQuadratic, v: np.ndarray) -> float:
    size = len(noisy.gradient)
    alone = QuadraticAlone.of(np.zeros(size), np.eye(size), noisy)
    with jax.enable_x64(True):
        return float(alone.log_likelihood(jnp.asarray(alone.inverse @ v, "float64")))


@pytest.mark.parametrize("size", [1, 2, 5, 20])
def test_it_is_the_density_that_is_said(size: int) -> None:
    """log N(g; Kv, K + S + ½ (v · Rv R + Rv vᵀR)), up to a constant."""
    noisy = noisy_of(size, seed=2)
    differences = []
    for v in np.random.default_rng(4).normal(size=(8, size)) * 3:
        along = noisy.curvature_noise @ v
        covariance = v @ along * noisy.curvature_noise + np.outer(along, along)
        covariance = noisy.precision + noisy.noise + covariance / 2
        density = stats.multivariate_normal(noisy.precision @ v, covariance)
        differences.append(density.logpdf(noisy.gradient) - log_likelihood(noisy, v))
    np.testing.assert_allclose(differences, differences[0], rtol=1e-9)


def test_a_move_is_judged_by_the_quadratic_alone() -> None:
    """Without noise, as by a normal density whose gradient scatters by its precision.

    N(g; Kv, K) is that density of v, up to a constant.
    """
    noisy = replace(
        noisy_of(2), noise=np.zeros((2, 2)), curvature_noise=np.zeros((2, 2))
    )
    alone, centre, inverse = placed(noisy)
    mean = np.linalg.solve(noisy.precision, noisy.gradient)
    old, new = np.random.default_rng(1).normal(size=(2, 2)).astype("float32")
    density = stats.multivariate_normal(mean, np.linalg.inv(noisy.precision))
    v = [inverse @ (at - centre) for at in (old, new)]
    expected = np.diff([density.logpdf(one) for one in v])
    found = alone.public(MODEL, {"t": jnp.asarray(old)}, {"t": jnp.asarray(new)})
    np.testing.assert_allclose(found, expected[0], rtol=1e-4, atol=1e-4)


def test_a_move_is_judged_by_differences_of_the_likelihood() -> None:
    noisy = noisy_of(2)
    alone, centre, inverse = placed(noisy)
    old, new = np.random.default_rng(1).normal(size=(2, 2)).astype("float32")
    before, after = (
        log_likelihood(noisy, inverse @ (at - centre)) for at in (old, new)
    )
    found = alone.public(MODEL, {"t": jnp.asarray(old)}, {"t": jnp.asarray(new)})
    np.testing.assert_allclose(found, after - before, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [1, 2])
def test_the_noise_of_the_curvature_is_integrated_out(size: int) -> None:
    """∫ N(g; (K − E) v, K + S) dE, for E = L Z Lᵀ, by Gauss and Hermite.

    Z is symmetric, of sd 1 on the diagonal and 1/√2 off it.
    """
    noisy = noisy_of(size, seed=3)
    noisy = replace(noisy, curvature_noise=0.1 * noisy.curvature_noise)
    root = np.linalg.cholesky(noisy.curvature_noise)
    nodes, weights = np.polynomial.hermite_e.hermegauss(50)
    rows, columns = np.triu_indices(size)
    sd = np.where(rows == columns, 1, np.sqrt(0.5))
    numbers = np.array(list(product(nodes, repeat=len(rows))))
    z = np.zeros((len(numbers), size, size))
    z[:, rows, columns] = z[:, columns, rows] = sd * numbers
    each = np.prod(list(product(weights, repeat=len(rows))), axis=1)
    density = stats.multivariate_normal(np.zeros(size), noisy.precision + noisy.noise)
    differences = []
    for v in np.random.default_rng(4).normal(size=(8, size)):
        rest = noisy.gradient - (noisy.precision - root @ z @ root.T) @ v
        whole = np.log(each @ np.reshape(density.pdf(rest), -1))
        differences.append(log_likelihood(noisy, v) - whole)
    np.testing.assert_allclose(differences, differences[0], atol=1e-6)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_gradients_scatter_as_is_said(size: int) -> None:
    """Released as (K₀ v + N(0, K)) + N(0, S), with K = K₀ + E: what is left of g − Kv.

    Its mean and covariance, beside those of the normal density that is evaluated.
    """
    noisy, generator = noisy_of(size, seed=5), np.random.default_rng(6)
    v = generator.normal(size=size)
    z = np.triu(generator.normal(size=(DRAWS, size, size)))
    z = (z + np.swapaxes(z, 1, 2)) / np.sqrt(2)
    z[:, np.arange(size), np.arange(size)] /= np.sqrt(2)
    root = np.linalg.cholesky(noisy.curvature_noise)
    of_curvature = -(root @ z @ root.T) @ v
    nothing = np.zeros(size)
    by_model = generator.multivariate_normal(nothing, noisy.precision, DRAWS)
    noise = generator.multivariate_normal(nothing, noisy.noise, DRAWS)
    rest = of_curvature + by_model + noise

    expected = covariance_at(noisy, v)
    found = rest.T @ rest / DRAWS
    variances = np.diag(expected)
    errors = np.sqrt((np.outer(variances, variances) + expected**2) / DRAWS)
    assert np.all(np.abs(found - expected) < FAR * errors)
    assert np.all(np.abs(rest.mean(axis=0)) < FAR * np.sqrt(variances / DRAWS))


def covariance_at(noisy: NoisyQuadratic, v: np.ndarray) -> np.ndarray:
    """Of g − Kv, read off the log density: its differences are quadratic in g."""
    size, middle = len(v), noisy.precision @ v

    def at(rest: np.ndarray) -> float:
        return log_likelihood(replace(noisy, gradient=middle + rest), v)

    unit, top = np.eye(size), at(np.zeros(size))
    precision = np.empty((size, size))
    for i, j in product(range(size), repeat=2):
        precision[i, j] = at(unit[i]) + at(unit[j]) - at(unit[i] + unit[j]) - top
    return np.linalg.inv(precision)


def test_far_out_nothing_is_known_where_curvature_is_noise() -> None:
    """Of 1 with noise of 1, the likelihood falls as 1/v only: the prior decides."""
    one = np.ones((1, 1))
    noisy = NoisyQuadratic(np.zeros(1), one, 0 * one, one)
    near, far = (log_likelihood(noisy, np.array([v])) for v in (1e3, 2e3))
    assert near - far == pytest.approx(np.log(2), rel=1e-4)
    known = replace(noisy, curvature_noise=0 * one)
    near, far = (log_likelihood(known, np.array([v])) for v in (1e3, 2e3))
    assert near - far == pytest.approx(1.5e6, rel=1e-6)


def test_a_normal_with_the_noise_of_one_point() -> None:
    """That of the likelihood, if noise is everywhere as it is there."""
    noisy, v = noisy_of(3, seed=7), np.array([0.3, -1.0, 0.5])
    gradient, precision = noisy.normal_at(v)
    fixed = replace(
        noisy,
        noise=covariance_at(noisy, v) - noisy.precision,
        curvature_noise=np.zeros((3, 3)),
    )
    points = np.random.default_rng(8).normal(size=(10, 3))
    ours = [gradient @ at - at @ precision @ at / 2 for at in points]
    differences = np.subtract(ours, [log_likelihood(fixed, at) for at in points])
    np.testing.assert_allclose(differences, differences[0], atol=1e-8)


def test_no_record_enters_it() -> None:
    alone, _, _ = placed(noisy_of(2))
    theta = {"t": jnp.ones(2)}
    for record in (0.0, np.nan, 1e30):
        extras = alone.extras(MODEL, record)
        look = alone.look(MODEL, theta, record, extras, "float32")
        assert float(alone.ratio(look, look, record, extras)) == 0.0
