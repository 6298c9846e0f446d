# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Whitening: a vector in coordinates in which a public covariance is the identity."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.errors import InputError

__all__ = ["Whiten"]


@dataclass(frozen=True)
class Whiten:
    """Take a public centre away, and a root of a public covariance out.

    With covariance = L Lᵀ, L lower triangular, a vector becomes L⁻¹ (x − centre). Both
    must be known without the records.

    Parameters
    ----------
    centre
        A vector.
    covariance
        A positive definite matrix, row by row.
    """

    centre: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        try:
            centre = np.asarray(self.centre, np.float64)
            covariance = np.asarray(self.covariance, np.float64)
            size = centre.size
            right = centre.shape == (size,) and covariance.shape == (size, size)
            right = right and np.allclose(covariance, covariance.T)
            right = right and bool(np.all(np.isfinite(centre)))
            if not right:
                raise ValueError
            np.linalg.cholesky(covariance)
        except (TypeError, ValueError, np.linalg.LinAlgError):
            raise InputError(
                "centre and covariance must be a finite vector and a positive definite "
                "matrix of its size. Choose them without looking at the records."
            ) from None
        object.__setattr__(self, "centre", tuple(centre.tolist()))
        rows = tuple(tuple(row) for row in covariance.tolist())
        object.__setattr__(self, "covariance", rows)

    @property
    def inverse(self) -> np.ndarray:
        """The matrix L⁻¹."""
        factor: Any = np.linalg.cholesky(np.asarray(self.covariance))
        return np.linalg.inv(factor)

    def __call__(self, value: jax.Array) -> jax.Array:
        """Whiten one column of one record."""
        if value.shape != (len(self.centre),):
            raise InputError(
                f"it has the shape {value.shape}, but the centre has "
                f"{len(self.centre)} entries."
            )
        centred = value - jnp.asarray(self.centre, value.dtype)
        inverse = jnp.asarray(self.inverse, value.dtype)
        return jnp.matmul(inverse, centred, precision=jax.lax.Precision.HIGHEST)

    def describe(self) -> str:
        """Name the size."""
        size = len(self.centre)
        return f"whitened by a public centre and a public {size} × {size} covariance"
