# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Sums of statistics: how far one record moves them, and what is released of them."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from families import FAMILIES, records_of

from dpmcmc import InputError, Model, Statistics, SufficientStatistics
from dpmcmc.accounting import GaussianRelease, certify_delta
from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.influence import unit_statistics
from dpmcmc.private import Parts, Records, Tape, release_sum
from dpmcmc.private.sums import bounded_vectors
from dpmcmc.sampling.asked_of_statistics import UnitOf
from dpmcmc.sampling.problem import make_problem
from dpmcmc.sampling.sample import plan_run

# Sensitivity


def rows_of(model, records, dtype):
    """Each record's integers, as they are added."""

    @jax.jit
    def rows(arrays):
        def one(record):
            with jax.enable_x64(dtype == "float64"):
                if model.preparation is not None:
                    record = model.preparation(record)
                return unit_statistics(model.statistics, record)

        present = jnp.ones(len(arrays["x"]), bool)
        free = jax.vmap(one)(arrays)
        return bounded_vectors(Parts(free, free[:, :0], free[:, :0]), present)

    with jax.enable_x64(True), np.errstate(all="ignore"):
        arrays = {k: jnp.asarray(v.astype(dtype)) for k, v in records.items()}
        return np.asarray(rows(arrays)).astype(object)


def squared(vector):
    return sum(int(k) ** 2 for k in vector)


def wild_model(generator):
    """Statistics of any size and any bound, that may overflow."""
    size, bound = int(generator.integers(1, 6)), 10.0 ** generator.uniform(-6, 6)
    turn = generator.normal(size=(size, 3)) * 10.0 ** generator.uniform(-5, 5)

    def of_record(record):
        x = jnp.ravel(record["x"])
        return jnp.asarray(turn, x.dtype) @ jnp.stack([x[0], x[0] ** 3, jnp.exp(x[0])])

    statistics = Statistics(of_record, lambda theta: jnp.ones(size), bound)
    return Model(lambda *_: 0.0, lambda _: 0.0, 0.0, statistics=statistics)


@pytest.mark.parametrize("seed", range(8))
def test_one_record_never_moves_the_sum_by_more_than_the_proof_says(seed):
    """Random and hostile records, statistics and bounds, every pair substituted."""
    generator = np.random.default_rng(seed)
    dtype = str(generator.choice(["float32", "float64"]))
    name = list(FAMILIES)[seed % len(FAMILIES)]
    model = FAMILIES[name]() if seed % 2 else wild_model(generator)
    found = rows_of(model, records_of(model, generator, 60, hostile=True), dtype)
    assert max(map(squared, found)) <= CLIP_STEPS**2
    assert max(squared(a - b) for a in found for b in found) <= (2 * CLIP_STEPS) ** 2


def test_the_bound_is_reached():
    """So that it could not be half as wide: zero and one of a Bernoulli."""
    both = rows_of(FAMILIES["bernoulli"](), {"x": np.array([0.0, 1.0])}, "float64")
    assert squared(both[1] - both[0]) > (2 * CLIP_STEPS * 0.999) ** 2


@pytest.mark.parametrize("name", FAMILIES)
def test_exact_statistics_are_not_clipped_and_are_the_log_likelihood(name):
    """Differences over θ of T · φ + a and of the log-likelihood, record by record."""
    model, generator = FAMILIES[name](), np.random.default_rng(2)
    statistics = model.statistics

    def stated(theta, record):
        features, constant = statistics.at(theta)
        return statistics.vector(record) @ features + constant

    with jax.enable_x64(True):
        raw = jax.tree.map(jnp.asarray, records_of(model, generator, 2000))
        records = jax.jit(jax.vmap(model.preparation))(raw)
        vectors = np.asarray(jax.jit(jax.vmap(statistics.vector))(records))
        few = jax.tree.map(lambda leaf: leaf[:50], records)
        start = jax.tree.map(jnp.asarray, model.initial)
        points = jax.tree.map(
            lambda leaf: leaf + generator.normal(0, 0.5, (50, *leaf.shape)), start
        )
        ours, right = (
            jax.jit(jax.vmap(lambda t, r, f=f: f(t, r) - f(start, r)))(points, few)
            for f in (stated, model.log_likelihood)
        )
    lengths = np.linalg.norm(vectors, axis=1)
    assert 0.98 * statistics.bound <= lengths.max() <= statistics.bound * (1 + 1e-12)
    np.testing.assert_allclose(ours, right, rtol=1e-9)


# The release


@pytest.mark.parametrize("name", ["normal", "linear"])
def test_the_sum_is_that_of_the_statistics(name):
    """With noise that is small against one record."""
    model, generator = FAMILIES[name](), np.random.default_rng(4)
    raw = records_of(model, generator, 300)
    total = release_sum(
        model,
        Records(raw),
        UnitOf(model.statistics),
        (),
        Tape.seeded(1),
        noise=1e-5,
        dtype="float64",
        devices=jax.devices()[:1],
    )
    with jax.enable_x64(True):
        arrays = jax.tree.map(jnp.asarray, raw)
        each = jax.vmap(lambda r: model.statistics.of_record(model.preparation(r)))
        wanted = jax.jit(each)(arrays).sum(0)
    np.testing.assert_allclose(total * model.statistics.bound, wanted, atol=1e-2)


def problem_of(model, records):
    return make_problem(model, records, start=None, precision=None, devices=None)


def plan_of(model, records, **given):
    settings = {"epsilon": 2.0, "delta": 1e-6, **given}
    method = settings.pop("method", SufficientStatistics())
    return plan_run(problem_of(model, records), method, **settings)


def test_a_plan_costs_what_it_says():
    """Exact statistics take the whole budget; others leave decisions a part of it."""
    model = FAMILIES["normal"]()
    about = replace(model, statistics=replace(model.statistics, is_exact=False))
    whole, part = (plan_of(one, {"x": np.zeros(1000)}) for one in (model, about))
    ((release, count),) = whole.events.items()
    assert isinstance(release, GaussianRelease)
    assert count == 1
    assert len(part.events) == 2
    for plan in (whole, part):
        assert 0.99e-6 < certify_delta(plan.events, 2.0).delta <= 1e-6
    noises = [plan.stages[0].noise for plan in (whole, part)]
    assert noises[0] < noises[1]
    assert 2 / noises[0] == pytest.approx(release.mu)


def _shows(record):
    jax.debug.print("{}", record["x"])
    return jnp.stack([record["x"], record["x"]])


@pytest.mark.parametrize(
    "bad",
    [
        {"of_record": lambda record: record["x"]},
        {"coefficients": lambda theta: jnp.ones(3)},
        {"constant": lambda theta: jnp.ones(3)},
        {"log_density": lambda theta, noisy: jnp.ones(3)},
        {"of_record": lambda record: record["z"]},
        {"of_record": _shows},
    ],
)
def test_statistics_that_cannot_be_added_are_refused(bad):
    model = FAMILIES["normal"]()
    changed = replace(model, statistics=replace(model.statistics, **bad))
    with pytest.raises(InputError):
        problem_of(changed, {"x": np.zeros(10)})


def test_models_without_statistics_and_discrete_ones_are_refused():
    model, records = FAMILIES["normal"](), {"x": np.zeros(10)}
    for changed in (
        replace(model, statistics=None),
        replace(model, initial={"mean": 0, "log_sd": 0.0}),
    ):
        with pytest.raises(InputError):
            plan_of(changed, records)
    with pytest.raises(InputError, match="epsilon"):
        plan_of(model, records, epsilon=None)


@pytest.mark.parametrize(
    "given", [{"bound": 0.0}, {"bound": np.inf}, {"of_record": 3}, {"nearest": 3}]
)
def test_bad_statistics_are_refused(given):
    right = {"of_record": jnp.ravel, "coefficients": jnp.ravel, "bound": 1.0}
    with pytest.raises(InputError, match=next(iter(given))):
        Statistics(**{**right, **given})


def test_a_model_takes_statistics_alone():
    with pytest.raises(InputError, match="statistics is a int"):
        Model(lambda *_: 0.0, lambda _: 0.0, 0.0, statistics=3)
