# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks on decisions on batches, drawn with and without replacement.

All records pull down but the last, which pulls up in the first table. How much it
counts depends on whether it is in the batch, which nobody may know. Amplification by
batches is proven by a bound that no attack reaches, so that only some have a goal; the
others are traps for batches that are not fresh, or not what they should be.
"""

import itertools
import math
from functools import partial

import numpy as np
from scipy import stats

from dpmcmc.accounting import MinibatchBit
from dpmcmc.audit.attack import Attack, Check, Size
from dpmcmc.audit.bounds import Scores
from dpmcmc.audit.decisions import (
    VARIANCE,
    Far,
    Place,
    best_place,
    decided,
    grouped,
    normal_acceptance,
    paper_noise,
)
from dpmcmc.private import BatchDecision, Grid, Minibatch

__all__ = ["batch_attacks", "batch_checks"]

Table = list[float]

_DELTA = 1e-2
_MANY, _TOGETHER = 5_000, 40
"""Chains; and decisions that one batch would move together, if it were for all."""


def batch_attacks() -> list[Attack]:
    """One decision and several; whole batches; one batch used for all; refusals."""
    return [
        _attack(2, 2, 1, quick=400_000, goal=0.85),
        _attack(4, 2, 1, quick=400_000),
        _attack(4, 2, 3, quick=400_000),
        _attack(4, 2, 1, quick=400_000, replacement=True),
        _one_for_all("steps", across_chains=False),
        _one_for_all("chains", across_chains=True),
        _refusals(),
    ]


def batch_checks() -> list[Check]:
    """Whether batches are drawn as they should be."""
    runs = {Size.QUICK: 100_000, Size.WHOLE: 1_000_000}
    return [
        Check("batches without replacement", partial(_is_drawn, False), runs),
        Check("batches with replacement", partial(_is_drawn, True), runs),
    ]


def _is_drawn(replacement: bool, runs: int) -> float:
    """Test how often decisions are accepted: it depends on how batches are drawn."""
    public, p_values = -2.0, []
    for table in ([-1.0, 1.0], [-1.0, -1.0, 1.0, 1.0]):
        test = _test(len(table), 2, replacement)
        bits = decided(table, test, Far(public), runs).accepted
        expected = _acceptance(table, 2, replacement, public)
        seen = int(np.count_nonzero(bits))
        p_values.append(stats.binomtest(seen, bits.size, expected).pvalue)
    return float(min(1.0, len(p_values) * min(p_values)))


def _tables(records: int) -> tuple[Table, Table]:
    others = [-1.0] * (records - 1)
    return [*others, 1.0], [*others, -1.0]


def _test(records: int, batch: int, replacement: bool) -> Minibatch:
    grid = Grid(1.0, scale=records / math.sqrt(batch))
    return Minibatch(BatchDecision(grid, batch, paper_noise()), replacement)


def _event(records: int, batch: int, replacement: bool) -> MinibatchBit:
    noise = paper_noise()
    return MinibatchBit(
        batch=batch,
        records=records,
        variance=noise.variance,
        positions=noise.correction.centres,
        weights=noise.correction.weights,
        deviations=noise.correction.widths,
        replacement=replacement,
    )


def _acceptance(table: Table, batch: int, replacement: bool, public: float) -> float:
    """The probability to accept, over all batches."""
    places = range(len(table))
    drawn = (
        itertools.product(places, repeat=batch)
        if replacement
        else itertools.combinations(places, batch)
    )
    ratios = np.asarray(table)[list(drawn)]
    # the variance of the batch lessens the noise that is added
    place = ratios.sum(axis=1) / math.sqrt(batch) + public
    return float(np.mean(normal_acceptance(place, VARIANCE - ratios.var(axis=1))))


def _attack(
    records: int,
    batch: int,
    size: int,
    quick: int,
    goal: float | None = None,
    replacement: bool = False,
) -> Attack:
    """Attack the pair of tables of which theory says that it tells most."""
    found: list[tuple[Place, list[Table]]] = []
    for others in itertools.combinations_with_replacement((-1.0, 1.0), records - 1):
        for one in (1.0, -1.0):
            pair = [[*others, one], [*others, -one]]

            def accept(public: float, pair: list[Table] = pair) -> list[float]:
                return [_acceptance(one, batch, replacement, public) for one in pair]

            found.append((best_place(accept, size, _DELTA, quick), pair))
    place, tables = max(found, key=lambda each: each[0].bound)

    def play(runs: int) -> Scores:
        test = _test(records, batch, replacement)
        made = [
            decided(table, test, Far(place.public), runs * size) for table in tables
        ]
        return Scores(*(grouped(one.accepted, size) for one in made))

    how = "with" if replacement else "without"
    plural = "s" if size > 1 else ""
    return Attack(
        name=f"batches of {batch} of {records} {how} replacement, "
        f"{size} decision{plural}",
        events={_event(records, batch, replacement): size},
        delta=_DELTA,
        threshold=place.least,
        play=play,
        runs={Size.QUICK: quick, Size.WHOLE: 10 * quick},
        goal=goal,
    )


def _one_for_all(what: str, across_chains: bool) -> Attack:
    """A trap: a batch used for many decisions would let its record move them all."""
    records, quick = 20, 20_000
    public = -0.4  # one in five is accepted without the record, and most with it

    def play(runs: int) -> Scores:
        made = []
        for table in _tables(records):
            found = decided(
                table,
                _test(records, 1, False),
                Far(public),
                runs * _TOGETHER,
                # a batch that is never drawn again is one for each chain
                chains=_TOGETHER if across_chains else _MANY,
            )
            rows = found.accepted.T if across_chains else found.accepted
            made.append(grouped(rows, _TOGETHER))
        return Scores(*made)

    return Attack(
        name=f"batches of 1 of {records}, one for all {what}",
        events={_event(records, 1, False): _TOGETHER},
        delta=_DELTA,
        threshold=_TOGETHER * 0.55,
        play=play,
        runs={Size.QUICK: quick, Size.WHOLE: 10 * quick},
    )


def _refusals() -> Attack:
    """A trap: a decision that a batch's own variance refuses tells who is in it."""
    records, batch, quick = 4, 2, 200_000

    def play(runs: int) -> Scores:
        made = [
            decided(table, _test(records, batch, False), Far(9.0), runs).accepted
            for table in _tables(records)
        ]
        return Scores(*(1 - grouped(bits, 1) for bits in made))

    return Attack(
        name=f"batches of {batch} of {records} without replacement, refusals",
        events={_event(records, batch, False): 1},
        delta=_DELTA,
        threshold=1,
        play=play,
        runs={Size.QUICK: quick, Size.WHOLE: 10 * quick},
    )
