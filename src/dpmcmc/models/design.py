# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The linear predictor of a regression: its shape, its prior, how far it reaches."""

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from dpmcmc.errors import InputError, require_count, require_positive
from dpmcmc.model.preparation import Clamp, ClampNorm, Preparation, Step
from dpmcmc.model.preparation.columns import column_of
from dpmcmc.models.naming import named, names_from
from dpmcmc.models.priors import Normal
from dpmcmc.models.settings import Range, require_range

__all__ = ["Design"]


@dataclass(frozen=True)
class Design:
    """A predictor η = intercept + x · coefficients, with ‖x‖ bounded by ``norm``.

    With ``within``, every coordinate of the intercept and the coefficients lies in
    [−within, within]. With ``offset``, public bounds, the column ``offset`` is added.
    """

    dimension: int
    norm: float
    intercept: bool
    within: float | None
    offset: Range | None = None

    def __post_init__(self) -> None:
        require_count("dimension", self.dimension, "Give the number of covariates.")
        require_positive("norm", self.norm, "Give the greatest length of x.")
        if self.within is not None:
            require_positive("within", self.within, "None leaves θ unbounded.")
        if self.offset is not None:
            require_range("offset", self.offset)

    def parts(
        self, coefficient_scale: float, intercept_scale: float, centre: float = 0.0
    ) -> dict[str, Normal]:
        """Return priors of the coefficients and, if there is one, the intercept."""
        for name, scale in {
            "coefficient_scale": coefficient_scale,
            "intercept_scale": intercept_scale,
        }.items():
            require_positive(name, scale, "Give the prior's standard deviation.")
        end = math.inf if self.within is None else self.within
        shape = (self.dimension,)
        slopes = Normal(0.0, coefficient_scale, shape, low=-end, high=end)
        if not self.intercept:
            return {"coefficients": slopes}
        constant = Normal(centre, intercept_scale, low=-end, high=end)
        return {"coefficients": slopes, "intercept": constant}

    def predictor(self, theta: Any, record: Any) -> jax.Array:
        """Return η at θ for one record."""
        x = jnp.ravel(record["x"])
        if x.size != self.dimension:
            raise InputError(
                f"x has {x.size} entries, but the model's dimension is "
                f"{self.dimension}. Change one of them."
            )
        # in full precision on devices, too, that multiply matrices in less
        slope = jnp.dot(x, theta["coefficients"], precision=jax.lax.Precision.HIGHEST)
        if self.offset is not None:
            slope = slope + column_of(record, "offset")
        return slope + theta["intercept"] if self.intercept else slope

    def names(self, before: Preparation | None) -> dict[str, Any]:
        """Coords and dims of the coefficients, if a preparation says what x is."""
        return named("coefficients", "predictor", names_from(before, self.dimension))

    @property
    def clamps(self) -> dict[str, Step]:
        """What bounds x, and the offset if there is one."""
        x: dict[str, Step] = {"x": ClampNorm(self.norm)}
        return x if self.offset is None else {**x, "offset": Clamp(*self.offset)}

    @property
    def squared(self) -> float:
        """The greatest squared length of (1, x), or of x without an intercept."""
        return self.norm**2 + self.intercept

    @property
    def farthest(self) -> float:
        """The greatest |η|: reached where all coefficients, and x, are equal."""
        if self.within is None:
            return math.inf
        reach = 0.0 if self.offset is None else max(map(abs, self.offset))
        size = self.intercept + self.norm * math.sqrt(self.dimension)
        return self.within * size + reach
