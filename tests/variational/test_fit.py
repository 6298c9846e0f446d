# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A private start: that it lands where the posterior is, and what it depends on."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import norm
from refusals import Sealed

from benchmarks._clipped_chains import mixture_problem
from dpmcmc import Model, PythonFunction
from dpmcmc.errors import InputError
from dpmcmc.private import NoisySums, Records, Tape
from dpmcmc.variational import Variational, check_start, fit_start
from dpmcmc.variational.climb import climb
from reproduction.paper_mixture import TRUTH, mixture_model, simulate

SHORT = Variational(epsilon=5.0, steps=200, batch=500)


def plane(theta, record):
    """A regression line with known noise: the posterior is normal."""
    place = theta["level"] + theta["slope"] @ record["x"]
    return norm.logpdf(record["y"], place, 1.0)


PLANE = Model(
    plane,
    lambda theta: norm.logpdf(theta["level"]) + jnp.sum(norm.logpdf(theta["slope"])),
    {"level": 0.0, "slope": np.zeros(2)},
)


def plane_records(count=5000):
    generator = np.random.default_rng(3)
    x = generator.normal(size=(count, 2))
    x[:, 1] += 0.5 * x[:, 0]
    y = 0.7 + x @ np.array([-0.4, 0.9]) + generator.normal(size=count)
    return {"x": x, "y": y}


def plane_posterior(records, power=1.0):
    """Mean and covariance, over (level, slope 0, slope 1)."""
    design = np.column_stack([np.ones(len(records["y"])), records["x"]])
    precision = power * design.T @ design + np.eye(3)
    covariance = np.linalg.inv(precision)
    return covariance @ (power * design.T @ records["y"]), covariance


def flat(theta):
    return np.concatenate([np.atleast_1d(theta["level"]), theta["slope"]])


def expected_error(records, plan):
    """Deviations of the fitted mean: noise and batches, averaged over late steps."""
    design = np.column_stack([np.ones(len(records["y"])), records["x"]])
    told = design.T @ design / len(design)
    inverse = np.linalg.inv(told)
    noise = plan.noise_multiplier * plan.settings.clip * np.sqrt(3) / plan.batch
    one = noise**2 * inverse @ np.diag(np.diag(told)) @ inverse + inverse / plan.batch
    return np.sqrt(np.diag(one) / (plan.steps / 3))


@pytest.mark.parametrize("tempered", [None, 500.0])
def test_it_finds_a_normal_posterior(tempered):
    """Mean within 5 deviations of its noise: false alarm below 1 in 100,000."""
    records, plan = plane_records(), SHORT.plan(5000, 1e-5)
    start = fit_start(
        PLANE,
        Records(records),
        plan,
        Tape.seeded(1),
        tempered=tempered,
        dtype="float64",
    )
    mean, covariance = plane_posterior(records, (tempered or 5000) / 5000)
    error = expected_error(records, plan)
    assert np.all(error < 0.025)
    assert np.all(np.abs(flat(start.mean) - mean) < 5 * error)
    deviations = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(
        start.covariance / np.outer(deviations, deviations),
        covariance / np.outer(deviations, deviations),
        atol=0.15,
    )
    assert (start.epsilon, start.delta) == (math.inf, plan.delta)  # from a seed
    assert start.description == plan.description


def test_a_mean_field_guide_has_the_precisions_of_the_posterior():
    records = plane_records()
    plan = Variational(epsilon=5.0, steps=200, batch=500, guide="mean-field")
    start = fit_start(PLANE, Records(records), plan.plan(5000, 1e-5), Tape.seeded(2))
    mean, covariance = plane_posterior(records)
    deviations = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(flat(start.mean) - mean) < 3 * deviations)
    wanted = np.diag(1 / np.diag(np.linalg.inv(covariance)))
    np.testing.assert_allclose(start.covariance, wanted, rtol=0.15)
    assert start.mean["slope"].dtype == np.float32


def test_a_seed_makes_it_again_and_a_fresh_tape_does_not():
    records = Records(plane_records(400))
    plan = Variational(epsilon=1.0, steps=30, batch=100).plan(400, 1e-5)
    tapes = [Tape.seeded(1), Tape.seeded(1), Tape.fresh(), Tape.fresh()]
    means = [flat(fit_start(PLANE, records, plan, tape).mean) for tape in tapes]
    np.testing.assert_array_equal(means[0], means[1])
    assert len({tuple(mean) for mean in means}) == 3


def test_the_result_is_a_function_of_what_was_released(monkeypatch):
    """Played back to the climb without any record, releases give the same start."""
    problems, released = [], []
    inner = NoisySums.release

    def keep(self, public):
        released.append(inner(self, public))
        return released[-1]

    def kept_climb(problem, sums, done):
        problems.append(problem)
        return climb(problem, sums, done)

    monkeypatch.setattr(NoisySums, "release", keep)
    monkeypatch.setattr("dpmcmc.variational.fit.climb", kept_climb)
    plan = Variational(epsilon=1.0, steps=30, batch=100).plan(400, 1e-5)
    records = plane_records(400)
    start = fit_start(PLANE, Records(records), plan, Tape.seeded(4))
    assert len(released) == plan.steps

    class Replay:
        def __init__(self):
            zeros = {"x": np.zeros((1, 2)), "y": np.zeros(1)}
            self._points = NoisySums(
                PLANE,
                Records(zeros),
                problems[0].gradient,
                Tape.seeded(4),
                batch=1,
                noise_multiplier=1.0,
                dtype="float32",
                device=jax.devices()[0],
            )
            self._next = iter(released)

        def normals(self, count):
            return self._points.normals(count)

        def release(self, public):
            return next(self._next)

    mean, covariance = climb(problems[0], Replay(), lambda _: None)
    np.testing.assert_array_equal(mean.astype(np.float32), flat(start.mean))
    np.testing.assert_array_equal(covariance, start.covariance)


def test_records_that_are_no_numbers_do_no_harm():
    records = plane_records()
    records["y"][::50] = np.nan
    records["x"][7] = np.inf
    start = fit_start(PLANE, Records(records), SHORT.plan(5000, 1e-5), Tape.seeded(1))
    mean, covariance = plane_posterior(plane_records())
    assert np.all(np.abs(flat(start.mean) - mean) < 2 * np.sqrt(np.diag(covariance)))


def mixture_error(data, tape):
    plan = Variational(epsilon=0.2).plan(10**6, 1e-6)
    records = simulate(TRUTH, 10**6, np.random.default_rng(data))
    start = fit_start(
        mixture_model({"mean": 0.0, "gap": 0.0}), Records(records), plan, tape
    )
    off = max(abs(float(start.mean[name]) - TRUTH[name]) for name in TRUTH)
    return off, start.covariance


def test_it_lands_on_the_paper_s_mixture_from_the_prior_mean():
    """ε = 0.2, δ = 1e-6, a million records: within 0.05, shaped like the posterior."""
    off, covariance = mixture_error(1, Tape.seeded(1))
    assert off < 0.05
    wanted = mixture_problem(10**5, seed=2).covariance / 10
    np.testing.assert_allclose(covariance, wanted, rtol=0.25)


@pytest.mark.slow
def test_nine_of_ten_runs_land_on_the_paper_s_mixture():
    offs = [mixture_error(100 + run, Tape.seeded(run))[0] for run in range(10)]
    assert sum(off < 0.05 for off in offs) >= 9


# Refusals, before any record is read


SEALED = Records(Sealed((1000,)))
PLAN = Variational(epsilon=1.0, steps=10).plan(1000, 1e-5)


def line(theta, record):
    return norm.logpdf(record, theta["mean"], 1.0)


def flat_prior(theta):
    return 0.0


def model(log_likelihood=line, initial=None):
    return Model(log_likelihood, flat_prior, initial or {"mean": 0.0})


def looping(theta, record):
    """JAX differentiates no such loop in reverse."""
    return jax.lax.while_loop(lambda x: x < record, lambda x: x + 1.0, theta["mean"])


@pytest.mark.parametrize(
    ("given", "plan", "message"),
    [
        (
            model(initial={"mean": 0.0, "kind": 3}),
            PLAN,
            r"parameter kind is 3, which is discrete; .* continuous parameters alone",
        ),
        (
            model(PythonFunction(lambda theta, record: 0.0)),
            PLAN,
            r"log_likelihood is a PythonFunction, which has no gradient",
        ),
        (model(looping), PLAN, r"the second derivative of log_likelihood failed"),
        (
            model(),
            Variational(epsilon=1.0, steps=10).plan(999, 1e-5),
            r"there are 1000 records, but the start was planned for 999",
        ),
        (
            model(),
            Variational(epsilon=1.0, steps=10, scale=-1.0).plan(1000, 1e-5),
            r"scale is -1.0; each size must be a finite number above 0",
        ),
        (
            model(),
            Variational(epsilon=1.0, steps=10, scale={"x": 1.0}).plan(1000, 1e-5),
            r"scale is .*, but θ is",
        ),
    ],
    ids=["discrete", "python", "loop", "count", "scale", "shape"],
)
def test_what_cannot_be_fitted_is_refused_before_a_record_is_read(given, plan, message):
    with pytest.raises(InputError, match=message):
        fit_start(given, SEALED, plan, Tape.fresh())
    with pytest.raises(InputError, match=message):
        check_start(given, SEALED, plan, "float32")


def test_a_model_that_can_be_fitted_passes_the_check():
    check_start(model(), SEALED, PLAN, "float32")
