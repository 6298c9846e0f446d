# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Units in a run: the same decisions as without them, and what cannot have them."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy import stats

from dpmcmc import (
    Barker,
    ControlVariates,
    InputError,
    MinibatchBarker,
    Model,
    Preparation,
    PythonFunction,
    RandomWalk,
    Records,
    SufficientStatistics,
    clipping,
    models,
    sample,
    sample_not_private,
)
from dpmcmc.model import Unit
from dpmcmc.model.preparation import Clamp
from dpmcmc.model.units import unit_model
from dpmcmc.private.opening import open_on_host
from dpmcmc.sampling.problem import make_problem
from dpmcmc.sampling.sample import plan_run

RNG = np.random.default_rng(5)
NORMAL = Model(
    lambda theta, row: -0.5 * ((row["x"] - theta["mean"]) / 0.1) ** 2,
    lambda theta: -0.5 * ((theta["mean"] - 1.5) / 0.2) ** 2,
    {"mean": 1.6},
)
VALUES = RNG.normal(1.7, 0.1, size=3001)
WALK = RandomWalk(0.01)
METHODS = {
    "barker": Barker(clip=0.05, proposal=WALK),
    "batch": MinibatchBarker(batch=300, tempering=100, proposal=WALK),
}


def problem(model, records):
    return make_problem(model, records, start=None, precision=None, devices=None)


@pytest.mark.parametrize("name", METHODS)
def test_units_of_one_record_make_the_same_decisions(name):
    settings = {"method": METHODS[name], "steps": 200, "seed": 1, "progress": False}
    alone = sample_not_private(NORMAL, {"x": VALUES}, **settings)
    table = {"id": np.arange(len(VALUES)), "x": VALUES}
    units = sample_not_private(NORMAL, Records(table, unit="id", most=1), **settings)
    assert 0 < alone.accepted.mean() < 1
    assert np.array_equal(alone.accepted, units.accepted)
    assert np.array_equal(alone.draws["mean"], units.draws["mean"])


def test_units_of_one_record_make_the_same_regression():
    """The default method, with a preparation, histograms, gradients and Hessians."""
    x = RNG.normal(size=(600, 2)).astype(np.float32)
    y = (RNG.random(600) < 0.5).astype(np.float32)
    model = models.logistic_regression(2, norm=3.0)
    # as of a unit, which has no responses
    plain = Model(
        model.log_likelihood,
        model.log_prior,
        model.initial,
        preparation=model.preparation,
    )
    settings = {"epsilon": 8.0, "steps": 60, "chains": 2, "seed": 3, "progress": False}
    alone = sample_not_private(plain, {"x": x, "y": y}, **settings)
    table = {"id": np.arange(600)[::-1], "x": x, "y": y}
    units = sample_not_private(plain, Records(table, unit="id", most=1), **settings)
    assert np.array_equal(alone.accepted, units.accepted)
    for name in alone.draws:
        assert np.allclose(alone.draws[name], units.draws[name], rtol=1e-5)


def test_log_likelihoods_of_the_records_that_are_there_are_added():
    prepared = Model(
        lambda theta, row: theta * row["x"],
        lambda theta: -(theta**2),
        0.5,
        preparation=Preparation({"x": Clamp(0.0, 5.0)}),
        lipschitz=2.0,
    )
    made = unit_model(prepared, 3)
    unit = Unit({"x": np.array([1.0, 9.0, 1.0])}, np.array([True, True, False]))
    assert float(made.log_likelihood(0.5, unit)) == pytest.approx(0.5 * (1 + 5))
    assert made.lipschitz == 6.0
    assert unit_model(prepared, 3) is made
    assert problem(prepared, _two_units()).prepared == ("x clamped to [0, 5]",)


def test_a_gradient_is_right_where_an_absent_record_has_none():
    """The log of zero has no derivative: nothing is evaluated where no row is."""
    made = unit_model(
        Model(lambda theta, row: jnp.log(theta * row["x"]), lambda t: -(t**2), 0.5), 2
    )
    records = Records({"id": np.array([1, 2, 2]), "x": np.ones(3)}, unit="id", most=2)
    arrays, _ = open_on_host(records, "float32")
    slopes = jax.vmap(jax.grad(made.log_likelihood), (None, 0))(0.5, arrays)
    assert np.allclose(slopes, [2.0, 4.0])


def _two_units():
    return Records({"id": np.array([1, 2, 2]), "x": np.zeros(3)}, unit="id", most=2)


def test_a_statement_says_what_is_protected():
    plan = plan_run(
        problem(NORMAL, _two_units()),
        Barker(clip=0.05, proposal=WALK),
        epsilon=None,
        delta=1e-6,
        steps=10,
    )
    statement = plan.statement({})
    assert (statement.records, statement.unit, statement.most) == (2, "id", 2)
    assert "2 units (by id)" in str(statement)
    again = type(statement).from_json(statement.to_json())
    assert again == statement


def test_sentences_count_units_not_records():
    plan = plan_run(
        problem(NORMAL, _two_units()), ControlVariates(), epsilon=1.0, delta=1e-6
    )
    fit, _, check = (row.sentence for row in plan.statement({}).stages)
    assert "over all 2 units" in fit
    assert check.endswith("units.")


def test_a_model_of_a_unit_needs_units():
    model = models.logistic_panel(2, norm=3.0)
    with pytest.raises(InputError, match="not grouped"):
        sample(model, {"x": np.zeros((4, 2)), "y": np.zeros(4)}, epsilon=1, delta=1e-6)


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (models.poisson(20.0), SufficientStatistics()),
        (
            models.logistic_regression(1, norm=1.0),
            Barker(clipping=clipping.ConditionalCentring(), proposal=WALK),
        ),
        (
            models.logistic_regression(1, norm=1.0),
            Barker(clipping=clipping.Shrinking(), proposal=WALK),
        ),
        (
            models.poisson(20.0),
            Barker(clipping=clipping.ModelCorrection(), proposal=WALK),
        ),
        (Model(PythonFunction(lambda theta, row: 0.0), lambda t: -(t**2), 0.5), None),
        (Model(lambda theta, row: row["y"], lambda t: -(t**2), 0.5, per="unit"), None),
    ],
    ids=["statistics", "centring", "shrinking", "correction", "python", "of unit"],
)
def test_what_is_stated_of_one_record_alone_is_refused_for_units(model, method):
    table = {"id": np.arange(40) // 2, "x": np.zeros((40, 1)), "y": np.zeros(40)}
    with pytest.raises(InputError):
        sample(
            model,
            Records(table, unit="id", most=2),
            epsilon=1.0,
            delta=1e-6,
            method=method,
            steps=10,
            progress=False,
        )


def test_an_unknown_kind_of_log_likelihood_is_refused():
    with pytest.raises(InputError, match="per is"):
        Model(lambda theta, row: 0.0, lambda theta: 0.0, 0.5, per="person")


def _counts(x, y=None):
    b = numpyro.sample("b", dist.Normal(0, 1))
    with numpyro.plate("records", x.shape[0]):
        numpyro.sample("y", dist.Poisson(jnp.exp(b * x)), obs=y)


def test_a_numpyro_model_of_one_record_is_added_over_a_unit():
    x, y = RNG.normal(size=6).astype(np.float32), np.array([0, 1, 2, 3, 4, 5])
    table = {"id": np.array([1, 2, 1, 3, 2, 1]), "x": x, "y": y}
    found = problem(_counts, Records(table, unit="id", most=3))
    unit = Unit({"x": x[:3], "y": y[:3]}, np.array([True, True, False]))
    rates = np.exp(0.4 * x[:2])
    expected = stats.poisson.logpmf(y[:2], rates).sum()
    value = found.model.record_log_likelihood({"b": 0.4}, unit)
    assert float(value) == pytest.approx(expected, rel=1e-5)
    assert found.size == 3
