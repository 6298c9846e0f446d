# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's mixture (section 4): its model, its records, and moves that suit it.

θ₁ ~ N(0, 10) is the first centre and θ₂ ~ N(0, 1) the gap to the second; a record is
drawn from ½ N(θ₁, 2) + ½ N(θ₁ + θ₂, 2).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from dpmcmc import Model
from dpmcmc.models import two_component_mixture
from dpmcmc.proposals import Noise

__all__ = ["SYMBOLS", "TRUTH", "RidgeWalk", "exchange", "mixture_model", "simulate"]

TRUTH = {"mean": 0.0, "gap": 1.0}
"""The parameters of the paper's simulated records."""

SYMBOLS = {"mean": "θ₁", "gap": "θ₂"}
"""What the paper calls each parameter."""


def mixture_model(initial: Mapping[str, float]) -> Model:
    """State the paper's model, started at ``initial``."""
    return replace(two_component_mixture((-100.0, 100.0)), initial=dict(initial))


def simulate(
    theta: Mapping[str, float], count: int, generator: np.random.Generator
) -> dict[str, np.ndarray]:
    """Simulate records of the model, in float32."""
    centres = theta["mean"] + theta["gap"] * generator.integers(0, 2, count)
    noise = generator.standard_normal(count, dtype=np.float32)
    return {"x": (centres + 2**0.5 * noise).astype(np.float32)}


def exchange(theta: Any, _: Noise) -> Any:
    """Propose to exchange the two centres.

    It is its own inverse and preserves volume, so the move is symmetric. No record's
    likelihood changes, so every ratio is zero and no clip is reached.
    """
    return {"mean": theta["mean"] + theta["gap"], "gap": -theta["gap"]}


@dataclass(frozen=True)
class RidgeWalk:
    """Moves the middle of the two centres, and the gap about it, uniformly.

    Parameters
    ----------
    middle, gap
        The largest move of each.
    """

    middle: float
    gap: float

    def __call__(self, theta: Any, noise: Noise) -> Any:
        """Propose a point. The move back from it is equally likely."""
        middle, gap = (2 * noise.uniforms(2) - 1) * jnp.array([self.middle, self.gap])
        return {"mean": theta["mean"] + middle - gap / 2, "gap": theta["gap"] + gap}
