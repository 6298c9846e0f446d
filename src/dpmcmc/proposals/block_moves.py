# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks: a proposal of its own for each part of θ."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.errors import InputError
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
from dpmcmc.proposals.leaves import leaf_name, pick
from dpmcmc.proposals.mixture import choose

__all__ = [
    "AdaptingBlocksKernel",
    "Blocks",
    "BlocksKernel",
    "OneBlockKernel",
    "TurnsKernel",
]


@dataclass(frozen=True)
class Blocks:
    """Moves parts of θ by proposals of their own: how continuous and discrete mix.

    Together: the parts move independently given θ, so the density of a move is the
    product of theirs, and the log-density ratio is the sum. One at a time: a mixture
    of proposals, each of which moves one block; see `Mixture`. If a part adapts, blocks
    moved one at a time take turns instead, in their order, so that the part knows
    which bits are its own. Each block's step keeps the posterior, so their sequence
    does.

    Parameters
    ----------
    parts
        A proposal for each block, by its name: the key of a dictionary θ, or the
        dotted path to any leaf or subtree of θ, such as "group.scale", as draws are
        named. The proposal is fitted to that subtree alone. Every parameter is in one
        block; None in place of a proposal keeps a block where it is.
    together
        Whether a move moves all blocks, or one, chosen uniformly. Choose one at a
        time for discrete blocks: moving many at once is seldom accepted.
    """

    parts: Mapping[str, Proposal | None]
    together: bool = True

    def fit(self, theta: Theta) -> "BlocksKernel | OneBlockKernel | TurnsKernel":
        """Find each block in θ, and fit its proposal to it."""
        names, proposals = self._moving(theta)
        subtrees = _split(theta, names)
        kernels = tuple(
            require_proposal(f"the block {name!r}", proposals[name]).fit(subtrees[name])
            for name in names
        )
        adapts = any(hasattr(kernel, "adapt") for kernel in kernels)
        if self.together:
            return (AdaptingBlocksKernel if adapts else BlocksKernel)(names, kernels)
        if adapts:
            return TurnsKernel(names, kernels, np.int32(0))
        return OneBlockKernel(names, kernels)

    def stopping_at(self, warmup: int) -> "Blocks":
        """The same, with the end of learning settled for each block that adapts."""
        if not isinstance(self.parts, Mapping):
            return self  # to be refused by fit
        moving = sum(part is not None for part in self.parts.values())
        steps = warmup if self.together else warmup // max(moving, 1)
        settled = {name: _settled(part, steps) for name, part in self.parts.items()}
        return replace(self, parts=settled)

    def reach(self, theta: Theta) -> float:
        """How far all blocks move together, or the farthest that one of them moves."""
        names, proposals = self._moving(theta)
        subtrees = _split(theta, names)
        reaches = [reach_of(proposals[name], subtrees[name]) for name in names]
        if not self.together:
            return max(reaches)
        return math.nextafter(math.hypot(*reaches), math.inf)

    def _moving(self, theta: Theta) -> tuple[tuple[str, ...], dict[str, Proposal]]:
        """The blocks that move, once every parameter is known to be in one block."""
        if not isinstance(self.parts, Mapping):
            raise InputError(
                f"parts is a {type(self.parts).__name__}; it must be a dictionary of a "
                "proposal for each block of θ, by name."
            )
        found = dict(_places(theta, self.parts))
        all_names = ", ".join(repr(name) for name in dict(_places(theta, ())))
        for name in self.parts:
            if name not in found:
                raise InputError(
                    f"there is a block {name!r}, but θ has the parameters {all_names}. "
                    "Name each block by a parameter or by the path to several, once."
                )
        for name in found:
            if name not in self.parts:
                raise InputError(
                    f"no block holds the parameter {name!r} of θ. Give it a proposal, "
                    "or None to keep it where it starts."
                )
        moving = {name: part for name, part in self.parts.items() if part is not None}
        if not moving:
            raise InputError(
                "no block has a proposal, so that nothing would move. Give one to at "
                "least one block."
            )
        return tuple(moving), moving


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BlocksKernel:
    """Moves each named block by its own kernel, all together."""

    names: tuple[str, ...] = field(metadata={"static": True})
    kernels: tuple[Kernel, ...]

    def propose(self, theta: Theta, noise: Noise) -> Proposed:
        """Propose a point in which every block has moved."""
        blocks = _split(theta, self.names)
        moved = {
            name: kernel.propose(blocks[name], noise)
            for name, kernel in zip(self.names, self.kernels, strict=True)
        }
        points = {name: proposed.theta for name, proposed in moved.items()}
        log_ratio = sum(proposed.log_ratio for proposed in moved.values())
        return Proposed(_join(theta, points), log_ratio)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AdaptingBlocksKernel(BlocksKernel):
    """Moves all blocks together; those that adapt do so to their own part of θ."""

    def adapt(self, released: Any) -> "AdaptingBlocksKernel":
        """Hand its block of the released points, and the bits, to each that adapts."""
        return replace(self, kernels=_adapted(self.names, self.kernels, released))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class OneBlockKernel:
    """Moves one of the named blocks, chosen uniformly."""

    names: tuple[str, ...] = field(metadata={"static": True})
    kernels: tuple[Kernel, ...]

    def propose(self, theta: Theta, noise: Noise) -> Proposed:
        """Let every block propose, each from words of its own, and move one."""
        chosen = pick(noise.uniforms(1)[0], len(self.names))
        return _move_one(self.names, self.kernels, theta, noise, chosen)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TurnsKernel:
    """Moves the named blocks in turns; those that adapt learn from their own turns."""

    names: tuple[str, ...] = field(metadata={"static": True})
    kernels: tuple[Kernel, ...]
    turn: Numbers

    def propose(self, theta: Theta, noise: Noise) -> Proposed:
        """Let every block propose, each from words of its own, and move one."""
        return _move_one(self.names, self.kernels, theta, noise, jnp.asarray(self.turn))

    def adapt(self, released: Any) -> "TurnsKernel":
        """Let the block learn whose turn it was, and pass the turn on."""
        learnt = _adapted(self.names, self.kernels, released)
        kernels = tuple(
            jax.tree.map(partial(jnp.where, self.turn == place), new, old)
            for place, (new, old) in enumerate(zip(learnt, self.kernels, strict=True))
        )
        return replace(self, kernels=kernels, turn=(self.turn + 1) % len(self.names))


def _adapted(
    names: tuple[str, ...], kernels: tuple[Kernel, ...], released: Any
) -> tuple[Kernel, ...]:
    """The kernels after a step, each handed the released points of its own block."""
    blocks = _split(released.theta, names)
    return tuple(
        kernel.adapt(released._replace(theta=blocks[name]))
        if hasattr(kernel, "adapt")
        else kernel
        for name, kernel in zip(names, kernels, strict=True)
    )


def _move_one(
    names: tuple[str, ...],
    kernels: tuple[Kernel, ...],
    theta: Theta,
    noise: Noise,
    chosen: jax.Array,
) -> Proposed:
    """Move one block; words are read for all, so that their number is fixed."""
    blocks = _split(theta, names)
    options = []
    for name, kernel in zip(names, kernels, strict=True):
        point, log_ratio = kernel.propose(blocks[name], noise)
        options.append(Proposed(_join(theta, {name: point}), log_ratio))
    return choose(chosen, options)


def _settled(part: Any, warmup: int) -> Any:
    return part.stopping_at(warmup) if hasattr(part, "stopping_at") else part


def _places(theta: Theta, names: Any) -> list[tuple[str, Any]]:
    """Name and value of each place of θ: the subtrees named, and all other leaves."""
    places, _ = _flatten(theta, names)
    return [(leaf_name(path), part) for path, part in places]


def _split(theta: Theta, names: tuple[str, ...]) -> dict[str, Any]:
    """The subtrees of θ with the given names."""
    return {name: part for name, part in _places(theta, names) if name in names}


def _join(theta: Theta, parts: Mapping[str, Any]) -> Theta:
    """θ with new subtrees in the named places."""
    places, structure = _flatten(theta, parts)
    kept = [parts.get(leaf_name(path), part) for path, part in places]
    return jax.tree.unflatten(structure, kept)


def _flatten(theta: Theta, names: Any) -> Any:
    return jax.tree_util.tree_flatten_with_path(
        theta,
        is_leaf=lambda path, _: bool(path) and leaf_name(path) in names,
        is_leaf_takes_path=True,
    )
