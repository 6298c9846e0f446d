# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The arithmetic inside the boundary, whatever the user's JAX settings are."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import jax
import numpy as np

from dpmcmc.errors import InputError

__all__ = ["boundary_arithmetic"]


@contextmanager
def boundary_arithmetic() -> Iterator[None]:
    """Compute with int64 and float64, and let no value raise or warn.

    The user's settings hold again outside. Among them are debugging aids that raise
    an exception where a NaN or an infinity appears: inside the boundary that would
    tell an observer something about a record, so they are off here. Functions are
    compiled, so that the user's never see the value of a record.

    Raises
    ------
    InputError
        If JAX is set to record errors of values where anyone can look them up later:
        that can be turned off for a whole process only.

    Guarantee
    ---------
    Within the context, no JAX or NumPy setting makes a computed value raise or warn,
    or be recorded; functions are traced before they run; 64-bit types are available.
    """
    for kind in ("nan", "divide", "oob"):
        name = f"jax_error_checking_behavior_{kind}"
        if getattr(jax.config, name, "ignore") != "ignore":
            raise InputError(
                f"{name} is set, so that JAX would record whether a value of a record "
                f"is at fault. Turn it off: jax.config.update({name!r}, 'ignore')."
            )
    with ExitStack() as stack:
        stack.enter_context(jax.enable_x64(True))
        stack.enter_context(jax.debug_nans(False))
        stack.enter_context(jax.debug_infs(False))
        stack.enter_context(jax.disable_jit(False))
        stack.enter_context(jax.numpy_dtype_promotion("standard"))
        stack.enter_context(jax.numpy_rank_promotion("allow"))
        stack.enter_context(np.errstate(all="ignore"))
        yield
