# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Responses: the columns that a NumPyro model explains, and their values."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import distributions as dist

from dpmcmc.adapters.densities import Densities
from dpmcmc.adapters.explained import explained
from dpmcmc.adapters.origins import origins
from dpmcmc.adapters.sites import Message, run, support_of
from dpmcmc.model.responses import Moments, Responses

__all__ = ["responses_of"]


def responses_of(parts: Densities, theta: Mapping[str, Any]) -> Responses | None:
    """The columns that observed sites read as they are, with values or moments.

    Parameters
    ----------
    parts
        The model; it is run on zeros in the place of the records.
    theta
        A point, unconstrained, to run it at.

    Returns
    -------
    dict or None
        As `explained`; None also if the distribution of a site is not the density that
        counts: masked, or scaled.
    """
    observed = parts.layout.observed
    sites = _sites(parts, theta) if observed else {}
    if not all(_is_plain(sites[site]) for site in observed or ()):
        return None

    def values_of(site: str) -> tuple[float, ...] | None:
        is_discrete = sites[site]["fn"].is_discrete
        return _values(parts, theta, site) if is_discrete else None

    def moments_of(site: str) -> Moments | None:
        is_discrete = sites[site]["fn"].is_discrete
        return None if parts.layout.hidden else _moments(parts, site, is_discrete)

    return explained(parts, theta, values_of, moments_of)


def _moments(parts: Densities, site: str, is_discrete: bool) -> Moments:
    """Mean and sd of a site given θ and a record, if its distribution has them.

    Of a mixture of densities, those of its components.
    """

    def at(theta: Mapping[str, Any], record: Mapping[str, Any]) -> tuple[Any, ...]:
        found = _trace(parts, theta, parts.bound.of_one(record))[site]["fn"]
        one = found.base_dist if isinstance(found, dist.ExpandedDistribution) else found
        if not is_discrete and hasattr(one, "component_mean"):
            sds, weights = jnp.sqrt(one.component_variance), one.mixing_distribution
            each = one.component_mean, sds, weights.probs
            return tuple(jnp.reshape(part, (one.mixture_size,)) for part in each)
        return jnp.reshape(found.mean, ()), jnp.sqrt(jnp.reshape(found.variance, ()))

    def limits(theta: Mapping[str, Any], record: Mapping[str, Any]) -> tuple[Any, Any]:
        support = _trace(parts, theta, parts.bound.of_one(record))[site]["fn"].support
        ends = (getattr(support, name, None) for name in ("lower_bound", "upper_bound"))
        low, high = (None if end is None else jnp.reshape(end, ()) for end in ends)
        return low, high

    return Moments(at, is_count=is_discrete, limits=limits)


def _sites(parts: Densities, theta: Mapping[str, Any]) -> dict[str, Message]:
    """The sites of the model, traced with shapes alone."""
    seen: dict[str, Message] = {}

    def traced(columns: Mapping[str, Any]) -> None:
        seen.update(_trace(parts, theta, columns))

    jax.eval_shape(traced, parts.bound.shapes(1))
    return seen


def _values(
    parts: Densities, theta: Mapping[str, Any], site: str
) -> tuple[float, ...] | None:
    """All values of a site, if they can be listed and are the same for any record."""

    def support(columns: Mapping[str, Any]) -> jax.Array:
        return support_of(_trace(parts, theta, columns)[site])

    try:
        origin = origins(support, parts.bound.shapes(1))
    except Exception:  # NumPyro says in several ways that it cannot list them
        return None
    if origin.names:
        return None
    found = np.ravel(jax.jit(lambda: support(parts.bound.blanks(1)))())
    return tuple(found.astype(float).tolist())


def _trace(
    parts: Densities, theta: Mapping[str, Any], columns: Mapping[str, Any]
) -> dict[str, Message]:
    latent = parts.constrained(theta)
    key = jax.random.key(0)
    return run(parts.bound, columns, lambda site: latent.get(site["name"]), key)


def _is_plain(site: Message) -> bool:
    is_masked = isinstance(site["fn"], dist.MaskedDistribution)
    return site["scale"] is None and not is_masked
