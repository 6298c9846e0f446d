# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A test on all records, as a chain runs it.

It keeps what each record shows at the current point (its log-likelihood), so that a
step looks at each record once.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from dpmcmc.model.fixed_order import in_order_of
from dpmcmc.model.model import Model
from dpmcmc.model.tracing import is_double
from dpmcmc.private.decisions import (
    CorrectedNoise,
    Evidence,
    barker,
    gaussian_barker,
    total_of,
)
from dpmcmc.private.each_record import (
    Read,
    extras_of_each,
    looks_of_each,
    ratio_of_each,
)
from dpmcmc.private.influence import PLAIN, Influence
from dpmcmc.private.opening import Opened, open_records, presence
from dpmcmc.private.ratios import Grid
from dpmcmc.private.records import Records
from dpmcmc.private.sealing import layout_of
from dpmcmc.private.tape import WORDS_PER_STREAM

__all__ = ["FullData", "Move"]


class Move(NamedTuple):
    """A proposed move of every chain, and the word that decides on it."""

    current: Any
    proposed: Any
    public: jax.Array
    word: jax.Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FullData:
    """A test on all records: Barker's, or with normal noise and a correction.

    Its numbers are arguments of compiled code, so that one program serves all clips.
    """

    grid: Grid
    noise: CorrectedNoise | None = field(default=None, metadata={"static": True})
    influence: Influence = PLAIN
    block: int = field(default=1, metadata={"static": True})
    dtype: str = field(default="float64", metadata={"static": True})

    @property
    def batch(self) -> None:
        """How many records are drawn for a step; None if it reads all."""

    @property
    def most_steps(self) -> int:
        """How many steps of a chain the tape has words for: one word a step."""
        return WORDS_PER_STREAM

    def unseal(
        self, model: Model, records: Records, dtype: str, devices: list[jax.Device]
    ) -> tuple["FullData", Opened | None, None]:
        """Make the test ready, with records resident on the devices, or on the host.

        They are spread over the devices, with what is worked out of each once; streamed
        records are not resident.
        """
        if records.streamed:
            block, _ = layout_of(records.sizes, len(records), len(devices))
            return replace(self, block=block, dtype=dtype), None, None
        opened, block = open_records(records, dtype, devices)
        extras = extras_of_each(model, self.influence, opened.arrays, dtype)
        read = Opened(Read(opened.arrays, extras), opened.present)
        return replace(self, block=block, dtype=dtype), read, None

    def remember(self, model: Model, resident: Any, theta: Any) -> Any:
        """What each record shows at each chain's point; never released."""
        return () if resident is None else self._at_points(model, resident, theta)

    @property
    def part(self) -> None:
        """Which records batches have of this process; there is no batch."""

    def sampling(self, *_: Any) -> None:
        """Every record is read at every step: there is no batch."""

    def decide(
        self, model: Model, read: Opened, memory: Any, move: Move
    ) -> tuple[jax.Array, Any]:
        """Each chain's bit, and what to keep where it is accepted.

        Records are looked at from the proposed point alone.
        """
        proposed = self._at_points(model, read, move.proposed)
        total = self._total(model, read, memory, proposed)
        return self.bits(model, total, move), proposed

    def total_of_block(
        self, model: Model, block: Opened, current: Any, proposed: Any
    ) -> jax.Array:
        """The exact sums of a block of streamed records: each chain's, on its move."""
        extras = extras_of_each(model, self.influence, block.arrays, self.dtype)
        read = Opened(Read(block.arrays, extras), block.present)
        looks = [self._at_points(model, read, at) for at in (current, proposed)]
        return self._total(model, read, *looks)

    def bits(self, model: Model, total: jax.Array, move: Move) -> jax.Array:
        """Each chain's bit, by the sum of all records."""
        public = move.public + self._public(model, move)
        if self.noise is None:
            return barker(total, public, move.word, self.grid)
        return gaussian_barker(total, public, move.word, self.grid, self.noise)

    def _total(
        self, model: Model, read: Opened, current: Any, proposed: Any
    ) -> jax.Array:
        """The exact sum of each chain, by what records show at its two points."""
        ratios = jax.vmap(
            lambda old, new: ratio_of_each(model, self.influence, old, new, read.arrays)
        )(current, proposed)
        return total_of(Evidence(ratios, presence(read)), self.grid, self.block)

    def _at_points(self, model: Model, opened: Opened, theta: Any) -> Any:
        """What every record shows at every chain's point: (chains, records, …)."""
        return jax.vmap(
            lambda point: looks_of_each(
                model, self.influence, point, opened.arrays, self.dtype
            )
        )(theta)

    def _public(self, model: Model, move: Move) -> jax.Array:
        """The public part that goes with the influence, for each chain."""

        def of_chain(current: Any, proposed: Any) -> jax.Array:
            with jax.enable_x64(is_double(self.dtype)):
                return jnp.asarray(self.influence.public(model, current, proposed))

        part = jax.vmap(in_order_of(model, of_chain))(move.current, move.proposed)
        return part.astype(jnp.float64)
