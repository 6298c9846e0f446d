# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Published PyMC models run privately as they are, and find what NUTS finds."""

import arviz as az
import jax
import numpy as np
import pymc as pm
import pytest
from pymc_zoo import PUBLISHED, ZOO

import dpmcmc

az.Numba.disable_numba()  # with it, mcse fails under newer NumPy

COUNT = 100_000

MOST_SD = 5.0
"""Most difference of the means, in private posterior sd. The private posterior allows
for its own noise, so over the 23 means of the five models a right run would fail with a
probability of about 23 × 6e-7."""

COMPARED = [name for name in PUBLISHED if name != "overdispersed"]
"""NUTS takes a quarter of an hour for that many negative-binomial records; they are
compared where there are fewer, below."""

FEW = 2000
MOST_ERRORS = 4
"""Means without privacy may differ by so many Monte-Carlo errors of the difference:
over the 27 means of the six models, right draws would fail with a probability of about
27 × 6e-5."""


STARTS = {"robust": {"sigma": 1.0}}
"""From PyMC's initial point, a scale of 10 that is twenty times too large, the private
fit of the robust regression does not always find the posterior, and says so."""


def by_nuts(model: pm.Model, draws: int) -> dict[str, np.ndarray]:
    """Draws of PyMC's own NUTS, in JAX, by name."""
    from pymc.sampling.jax import sample_numpyro_nuts

    with jax.enable_x64(True):
        found = sample_numpyro_nuts(
            draws=draws,
            tune=draws,
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
    nuts = by_nuts(case.model(**records), 300)
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PUBLISHED)
def test_means_without_privacy_are_those_of_nuts(name):
    case = ZOO[name]
    records = case.simulate(np.random.default_rng(3), FEW)
    found = dpmcmc.sample_not_private(
        case.model, records, seed=4, start=STARTS.get(name), progress=False
    )
    for parameter, theirs in by_nuts(case.model(**records), 1000).items():
        ours = found.draws[parameter].astype(float)
        for entry in np.ndindex(ours.shape[2:]):
            pair = [part[(..., *entry)] for part in (ours, theirs)]
            error = np.hypot(*[az.mcse(part) for part in pair])
            off = abs(pair[0].mean() - pair[1].mean())
            told = f"{name} {parameter}{list(entry)}: off by {off / error:.1f} errors"
            print(told)
            assert off < MOST_ERRORS * error, told
            # The error is small beside the posterior: an offset would be seen.
            assert MOST_ERRORS * error < 0.4 * pair[1].std(), told
