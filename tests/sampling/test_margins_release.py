# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Released margins: how far one record moves them all, what they cost, and resuming."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpmcmc
from dpmcmc import Model, Statistics, SufficientStatistics
from dpmcmc.accounting import GaussianRelease
from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.errors import InputError
from dpmcmc.model.margins import Margin
from dpmcmc.private.histograms import exact_counts
from dpmcmc.private.opening import Opened
from dpmcmc.private.totals import spread_over
from dpmcmc.sampling import sufficient_statistics
from dpmcmc.sampling.asked_of_statistics import BinOf, CellOf
from dpmcmc.sampling.problem import make_problem
from dpmcmc.sampling.sample import plan_run
from dpmcmc.sampling.stages import Context

CELLS = 6
ONE = spread_over(jax.devices()[:1])
MARGINS = (
    Margin(np.array([0, 0, 1, 1, 2, 2]), 0.2, "one"),
    Margin(np.array([0, 1, 0, 1, 0, 1]), 0.3, "other"),
)


def model_of():
    statistics = Statistics(
        of_record=lambda record: jnp.where(
            jnp.isfinite(record["x"]), record["x"], -9e9
        ).astype(jnp.int32),
        coefficients=lambda theta: theta["a"] * jnp.arange(CELLS) / CELLS,
        constant=lambda theta: -(theta["a"] ** 2) / 2,
        bound=1.0,
        is_exact=True,
        cells=CELLS,
        margins=MARGINS,
    )
    return Model(
        lambda theta, record: theta["a"] * record["x"] / CELLS - theta["a"] ** 2 / 2,
        lambda theta: -(theta["a"] ** 2) / 2,
        {"a": 0.0},
        statistics=statistics,
    )


MODEL = model_of()
ANY = st.one_of(st.integers(-3, 9).map(float), st.floats(width=32))


def moved(bins, one, other):
    """Squared length by which a substitution moves a histogram, in records."""

    def counts(value):
        opened = Opened({"x": jnp.asarray([3.0, value, 0.0])}, jnp.asarray(3))
        return np.asarray(exact_counts(MODEL, bins, "float64", ONE, opened, ()))

    with jax.enable_x64(True), np.errstate(all="ignore"):
        return int(np.sum((counts(one) - counts(other)) ** 2)) / CLIP_STEPS**2


@given(ANY, ANY)
def test_all_histograms_together_move_by_no_more_than_is_paid_for(one, other):
    """In sd of their noise, at most μ, whatever the two records are."""
    stage = sufficient_statistics._Sum(MODEL.statistics, 0.5, 3)
    total = moved(CellOf(MODEL.statistics), one, other) / stage.noise**2
    for margin in MARGINS:
        noise = stage._noise_for(margin.fraction)
        total += moved(BinOf(MODEL.statistics, margin), one, other) / noise**2
    assert total <= stage.mu**2


def test_it_is_reached():
    """So that the noise could not be less: two records that share no bin."""
    stage = sufficient_statistics._Sum(MODEL.statistics, 0.5, 3)
    total = moved(CellOf(MODEL.statistics), 0.0, 5.0) / stage.noise**2
    for margin in MARGINS:
        noise = stage._noise_for(margin.fraction)
        total += moved(BinOf(MODEL.statistics, margin), 0.0, 5.0) / noise**2
    assert total == pytest.approx(stage.mu**2, rel=1e-11)


@pytest.fixture
def plan():
    x = np.random.default_rng(0).integers(0, CELLS, 5000).astype(float)
    problem = make_problem(MODEL, {"x": x}, start=None, precision=None, devices=None)
    return plan_run(problem, SufficientStatistics(), epsilon=1.0, delta=1e-6)


def test_all_are_released_after_one_charge_for_all(plan, monkeypatch):
    log = []

    def spied(*given, noise, **more):
        log.append(math.sqrt(2) / noise)
        return released(*given, noise=noise, **more)

    released = sufficient_statistics.release_counts
    monkeypatch.setattr(sufficient_statistics, "release_counts", spied)
    stage = plan.stages[0]

    def charge(name, events):
        assert not log
        log.append(events)

    context = Context(plan.problem, 1, progress=False)
    (part,) = stage.run(context, {"sum": []}, {}, charge)
    (event,) = log[0]
    assert event == GaussianRelease(stage.mu)
    assert log[0] == plan.events
    assert len(log) == 1 + 3
    assert math.fsum(mu**2 for mu in log[1:]) <= event.mu**2
    assert [len(one) for one in part.arrays.values()] == [6, 3, 2]
    sentence = stage.describe(plan.problem, {}).sentence
    assert "6 cells" in sentence
    assert "one (sd" in sentence
    assert "other (sd" in sentence


def test_what_was_kept_is_not_released_again_and_what_was_lost_ends_the_run(plan):
    stage, context = plan.stages[0], Context(plan.problem, 1, progress=False)
    (part,) = stage.run(context, {"sum": []}, {}, lambda *_: None)

    def charge(name, events):
        raise AssertionError("it was charged before")

    before = {"sum": stage.events}
    assert list(stage.run(context, {"sum": [part]}, before, charge)) == []
    with pytest.raises(InputError, match="lost"):
        list(stage.run(context, {"sum": []}, before, charge))


def test_margins_have_noise_of_their_own(plan):
    """Counts of the table and of margins do not add up: no tape serves twice."""
    (part,) = plan.stages[0].run(
        Context(plan.problem, 1, progress=False), {"sum": []}, {}, lambda *_: None
    )
    total = part.arrays["total"]
    for number, margin in enumerate(MARGINS):
        sums = np.bincount(margin.places, total, margin.bins)
        off = part.arrays[f"margin-{number:03d}"] - sums
        assert (np.abs(off) > 1e-3).all()


# Tables that are found


def bought(a, b, y):
    effects = numpyro.sample("effects", dist.Normal(0, 5).expand([8]).to_event(1))
    with numpyro.plate("records", y.shape[0]):
        eta = effects[a] + jnp.append(0.0, effects[6:])[b]
        numpyro.sample("y", dist.Bernoulli(logits=eta), obs=y)


LEVELS = {"a": 5, "b": 2, "y": 1}


def test_margins_are_found_and_draws_are_about_the_mode_without_noise():
    """Within six sd for each of eight coefficients."""
    generator, size = np.random.default_rng(4), 20_000
    a, b = generator.integers(0, 6, size), generator.integers(0, 3, size)
    y = (generator.random(size) < 0.2 + 0.05 * a + 0.1 * b).astype(int)
    known = {
        name: {"type": "integer", "bounds": [0, top]} for name, top in LEVELS.items()
    }
    posterior = dpmcmc.sample(
        bought,
        dpmcmc.Records({"a": a, "b": b, "y": y}, schema=dpmcmc.Schema(known)),
        epsilon=0.5,
        delta=1e-6,
        steps=2000,
        chains=2,
        progress=False,
    )
    sentence = posterior.statement.stages[0].sentence
    for words in ("36 cells", "all covariates (sd", "a with y (sd", "b with y (sd"):
        assert words in sentence
    design = np.column_stack([np.eye(6)[a], np.eye(3)[b][:, 1:]])
    mode, prior = np.zeros(8), 1 / 25
    for _ in range(20):
        p = 1 / (1 + np.exp(-design @ mode))
        hessian = (design * (p * (1 - p))[:, None]).T @ design + prior * np.eye(8)
        mode += np.linalg.solve(hessian, design.T @ (y - p) - prior * mode)
    draws = np.asarray(posterior.draws["effects"]).reshape(-1, 8)
    assert (np.abs(draws.mean(0) - mode) < 6 * draws.std(0)).all()
    # noise adds to the sd without privacy; a few hundred effective draws tell it
    assert (draws.std(0) > 0.8 * np.sqrt(np.diag(np.linalg.inv(hessian)))).all()
