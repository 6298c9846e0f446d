# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a proposal is: a choice of the user's, fitted to θ, that moves a chain."""

import math
from typing import Any, NamedTuple, Protocol

import jax

from dpmcmc.errors import InputError

__all__ = [
    "Kernel",
    "Noise",
    "Numbers",
    "Proposal",
    "Proposed",
    "Theta",
    "reach_of",
    "require_proposal",
]

Theta = Any
"""The parameters: any pytree of arrays. Floats are continuous; whole numbers and
booleans are discrete."""

Numbers = Any
"""An array that a kernel holds: NumPy's when it is fitted, so that it keeps float64
whatever the precision of the chain; JAX's once it runs."""


class Noise(Protocol):
    """The random numbers of one step's proposal, read from the tape in order."""

    def normals(self, count: int) -> jax.Array:
        """Read the next ``count`` standard normal numbers, in float64."""
        ...

    def uniforms(self, count: int) -> jax.Array:
        """Read the next ``count`` uniform numbers in (0, 1), in float64."""
        ...


class Proposed(NamedTuple):
    """A proposed point and the log-density ratio log q(θ | θ′) − log q(θ′ | θ)."""

    theta: Theta
    log_ratio: jax.Array | float


class Kernel(Protocol):
    """A proposal fitted to θ. It is a pytree, so that its numbers may be arrays."""

    def propose(self, theta: Theta, noise: Noise) -> Proposed:
        """Propose a point from ``theta`` with random numbers from ``noise``."""
        ...


class Proposal(Protocol):
    """What a user chooses; fitting it to θ checks it and makes it ready to run.

    A proposal of bounded moves also has a method ``reach(theta)``: a number that the
    Euclidean distance of a move never exceeds, over all coordinates, booleans as 0
    and 1; infinity if there is no such number. It bounds the exact distance of the
    two points as they are stored, rounding included.
    """

    def fit(self, theta: Theta) -> Kernel:
        """Return the kernel for parameters like ``theta``, or raise ``InputError``."""
        ...


def reach_of(proposal: Proposal, theta: Theta) -> float:
    """How far a proposal can move θ; infinity if it knows no bound."""
    reach = getattr(proposal, "reach", None)
    if reach is None or isinstance(proposal, type):  # a class is for fit to refuse
        return math.inf
    return float(reach(theta))


def require_proposal(name: str, proposal: Any) -> Proposal:
    """Refuse what is no proposal."""
    if isinstance(proposal, type) or not callable(getattr(proposal, "fit", None)):
        raise InputError(
            f"{name} is a {type(proposal).__name__}; it must be a proposal, such as "
            "RandomWalk(scale=0.1)."
        )
    kept: Proposal = proposal
    return kept
