# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Released cells: how far one record moves them, what it costs, and what is drawn."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy import stats

import dpmcmc
from dpmcmc import Model, Statistics, SufficientStatistics, models
from dpmcmc.accounting import GaussianRelease, certify_delta
from dpmcmc.arithmetic import CLIP_STEPS
from dpmcmc.private import Records, Tape, release_counts
from dpmcmc.private.histograms import exact_counts
from dpmcmc.private.opening import Opened
from dpmcmc.private.totals import spread_over
from dpmcmc.sampling.asked_of_statistics import CellOf
from dpmcmc.sampling.problem import make_problem
from dpmcmc.sampling.sample import plan_run

CELLS = 5
ONE = spread_over(jax.devices()[:1])


def hostile(record):
    """A cell of a record, or any integer whatever."""
    return jnp.where(jnp.isfinite(record["x"]), record["x"], -9e9).astype(jnp.int32)


def model_of(of_record=hostile, cells=CELLS):
    statistics = Statistics(
        of_record, lambda theta: jnp.zeros(cells), 1.0, is_exact=True, cells=cells
    )
    return Model(lambda *_: 0.0, lambda _: 0.0, 0.0, statistics=statistics)


def counts_of(model, x):
    opened = Opened({"x": jnp.asarray(x)}, jnp.asarray(len(x)))
    cell = CellOf(model.statistics)
    return np.asarray(exact_counts(model, cell, "float64", ONE, opened, ()))[0]


def test_one_record_moves_the_counts_by_the_root_of_two_and_no_more():
    """Every pair of hostile values substituted; √2 is reached."""
    values = [0.0, 1.0, 4.0, 5.0, -1.0, 1e30, -1e30, np.nan, np.inf, -np.inf, 2.7]
    model, moved = model_of(), []
    with jax.enable_x64(True), np.errstate(all="ignore"):
        found = [counts_of(model, [3.0, value, 0.0]) for value in values]
    for one in found:
        moved += [int(np.sum((one - other) ** 2)) for other in found]
    assert max(moved) == 2 * CLIP_STEPS**2


def test_the_noise_is_that_of_the_event():
    """Counts of 4,000 empty cells: sd √2/μ, with a false alarm in a million."""
    model = model_of(cells=4000)
    problem = make_problem(
        model, {"x": np.full(50, -1.0)}, start=None, precision=None, devices=None
    )
    plan = plan_run(problem, SufficientStatistics(), epsilon=1.0, delta=1e-6)
    ((event, times),) = plan.events.items()
    assert isinstance(event, GaussianRelease)
    assert times == 1
    assert 0.99e-6 < certify_delta(plan.events, 1.0).delta <= 1e-6
    stage = plan.stages[0]
    assert stage.noise == pytest.approx(np.sqrt(2) / event.mu)
    (drawn,) = release_counts(
        model,
        Records({"x": np.full(50, -1.0)}),
        CellOf(model.statistics),
        (),
        Tape.seeded(3),
        noise=stage.noise,
        dtype="float64",
        devices=jax.devices()[:1],
    )
    squares = np.sum((drawn / stage.noise) ** 2)
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], len(drawn))
    assert low < squares < high
    assert "4000 cells" in stage.describe(problem, {}).sentence


def coin(x):
    p = numpyro.sample("p", dist.Beta(1, 1))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("x", dist.Bernoulli(p), obs=x)


def regression(x, y, size):
    b = numpyro.sample("b", dist.Normal(0, 5).expand([size]).to_event(1))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.Bernoulli(logits=x @ b), obs=y)


def stages_of(model, records):
    problem = make_problem(model, records, start=None, precision=None, devices=None)
    plan = plan_run(problem, None, epsilon=1.0, delta=1e-6)
    return [stage.name for stage in plan.stages]


def test_the_default_takes_cells_where_they_are_few():
    """At most sixteen for each parameter: 8 for two are few, 2,048 for ten are not."""
    y = np.zeros(100, np.int32)
    assert stages_of(coin, {"x": y}) == ["sum", "chain"]
    for size, is_few in ((2, True), (10, False)):
        records = {"x": np.zeros((100, size), bool), "y": y}
        found = stages_of(partial(regression, size=size), records)
        assert (found == ["sum", "chain"]) == is_few
    numbers = {"x": np.zeros((100, 2)), "y": y}
    assert stages_of(partial(regression, size=2), numbers) != ["sum", "chain"]


@pytest.mark.parametrize("model", [coin, models.categorical(2)], ids=["NumPyro", "own"])
def test_draws_are_as_wide_as_records_and_noise_make_them(model):
    """Mean within six sd; sd within 15%: about 800 effective draws of it."""
    x = (np.random.default_rng(1).random(4000) < 0.3).astype(np.int32)
    posterior = dpmcmc.sample(
        model, {"x": x}, epsilon=0.2, delta=1e-6, chains=2, progress=False
    )
    (found,) = [s for s in posterior.statement.stages if s.name == "sum"]
    # a ratio of two noisy counts, or one of which the other is known
    both = 0.3**2 + 0.7**2 if model is coin else 0.5
    sd = np.sqrt(0.21 / 4000 + both * (found.numbers["noise"] / 4000) ** 2)
    name = "p" if model is coin else "probabilities"
    draws = posterior.draws[name]
    draws = draws if model is coin else draws[..., 1]
    np.testing.assert_allclose(draws.std(), sd, rtol=0.15)
    assert abs(draws.mean() - x.mean()) < 6 * sd
