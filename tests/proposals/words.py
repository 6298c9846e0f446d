# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Random numbers for proposals under test, and exact laws of discrete proposals."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from scipy.special import expit

FALSE_ALARM = 1e-6
"""The chance that one statistical test fails although the law is right."""


class Words:
    """Stands in for the tape: hands out uniform numbers that are known."""

    def __init__(self, uniforms: Any) -> None:
        self._uniforms, self._position = uniforms, 0

    def uniforms(self, count: int) -> jax.Array:
        start, self._position = self._position, self._position + count
        assert self._position <= len(self._uniforms), "more words than were counted"
        return jnp.asarray(self._uniforms)[start : self._position]

    def normals(self, count: int) -> jax.Array:
        return ndtri(self.uniforms(count))


class Counting:
    """Counts words, and hands out halves."""

    def __init__(self) -> None:
        self.count = 0

    def uniforms(self, count: int) -> jax.Array:
        self.count += count
        return jnp.full(count, 0.5)

    normals = uniforms


def words_of(kernel: Any, theta: Any) -> int:
    """How many words a proposal reads, found by tracing it."""
    counting = Counting()
    jax.eval_shape(lambda point: kernel.propose(point, counting), theta)
    return counting.count


@jax.jit
def propose_all(kernel: Any, theta: Any, words: Any) -> Any:
    """Propose from one θ with each row of words."""
    return jax.vmap(lambda row: kernel.propose(theta, Words(row)))(words)


def moves(proposal: Any, theta: Any, count: int, seed: int) -> Any:
    """``count`` independent proposals from θ, in the arithmetic of the boundary."""
    kernel = proposal.fit(theta)
    with jax.enable_x64(True):
        size = words_of(kernel, theta)
        words = np.random.default_rng(seed).random((count, size))
        theta, log_ratio = propose_all(kernel, theta, words)
    return jax.device_get((theta, np.broadcast_to(log_ratio, (count,))))


def key(theta: Any) -> tuple[float, ...]:
    """A point as something to compare and to look up."""
    return tuple(
        float(number) for leaf in jax.tree.leaves(theta) for number in np.ravel(leaf)
    )


def lattice(
    proposal: Any, states: list[Any], grid: int
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """All outcomes of a discrete proposal: from where, to where, log-density ratios.

    Words are put on all points of a lattice of ``grid`` midpoints for each word. Where
    the proposal splits (0, 1) at multiples of 1/grid only, all points have the same
    chance, exactly.
    """
    places = {key(state): place for place, state in enumerate(states)}
    kernel = proposal.fit(states[0])
    with jax.enable_x64(True):
        axis = (np.arange(grid) + 0.5) / grid
        axes = np.meshgrid(*[axis] * words_of(kernel, states[0]))
        words = np.stack([one.ravel() for one in axes], axis=1)
        for x, state in enumerate(states):
            proposed, log_ratio = jax.device_get(propose_all(kernel, state, words))
            leaves = [
                np.reshape(a, (len(words), -1)) for a in jax.tree.leaves(proposed)
            ]
            rows, which = np.unique(np.hstack(leaves), axis=0, return_inverse=True)
            found = np.array([places[tuple(map(float, row))] for row in rows])
            yield x, found[which], np.broadcast_to(log_ratio, len(words))


def exact_law(proposal: Any, states: list[Any], grid: int) -> np.ndarray:
    """The chances q(y | x) of a symmetric discrete proposal."""
    chances = np.zeros((len(states), len(states)))
    for x, y, ratio in lattice(proposal, states, grid):
        assert not np.any(ratio)
        chances[x] = np.bincount(y, minlength=len(states)) / len(y)
    return chances


def barker_kernel(
    proposal: Any, states: list[Any], grid: int, log_target: np.ndarray
) -> np.ndarray:
    """The Markov kernel of a proposal under Barker's test, each with its own ratio."""
    result = np.zeros((len(states), len(states)))
    for x, y, ratio in lattice(proposal, states, grid):
        accepted = expit(log_target[y] - log_target[x] + ratio)
        result[x] = np.bincount(y, accepted, minlength=len(states)) / len(y)
    result[np.diag_indices(len(states))] += 1 - result.sum(axis=1)
    return result
