# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Log-likelihoods in plain Python: what JAX cannot trace, one record at a time."""

import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
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
        given, dtype = (theta, record), np.dtype(jnp.result_type(float))
        given = jax.tree.map(jnp.asarray, given)
        kinds = jax.tree.map(lambda leaf: np.dtype(leaf.dtype), given)
        number = jax.eval_shape(_as_words, jax.ShapeDtypeStruct((), dtype))
        found = jax.pure_callback(
            lambda words: _as_words_there(self._guarded(dtype, kinds, words)),
            number,
            jax.tree.map(_as_words, given),
            vmap_method="sequential",
        )
        return jax.lax.bitcast_convert_type(found, dtype)

    def _guarded(self, dtype: np.dtype, kinds: Any, words: Any) -> np.ndarray:
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
                given = jax.tree.map(_of_words, kinds, words)
                value = np.asarray(self.function(*given))
                if value.dtype.kind in "fiub" and value.size == 1:
                    return value.astype(dtype).reshape(())
        except KeyboardInterrupt:
            interrupted = True
        except BaseException:  # an exit, too, would tell of the record
            pass
        if interrupted:
            raise KeyboardInterrupt
        return np.asarray(np.nan, dtype)


# JAX narrows what goes into a callback, and what comes out, on threads where float64 is
# not enabled, and a program may call back from any. Numbers of 64 bits cross as two
# words of 32.


def _as_words(leaf: jax.Array) -> jax.Array:
    """A number of 64 bits as two words; others as they are."""
    is_wide = leaf.dtype.itemsize == 8
    return jax.lax.bitcast_convert_type(leaf, jnp.uint32) if is_wide else leaf


def _as_words_there(number: np.ndarray) -> np.ndarray:
    """The same, of one number, outside of JAX."""
    return number[None].view(np.uint32) if number.itemsize == 8 else number


def _of_words(kind: np.dtype, words: Any) -> np.ndarray:
    """A copy of what words were made of."""
    copied = np.array(words)
    return copied if copied.dtype == kind else copied.view(kind)[..., 0]
