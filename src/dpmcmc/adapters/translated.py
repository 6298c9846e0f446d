# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Translated models, kept: a second call with the same function compiles nothing anew.

Compiled programs belong to a `Model`, and translating the same function again would
make another. A function alone does not say what it computes: it may read a variable
that has changed since. So it is traced again at each call, which takes hundredths of a
second, and the model that was made of it is used if the traced programs are the same.
"""

import hashlib
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import jax
import numpy as np

from dpmcmc.adapters.parts import Parts
from dpmcmc.model.model import Model

__all__ = ["kept", "same_program"]

_MOST = 16
"""How many models are kept: the last that were used."""

_KEPT: dict[Hashable, Model] = {}


def kept(key: Hashable | None, translate: Callable[[], Model]) -> Model:
    """The model that was made for this key; made now if there is none."""
    if key is None:
        return translate()
    model = _KEPT.pop(key, None) or translate()
    _KEPT[key] = model
    if len(_KEPT) > _MOST:
        del _KEPT[next(iter(_KEPT))]
    return model


def same_program(
    parts: Parts, given: Mapping[str, np.ndarray], stated: tuple[Hashable, ...]
) -> Hashable | None:
    """What two translations have in common if either can stand for the other.

    They are of one function that is traced to the same programs with the same public
    constants, starts from the same values, and has the same settings beside it. None if
    that cannot be said: the function has no hash, or cannot be traced.
    """
    bound, one = parts.bound, dict(parts.bound.one)
    try:
        hash((bound.model, stated))
        key = jax.eval_shape(jax.random.key, 0)
        theta = jax.eval_shape(parts.start, given, key).theta
        digest = hashlib.sha256(repr(parts.layout).encode())
        for function, *arguments in (
            (parts.start, given, key),
            (parts.log_likelihood, theta, one),
            (parts.log_prior, theta),
            (parts.show, theta),
        ):
            _add(digest, jax.make_jaxpr(function)(*arguments))
        if parts.layout.has_prior_distribution:
            _add(digest, _traced(parts.draw_prior, key))
        if parts.layout.observed is not None:
            _add(digest, _traced(parts.simulate, theta, key, one))
    except Exception:  # whatever the user's function raises; checks say more of it
        return None
    values = tuple((name, given[name].tobytes()) for name in sorted(given))
    return bound.model, tuple(one), stated, values, digest.digest()


def _traced(function: Callable[..., Any], *arguments: Any) -> Any:
    """A traced program; None where a distribution has no sampler."""
    try:
        return jax.make_jaxpr(function)(*arguments)
    except Exception:  # they say so in several ways
        return None


def _add(digest: Any, program: Any) -> None:
    """Add a program and its constants to a digest."""
    digest.update(str(program).encode())
    for constant in getattr(program, "consts", ()):
        array = np.asarray(constant)
        digest.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
