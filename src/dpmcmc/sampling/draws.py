# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""From released chunks to a posterior: draws by name, on the scale that is shown."""

from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

import jax
import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.model.model import names_of
from dpmcmc.model.tracing import is_double
from dpmcmc.posterior import Posterior, Statement
from dpmcmc.sampling.chain import Chain, released_points
from dpmcmc.sampling.problem import Problem
from dpmcmc.sampling.stages import SoFar

__all__ = ["Move", "collect_draws"]

Move = Callable[[np.ndarray], np.ndarray]
"""Moves draws, given by their coordinates along the last axis, by as much as noise in
what was released before the chain may have moved the posterior."""


def collect_draws(
    problem: Problem,
    chain: Chain,
    so_far: SoFar,
    statement: Statement,
    *,
    proposal: str,
    move: Move | None = None,
) -> Posterior:
    """Put the draws of a chain together with the statement.

    Parameters
    ----------
    problem, chain, so_far
        What was sampled; the stage, and what it released.
    statement
        What it cost.
    proposal
        The proposal, in words.
    move
        Makes draws aware of noise that was released before the chain.

    Raises
    ------
    InputError
        If no step was kept.
    """
    if not so_far[chain.name]:
        raise InputError(
            "every step of this run was paid for, and none was kept: it was "
            "interrupted too early. Begin another run."
        )
    points, accepted = released_points(so_far[chain.name], problem.initial)
    made = accepted.shape[1]
    warmup = chain.lengths.warmup
    if made < chain.lengths.steps:
        warmup = min(warmup, made // 2)
    shown = _shown(problem, points)
    own = {name: values[:, warmup:] for name, values in shown.items()}
    draws = own
    if move is not None:
        kept = jax.tree.map(lambda leaf: leaf[:, warmup:], points)
        # As long as the chain, for which the transform has been compiled.
        moved = jax.tree.map(
            lambda leaf, new: np.concatenate([leaf[:, :warmup], new], axis=1),
            points,
            _moved(kept, move),
        )
        draws = {
            name: values[:, warmup:] for name, values in _shown(problem, moved).items()
        }
    return Posterior(
        draws=draws,
        accepted=accepted[:, warmup:],
        statement=statement,
        chain_draws=own,
        warmup_draws={name: values[:, :warmup] for name, values in shown.items()},
        warmup_accepted=accepted[:, :warmup],
        settings={
            "proposal": proposal,
            "warmup": str(warmup),
            "precision": problem.dtype,
            "jax": version("jax"),
        },
        coords=problem.model.coords,
        dims=problem.model.dims,
        declared=problem.model.declared,
    )


def _shown(problem: Problem, points: Any) -> dict[str, np.ndarray]:
    """Draws by name, on the scale they are shown on, of shape (chains, draws, …)."""
    transform = problem.model.transform
    with jax.enable_x64(is_double(problem.dtype)):
        if transform is not None:
            points = jax.device_get(_transformed(transform, points))
        names = names_of(points)
    return dict(zip(names, jax.tree.leaves(points), strict=True))


@partial(jax.jit, static_argnums=0)
def _transformed(transform: Callable[[Any], Any], points: Any) -> Any:
    return jax.vmap(jax.vmap(transform))(points)


def _moved(points: Any, move: Move) -> Any:
    """Points moved by their coordinates, which are all continuous."""
    leaves, structure = jax.tree.flatten(points)
    shape = leaves[0].shape[:2]
    flat = np.concatenate([leaf.reshape(*shape, -1) for leaf in leaves], axis=-1)
    ends = np.cumsum([leaf[0, 0].size for leaf in leaves])[:-1]
    parts = np.split(move(flat.astype(np.float64)), ends, axis=-1)
    moved = [
        part.reshape(leaf.shape).astype(leaf.dtype)
        for part, leaf in zip(parts, leaves, strict=True)
    ]
    return jax.tree.unflatten(structure, moved)
