# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Published PyMC models run privately as they are, and find what NUTS finds."""

import jax
import numpy as np
import pymc as pm
import pytest
from pymc_zoo import PUBLISHED, ZOO

import dpmcmc

COUNT = 100_000

MOST_SD = 5.0
"""Most difference of the means, in private posterior sd. The private posterior allows
for its own noise, so over the 23 means of the five models a right run would fail with a
probability of about 23 × 6e-7."""

COMPARED = [name for name in PUBLISHED if name != "overdispersed"]
"""NUTS takes a quarter of an hour for that many negative-binomial records."""


STARTS = {"robust": {"sigma": 1.0}}
"""From PyMC's initial point, a scale of 10 that is twenty times too large, the private
fit of the robust regression does not always find the posterior, and says so."""


def by_nuts(model: pm.Model) -> dict[str, np.ndarray]:
    """Draws of PyMC's own NUTS, in JAX, by name."""
    from pymc.sampling.jax import sample_numpyro_nuts

    with jax.enable_x64(True):
        found = sample_numpyro_nuts(
            draws=300,
            tune=300,
            chains=2,
            random_seed=2,
            model=model,
            chain_method="vectorized",
            progressbar=False,
            compute_convergence_checks=False,
        )
    return {rv.name: found.posterior[rv.name].to_numpy() for rv in model.free_RVs}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", COMPARED)
def test_private_means_are_near_those_of_nuts(name):
    case = ZOO[name]
    records = case.simulate(np.random.default_rng(3), COUNT)
    posterior = dpmcmc.sample(
        case.model,
        records,
        epsilon=1.0,
        delta=1e-6,
        start=STARTS.get(name),
        progress=False,
    )
    nuts = by_nuts(case.model(**records))
    for parameter, theirs in nuts.items():
        ours = posterior.draws[parameter]
        sd = ours.std(axis=(0, 1))
        off = np.abs(ours.mean(axis=(0, 1)) - theirs.mean(axis=(0, 1))) / sd
        ratio = sd / theirs.std(axis=(0, 1))
        print(
            name,
            parameter,
            "error in sd",
            np.round(off, 2),
            "sd ratio",
            np.round(ratio, 2),
        )
        assert np.all(off < MOST_SD)
