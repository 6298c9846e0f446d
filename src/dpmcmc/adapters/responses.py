# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Responses: the columns that a NumPyro model explains, and their values."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from numpyro import distributions as dist

from dpmcmc.adapters.densities import Densities
from dpmcmc.adapters.origins import origins
from dpmcmc.adapters.sites import Message, run, support_of

__all__ = ["responses_of"]


def responses_of(
    parts: Densities, theta: Mapping[str, Any]
) -> dict[str, tuple[float, ...] | None] | None:
    """The columns that observed sites read as they are, with their possible values.

    Parameters
    ----------
    parts
        The model; it is run on zeros in the place of the records.
    theta
        A point, unconstrained, to run it at.

    Returns
    -------
    dict or None
        None if some observed site reads something else than a column, or if its law is
        not the density that counts: masked, or scaled. A column has no values if they
        cannot be listed, if they depend on the record, or if it holds several numbers.
    """
    observed = parts.layout.observed
    if not observed:
        return None
    laws = _laws(parts, theta)
    if not all(_is_plain(laws[site]) for site in observed):
        return None
    listed = {
        site: _values(parts, theta, site) if laws[site]["fn"].is_discrete else None
        for site, column in observed.items()
        if parts.bound.one[column].shape == ()
    }
    return {column: listed.get(site) for site, column in observed.items()}


def _laws(parts: Densities, theta: Mapping[str, Any]) -> dict[str, Message]:
    """The sites of the model, traced with shapes alone: laws, not values."""
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
    found = np.ravel(jax.jit(support)(parts.bound.blanks(1)))
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
