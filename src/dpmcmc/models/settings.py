# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Settings that ready models share: ranges, preparations, and a normal's parameters."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.stats import norm

from dpmcmc.errors import InputError, require_positive
from dpmcmc.model.preparation import Clamp, Preparation, Step
from dpmcmc.models.priors import Normal

__all__ = ["Deviation", "Range", "preparation", "require_range", "score_bound"]

Range = tuple[float, float]
"""A low and a high end."""


def require_range(name: str, pair: Any, positive: bool = False) -> Range:
    """Return a pair of finite numbers in order, or refuse it."""
    try:
        low, high = pair
        clamp = Clamp(float(low), float(high))
        if positive and clamp.low <= 0:  # type: ignore[operator]
            raise ValueError
    except (TypeError, ValueError):
        above = " above 0" if positive else ""
        raise InputError(
            f"{name} is {pair!r}; it must be a pair (low, high) of finite numbers"
            f"{above}, low below high. Choose it without looking at the records."
        ) from None
    return float(low), float(high)


def preparation(
    before: Preparation | None, columns: Mapping[str, Step | Sequence[Step]]
) -> Preparation:
    """Return the model's own preparation, after the user's."""
    own = Preparation(columns)
    if before is None:
        return own
    if not isinstance(before, Preparation):
        raise InputError(
            f"before is a {type(before).__name__}; it must be a Preparation, or None."
        )
    return before.then(own)


@dataclass(frozen=True)
class Deviation:
    """The standard deviation of a normal: known, or a parameter on the log scale."""

    known: float | None
    prior: Normal | None

    @classmethod
    def of(
        cls,
        width: float,
        sd: float | None,
        sd_range: Range | None,
        sd_centre: float | None,
        sd_scale: float,
    ) -> "Deviation":
        """Check a user's settings; width is that of the public bounds."""
        if sd is not None:
            return cls(require_positive("sd", sd, "None makes it a parameter."), None)
        low, high = -math.inf, math.inf
        if sd_range is not None:
            ends = require_range("sd_range", sd_range, positive=True)
            low, high = math.log(ends[0]), math.log(ends[1])
        if sd_centre is not None:
            advice = "Give the prior's median of the standard deviation."
            centre = math.log(require_positive("sd_centre", sd_centre, advice))
        else:
            centre = (low + high) / 2 if sd_range else math.log(width / 4)
        return cls(None, Normal(centre, sd_scale, low=low, high=high))

    @property
    def parts(self) -> dict[str, Normal]:
        """The prior of the parameter, if there is one."""
        return {} if self.prior is None else {"log_sd": self.prior}

    def at(self, theta: Any) -> jax.Array | float:
        """Return the standard deviation at θ."""
        return jnp.exp(theta["log_sd"]) if self.known is None else self.known

    def log_likelihood(self, theta: Any, value: Any, mean: Any) -> jax.Array:
        """Return the log-density of a value about its mean."""
        return norm.logpdf(value, mean, self.at(theta))

    def shown(self, theta: Any) -> dict[str, Any]:
        """Return θ with the standard deviation on its own scale."""
        rest = {name: leaf for name, leaf in theta.items() if name != "log_sd"}
        return rest if self.known is not None else {**rest, "sd": self.at(theta)}

    def lipschitz(self, residual: float, design: float = 1.0) -> float | None:
        """Bound the slope where residuals and the squared design are bounded."""
        if self.known is not None:
            return math.sqrt(design) * residual / self.known**2
        assert self.prior is not None
        if math.isinf(self.prior.low):
            return None
        ends = (math.exp(self.prior.low), math.exp(self.prior.high))
        return math.sqrt(max(1.0, *(score_bound(residual, sd, design) for sd in ends)))


def score_bound(residual: float, sd: float, design: float) -> float:
    """Squared slope of a normal's log-density in its mean's and its own log scale.

    In the coefficients of the mean it is r/s² times the design, in log s it is
    r²/s² − 1.
    """
    squared = (residual / sd) ** 2
    return design * squared / sd**2 + (squared - 1) ** 2
