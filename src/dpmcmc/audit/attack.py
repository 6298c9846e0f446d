# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What an attack is, and what comes of it.

An attack names the events that the accountants charge for, and plays the true code on
two tables that differ in one record. A check asks whether randomness is what proofs
assume; it has a p-value instead of an ε.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from dpmcmc.accounting import Event, certify_epsilon
from dpmcmc.audit.bounds import (
    Scores,
    counting_bound,
    gaussian_bound,
    laplace_bound,
    seen_above,
)

__all__ = [
    "CONFIDENCE",
    "FALSE_ALARMS",
    "Attack",
    "Check",
    "Finding",
    "Size",
    "Trial",
    "attempt",
]

CONFIDENCE = 0.95
"""Of all lower bounds of an audit together: each has an equal part of the rest."""

FALSE_ALARMS = 0.001
"""The probability that an audit of a program without fault raises any alarm, at most.

Each attack and check has an equal part of it.
"""

_AT_ONCE = 3_000_000
"""Runs of an attack that are made at once: ten times as many filled 16 GB."""


class Size(StrEnum):
    """How long an audit may take: minutes, or a quarter of an hour."""

    QUICK = "quick"
    WHOLE = "whole"


@dataclass(frozen=True)
class Attack:
    """An attack on what one or several stages release.

    Attributes
    ----------
    name
        What is attacked.
    events
        What the accountants charge for.
    delta
        The δ at which ε is bounded.
    play
        Runs the true code a number of times on each table, and scores the outputs.
    runs
        How many runs on each table, by the size of the audit.
    threshold
        The score from which the attack says "first"; of no use where noise is normal.
    goal
        The fraction of the certified ε that the bound should reach; None where theory
        says that no attack does.
    is_gaussian
        Whether scores are normal, so that their shift says ε at every δ.
    with_laplace
        Whether there is a second column, with Laplace noise: see `laplace_bound`.
    """

    name: str
    events: Mapping[Event, int]
    delta: float
    play: Callable[[int], Scores]
    runs: Mapping[Size, int]
    threshold: float = 0.0
    goal: float | None = None
    is_gaussian: bool = False
    with_laplace: bool = False


@dataclass(frozen=True)
class Check:
    """A test of the randomness: the p-value of what proofs assume of it.

    Attributes
    ----------
    name
        What is tested.
    p_value
        Runs the true code, in a number of runs, and tests what it drew.
    runs
        How many runs, by the size of the audit.
    """

    name: str
    p_value: Callable[[int], float]
    runs: Mapping[Size, int]


Trial = Attack | Check


@dataclass(frozen=True)
class Finding:
    """What came of an attack or a check.

    Attributes
    ----------
    name, runs, seconds
        What was tried, the number of runs on each table, and the time that it took.
    passed
        False for an alarm: the certificate is broken, or the randomness is not what
        it should be, up to the stated rate of false alarms.
    delta, certified, bound
        Of an attack: δ, the certified ε, and the bound on it from below.
    goal
        The fraction of the certified ε that the bound should reach, if any.
    p_value
        Of a check.
    """

    name: str
    runs: int
    seconds: float
    passed: bool
    delta: float | None = None
    certified: float | None = None
    bound: float | None = None
    goal: float | None = None
    p_value: float | None = None

    @property
    def tightness(self) -> float | None:
        """The bound as a fraction of the certified ε."""
        if self.bound is None or not self.certified:
            return None
        return self.bound / self.certified

    def to_dict(self) -> dict[str, Any]:
        """Numbers for machines; what is not finite is None."""
        values = {**asdict(self), "tightness": self.tightness}
        return {
            name: None
            if isinstance(value, float) and not math.isfinite(value)
            else value
            for name, value in values.items()
        }


def attempt(trial: Trial, runs: int, of: int) -> Finding:
    """Make one attack or check.

    Parameters
    ----------
    trial
        What to try.
    runs
        How many runs.
    of
        How many attacks and checks share one rate of false alarms, and one confidence.
    """
    begun, false_alarm = time.perf_counter(), FALSE_ALARMS / of
    if isinstance(trial, Check):
        found = float(trial.p_value(runs))
        took = time.perf_counter() - begun
        return Finding(trial.name, runs, took, found >= false_alarm, p_value=found)
    certified = certify_epsilon(trial.events, trial.delta).epsilon
    scores = _played(trial, runs)

    def bound(error: float) -> float:
        if trial.with_laplace:
            return laplace_bound(scores, trial.delta, error)
        if trial.is_gaussian:
            return gaussian_bound(scores, trial.delta, error)
        return counting_bound(seen_above(scores, trial.threshold), trial.delta, error)

    return Finding(
        trial.name,
        len(scores.first),
        time.perf_counter() - begun,
        # "not above", so that what is no number is an alarm
        passed=bound(false_alarm) <= certified,
        delta=trial.delta,
        certified=certified,
        bound=bound((1 - CONFIDENCE) / of),
        goal=trial.goal,
    )


def _played(attack: Attack, runs: int) -> Scores:
    """Scores of all runs, of which only so many are made at once."""
    begun = range(0, runs, _AT_ONCE)
    parts = [attack.play(min(_AT_ONCE, runs - first)) for first in begun]
    return Scores(*map(np.concatenate, zip(*parts, strict=True)))
