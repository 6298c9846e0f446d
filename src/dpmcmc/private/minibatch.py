# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A test on a fresh batch at every step, as a chain runs it.

It keeps nothing: it evaluates the records of the batch at both points.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc import processes
from dpmcmc.model.model import Model
from dpmcmc.private.acceptance import Move
from dpmcmc.private.batches import Sampling
from dpmcmc.private.decisions import BatchDecision, Evidence, minibatch_barker
from dpmcmc.private.each_record import Read, looks_of_each
from dpmcmc.private.influence import PLAIN
from dpmcmc.private.opening import Opened, open_on_host
from dpmcmc.private.records import Records
from dpmcmc.private.tape import WORDS_PER_STREAM

__all__ = ["Minibatch"]


class Part(NamedTuple):
    """The number of this process's first record, and of all: records are in parts."""

    first: int
    whole: int


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Minibatch:
    """The paper's test on a fresh batch at every step; methods as in `FullData`."""

    decision: BatchDecision
    replacement: bool = field(default=False, metadata={"static": True})
    dtype: str = field(default="float64", metadata={"static": True})
    part: Part | None = field(default=None, metadata={"static": True})

    @property
    def batch(self) -> int:
        """How many records are drawn for a step."""
        return self.decision.batch

    @property
    def most_steps(self) -> int:
        """Half a word for each record of a batch."""
        return WORDS_PER_STREAM // self.batch

    def unseal(
        self, model: Model, records: Records, dtype: str, devices: list[jax.Device]
    ) -> tuple["Minibatch", None, Opened]:
        """Keep the records on the host: a step moves only its batch to a device."""
        del model, devices
        opened, part = open_on_host(records, dtype), None
        if records.sizes is not None:
            part = Part(sum(records.sizes[: processes.own()]), len(records))
            if records.sizes[processes.own()] == 0:  # one that is in no batch
                opened = jax.tree.map(
                    lambda leaf: np.zeros((1, *leaf.shape[1:]), leaf.dtype), opened
                )
        return replace(self, dtype=dtype, part=part), None, opened

    def sampling(self, source: Any) -> Sampling:
        """How batches are drawn: from the records of ``source``, or of all parts."""
        records = len(jax.tree.leaves(source.arrays)[0])
        if self.part is not None:
            records = self.part.whole
        return Sampling(records, self.batch, self.replacement)

    def remember(self, *_: Any) -> tuple[()]:
        """Nothing: the next batch is another."""
        return ()

    def decide(
        self, model: Model, read: Opened, memory: tuple[()], move: Move
    ) -> tuple[jax.Array, tuple[()]]:
        """Decide on the batch, evaluated at both points."""
        everyone = jnp.ones(self.batch, bool)
        evidence = Evidence(
            self._at_own_batch(model, read, move.proposed)
            - self._at_own_batch(model, read, move.current),
            everyone if read.present is None else read.present,
        )
        return minibatch_barker(evidence, move.public, move.word, self.decision), memory

    def _at_own_batch(self, model: Model, batch: Opened, theta: Any) -> jax.Array:
        """Log-likelihoods of each chain's batch at its point, as (chains, batch)."""

        def of_chain(point: Any, arrays: Any) -> Any:
            return looks_of_each(model, PLAIN, point, Read(arrays, ()), self.dtype)

        return jax.vmap(of_chain)(theta, batch.arrays)
