# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Custody: who is asked before records are read, and keeps what was released.

A run is made of parts: the start, the control variates, and chunks of bits. Before a
part reads a record, custody is asked to charge it; once it is released, custody may
keep it. A run that was broken off goes on from the parts that were kept: a part that
was charged and not kept is lost, and is never made again within the same cost.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import jax
import numpy as np
from dp_accounting.dp_event import DpEvent

from dpmcmc.posterior.statement import Statement

__all__ = ["NOBODY", "Arrays", "Custody", "arrays_of", "chunk_parts", "tree_of"]

Arrays = Mapping[str, np.ndarray]
"""What a part released, by name."""


class Custody(Protocol):
    """Who answers for the budget of a run. Its methods may refuse by raising."""

    def reserve(self, totals: Sequence[DpEvent], statement: Statement) -> None:
        """Set aside the cost of a whole run, before any record is read.

        Each of ``totals`` is all that the run may release, for one way that it may
        go; there is more than one where a way is chosen after a start was found.
        """
        ...

    def charge(self, part: str, event: DpEvent) -> None:
        """Charge a part, before anything is read for it."""
        ...

    def is_charged(self, part: str) -> bool:
        """Whether a part was charged before this run, or by it."""
        ...

    def keep(self, part: str, arrays: Arrays) -> None:
        """Keep what a part released, or how a run goes on; both may be shown."""
        ...

    def kept(self, part: str) -> Arrays | None:
        """What a part released, if it was kept."""
        ...


class _Nobody:
    """No custody: nothing is refused, nothing is kept."""

    def reserve(self, totals: Sequence[DpEvent], statement: Statement) -> None:
        pass

    def charge(self, part: str, event: DpEvent) -> None:
        pass

    def is_charged(self, part: str) -> bool:  # noqa: ARG002 - of nothing
        return False

    def keep(self, part: str, arrays: Arrays) -> None:
        pass

    def kept(self, part: str) -> None:
        pass


NOBODY: Custody = _Nobody()
"""For runs that answer to nobody but their statement."""


def chunk_parts(steps: int, chunk: int) -> Iterator[tuple[str, int]]:
    """The parts that the steps of a run are made of, each with its number of steps."""
    for number, start in enumerate(range(0, steps, chunk)):
        yield f"chunk-{number:06d}", min(chunk, steps - start)


def arrays_of(tree: Any, name: str) -> dict[str, np.ndarray]:
    """The leaves of a tree as named arrays."""
    leaves = jax.tree.leaves(tree)
    return {f"{name}-{place}": np.asarray(leaf) for place, leaf in enumerate(leaves)}


def tree_of(arrays: Arrays, name: str, like: Any) -> Any:
    """The tree that `arrays_of` took apart, in the structure of another."""
    leaves, structure = jax.tree.flatten(like)
    kept = [arrays[f"{name}-{place}"] for place in range(len(leaves))]
    return jax.tree.unflatten(structure, kept)
