# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A whole run on a hierarchical NumPyro model, against NUTS."""

import jax
import numpy as np
import numpyro
import pytest
from numpyro import distributions as dist
from numpyro.infer import MCMC, NUTS

import dpmcmc
from dpmcmc import Variational
from dpmcmc.surrogates import ControlVariates

GROUPS, COUNT = 4, 2000


def hierarchical(group, y, is_centred=True):
    centre = numpyro.sample("centre", dist.Normal(0, 2))
    spread = numpyro.sample("spread", dist.LogNormal(-0.5, 0.5))
    with numpyro.plate("groups", GROUPS):
        if is_centred:
            levels = numpyro.sample("levels", dist.Normal(centre, spread))
        else:
            unit = numpyro.sample("unit", dist.Normal(0, 1))
            levels = numpyro.deterministic("levels", centre + spread * unit)
    with numpyro.plate("records", group.shape[0]):
        numpyro.sample("y", dist.Normal(levels[group], 1), obs=y)


def not_centred(group, y):
    hierarchical(group, y, is_centred=False)


def records():
    generator = np.random.default_rng(0)
    group = generator.integers(0, GROUPS, COUNT).astype(np.int32)
    levels = np.array([-0.6, 0.1, 0.4, 1.1])[group]
    return {"group": group, "y": (levels + generator.normal(size=COUNT))}


def run(model, steps):
    return dpmcmc.sample_not_private(
        model,
        records(),
        start=Variational(epsilon=5.0),
        control=ControlVariates(epsilon=40.0),
        steps=steps,
        clip=0.02,
        seed=1,
        progress=False,
    )


@pytest.mark.slow
def test_a_centred_model_has_the_posterior_that_nuts_finds():
    """Little noise: half a deviation is allowed, and a quarter in spread.

    With 100 effective draws and more, five Monte-Carlo errors of a mean are half a
    deviation.
    """
    posterior = run(hierarchical, 4000)
    nuts = MCMC(
        NUTS(hierarchical), num_warmup=500, num_samples=3000, progress_bar=False
    )
    nuts.run(jax.random.key(1), **records())
    for name, exact in nuts.get_samples().items():
        found = posterior.noise_aware[name].reshape(-1, *exact.shape[1:])
        mean, deviation = np.mean(exact, axis=0), np.std(exact, axis=0)
        assert np.all(np.abs(found.mean(0) - mean) < 0.5 * deviation), name
        np.testing.assert_allclose(found.std(0), deviation, rtol=0.25, err_msg=name)


@pytest.mark.slow
def test_a_model_that_is_not_centred_runs():
    """Its ridge is no parabola; but nothing fails, and all draws are finite."""
    posterior = run(not_centred, 200)
    for values in posterior.noise_aware.values():
        assert np.all(np.isfinite(values))
