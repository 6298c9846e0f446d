# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of the parameters: ratios, and whatever else is computed from draws."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.model.coords import Dims
from dpmcmc.posterior.predictions import predictor_of

if TYPE_CHECKING:
    import pandas

    from dpmcmc.posterior.posterior import Posterior

__all__ = ["ratios", "transform"]


def transform(
    posterior: "Posterior", functions: Mapping[str, Callable[..., Any]], dims: Dims
) -> "Posterior":
    """As `Posterior.transform`."""
    if taken := sorted(set(functions) & set(posterior.draws)):
        raise InputError(f"{taken[0]!r} is a parameter already. Choose another name.")

    def added(
        draws: Mapping[str, np.ndarray], shape: tuple[int, int]
    ) -> dict[str, Any]:
        made = {}
        for name, function in functions.items():
            values = np.asarray(function(dict(draws)))
            if values.shape[:2] != shape:
                raise InputError(
                    f"{name} has the shape {values.shape}; it must begin with that of "
                    f"the draws, {shape}. Arrays are of shape (chains, draws, …)."
                )
            made[name] = values
        return {**draws, **made}

    shape = posterior.accepted.shape
    draws = added(posterior.draws, shape)
    own = draws
    if posterior.is_noise_aware:
        own = added(posterior.chain_draws, shape)
    guessed = {
        name: axes
        for name in functions
        if name not in dims and (axes := _like(posterior, draws[name].shape[2:]))
    }
    return replace(
        posterior,
        draws=draws,
        chain_draws=own,
        warmup_draws=added(posterior.warmup_draws, posterior.warmup_accepted.shape),
        dims={**posterior.dims, **guessed, **dims},
    )


def ratios(posterior: "Posterior") -> "pandas.DataFrame":
    """As `Posterior.ratios`."""
    family = predictor_of(posterior).regression.family
    if family.ratio is None or "coefficients" not in posterior.draws:
        raise InputError(
            f"a coefficient of the family {family.name} is a difference, not the "
            "logarithm of a ratio; the summary has it."
        )
    name = family.ratio
    made = transform(
        posterior,
        {name: lambda draws: np.exp(draws["coefficients"])},
        {name: posterior.dims["coefficients"]},
    )
    table = made.summary()
    kept = [title for title in table.index if title.startswith(f"{name}[")]
    return table.loc[kept, ["mean", "sd", "hdi_3%", "hdi_97%"]]


def _like(posterior: "Posterior", shape: tuple[int, ...]) -> Any:
    """The dims of parameters of the same shape, if all of that shape have the same."""
    found = {
        tuple(axes)
        for name, axes in posterior.dims.items()
        if shape and posterior.draws[name].shape[2:] == shape
    }
    return found.pop() if len(found) == 1 else None
