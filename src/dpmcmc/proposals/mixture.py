# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Mixtures: one of several proposals in each step, chosen at random."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.errors import InputError, require_positive
from dpmcmc.proposals.base import (
    Kernel,
    Noise,
    Numbers,
    Proposal,
    Proposed,
    Theta,
    reach_of,
    require_proposal,
)

__all__ = ["Mixture", "MixtureKernel", "choose"]


@dataclass(frozen=True)
class Mixture:
    """Takes one of several proposals in each step, with fixed probabilities.

    The log-density ratio is that of the proposal that was chosen, not that of the
    mixture's density. This is right: a step that always takes proposal k with its own
    ratio keeps detailed balance, π(θ) K_k(θ, θ′) = π(θ′) K_k(θ′, θ); as the
    probabilities w_k do not depend on θ, so does the sum Σ w_k K_k, which is what runs.

    Parameters
    ----------
    parts
        Pairs of a weight and a proposal. Weights are positive; only their ratios
        matter.
    """

    parts: Sequence[tuple[float, Proposal]]

    def fit(self, theta: Theta) -> "MixtureKernel":
        """Fit each part to θ."""
        weights, proposals = self._pairs()
        kernels = tuple(
            _fit_part(f"part {place} of the mixture", proposal, theta)
            for place, proposal in enumerate(proposals)
        )
        return MixtureKernel(np.cumsum(weights)[:-1] / np.sum(weights), kernels)

    def reach(self, theta: Theta) -> float:
        """The farthest that any part moves."""
        return max(reach_of(proposal, theta) for proposal in self._pairs()[1])

    def _pairs(self) -> tuple[list[float], list[Proposal]]:
        try:
            pairs = [(weight, proposal) for weight, proposal in self.parts]
        except (TypeError, ValueError):
            pairs = []
        if not pairs:
            raise InputError(
                f"parts is {self.parts!r}; it must be a list of pairs of a weight and "
                "a proposal, such as [(0.9, RandomWalk(0.1)), (0.1, RandomWalk(2.0))]."
            )
        weights = [
            require_positive("a weight of the mixture", weight, "Leave out the part.")
            for weight, _ in pairs
        ]
        return weights, [proposal for _, proposal in pairs]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MixtureKernel:
    """Takes part k where a uniform number lies between ``ends`` k − 1 and k."""

    ends: Numbers
    kernels: tuple[Kernel, ...]

    def propose(self, theta: Theta, noise: Noise) -> Proposed:
        """Let every part propose, each from words of its own, and take one."""
        chosen = jnp.sum(noise.uniforms(1)[0] > self.ends)
        return choose(chosen, [kernel.propose(theta, noise) for kernel in self.kernels])


def choose(chosen: jax.Array, options: Sequence[Proposed]) -> Proposed:
    """Take one of several proposed points, with its own log-density ratio."""

    def take(*values: Any) -> jax.Array:
        return jax.lax.select_n(chosen, *map(jnp.asarray, values))

    ratios = [jnp.asarray(option.log_ratio, float) for option in options]
    points = [option.theta for option in options]
    return Proposed(jax.tree.map(take, *points), take(*ratios))


def _fit_part(name: str, proposal: Proposal, theta: Theta) -> Kernel:
    """Fit one of several proposals of which a step takes one.

    Raises
    ------
    InputError
        If it is no proposal, or if it adapts: what is released does not say which
        part proposed, so that it could not know which bits are its own.
    """
    kernel = require_proposal(name, proposal).fit(theta)
    if hasattr(kernel, "adapt"):
        raise InputError(
            f"{name} is {type(proposal).__name__}, which adapts to the bits of its own "
            "moves; where a step takes a proposal at random, none may adapt. Give it a "
            "fixed scale."
        )
    return kernel
