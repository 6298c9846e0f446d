# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Explained columns: those that a model observes as they are, and what is known."""

from collections.abc import Callable, Sequence

import jax

from dpmcmc.adapters.parts import Parts, Theta
from dpmcmc.model.responses import Moments, Responses

__all__ = ["explained"]


def explained(
    parts: Parts,
    theta: Theta,
    values_of: Callable[[str], Sequence[float] | None],
    moments_of: Callable[[str], Moments | None],
) -> Responses | None:
    """The responses of a model; None if it observes something else than columns.

    A column has all its values if they can be listed and are the same for every record;
    else mean and sd, if they can be computed at a point and a record; else None, as
    where it holds several numbers.

    Parameters
    ----------
    parts, theta
        The model, and a point to try it at.
    values_of, moments_of
        All values of an observed variable, and its moments, or None.
    """
    if not parts.layout.observed:
        return None
    found: dict[str, Sequence[float] | Moments | None] = {}
    for name, column in parts.layout.observed.items():
        found[column] = None
        if parts.bound.one[column].shape == ():
            found[column] = values_of(name) or _tried(parts, theta, moments_of(name))
    return found


def _tried(parts: Parts, theta: Theta, moments: Moments | None) -> Moments | None:
    if moments is None:
        return None
    try:
        jax.eval_shape(moments.at, theta, dict(parts.bound.one))
        jax.eval_shape(moments.within, theta, dict(parts.bound.one))
    except Exception:  # libraries say in several ways that there are none
        return None
    return moments
