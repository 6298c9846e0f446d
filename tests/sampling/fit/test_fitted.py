# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What noise does to the mode: intervals are never narrower, and never infinite."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from test_last import arrival

from dpmcmc import Model
from dpmcmc.sampling.fit import fitted
from dpmcmc.sampling.fit.curvature import Curvature
from dpmcmc.sampling.fit.fitted import Fitted, fitted_to
from dpmcmc.sampling.fit.last import Extremes, Quadratic
from dpmcmc.sampling.fit.place import Place, Setting
from dpmcmc.sampling.fit.prior import LogPrior
from dpmcmc.sampling.problem import make_problem

RECORDS = 5000
SEEDS = some.integers(0, 2**32 - 1)


def student(theta: Any) -> Any:
    """A log density that curves up far out: of 3 degrees of freedom, scale 2.5."""
    return -2 * jnp.sum(jnp.log1p((theta / 2.5) ** 2 / 3))


def normal(theta: Any) -> Any:
    return -0.5 * jnp.sum(theta**2) / 2.5**2


def fit(log_prior: Any, gradient: float, noise: float) -> Fitted:
    """Two coordinates, whose gradient has noise; a curvature of 1 with as much."""
    model = Model(lambda t, y: y * jnp.sum(t), log_prior, np.zeros(2))
    problem = make_problem(
        model, np.zeros(3), start=None, precision="float64", devices=None
    )
    ended = arrival()
    own = ended.place.setting
    setting = Setting(own.basis, LogPrior(problem), RECORDS, 1.0)
    place = Place(setting, np.zeros(2), np.eye(2), np.ones(2))
    nothing = np.zeros(2)
    found = Quadratic(
        gradient=np.full(2, gradient),
        curvature=Curvature(np.eye(2), noise * np.eye(2)),
        variance=np.full(2, noise**2),
        cut=nothing,
        wide_cut=nothing,
        gradient_bound=2.0,
        hessian_bound=1.0,
        is_flat=False,
        cut_sd=0.0,
        power=np.nan,
        extremes=Extremes(0.0, 0.0, np.nan),
    )
    return fitted_to(ended._replace(place=place), found)


@pytest.mark.parametrize("log_prior", [normal, student])
@pytest.mark.parametrize("noise", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("gradient", [0.0, 5.0, 60.0])
def test_intervals_are_wider_by_a_finite_factor(
    log_prior: Any, noise: float, gradient: float
) -> None:
    """Also where noise leads far into the tail of a prior that is not concave."""
    found = fit(log_prior, gradient, noise)
    assert np.all(np.isfinite(found.widening))
    assert np.all(found.widening >= 1)
    assert np.isfinite(found.differences(np.eye(2)))


def parts(seed: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """K and S, of sizes that differ much by direction; and what a prior might add."""
    generator = np.random.default_rng(seed)
    axes = np.linalg.qr(generator.normal(size=(3, size, size)))[0]
    sizes = np.exp(generator.uniform(-7, 7, (2, size)))
    known, errors = ((a * s) @ a.T for a, s in zip(axes, sizes, strict=False))
    curved = generator.normal(size=size) * 3
    return known, errors, (axes[2] * curved) @ axes[2].T


@given(seed=SEEDS, size=some.integers(1, 6))
def test_noise_takes_of_what_the_records_gave(seed: int, size: int) -> None:
    """Precision K becomes K (K + S)⁻¹ K, beside that of a prior, if it is concave."""
    known, errors, curved = parts(seed, size)
    prior = curved @ curved.T + np.eye(size)
    root = fitted._root_of_shift(prior + known, known, errors)
    left = known @ np.linalg.solve(known + errors, known)
    expected = np.linalg.inv(prior + left) - np.linalg.inv(prior + known)
    np.testing.assert_allclose(root @ root.T, expected, atol=1e-9)


def test_without_a_prior_the_mode_moves_by_what_the_gradient_does() -> None:
    known, errors, _ = parts(1, 3)
    root = fitted._root_of_shift(known, known, errors)
    moved = np.linalg.solve(known, np.linalg.solve(known, errors).T)
    np.testing.assert_allclose(root @ root.T, moved, rtol=1e-6)


@given(seed=SEEDS, size=some.integers(1, 6), rest=some.integers(0, 2))
def test_a_shift_is_finite_whatever_the_prior(seed: int, size: int, rest: int) -> None:
    """Of which some coordinates may be of the prior alone, and where it curves up."""
    known, errors, _ = parts(seed, size)
    own = np.zeros((size + rest, size + rest))
    own[:size, :size] = known
    curved = parts(seed + 1, size + rest)[2]
    values, axes = np.linalg.eigh(own + curved)
    precision = (axes * np.maximum(np.abs(values), 1e-6)) @ axes.T
    root = fitted._root_of_shift(precision, known, errors)
    assert np.all(np.isfinite(root @ root.T))
