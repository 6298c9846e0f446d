# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""PyMC models go to `sample` as they are; what is drawn has their distribution."""

import subprocess
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pymc as pm
import pytest
from pymc_zoo import ZOO, categorical, counts, overdispersed, shapes_of_one
from scipy import stats

import dpmcmc
from dpmcmc.adapters import NumPyro, PyMC, from_pymc
from dpmcmc.adapters.libraries import adapted

COUNT = 400
FALSE_ALARM = 1e-6
"""The probability that one comparison fails although the distribution is right."""

DRAWS = 20_000


def line(x, y):
    with pm.Model(coords={"place": ["level", "slope"]}) as model:
        b = pm.Normal("b", 0, 2, dims="place")
        pm.Normal("y", b[0] + b[1] * np.log(1 + x), 1, observed=y)
    return model


def built() -> pm.Model:
    """The same model, built on made-up rows."""
    with pm.Model(coords={"place": ["level", "slope"], "row": range(3)}) as model:
        x = pm.Data("x", np.ones(3), dims="row")
        b = pm.Normal("b", 0, 2, dims="place")
        mean = b[0] + b[1] * pm.math.log(1 + x)
        pm.Normal("y", mean, 1, observed=np.zeros(3), dims="row")
    return model


def table() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 3, COUNT)
    return {"x": x, "y": 1 + 2 * np.log1p(x) + rng.normal(size=COUNT), "z": x}


def test_a_function_and_a_model_give_the_same_draws():
    settings = {"steps": 300, "seed": 3, "chains": 1, "progress": False}
    method = dpmcmc.Barker(proposal=dpmcmc.RandomWalk(0.1))
    found = [
        dpmcmc.sample_not_private(model, table(), method=method, **settings)
        for model in (line, built(), PyMC(line))
    ]
    for posterior in found:
        assert posterior.dims == {"b": ("place",)}
        assert posterior.coords == {"place": ("level", "slope")}
        np.testing.assert_array_equal(posterior.draws["b"], found[0].draws["b"])


def test_a_function_written_for_a_table_gives_the_same_draws():
    def for_a_table(x, y):
        with pm.Model(coords={"place": ["level", "slope"]}) as model:
            b = pm.Normal("b", 0, 2, dims="place")
            pm.Deterministic("at the end", b[0] + b[1] * np.max(x))
            mean = b[0] + b[1] * np.log(1 + x.values)
            pm.Normal("y", mean, 1, observed=y.to_numpy())
        return model

    records = pd.DataFrame(table())
    settings = {"steps": 100, "seed": 3, "chains": 1, "progress": False}
    method = dpmcmc.Barker(proposal=dpmcmc.RandomWalk(0.1))
    found = [
        dpmcmc.sample_not_private(model, records, method=method, **settings)
        for model in (for_a_table, line)
    ]
    assert found[0].draws.keys() == {"b"}  # what holds values of records is not shown
    np.testing.assert_allclose(found[0].draws["b"], found[1].draws["b"], rtol=1e-4)


def test_a_private_run_of_a_pymc_model():
    posterior = dpmcmc.sample(
        line,
        table(),
        epsilon=1.0,
        delta=1e-6,
        method=dpmcmc.Barker(clip=0.01, proposal=dpmcmc.RandomWalk(0.1)),
        steps=50,
        start={"b": [0.5, 1.0]},
        progress=False,
    )
    assert posterior.draws["b"].shape[2:] == (2,)
    assert "ε" in str(posterior.statement)


def helped(y):
    return line(y, y)


def by_numpyro(y):
    mean = numpyro.sample("mean", dist.Normal(0, 1))
    with numpyro.plate("records", y.shape[0]):
        numpyro.sample("y", dist.Normal(mean, 1), obs=y)


def test_a_function_that_names_pymc_is_taken_for_one_of_pymc():
    def inner(y):
        import pymc

        with pymc.Model() as model:
            pymc.Normal("y", pymc.Normal("mean"), observed=y)
        return model

    for model in (line, helped, partial(line, x=1.0), inner, built()):
        assert isinstance(adapted(model), PyMC)
    for model in (by_numpyro, partial(by_numpyro)):
        assert isinstance(adapted(model), NumPyro)


def test_importing_changes_nothing():
    """PyMC is not imported unasked; precision and devices of JAX stay."""
    code = (
        "import sys, os, jax, dpmcmc\n"
        "dpmcmc.sample, dpmcmc.NumPyro\n"
        "assert 'pymc' not in sys.modules\n"
        "import dpmcmc.adapters.pymc\n"
        "assert not jax.config.read('jax_enable_x64')\n"
        "assert 'device_count' not in os.environ.get('XLA_FLAGS', '')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def of(name, dtype="float32"):
    case = ZOO[name]
    records = case.simulate(np.random.default_rng(2), COUNT)
    return from_pymc(case.model, COUNT, shapes_of_one(records, dtype))


def simulated(model, theta, record):
    keys = jax.random.split(jax.random.key(4), DRAWS)
    return jax.jit(jax.vmap(model.simulate, (None, 0, None)))(theta, keys, record)


def test_categories_are_drawn_with_their_probabilities():
    model = of("categorical")
    assert model.responses == {"y": (0.0, 1.0, 2.0)}
    theta = {"b": jnp.array([[0.0, 1.0, -1.0], [0.5, 0.0, 1.0]])}
    record = {"x": jnp.float32(0.8), "y": jnp.int32(0)}
    found = np.asarray(simulated(model, theta, record)["y"])
    p = np.asarray(jax.nn.softmax(theta["b"][0] + 0.8 * theta["b"][1]), float)
    observed = np.bincount(found, minlength=3)
    assert stats.chisquare(observed, p / p.sum() * DRAWS).pvalue > FALSE_ALARM


def test_counts_are_drawn_with_their_moments():
    model = of("overdispersed")
    theta = {"alpha": jnp.float32(np.log(1.5)), "b": jnp.array([0.5, 0.3, -0.2])}
    record = {name: jnp.int32(1) for name in ("alcohol", "meds", "nsneeze")}
    found = np.asarray(simulated(model, theta, record)["nsneeze"], float)
    mean = np.exp(0.6)
    expected = stats.nbinom(1.5, 1.5 / (1.5 + mean))
    z = (found.mean() - mean) / np.sqrt(expected.var() / DRAWS)
    assert abs(z) < stats.norm.isf(FALSE_ALARM / 2)
    moments = model.responses["nsneeze"]
    assert moments.is_count
    stated = moments.at(theta, record)
    np.testing.assert_allclose(stated, [mean, expected.std()], rtol=1e-4)


def test_the_prior_is_drawn_unconstrained():
    model = of("robust")
    keys = jax.random.split(jax.random.key(2), DRAWS)
    shown = jax.vmap(model.transform)(jax.jit(jax.vmap(model.draw_prior))(keys))
    law = stats.halfcauchy(0, 10)
    assert stats.kstest(np.asarray(shown["sigma"]), law.cdf).pvalue > FALSE_ALARM


def test_a_discrete_parameter_stays_whole():
    def model(y):
        with pm.Model() as made:
            which = pm.DiscreteUniform("which", 1, 4)
            pm.Normal("y", which, 1, observed=y)
        return made

    found = from_pymc(model, 5, {"y": jax.ShapeDtypeStruct((), np.float32)})
    assert found.initial["which"].dtype.kind == "i"
    np.testing.assert_allclose(
        found.log_prior({"which": jnp.array(2)}), np.log(1 / 4), rtol=1e-5
    )
    assert found.log_prior({"which": jnp.array(5)}) == -np.inf


def test_a_potential_of_the_records_and_one_of_the_parameters():
    def model(y):
        with pm.Model() as made:
            mean = pm.Normal("mean", 0, 1)
            pm.Potential("public", -mean)
            pm.Potential("own", -((y - mean) ** 2))
        return made

    found = from_pymc(model, 5, {"y": jax.ShapeDtypeStruct((), np.float32)})
    assert found.simulate is None
    assert found.draw_prior is None
    theta, record = {"mean": jnp.float32(0.5)}, {"y": jnp.float32(2.0)}
    np.testing.assert_allclose(found.log_likelihood(theta, record), -2.25, rtol=1e-6)
    expected = stats.norm.logpdf(0.5) - 0.5
    np.testing.assert_allclose(found.log_prior(theta), expected, rtol=1e-6)


@pytest.mark.parametrize("model", [counts, overdispersed, categorical])
def test_translating_twice_gives_the_same_model(model):
    case = ZOO[model.__name__]
    shapes = shapes_of_one(case.simulate(np.random.default_rng(2), 5), "float32")
    assert from_pymc(model, 5, shapes) is from_pymc(model, 5, shapes)
