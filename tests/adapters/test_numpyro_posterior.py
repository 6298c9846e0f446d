# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""With clipping off, chains on adapted models have the posteriors that NUTS finds.

The proposal is shaped like NUTS's own draws, which a private run could not do.
"""

from dataclasses import replace
from typing import Any

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from numpyro.infer import MCMC, NUTS
from numpyro.infer.util import unconstrain_fn
from zoo import ZOO, Case, adapted, columns

import dpmcmc

az.Numba.disable_numba()  # with it, mcse fails under newer NumPy

CHAINS = 4

MOST_ERRORS = 3
"""Means may differ by so many Monte-Carlo errors of the difference. Over the 46 means
of the zoo, right chains would fail under about a tenth of seeds; ours are fixed."""


def by_nuts(case: Case, draws: int) -> dict[str, np.ndarray]:
    """Draws of NUTS on their own scale, of shape (chains, draws, …)."""
    sampler = MCMC(
        NUTS(case.reference),
        num_warmup=draws,
        num_samples=draws,
        num_chains=CHAINS,
        chain_method="vectorized",
        progress_bar=False,
    )
    sampler.run(jax.random.key(5), **columns(case, "float32"))
    return jax.device_get(sampler.get_samples(group_by_chain=True))


def unconstrained(case: Case, theta: Any, draws: dict[str, np.ndarray]) -> np.ndarray:
    """Draws as rows of numbers, in the order of the flattened θ."""
    rows = {name: jnp.concatenate(jnp.asarray(draws[name])) for name in theta}

    def flat(latent: Any) -> jax.Array:
        args = (case.reference, (), columns(case, "float32"), latent)
        return ravel_pytree(unconstrain_fn(*args))[0]

    return np.asarray(jax.jit(jax.vmap(flat))(rows), np.float64)


def by_us(name: str, steps: int, nuts: dict[str, np.ndarray]) -> dpmcmc.Posterior:
    case, model = ZOO[name], adapted(name)
    rows = unconstrained(case, model.initial, nuts)
    _, unravel = ravel_pytree(jax.tree.map(jnp.asarray, model.initial))
    size = rows.shape[1]
    covariance = np.atleast_2d(np.cov(rows.T)) * 2.4**2 / size
    return dpmcmc.sample_not_private(
        replace(model, initial=jax.device_get(unravel(rows.mean(axis=0)))),
        case.records,
        steps=steps,
        method=dpmcmc.Barker(
            proposal=dpmcmc.RandomWalk(
                covariance if size > 1 else covariance[0, 0] ** 0.5
            )
        ),
        seed=6,
        chains=CHAINS,
        progress=False,
    )


def compare(name: str, steps: int, draws: int) -> None:
    """Every mean agrees, and the draws have mixed well enough to tell."""
    nuts = by_nuts(ZOO[name], draws)
    posterior = by_us(name, steps, nuts)
    for site in adapted(name).initial:
        ours, theirs = posterior.draws[site], nuts[site]
        assert ours.shape[2:] == theirs.shape[2:]
        for entry in np.ndindex(ours.shape[2:]):
            pair = [part[(..., *entry)].astype(float) for part in (ours, theirs)]
            if np.ptp(pair[1]) == 0:  # the upper half of a triangular factor
                np.testing.assert_allclose(pair[0], pair[1][0, 0], atol=1e-6)
                continue
            off = pair[0].mean() - pair[1].mean()
            error = np.hypot(*[az.mcse(part) for part in pair])
            size, r_hat = az.ess(pair[0]), az.rhat(pair[0])
            told = (
                f"{name}: mean of {site}{list(entry)} off by {off / error:.2f} errors; "
                f"ESS {size:.0f}, R-hat {r_hat:.4f}"
            )
            print(told)
            assert abs(off) < MOST_ERRORS * error, told
            assert r_hat < 1.02, told
            # The error is small beside the posterior: an offset would be seen.
            assert MOST_ERRORS * error < 0.3 * pair[1].std(), told


@pytest.mark.slow
@pytest.mark.parametrize("name", ZOO)
def test_means_are_those_of_nuts(name):
    compare(name, steps=40_000, draws=2_000)
