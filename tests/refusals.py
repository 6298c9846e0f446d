# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Records that shout when they are read, and what a refusal must be like.

Bad input fails before any record is read, with one message that helps.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from runs import with_barker

import dpmcmc
from dpmcmc import InputError, Model, RandomWalk


class RecordsWereReadError(BaseException):
    """Raised when somebody reads records that nobody may read yet.

    No handler of errors takes it for one of its own.
    """


@dataclass
class Sealed:
    """An array by its shape and dtype, whose values must not be read."""

    shape: tuple[int, ...] = (1000,)
    dtype: np.dtype = field(default_factory=lambda: np.dtype(np.float64))

    def _read(self, *_: object, **__: object) -> Any:
        raise RecordsWereReadError

    __array__ = __iter__ = __getitem__ = __float__ = __bool__ = __eq__ = _read
    __hash__ = object.__hash__


def log_likelihood(theta: dict, record: Any) -> Any:
    return -((record - theta["mean"]) ** 2) / 2


def log_prior(theta: dict) -> Any:
    return -jnp.sum(theta["mean"] ** 2) / 2


MODEL = Model(log_likelihood, log_prior, initial={"mean": 0.0})

PRIVATE = {
    "epsilon": 1.0,
    "delta": 1e-6,
    "clip": 0.01,
    "proposal": RandomWalk(0.1),
    "progress": False,
}

NOT_PRIVATE = {"steps": 10, "proposal": RandomWalk(0.1), "progress": False}


def run_privately(**changes: Any) -> dpmcmc.Posterior:
    """Run `sample` by Barker's test with good settings, but for the changes."""
    all_ = with_barker({"model": MODEL, "records": Sealed(), **PRIVATE, **changes})
    return dpmcmc.sample(all_.pop("model"), all_.pop("records"), **all_)


def run_openly(**changes: Any) -> dpmcmc.Posterior:
    """Run `sample_not_private` with good settings, but for the changes."""
    all_ = with_barker({"model": MODEL, "records": Sealed(), **NOT_PRIVATE, **changes})
    return dpmcmc.sample_not_private(all_.pop("model"), all_.pop("records"), **all_)


def assert_refused(run: Callable[[], object], *parts: str) -> str:
    """The call is refused by one message that holds all parts, and by no traceback."""
    with pytest.raises(InputError) as caught:
        run()
    error = caught.value
    message = str(error)
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__
    for part in parts:
        assert part in message
    assert message.endswith("."), "a message is made of sentences"
    assert "\n" not in message
    return message


def returns(value: Callable[[Any, Any], Any]) -> Model:
    return Model(value, log_prior, initial={"mean": 0.0})
