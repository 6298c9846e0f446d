# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Proposals for discrete parameters. All are symmetric: each says why."""

import math
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.errors import InputError, require_count
from dpmcmc.model.tracing import show_shapes
from dpmcmc.proposals.base import Noise, Numbers, Proposed, Theta
from dpmcmc.proposals.leaves import (
    coordinates,
    pick,
    require_booleans,
    require_whole,
)

__all__ = [
    "BitFlips",
    "BitKernel",
    "CategoricalKernel",
    "CategoricalWalk",
    "IntegerKernel",
    "IntegerWalk",
    "Swap",
    "SwapKernel",
]


@dataclass(frozen=True)
class BitFlips:
    """Flips some of the booleans of θ, chosen uniformly.

    Flipping the same ones leads back, and is as likely: it is symmetric.

    Parameters
    ----------
    count
        How many booleans are flipped in a move.
    """

    count: int = 1

    def fit(self, theta: Theta) -> "BitKernel":
        """Check that θ holds booleans, and enough of them."""
        require_booleans("BitFlips", theta)
        count = self._count()
        size = sum(np.size(leaf) for leaf in jax.tree.leaves(theta))
        if count > size:
            raise InputError(
                f"count is {count}, but θ holds {size} booleans; it must be at most "
                "their number. Flip fewer."
            )
        return BitKernel(count)

    def reach(self, theta: Theta) -> float:
        """Flips of k booleans, as 0 and 1, move θ by √k."""
        del theta  # any will do
        return math.nextafter(math.sqrt(self._count()), math.inf)

    def _count(self) -> int:
        return require_count("count", self.count, "Flip one boolean, or more.")


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BitKernel:
    """Flips ``count`` booleans."""

    count: int = field(metadata={"static": True})

    def propose(self, theta: Theta, noise: Noise) -> Proposed:
        """Flip a uniform subset, drawn by Floyd's method from ``count`` words."""
        flat, unravel = ravel_pytree(theta)
        uniforms = noise.uniforms(self.count)
        first = flat.size - self.count

        def choose(draw: int, chosen: jax.Array) -> jax.Array:
            place = pick(uniforms[draw], first + draw + 1)
            return chosen.at[jnp.where(chosen[place], first + draw, place)].set(True)

        none = jnp.zeros(flat.size, bool)
        chosen = jax.lax.fori_loop(0, self.count, choose, none)
        return Proposed(unravel(flat ^ chosen), 0.0)


@dataclass(frozen=True)
class CategoricalWalk:
    """Gives one coordinate of θ, chosen uniformly, another of its values.

    A coordinate with k levels has the values 0, …, k − 1, and each of the k − 1 others
    is equally likely, as is the way back: it is symmetric.

    Parameters
    ----------
    levels
        How many values a coordinate has, at least 2: a number for all, or a pytree
        like θ with one for each coordinate (or each leaf).
    """

    levels: Any

    def fit(self, theta: Theta) -> "CategoricalKernel":
        """Check the levels, and that θ starts among them."""
        require_whole("CategoricalWalk", theta)
        levels = self._levels(theta)
        start = np.asarray(ravel_pytree(theta)[0])
        if np.any((start < 0) | (start >= levels)):
            raise InputError(
                f"levels is {self.levels!r}, but θ starts with {start.min()} to "
                f"{start.max()}; values must be from 0 to levels − 1. Start within, "
                "or give more levels."
            )
        return CategoricalKernel(levels)

    def reach(self, theta: Theta) -> float:
        """The distance of the first and the last of the most levels."""
        return float(np.max(self._levels(theta)) - 1)

    def _levels(self, theta: Theta) -> np.ndarray:
        levels = coordinates(self.levels, theta, np.int32)
        if levels is None or np.any(levels < 2):
            raise InputError(
                f"levels is {self.levels!r}; it must be a whole number of at least 2, "
                f"or a pytree of them of the structure of θ: {show_shapes(theta)}."
            )
        return levels


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CategoricalKernel:
    """Changes one coordinate to another of its ``levels``."""

    levels: Numbers

    def propose(self, theta: Theta, noise: Noise) -> Proposed:
        """Add 1, …, k − 1 to one coordinate, modulo k."""
        flat, unravel = ravel_pytree(theta)
        which, shift = noise.uniforms(2)
        place = pick(which, flat.size)
        levels = jnp.asarray(self.levels)[place]
        new = (flat[place] + 1 + pick(shift, levels - 1)) % levels
        return Proposed(unravel(flat.at[place].set(new.astype(flat.dtype))), 0.0)


@dataclass(frozen=True)
class IntegerWalk:
    """Moves one coordinate of θ, chosen uniformly, by ±1, …, ±step.

    A move beyond the bounds is not made: the chain proposes to stay. So x′ ≠ x within
    the bounds and at most ``step`` apart are proposed from each other with the same
    probability, 1/(2 · step · coordinates), and it is symmetric. (Moving to the nearest
    bound instead would not be: the bound would be proposed more often than left.)

    Parameters
    ----------
    step
        The largest move.
    low, high
        The least and the greatest value: a number for all coordinates, or a pytree
        like θ; None for no bound.
    """

    step: int = 1
    low: Any = None
    high: Any = None

    def fit(self, theta: Theta) -> "IntegerKernel":
        """Check the bounds, and that θ starts within them."""
        require_whole("IntegerWalk", theta)
        step = self._step()
        start = np.asarray(ravel_pytree(theta)[0])
        limits = np.iinfo(start.dtype)
        if step > limits.max // 4:
            raise InputError(
                f"step is {step}; in {start.dtype} it must be at most "
                f"{limits.max // 4}. Choose a smaller one."
            )
        # within these, no move overflows
        least, most = int(limits.min) + step, int(limits.max) - step
        low = self._bounds("low", self.low, least, theta)
        high = self._bounds("high", self.high, most, theta)
        if np.any(low >= high) or np.any(low < least) or np.any(high > most):
            raise InputError(
                f"low is {self.low!r} and high is {self.high!r}; low must be below "
                f"high, both from {least} to {most}. Give None for no bound."
            )
        if np.any((start < low) | (start > high)):
            raise InputError(
                f"low is {self.low!r} and high is {self.high!r}, but θ starts with "
                f"{start.min()} to {start.max()}. Start within the bounds."
            )
        kept = start.dtype
        return IntegerKernel(step, low.astype(kept), high.astype(kept))

    def reach(self, theta: Theta) -> float:
        """The largest move: one coordinate moves at a time."""
        del theta  # any will do
        return float(self._step())

    def _step(self) -> int:
        return require_count("step", self.step, "A move is from 1 to step.")

    def _bounds(self, name: str, value: Any, default: int, theta: Theta) -> np.ndarray:
        value = default if value is None else value
        bounds = coordinates(value, theta, np.int64)
        if bounds is None:
            raise InputError(
                f"{name} is {value!r}; it must be a whole number, or a pytree of them "
                f"of the structure of θ: {show_shapes(theta)}."
            )
        return bounds


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class IntegerKernel:
    """Moves one coordinate by at most ``step``, and not beyond the bounds."""

    step: int = field(metadata={"static": True})
    low: Numbers
    high: Numbers

    def propose(self, theta: Theta, noise: Noise) -> Proposed:
        """Move one coordinate by one of the 2 · step shifts, or stay."""
        flat, unravel = ravel_pytree(theta)
        which, shift = noise.uniforms(2)
        place = pick(which, flat.size)
        chosen = pick(shift, 2 * self.step)
        move = jnp.where(chosen < self.step, chosen - self.step, chosen - self.step + 1)
        new = flat[place] + move.astype(flat.dtype)
        low, high = jnp.asarray(self.low)[place], jnp.asarray(self.high)[place]
        new = jnp.where((low <= new) & (new <= high), new, flat[place])
        return Proposed(unravel(flat.at[place].set(new)), 0.0)


@dataclass(frozen=True)
class Swap:
    """Swaps two entries of an array, chosen uniformly: for permutations.

    θ is one array of at least two entries, of any dtype; entries are those along its
    first axis. Swapping the same two again leads back: it is symmetric.
    """

    def fit(self, theta: Theta) -> "SwapKernel":
        """Check that θ is one array with something to swap."""
        leaves = jax.tree.leaves(theta)
        if len(leaves) != 1 or np.ndim(leaves[0]) == 0 or len(leaves[0]) < 2:
            raise InputError(
                "Swap moves one array of at least two entries, but θ is "
                f"{show_shapes(theta)}. Give each array a Swap of its own by Blocks."
            )
        return SwapKernel()


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SwapKernel:
    """Swaps two entries of the only leaf of θ."""

    def propose(self, theta: Theta, noise: Noise) -> Proposed:
        """Swap entry i with another, j."""
        (leaf,), structure = jax.tree.flatten(theta)
        first, second = noise.uniforms(2)
        place = pick(first, len(leaf))
        other = (place + 1 + pick(second, len(leaf) - 1)) % len(leaf)
        swapped = leaf.at[place].set(leaf[other]).at[other].set(leaf[place])
        return Proposed(jax.tree.unflatten(structure, [swapped]), 0.0)
