# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Effects of persons, integrated out: against quadrature by SciPy, and on a panel."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from dpmcmc import InputError, Records, models, sample_not_private
from dpmcmc.model import Unit

RNG = np.random.default_rng(2)


def _exact(densities, sd):
    """log ∫ ∏ p(b) N(b; 0, sd²) db, about the largest value of the integrand."""
    grid = np.linspace(-30 * sd, 30 * sd, 200_001)
    logs = densities(grid) + stats.norm.logpdf(grid, 0, sd)
    top = logs.max()
    return top + np.log(integrate.simpson(np.exp(logs - top), x=grid))


@pytest.mark.parametrize("log_sd", [-2.0, 0.0, 0.7])
@pytest.mark.parametrize("counts", [[0, 0], [3, 1], [40, 60], [0, 20]])
def test_the_effect_of_a_person_is_integrated_out(log_sd, counts):
    model = models.poisson_panel(2, norm=3.0, most=100)
    x = RNG.normal(size=(3, 2)) * 0.5
    unit = Unit({"x": x, "y": np.array([*counts, 7.0])}, np.array([True, True, False]))
    theta = {
        "coefficients": np.array([0.3, -0.2]),
        "intercept": 0.4,
        "log_effect_sd": log_sd,
    }
    eta = x @ theta["coefficients"] + theta["intercept"]
    expected = _exact(
        lambda b: sum(
            stats.poisson.logpmf(counts[row], np.exp(eta[row] + b)) for row in (0, 1)
        ),
        np.exp(log_sd),
    )
    with jax.enable_x64(True):
        found = float(model.log_likelihood(jax.tree.map(jnp.asarray, theta), unit))
    assert found == pytest.approx(expected, abs=2e-4)


@pytest.mark.slow
def test_derivatives_are_those_of_the_integral():
    model = models.logistic_panel(1, norm=3.0)
    unit = Unit(
        {"x": np.array([[0.5], [-1.0], [2.0]]), "y": np.array([1.0, 0.0, 1.0])},
        np.ones(3, bool),
    )
    with jax.enable_x64(True):
        theta = jax.tree.map(jnp.asarray, model.initial)
        flat, unravel = jax.flatten_util.ravel_pytree(theta)

        def value(at):
            return model.log_likelihood(unravel(at), unit)

        slope = np.asarray(jax.grad(value)(flat))
        step = 1e-4 * np.eye(len(flat))
        rise = [(value(flat + one) - value(flat - one)) / 2e-4 for one in step]
        curve = np.asarray(jax.hessian(value)(flat))
        bend = [
            (jax.grad(value)(flat + one) - jax.grad(value)(flat - one)) / 2e-4
            for one in step
        ]
    assert np.allclose(slope, rise, atol=1e-6)
    assert np.allclose(curve, bend, atol=1e-5)


def test_a_quadratic_is_integrated_exactly():
    with jax.enable_x64(True):
        found = float(
            models.integrate_effect(lambda z: -0.5 * ((3.0 - 2.0 * z) / 0.5) ** 2)
        )
    expected = stats.norm.logpdf(3.0, 0, np.sqrt(4 + 0.25)) + np.log(
        np.sqrt(2 * np.pi) * 0.5
    )
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_a_panel_is_fitted_with_its_effects():
    """The sd of effects and the slope are found, within four posterior sd."""
    persons = 1000
    who = np.repeat(np.arange(persons), RNG.integers(1, 5, persons))
    x = RNG.uniform(-1, 1, (len(who), 1)).astype(np.float32)
    eta = 0.8 * x[:, 0] - 0.3 + RNG.normal(0, 1.2, persons)[who]
    y = (RNG.random(len(who)) < 1 / (1 + np.exp(-eta))).astype(np.float32)
    records = Records({"who": who, "x": x, "y": y}, unit="who", most=4)
    posterior = sample_not_private(
        models.logistic_panel(1, norm=1.0, effect=models.PersonEffect(nodes=9)),
        records,
        seed=1,
        steps=200,
        chains=2,
        progress=False,
    )
    for name, truth in {
        "coefficients": 0.8,
        "intercept": -0.3,
        "effect_sd": 1.2,
    }.items():
        draws = posterior.draws[name]
        assert abs(draws.mean() - truth) < 4 * draws.std()
        assert draws.std() < 0.25


@pytest.mark.parametrize("given", [{"centre": 0.0}, {"scale": -1.0}, {"nodes": 0}])
def test_bad_priors_of_effects_are_refused(given):
    with pytest.raises(InputError):
        models.PersonEffect(**given)
    with pytest.raises(InputError, match="PersonEffect"):
        models.logistic_panel(2, norm=1.0, effect=given)


def test_an_offset_shifts_the_predictor_of_a_person():
    model = models.poisson_panel(1, norm=1.0, most=50, offset=(-2.0, 2.0))
    plain = models.poisson_panel(1, norm=1.0, most=50)
    rows = {"x": np.zeros((2, 1)), "y": np.array([3.0, 5.0])}
    there = np.ones(2, bool)
    theta = jax.tree.map(jnp.asarray, plain.initial)
    shifted = {**theta, "intercept": theta["intercept"] + 0.7}
    moved = Unit({**rows, "offset": np.full(2, 0.7)}, there)
    expected = float(plain.log_likelihood(shifted, Unit(rows, there)))
    found = float(model.log_likelihood(theta, moved))
    assert found == pytest.approx(expected, rel=1e-5)
