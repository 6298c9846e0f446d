# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks on decisions on all records: the exact test, and the paper's Gaussian one."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from scipy import special

from dpmcmc.accounting import BarkerBit, Event, GaussianBarkerBit
from dpmcmc.audit.attack import Attack, Size
from dpmcmc.audit.bounds import Scores
from dpmcmc.audit.decisions import (
    FAR,
    VARIANCE,
    Far,
    best_place,
    decided,
    grouped,
    normal_acceptance,
    paper_noise,
)
from dpmcmc.private import FullData, Grid

__all__ = ["full_data_attacks"]

_TABLES = ([0.0, 0.0, 1.0], [0.0, 0.0, -1.0])
_SCALE = 3.0
"""The scale of ratios, as of a tempered likelihood: they are clipped after it."""


def full_data_attacks() -> list[Attack]:
    """One decision, and several together."""
    return [
        _barker(0.5, 1, 1e-5, quick=1_000_000),
        _barker(0.5, 2, 1e-5, quick=2_000_000),
        _barker(0.2, 10, 1e-4, quick=3_000_000),
        _gaussian(0.5, 1, 1e-4, quick=1_000_000),
        _gaussian(0.2, 4, 1e-4, quick=2_000_000),
        _words(),
    ]


def _barker(clip: float, size: int, delta: float, quick: int) -> Attack:
    return _attack(
        "exact test on all records",
        BarkerBit(clip=clip, records=len(_TABLES[0])),
        FullData(Grid(clip, scale=_SCALE)),
        special.expit,
        size,
        delta,
        quick,
    )


def _gaussian(clip: float, size: int, delta: float, quick: int) -> Attack:
    noise = paper_noise()
    event = GaussianBarkerBit(
        clip=clip,
        records=len(_TABLES[0]),
        variance=noise.variance,
        positions=noise.correction.centres,
        weights=noise.correction.weights,
        deviations=noise.correction.widths,
    )
    return _attack(
        "Gaussian test on all records",
        event,
        FullData(Grid(clip, scale=_SCALE), noise),
        partial(normal_acceptance, variance=VARIANCE),
        size,
        delta,
        quick,
    )


def _attack(
    name: str,
    event: BarkerBit | GaussianBarkerBit,
    test: FullData,
    accept: Callable[[np.ndarray], np.ndarray],
    size: int,
    delta: float,
    quick: int,
) -> Attack:
    pull = np.array([event.clip, -event.clip])
    place = best_place(lambda public: accept(public + pull), size, delta, quick)

    def play(runs: int) -> Scores:
        made = [
            grouped(decided(table, test, Far(place.public), runs * size).accepted, size)
            for table in _TABLES
        ]
        return Scores(*made)

    events: dict[Event, int] = {event: size}
    return Attack(
        name=f"{name}, {size} decision{'s' if size > 1 else ''}",
        events=events,
        delta=delta,
        threshold=place.least,
        play=play,
        runs={Size.QUICK: quick, Size.WHOLE: 10 * quick},
        goal=0.85,
    )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Tells:
    """Proposes a point that holds the word it was made of."""

    public: float = 0.0

    def propose(self, theta: Any, noise: Any) -> tuple[Any, Any]:
        """The next far point, with the uniform number that was read for it."""
        (word,) = noise.uniforms(1)
        return {"at": theta["at"] + FAR, "word": word}, self.public


def _words() -> Attack:
    """Where a decision reads words that a proposal has shown, they give it away.

    A word between the two probabilities to accept is accepted on one table alone.
    """
    clip, quick = 0.5, 500_000

    def play(runs: int) -> Scores:
        test, start = FullData(Grid(clip)), {"at": 0.0, "word": 0.0}
        made = []
        for table in _TABLES:
            found = decided(table, test, _Tells(), runs, start=start)
            is_between = np.abs(special.logit(found.theta["word"])) < clip
            made.append((is_between & found.accepted).reshape(-1).astype(np.int8))
        return Scores(*made)

    return Attack(
        name="exact test on all records, words of proposals",
        events={BarkerBit(clip=clip, records=len(_TABLES[0])): 1},
        delta=1e-5,
        threshold=1,
        play=play,
        runs={Size.QUICK: quick, Size.WHOLE: 10 * quick},
    )
