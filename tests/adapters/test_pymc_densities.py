# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""An adapted PyMC model has the densities that PyMC computes itself."""

import jax
import numpy as np
import pymc as pm
import pytensor
import pytest
from pymc_zoo import ZOO, shapes_of_one

from dpmcmc.adapters import from_pymc

COUNT = 12


def of_pymc(model: pm.Model, point: dict, outputs: list) -> list:
    """What PyMC computes at a point, without JAX."""
    with pytensor.config.change_flags(mode="FAST_COMPILE", cxx=""):
        function = model.compile_fn(outputs, inputs=model.value_vars)
        return function(point)


@pytest.mark.parametrize("name", ZOO)
def test_densities_are_those_of_pymc(name):
    case, rng = ZOO[name], np.random.default_rng(4)
    records = case.simulate(rng, COUNT)
    model = case.model(**records)
    names = {rv.name: model.rvs_to_values[rv].name for rv in model.free_RVs}
    with jax.enable_x64(True):
        adapted = from_pymc(case.model, COUNT, shapes_of_one(records, "float64"))
        theta = {
            name: value + rng.normal(0, 0.3, value.shape)
            for name, value in adapted.initial.items()
        }
        point = {names[name]: value for name, value in theta.items()}
        terms = model.logp(vars=model.observed_RVs, sum=False)
        free = model.replace_rvs_by_values(model.free_RVs)
        expected = of_pymc(model, point, [*terms, model.varlogp, *free])
        found = jax.vmap(adapted.log_likelihood, (None, 0))(theta, records)
        np.testing.assert_allclose(found, expected[0], rtol=1e-9, atol=1e-9)
        prior = adapted.log_prior(theta)
        np.testing.assert_allclose(prior, expected[1], rtol=1e-9, atol=1e-9)
        shown = adapted.transform(theta)
        for rv, value in zip(model.free_RVs, expected[2:], strict=True):
            np.testing.assert_allclose(shown[rv.name], value, rtol=1e-9, atol=1e-12)
        gradient = jax.grad(adapted.log_prior)(theta)
        assert all(np.all(np.isfinite(leaf)) for leaf in gradient.values())


@pytest.mark.parametrize("name", ["robust", "ordered", "multivariate", "censored"])
def test_models_start_where_pymc_does_and_simulate(name):
    case = ZOO[name]
    records = case.simulate(np.random.default_rng(5), COUNT)
    adapted = from_pymc(case.model, COUNT, shapes_of_one(records, "float32"))
    with pytensor.config.change_flags(mode="FAST_COMPILE", cxx=""):
        model = case.model(**records)
        start = model.initial_point()
    for rv in model.free_RVs:
        expected = start[model.rvs_to_values[rv].name]
        np.testing.assert_allclose(adapted.initial[rv.name], expected, atol=1e-6)
    assert adapted.draw_prior is not None or name == "multivariate"
    assert (adapted.simulate is None) == (name == "censored")  # no draw of a Weibull
