# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Log-likelihoods in plain Python: what JAX cannot trace, one record at a time."""

import threading
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

_ONE_AT_A_TIME = threading.RLock()
"""Python's warning filters belong to the process, not to a thread."""


@dataclass(frozen=True)
class PythonFunction:
    """A log-likelihood that JAX cannot trace: a simulator, a table, a fitted scorer.

    It is called in Python for one record at a time, at every step: far slower than
    a traced one (see ``docs/models.md``). What it does with a record cannot be
    checked, so the guarantee holds only if it shows and keeps nothing, and if nobody
    who must not know a record can see how long it takes.

    Parameters
    ----------
    function
        ``function(theta, record)``: the log-likelihood of one record, from NumPy
        arrays that are its own to change. It must return the same number whenever it
        is given the same arguments. Where it raises, or returns anything but one
        real number, the record counts for nothing at that point: an error would
        tell of the record. Only ``KeyboardInterrupt`` ends a run. It is also called
        on records of zeros that fill the last block, and must not call JAX.
    """

    function: Callable[[Any, Any], Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(
                f"function is a {type(self.function).__name__}; it must be a function "
                "of theta and of one record. Pass the function itself, not its result."
            )

    def __call__(self, theta: Any, record: Any) -> jax.Array:
        """Call the function from traced code, one record at a time under vmap.

        Guarantee
        ---------
        The function is called with one record in each call, however many axes vmap
        adds, and entry i of the result is what the call on record i returned.
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
        """Call the function, and return one number whatever happens.

        Guarantee
        ---------
        Whatever the function raises or warns of, one number is returned, NaN if
        there is none, and nothing is shown. ``KeyboardInterrupt`` alone is raised
        again, without its message and without the frames that hold the record.
        """
        interrupted = False
        try:
            with (
                _ONE_AT_A_TIME,
                warnings.catch_warnings(action="ignore"),
                np.errstate(all="ignore"),
            ):
                value = np.asarray(
                    self.function(*jax.tree.map(np.array, (theta, record)))
                )
                if value.dtype.kind in "fiub" and value.size == 1:
                    return value.astype(dtype).reshape(())
        except KeyboardInterrupt:
            interrupted = True
        except BaseException:  # an exit, too, would tell of the record
            pass
        if interrupted:
            raise KeyboardInterrupt
        return np.asarray(np.nan, dtype)
