# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Ratios: one record, one bounded integer; sums of integers, exact in any order."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp

from dpmcmc.arithmetic import CLIP_STEPS

__all__ = ["BLOCK", "Grid", "clip_to_grid", "sum_of_steps", "sums_of_steps"]

BLOCK = 1024
"""Most records summed in int32 before int64: 2¹⁰ · 2²⁰ = 2³⁰ cannot overflow."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Grid:
    """The integers a scaled ratio is rounded to: −steps … steps, for −clip … clip.

    ``scale`` multiplies a ratio first: the τ of a tempered likelihood, or N₀/√b for
    a batch. A private run always has ``steps = CLIP_STEPS``. Steps, on which the range
    of the integers rests, are a part of compiled code; clip and scale are arguments.
    """

    clip: float
    steps: int = field(default=CLIP_STEPS, metadata={"static": True})
    scale: float = 1.0

    @property
    def step(self) -> float:
        """The value of one step; exact, since ``steps`` is a power of two."""
        return self.clip / self.steps

    @classmethod
    def unclipped(cls, records: int, scale: float = 1.0) -> "Grid":
        """Make a grid as wide as int64 sums allow, for runs that are not private."""
        steps = 2 ** min(40, 62 - records.bit_length())
        return cls(clip=steps * 2.0**-22, steps=steps, scale=scale)


def clip_to_grid(ratios: jax.Array, present: jax.Array, grid: Grid) -> jax.Array:
    """Turn each record's log-likelihood ratio into a whole number of steps.

    NaN becomes 0, ±inf becomes ±``grid.steps``, and so does any ratio beyond the
    clip; a record that is not present (padding, or a missing value) becomes 0.

    Guarantee
    ---------
    Each returned integer depends on its own ratio alone and lies in
    [−grid.steps, grid.steps], whatever bits the ratio holds. The range is enforced
    a second time on the integers, so that it rests on no floating-point comparison.
    """
    scaled = ratios * jnp.asarray(grid.scale / grid.step, ratios.dtype)
    scaled = jnp.where(present & ~jnp.isnan(scaled), scaled, 0)
    rounded = jnp.round(jnp.clip(scaled, -grid.steps, grid.steps))
    integers = rounded.astype(jnp.int32 if _fits_int32(grid) else jnp.int64)
    return jnp.clip(integers, -grid.steps, grid.steps)


def sum_of_steps(steps: jax.Array, block: int) -> jax.Array:
    """Sum integers over the last axis, whose length ``block`` divides.

    Guarantee
    ---------
    The result is the exact integer sum, the same for any order, any chunks and any
    number of devices: for integers from `clip_to_grid`, at most ``BLOCK`` of them
    in a block and at most ``RECORD_LIMIT`` in all, no partial sum overflows. So
    substituting one record moves it by at most 2 · ``Grid.steps``.
    """
    blocks = steps.reshape(*steps.shape[:-1], -1, block)
    partial = jnp.sum(blocks, axis=-1, dtype=steps.dtype)
    return jnp.sum(partial, axis=-1, dtype=jnp.int64)


def sums_of_steps(steps: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Sum integers and their squares over the last axis, in one pass.

    Guarantee
    ---------
    Both results are exact for at most 2²² integers from `clip_to_grid` on a grid of
    at most ``CLIP_STEPS`` steps: sums of squares stay below 2⁶².
    """
    wide = steps.astype(jnp.int64)
    zero = jnp.zeros((), jnp.int64)
    # One reduction of both, so that the compiler keeps no array of a batch between.
    return jax.lax.reduce(
        (wide, wide * wide),
        (zero, zero),
        lambda left, right: (left[0] + right[0], left[1] + right[1]),
        (steps.ndim - 1,),
    )


def _fits_int32(grid: Grid) -> bool:
    return grid.steps * BLOCK < 2**31
