# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Plays of accept/reject decisions, for which every step of a chain is worst.

The model's log-likelihood is θ times a record's one number. A proposal moves θ by so
much that every ratio is beyond its clip: so a record with 1 pulls every decision up by
the clip, one with −1 down, and one with 0 not at all. What is public in a decision is
whatever the adversary's proposal says.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from dpmcmc.audit.bounds import Seen, counting_bound
from dpmcmc.correction import correction_for
from dpmcmc.model.model import Model
from dpmcmc.private import (
    Chains,
    CorrectedNoise,
    NormalMixture,
    Records,
    Tape,
    Test,
)

__all__ = [
    "FAR",
    "MODEL",
    "VARIANCE",
    "Far",
    "Place",
    "best_place",
    "decided",
    "grouped",
    "normal_acceptance",
    "paper_noise",
]

FAR = 1e6
"""A move that takes every ratio beyond its clip."""

VARIANCE = 2.0
"""The C of the paper."""

_CHAINS = 256
_CHUNK = 2000
_PUBLIC = np.linspace(-9.0, 4.0, 131)

MODEL = Model(
    log_likelihood=lambda theta, record: theta["at"] * record,
    log_prior=lambda theta: 0.0 * theta["at"],
    initial={"at": 0.0},
)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Far:
    """Proposes a far point, and says a public part that the adversary chose."""

    public: float

    def propose(self, theta: Any, noise: Any) -> tuple[Any, Any]:
        """The next far point."""
        del noise
        return {"at": theta["at"] + FAR}, self.public


def decided(
    table: list[float] | Records,
    test: Test,
    kernel: Any,
    decisions: int,
    *,
    start: Any = None,
    chains: int = _CHAINS,
    model: Model = MODEL,
) -> Any:
    """Run the boundary's chains on a table, and return all that they released.

    Parameters
    ----------
    table
        One number for each record: 1, −1 or 0; or sealed records of the model.
    test, kernel
        How a step is decided, and what proposes.
    decisions
        At least this many are made, by all chains together.
    start
        θ where chains start, if it holds more than the usual.
    chains
        How many chains share them.
    model
        Of the records, if they are not such numbers.

    Returns
    -------
    Released
        Points and bits with axes (steps, chains).
    """
    steps = max(2, -(-decisions // chains))
    begun = {"at": 0.0} if start is None else start
    sealed = table if isinstance(table, Records) else Records(np.asarray(table, float))
    with jax.enable_x64(True):
        points = {name: jnp.full(chains, value) for name, value in begun.items()}
        running = Chains(
            model,
            sealed,
            kernel,
            test,
            Tape.fresh(),
            start=points,
            dtype="float64",
            chunk=min(steps, _CHUNK),
            devices=jax.devices()[:1],
        )
        sizes = [min(_CHUNK, steps - at) for at in range(0, steps, _CHUNK)]
        parts = [jax.device_get(part) for part in running.run(sizes)]
    return jax.tree.map(lambda *rows: np.concatenate(rows), *parts)


def grouped(bits: np.ndarray, size: int) -> np.ndarray:
    """How many of each size decisions in a row of one chain were to accept."""
    whole = len(bits) // size * size
    rows = bits[:whole].reshape(whole // size, size, *bits.shape[1:])
    return rows.sum(axis=1, dtype=np.int32).reshape(-1)


def paper_noise() -> CorrectedNoise:
    """The paper's noise, as the methods fit it."""
    found = correction_for(VARIANCE)
    return CorrectedNoise(
        VARIANCE, NormalMixture(found.centres, found.widths, found.weights)
    )


def normal_acceptance(place: Any, variance: Any) -> np.ndarray:
    """The probability F(place), F that of N(0, variance) + V_cor."""
    mixture = paper_noise().correction
    parts = zip(mixture.centres, mixture.widths, mixture.weights, strict=True)
    found = sum(
        weight * special.ndtr((place - centre) / np.sqrt(variance + width**2))
        for centre, width, weight in parts
    )
    return np.asarray(found)


@dataclass(frozen=True)
class Place:
    """Where an attack looks: a public part, and the least number of acceptances.

    ``bound`` is what it should find there.
    """

    public: float
    least: int
    bound: float


def best_place(acceptances: Any, size: int, delta: float, runs: int) -> Place:
    """Find the place at which an attack on groups of decisions should see most.

    Parameters
    ----------
    acceptances
        Makes of public parts the probabilities to accept on the two tables.
    size
        The number of decisions in a group.
    delta, runs
        As in the attack.
    """
    best = Place(0.0, 1, -1.0)
    for public in _PUBLIC:
        first, second = acceptances(public)
        for least in range(1, size + 1):
            right, wrong = (
                int(runs * special.bdtrc(least - 1, size, rate))
                for rate in (first, second)
            )
            found = counting_bound(Seen(right, runs, wrong, runs), delta, 0.05)
            if found > best.bound:
                best = Place(float(public), least, found)
    return best
