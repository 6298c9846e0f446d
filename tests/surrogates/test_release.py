# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A release: what it refuses, the sums it makes, and the law of noise-aware draws."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from settings_of_tests import logistic_model, logistic_records, plan_for

from dpmcmc import InputError, Model, PythonFunction
from dpmcmc.private import Chains, FullData, Grid, Records, Tape
from dpmcmc.surrogates import ControlVariates, Plan, check_release, release
from dpmcmc.surrogates.laplace import laplace
from dpmcmc.surrogates.release import _surrogate

QUIET = 1e-5
"""A multiplier at which the noise is small against one record; not private."""


def quiet_plan(records, size, **bounds):
    settings = ControlVariates(epsilon=1.0, **bounds)
    return Plan(settings, records, size, QUIET)


# Refusals


def test_what_cannot_have_control_variates_is_refused():
    records, plan = Records(logistic_records(50)), plan_for(50, 3)
    model = logistic_model()
    for bad, message in [
        (replace(model, initial={"b": np.zeros(3, int)}), "which is discrete"),
        (replace(model, log_likelihood=PythonFunction(lambda t, r: 0.0)), "PythonFunc"),
        (replace(model, initial={"b": np.zeros(4)}), "planned for 3"),
        (replace(model, log_likelihood=_not_differentiable), "Hessian"),
    ]:
        with pytest.raises(InputError, match=message):
            check_release(bad, records, plan, "float32")
    with pytest.raises(InputError, match="planned for 50"):
        check_release(model, Records(logistic_records(40)), plan, "float32")


def _not_differentiable(theta, record):
    """JAX takes no gradient through a loop whose length it does not know."""
    place = jnp.dot(record["x"], theta["b"])
    return jax.lax.while_loop(lambda x: x > 1, lambda x: x / 2, place)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"centre": {"b": np.zeros(2)}}, "a point like θ"),
        ({"centre": {"b": np.full(3, np.nan)}}, "must be finite"),
        ({"covariance": np.eye(2)}, "positive definite"),
        ({"covariance": -np.eye(3)}, "positive definite"),
        ({"tempered": 0.0}, "tempered is 0.0"),
    ],
)
def test_a_bad_centre_or_covariance_is_refused(given, message):
    settings = {"centre": {"b": np.zeros(3)}, "covariance": np.eye(3), **given}
    records = Records(logistic_records(50))
    with pytest.raises(InputError, match=message):
        release(logistic_model(), records, plan_for(50, 3), Tape.seeded(1), **settings)


# Sums


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_sums_are_those_of_gradients_and_hessians(dtype):
    data, model = logistic_records(400), logistic_model()
    centre, covariance = np.array([0.2, -0.1, 0.4]), np.diag([0.01, 0.02, 0.04])
    surrogate = release(
        model,
        Records(data),
        quiet_plan(400, 3, gradient_bound=50.0, hessian_bound=50.0),
        Tape.seeded(1),
        centre={"b": centre},
        covariance=covariance,
        dtype=dtype,
    )
    factor = np.linalg.cholesky(400 * covariance)
    np.testing.assert_allclose(surrogate.factor, factor)
    chance = 1 / (1 + np.exp(-data["x"] @ centre))
    x = data["x"] @ factor
    slack = 0.1 if dtype == "float64" else 0.3
    gradient = (data["y"] - chance) @ x
    np.testing.assert_allclose(surrogate.gradient, gradient, atol=slack)
    hessian = -(x.T * (chance * (1 - chance))) @ x
    np.testing.assert_allclose(surrogate.hessian, hessian, atol=2 * slack)


def test_the_top_is_where_the_log_posterior_is_highest():
    """Expanded at the mode itself; against Newton's method on the whole."""
    data, model = logistic_records(2000), logistic_model()
    with jax.enable_x64(True):

        def log_posterior(b):
            each = jax.vmap(
                lambda x, y: model.log_likelihood({"b": b}, {"x": x, "y": y})
            )
            return jnp.sum(each(data["x"], data["y"])) + model.log_prior({"b": b})

        mode = jnp.zeros(3)
        for _ in range(8):
            bend = jax.hessian(log_posterior)(mode)
            mode = mode - jnp.linalg.solve(bend, jax.grad(log_posterior)(mode))
        mode, precision = (
            np.asarray(mode),
            -np.asarray(jax.hessian(log_posterior)(mode)),
        )
    surrogate = release(
        model,
        Records(data),
        quiet_plan(2000, 3, gradient_bound=20.0, hessian_bound=20.0),
        Tape.seeded(1),
        centre={"b": mode},
        covariance=np.linalg.inv(precision),
        dtype="float64",
    )
    deviations = np.sqrt(np.diag(np.linalg.inv(precision)))
    np.testing.assert_allclose(
        (np.asarray(surrogate.mean["b"]) - mode) / deviations, 0, atol=1e-3
    )
    np.testing.assert_allclose(surrogate.covariance @ precision, np.eye(3), atol=1e-3)


def test_a_prior_without_derivatives_is_left_out():
    with jax.enable_x64(True):
        top, precision = laplace(
            np.array([2.0]),
            np.array([[-4.0]]),
            lambda v: jnp.where(v[0] > 9, 0.0, -jnp.inf),
            1,
        )
    np.testing.assert_allclose((top[0], precision[0, 0]), (0.5, 4.0))


def test_a_seeded_release_can_be_made_again_and_a_fresh_one_not():
    data, model = Records(logistic_records(50)), logistic_model()

    def total(tape):
        given = {"centre": {"b": np.zeros(3)}, "covariance": np.eye(3) / 50}
        return release(model, data, plan_for(50, 3), tape, **given).influence.total

    np.testing.assert_array_equal(total(Tape.seeded(3)), total(Tape.seeded(3)))
    assert np.all(total(Tape.fresh()) != total(Tape.fresh()))
    used = Tape.fresh()
    total(used)
    with pytest.raises(RuntimeError, match="has been used"):
        total(used)


# Noise


COUNT = 500


def normal_plan():
    return plan_for(COUNT, 2, epsilon=4.0, gradient_bound=4.0, hessian_bound=1.0)


def normal_release(seed, tempered=None):
    """A normal mean with known variance: the quadratic is the log-likelihood."""
    x = np.random.default_rng(0).normal(1.0, 1.0, (COUNT, 2))
    model = Model(
        lambda theta, record: -0.5 * jnp.sum((record - theta) ** 2),
        lambda theta: -0.5 * jnp.sum(theta**2) * 4,
        np.zeros(2),
    )
    surrogate = release(
        model,
        Records(x),
        normal_plan(),
        Tape.seeded(seed),
        centre=np.array([0.9, 1.2]),
        covariance=np.eye(2) / (tempered or COUNT),
        tempered=tempered,
        dtype="float64",
    )
    return surrogate, x, model


def test_tops_scatter_as_noise_aware_draws_say():
    """A chi-squared of 2 × 60 numbers; false alarm below 1e-6 (5 deviations).

    The noise is drawn here, with the deviations that the surrogate states; that it
    is the noise of a release is `test_the_noise_is_as_large_as_stated`.
    """
    power = 100.0
    first, x, model = normal_release(1, power)
    exact = power * x.mean(0) / (power + 4)
    taylor, plan = first.influence.taylor, normal_plan()
    summed = exact_total(x, taylor)
    generator = np.random.default_rng(7)
    scaled = []
    for _ in range(60):
        total = summed + plan.noise_multiplier * generator.standard_normal(5)
        found = _surrogate(
            model, plan, taylor, total, power / COUNT, "float64", np.zeros((2, 0))
        )
        spread = np.linalg.cholesky(found.noise_covariance)
        scaled.append(np.linalg.solve(spread, np.asarray(found.mean) - exact))
    scaled = np.array(scaled)
    # The noise of the Hessian also changes the precision: allow a tenth for that.
    slack = 5 * np.sqrt(2 / scaled.size) + 0.1
    assert abs(np.mean(scaled**2) - 1) < slack
    assert abs(np.mean(scaled)) < 5 / np.sqrt(scaled.size) + 0.05


def test_the_noise_is_as_large_as_stated():
    """Four releases of five numbers: a chi-squared within its 1e-6 quantiles."""
    noise = []
    for seed in range(4):
        surrogate, x, _ = normal_release(seed)
        taylor = surrogate.influence.taylor
        noise.append(surrogate.influence.total - exact_total(x, taylor))
    squares = np.sum(np.square(noise)) / normal_plan().noise_multiplier ** 2
    low, high = scipy.stats.chi2.ppf([5e-7, 1 - 5e-7], np.size(noise))
    assert low < squares < high


def exact_total(x, taylor):
    """The sum without noise: no record of these is shortened, but for the Hessian."""
    v = (x - taylor.centre) @ taylor.factor
    assert np.linalg.norm(v, axis=1).max() < taylor.gradient_bound
    hessian = -taylor.factor.T @ taylor.factor
    assert np.linalg.norm(hessian) <= taylor.hessian_bound
    entries = hessian[taylor.entries()] * taylor.multiples() / taylor.hessian_scale
    return np.concatenate([v.sum(0) / taylor.gradient_scale, len(x) * entries])


def test_noise_aware_draws_have_the_covariance_of_both():
    surrogate, _, _ = normal_release(1)
    count = 200_000
    generator = np.random.default_rng(5)
    plain = np.zeros((2, count // 2, 2))
    moved = surrogate.noise_aware(plain, generator).reshape(-1, 2)
    wanted = surrogate.noise_covariance
    # closed form: gradient noise, and the Hessian's times how far the top is
    top, inverse = surrogate.top, np.linalg.inv(surrogate.precision)
    slope = surrogate.gradient_noise**2 * np.eye(2)
    slope += (
        surrogate.hessian_noise**2 / 2 * (top @ top * np.eye(2) + np.outer(top, top))
    )
    np.testing.assert_allclose(
        wanted, surrogate.factor @ inverse @ slope @ inverse @ surrogate.factor.T
    )
    found = np.cov(moved.T)
    # a variance of n normal numbers has deviation √(2/n) of it; six of them: 2e-9
    np.testing.assert_allclose(
        found, wanted, atol=6 * np.sqrt(2 / count) * wanted.max()
    )
    np.testing.assert_allclose(moved.mean(0), 0, atol=6 * np.sqrt(wanted.max() / count))


def test_a_chain_on_residuals_finds_the_surrogate_posterior_of_a_normal_mean():
    """The residual is zero, so that the chain is on the released quadratic.

    With about 1000 effective draws a mean is off by 0.03 deviations; five are allowed.
    """
    surrogate, x, model = normal_release(2)
    steps = 4000
    with jax.enable_x64(True):
        kernel = surrogate.proposal.fit(surrogate.mean)
        start = jnp.asarray(surrogate.mean)[None]
    chains = Chains(
        model,
        Records(x),
        kernel,
        FullData(Grid(1e-4), influence=surrogate.influence),
        Tape.seeded(4),
        start=start,
        dtype="float64",
        chunk=steps,
        devices=jax.devices()[:1],
    )
    draws = np.asarray(chains.advance(steps).theta)[:, 0]
    deviations = np.sqrt(np.diag(surrogate.covariance))
    flat = np.asarray(surrogate.mean)
    assert np.all(np.abs(draws.mean(0) - flat) < 0.16 * deviations)
    np.testing.assert_allclose(draws.std(0), deviations, rtol=0.12)
