# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: what was set aside, charged and released, so that a run can go on.

A checkpoint is asked before a record is read for a part, and keeps the part once it is
released. A part that was charged and not kept is lost, and is never made again.
"""

from collections.abc import Sequence
from typing import Protocol

from dpmcmc.accounting import Event
from dpmcmc.errors import InputError
from dpmcmc.posterior.statement import Statement
from dpmcmc.sampling.stages import Charged, Events, Part

__all__ = ["Checkpoint", "MemoryCheckpoint"]


class Checkpoint(Protocol):
    """Who answers for the budget of a run. Its methods may refuse by raising."""

    def reserve(self, events: Events, statement: Statement) -> None:
        """Set aside the cost of a whole run, before any record is read.

        For a run that was interrupted, refuse events that are not those of before.
        """
        ...

    def charge(self, stage: str, part: str, events: Events) -> None:
        """Charge a part of a stage, before anything is read for it."""
        ...

    def charged(self, stage: str) -> Charged:
        """The parts of a stage that were charged, now or before, and for what."""
        ...

    def keep(self, stage: str, part: Part) -> None:
        """Keep what a part released."""
        ...

    def kept(self, stage: str) -> Sequence[Part]:
        """The parts of a stage that were kept, in order."""
        ...


class MemoryCheckpoint:
    """A checkpoint in memory: for runs that answer to their statement alone.

    Give it to `sample` again, with the same settings, to go on with a run that was
    interrupted.
    """

    def __init__(self) -> None:
        self._events: dict[Event, int] | None = None
        self._charged: dict[str, dict[str, Events]] = {}
        self._kept: dict[str, list[Part]] = {}

    def reserve(self, events: Events, statement: Statement) -> None:
        """Remember the events of the run; refuse other ones."""
        del statement
        if self._events is not None and self._events != dict(events):
            raise InputError(
                "the checkpoint is of a run with other settings. Give the settings "
                "that it was begun with, or leave the checkpoint out."
            )
        self._events = dict(events)

    def charge(self, stage: str, part: str, events: Events) -> None:
        """Remember that a part was charged."""
        self._charged.setdefault(stage, {})[part] = dict(events)

    def charged(self, stage: str) -> Charged:
        """The parts of a stage that were charged."""
        return dict(self._charged.get(stage, {}))

    def keep(self, stage: str, part: Part) -> None:
        """Keep what a part released."""
        self._kept.setdefault(stage, []).append(part)

    def kept(self, stage: str) -> Sequence[Part]:
        """The parts of a stage that were kept."""
        return tuple(self._kept.get(stage, ()))
