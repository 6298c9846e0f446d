# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Log-likelihoods in plain Python: what JAX cannot trace, one record at a time."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.errors import InputError

__all__ = ["PythonFunction"]


@dataclass(frozen=True)
class PythonFunction:
    """A log-likelihood that JAX cannot trace: a simulator, a table, a fitted scorer.

    It is called in Python for one record at a time, at every step: thousands of times
    slower than a traced one. Nothing that it does with a record can be checked, so
    the guarantee holds only if it keeps and shows nothing.

    Parameters
    ----------
    function
        ``function(theta, record)``: the log-likelihood of one record, from NumPy
        arrays. Where it raises, or returns anything but one real number, the record
        counts for nothing at that point: an error would tell of the record.
    """

    function: Callable[[Any, Any], Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(
                f"function is a {type(self.function).__name__}; it must be a function "
                "of theta and of one record."
            )

    def __call__(self, theta: Any, record: Any) -> jax.Array:
        """Call the function from traced code, one record at a time under vmap.

        Guarantee
        ---------
        The function is called with one record in each call. Whatever it raises or
        warns of, the call returns one number, NaN if there is none.
        """
        dtype = np.dtype(jnp.result_type(float))
        return jax.pure_callback(
            partial(self._guarded, dtype),
            jax.ShapeDtypeStruct((), dtype),
            theta,
            record,
            vmap_method="sequential",
        )

    def _guarded(self, dtype: np.dtype, theta: Any, record: Any) -> np.ndarray:
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                theta, record = jax.tree.map(np.asarray, (theta, record))
                value = np.asarray(self.function(theta, record))
                return value.astype(dtype).reshape(())
        except Exception:
            return np.asarray(np.nan, dtype)
