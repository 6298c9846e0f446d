# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Sums of statistics: how far one record moves them, and what is released of them."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from families import FAMILIES, HOSTILE, records_of

from dpmcmc import InputError, Model, Statistics, SufficientStatistics
from dpmcmc.accounting import certify_delta
from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.private import Records, Tape, vectors
from dpmcmc.private.records import Opened
from dpmcmc.surrogates import StatisticsPlan, release_statistics
from dpmcmc.surrogates.sums import _itself, _UnitOf

# Sensitivity


def asked_of(model):
    """The model as records are asked: made once, so that it is compiled once."""
    return replace(model, log_likelihood=_UnitOf(model.statistics))


def integers(asked, records, dtype="float64"):
    """The exact sum that noise is added to."""
    with jax.enable_x64(True), np.errstate(all="ignore"):
        arrays = {k: jnp.asarray(v.astype(dtype)) for k, v in records.items()}
        batch = Opened(arrays, None)
        return np.asarray(vectors.sum_of_vectors(asked, _itself, dtype, batch, ()))


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


@pytest.mark.parametrize("seed", range(12))
def test_one_record_never_moves_the_sum_by_more_than_the_proof_says(seed):
    """Random and hostile records, statistics and bounds, every pair substituted."""
    generator = np.random.default_rng(seed)
    dtype = generator.choice(["float32", "float64"])
    name = list(FAMILIES)[seed % len(FAMILIES)]
    model = FAMILIES[name]() if seed % 2 else wild_model(generator)
    others = records_of(model, generator, 20)
    candidates = records_of(model, generator, 24, hostile=True)
    asked = asked_of(model)
    base = integers(asked, others, dtype)
    found = []
    for row in range(24):
        one = {key: values[row : row + 1] for key, values in candidates.items()}
        both = {k: np.concatenate([others[k], one[k]]) for k in others}
        found.append(integers(asked, both, dtype) - base)
        assert squared(found[-1]) <= CLIP_STEPS**2
    for one in found:
        for other in found:
            assert squared(one - other) <= (2 * CLIP_STEPS) ** 2


def test_the_bound_is_reached():
    """So that it could not be half as wide: zero and one of a Bernoulli."""
    asked = asked_of(FAMILIES["bernoulli"]())
    both = [integers(asked, {"x": np.array([x])}) for x in (0.0, 1.0)]
    assert squared(both[1] - both[0]) > (2 * CLIP_STEPS * 0.999) ** 2


@pytest.mark.parametrize("name", FAMILIES)
def test_no_prepared_record_is_beyond_the_stated_bound(name):
    """So that statistics that are called exact are not shortened."""
    model, generator = FAMILIES[name](), np.random.default_rng(1)
    raw = records_of(model, generator, 2000)
    with jax.enable_x64(True):
        raw = jax.tree.map(jnp.asarray, raw)
        vectors = jax.vmap(lambda r: model.statistics.of_record(model.preparation(r)))(
            raw
        )
    lengths = np.linalg.norm(vectors, axis=1)
    assert lengths.max() <= model.statistics.bound * (1 + 1e-12)
    assert lengths.max() >= model.statistics.bound * 0.98


@pytest.mark.parametrize("name", FAMILIES)
def test_statistics_are_the_log_likelihood(name):
    """Differences over θ of T · φ + a and of the log-likelihood, record by record."""
    model, generator = FAMILIES[name](), np.random.default_rng(2)
    statistics = model.statistics
    with jax.enable_x64(True):
        raw = jax.tree.map(jnp.asarray, records_of(model, generator, 50))
        records = jax.vmap(model.preparation)(raw)
        points = jax.vmap(model.draw_prior)(jax.random.split(jax.random.key(3), 50))

        def told(theta, record):
            features, constant = statistics.at(theta)
            return statistics.of_record(record) @ features + constant

        start = jax.tree.map(jnp.asarray, model.initial)
        gap = {
            f: jax.vmap(lambda t, r, f=f: f(t, r) - f(start, r))(points, records)
            for f in (told, model.log_likelihood)
        }
    np.testing.assert_allclose(gap[told], gap[model.log_likelihood], rtol=1e-9)


# The release


QUIET = 1e-5
"""A multiplier at which the noise is small against one record; not private."""


@pytest.mark.parametrize("name", ["normal", "linear"])
def test_the_sum_is_that_of_the_statistics(name):
    model, generator = FAMILIES[name](), np.random.default_rng(4)
    raw = records_of(model, generator, 300)
    plan = StatisticsPlan(model.statistics, 300, QUIET)
    sums = release_statistics(model, Records(raw), plan, Tape.seeded(1))
    with jax.enable_x64(True):
        arrays = jax.tree.map(jnp.asarray, raw)
        wanted = jax.vmap(lambda r: model.statistics.of_record(model.preparation(r)))(
            arrays
        ).sum(0)
    np.testing.assert_allclose(sums.told.noisy.total, wanted, atol=1e-3)
    # what was kept of it makes the same, and reads no record
    empty = Records({k: np.full_like(v, np.nan) for k, v in raw.items()})
    again = release_statistics(
        model, empty, plan, Tape.fresh(), released=np.asarray(sums.total)
    )
    np.testing.assert_array_equal(again.told.noisy.total, sums.told.noisy.total)


def test_the_noise_is_as_large_as_planned():
    """Sixteen numbers: a chi-squared within its 1e-6 quantiles."""
    model = FAMILIES["categorical"]()
    raw = records_of(model, np.random.default_rng(5), 100)
    plan = SufficientStatistics(epsilon=1.0).plan(model.statistics, 100, 1e-6)
    exact = integers(asked_of(model), raw) / CLIP_STEPS
    noise = [
        release_statistics(model, Records(raw), plan, Tape.seeded(seed)).total - exact
        for seed in range(4)
    ]
    squares = np.sum(np.square(noise)) / plan.noise_multiplier**2
    low, high = scipy.stats.chi2.ppf([5e-7, 1 - 5e-7], np.size(noise))
    assert low < squares < high


def test_a_plan_costs_what_it_says():
    exact = FAMILIES["normal"]().statistics
    about = replace(exact, is_exact=False)
    whole = SufficientStatistics().plan(exact, 1000, 1e-6, 2.0)
    part = SufficientStatistics().plan(about, 1000, 1e-6, 2.0)
    assert whole.says_all
    assert not part.says_all
    assert certify_delta(whole.event, 2.0).delta <= 1e-6
    assert certify_delta(part.event, 1.5).delta <= 1e-6
    assert part.noise_multiplier > whole.noise_multiplier
    assert "x and its square" in whole.description


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": 1.0, "share": 0.5}, "give one of the two"),
        ({"epsilon": 0.0}, "epsilon is 0.0"),
        ({"share": 1.0}, "share is 1.0"),
        ({"delta": 2.0}, "delta is 2.0"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        SufficientStatistics(**settings)


def test_what_cannot_be_added_up_is_refused():
    model = FAMILIES["normal"]()
    own = model.statistics
    with pytest.raises(InputError, match="states no sufficient statistics"):
        SufficientStatistics(epsilon=1.0).plan(None, 100, 1e-6)
    with pytest.raises(InputError, match="the run has none"):
        SufficientStatistics().plan(own, 100, 1e-6)
    for bad, message in [
        ({"of_record": lambda record: record["x"]}, "two vectors of one length"),
        ({"coefficients": lambda theta: jnp.ones(3)}, "two vectors of one length"),
        ({"constant": lambda theta: jnp.ones(3)}, "constant returns"),
        ({"log_density": lambda theta, noisy: jnp.ones(3)}, "log_density returns"),
        ({"of_record": lambda record: record["z"]}, "of_record failed"),
        ({"of_record": _shows}, "debug"),
    ]:
        changed = replace(model, statistics=replace(own, **bad))
        plan = SufficientStatistics(epsilon=1.0).plan(changed.statistics, 10, 1e-6)
        with pytest.raises(InputError, match=message):
            release_statistics(
                changed, Records({"x": np.zeros(10)}), plan, Tape.seeded(1)
            )
    plan = SufficientStatistics(epsilon=1.0).plan(own, 10, 1e-6)
    with pytest.raises(InputError, match="planned for 10 records"):
        release_statistics(model, Records({"x": np.zeros(9)}), plan, Tape.seeded(1))
    discrete = replace(model, initial={"mean": 0, "log_sd": 0.0})
    with pytest.raises(InputError, match="discrete parameter"):
        release_statistics(discrete, Records({"x": np.zeros(10)}), plan, Tape.seeded(1))


def _shows(record):
    jax.debug.print("{}", record["x"])
    return jnp.stack([record["x"], record["x"]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bound": 0.0}, "bound is 0.0"),
        ({"bound": np.inf}, "bound is inf"),
        ({"of_record": 3}, "of_record is a int"),
        ({"nearest": 3}, "nearest is a int"),
    ],
)
def test_bad_statistics_are_refused(given, message):
    right = {"of_record": jnp.ravel, "coefficients": jnp.ravel, "bound": 1.0}
    with pytest.raises(InputError, match=message):
        Statistics(**{**right, **given})


def test_a_model_takes_statistics_alone():
    with pytest.raises(InputError, match=r"must be a\s+dpmcmc.Statistics"):
        Model(lambda *_: 0.0, lambda _: 0.0, 0.0, statistics=3)


def test_hostile_numbers_are_hostile():
    """The search above looks where floats end."""
    assert np.isnan(HOSTILE).any()
    assert np.isinf(HOSTILE).any()
