# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a job: a folder keeps what is released, and a ledger is charged.

A part is charged before a record is read for it. A run that was interrupted goes on
with the parts that its folder kept, and never makes again what was charged.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.files import FileError, RunFolder
from dpmcmc.ledger import Ledger, Overview, Reservation, Tally, tally_of
from dpmcmc.ledger.codec import canonical, decode, encode
from dpmcmc.posterior import Statement
from dpmcmc.sampling.stages import Charged, Events, Part
from dpmcmc.workflow.job import Job

__all__ = [
    "Ask",
    "FolderCheckpoint",
    "LedgerCheckpoint",
    "Question",
    "checkpoint_for",
]

_CHARGED = "charged-"
"""How the name of a part begins that says what another part was charged for."""


class Question(NamedTuple):
    """What is about to be spent.

    Attributes
    ----------
    statement
        What the run will release, stage by stage, and what it costs.
    standing
        How the budget in the ledger stands before, if there is a ledger.
    fraction
        The fraction of that budget that is reserved for the run.
    seconds
        About how long the run will take, if that is more than a moment.
    """

    statement: Statement
    standing: Overview | None = None
    fraction: float | None = None
    seconds: float | None = None


Ask = Callable[[Question], None]
"""Shows what is about to be spent, and raises if it is not wanted."""


class FolderCheckpoint:
    """Keeps what a run is charged for and releases in its folder; there is no ledger.

    Parameters
    ----------
    folder
        The folder of the run: locked, unless it is only looked at.
    ask
        Is called once, before anything is spent.
    """

    def __init__(self, folder: RunFolder, ask: Ask) -> None:
        self._folder, self._ask = folder, ask
        self._total = self._tally = Tally()
        self._charged = dict(self._charged_before())
        for events in self._charged.values():
            self._tally = self._tally.plus(tally_of(events))

    @property
    def lost(self) -> tuple[str, ...]:
        """The parts that were charged and not kept, by the names of their files."""
        kept = self._folder.parts()
        return tuple(name for name in self._charged if name not in kept)

    def reserve(self, events: Events, statement: Statement) -> None:
        """Ask; or, for a run that was interrupted, see that it is still the same."""
        _require_apart([stage.name for stage in statement.stages])
        now, before = encode(events), self._folder.facts.get("reserved")
        if before is None:
            self._ask(self._question(events, statement))
            aside = self._set_aside(events, statement)
            self._folder.note({"reserved": now, **aside})
        elif before != now:
            raise FileError(
                f"{self._folder.path} was begun with other settings, other records or "
                "another version of dpmcmc: the run would not cost what was reserved. "
                "Begin another run, in another folder."
            )
        self._total = tally_of(events)

    def charge(self, stage: str, part: str, events: Events) -> None:
        """Charge a part, once in the life of a run.

        Guarantee
        ---------
        When this has returned, the folder, and the ledger if there is one, durably
        say that the part was charged and for which events. It raises if one of them
        said so before. All that was ever charged is within what was reserved.
        """
        name = _name(stage, part)
        if name in self._charged:
            raise FileError(
                f"the run in {self._folder.path} was interrupted during its part "
                f"{name!r}, which is paid for and lost. Begin another run, in another "
                "folder."
            )
        together = self._tally.plus(tally_of(events))
        if not together.within(self._total):
            raise FileError(
                f"the run in {self._folder.path} would release more than was reserved "
                f"for it, with its part {name!r}: it was begun with other settings. "
                "Begin another run, in another folder."
            )
        self._pay(name, events)
        self._charged[name], self._tally = events, together

    def charged(self, stage: str) -> Charged:
        """The parts of a stage that were ever charged, and for what."""
        return {
            name.removeprefix(_name(stage)): events
            for name, events in self._charged.items()
            if name.startswith(_name(stage))
        }

    def keep(self, stage: str, part: Part) -> None:
        """Keep what a part released."""
        self._folder.keep(_name(stage, part.name), part.arrays)

    def kept(self, stage: str) -> Sequence[Part]:
        """The parts of a stage that were kept, in order."""
        return tuple(
            Part(name.removeprefix(_name(stage)), self._folder.read(name))
            for name in self._folder.parts()
            if name.startswith(_name(stage))
        )

    def give_back(self) -> None:
        """Give back what this process holds and has not spent."""

    def finish(self) -> None:
        """Give back what the run has not spent, whichever process holds it."""

    def _question(self, events: Events, statement: Statement) -> Question:
        del events
        return Question(statement)

    def _set_aside(self, events: Events, statement: Statement) -> dict[str, Any]:
        """Hold the cost of the whole run, and return what is to be noted of it."""
        del events, statement
        return {}

    def _charged_before(self) -> Mapping[str, Events]:
        """The parts that were charged before this process, and what for."""
        return {
            name.removeprefix(_CHARGED): _events_in(self._folder, name)
            for name in self._folder.parts()
            if name.startswith(_CHARGED)
        }

    def _pay(self, name: str, events: Events) -> None:
        text = np.array(canonical(encode(events)))
        self._folder.keep(_CHARGED + name, {"events": text})


class LedgerCheckpoint(FolderCheckpoint):
    """Keeps what a run releases in its folder, and charges a ledger for it.

    Parameters
    ----------
    folder, ask
        As above.
    ledger, job
        Where to reserve; and for which data set, for whom and what.

    Raises
    ------
    FileError
        If the folder was charged for what the ledger knows nothing of.
    """

    def __init__(self, folder: RunFolder, ask: Ask, ledger: Ledger, job: Job) -> None:
        self._ledger, self._job = ledger, job
        self._run: str = folder.facts.get("run", "")
        self._reservation: Reservation | None = None
        super().__init__(folder, ask)

    def give_back(self) -> None:
        """Close the reservation, if this process holds it."""
        if self._reservation is not None:
            self._reservation.close()
            self._reservation = None

    def finish(self) -> None:
        """Close the reservation, even if a process that died holds it."""
        standing = self._ledger.overview(self._job.dataset)
        if any(one.run == self._run and one.state == "open" for one in standing.runs):
            self._open()
            self.give_back()

    def _question(self, events: Events, statement: Statement) -> Question:
        """See that the ledger has room for the run, before anybody is asked."""
        fraction = self._ledger.quote(
            self._job.dataset,
            events,
            only=self._job.only,
            claims=(statement.epsilon, statement.delta),
            unit=statement.unit or "",
        )
        standing = self._ledger.overview(self._job.dataset)
        return Question(statement, standing, fraction)

    def _set_aside(self, events: Events, statement: Statement) -> dict[str, Any]:
        self._reservation = self._ledger.reserve(
            self._job.dataset,
            events,
            analyst=self._job.analyst,
            purpose=self._job.purpose,
            only=self._job.only,
            claims=(statement.epsilon, statement.delta),
            unit=statement.unit or "",
        )
        self._run = self._reservation.run
        return {"run": self._run}

    def _open(self) -> Reservation:
        """The reservation; that of a run that was interrupted is opened anew.

        It is opened only when something is to be charged: a run that lacks nothing
        needs no room in the budget.
        """
        if self._reservation is None:
            self._reservation = self._ledger.resume(self._run, self._job.analyst)
        return self._reservation

    def _charged_before(self) -> Mapping[str, Events]:
        """Ask the ledger; refuse one that knows less than the folder."""
        known = dict(self._ledger.charges(self._run)) if self._run else {}
        for name, events in super()._charged_before().items():
            if known.get(name) != events:
                raise FileError(
                    f"{self._folder.path} was charged for {name!r}, of which the "
                    f"ledger {self._ledger.place} knows nothing: the ledger is older "
                    "than the folder, or another one. Put back the newer ledger."
                )
        return known

    def _pay(self, name: str, events: Events) -> None:
        self._open().charge(events, name)
        super()._pay(name, events)


def checkpoint_for(
    job: Job, folder: RunFolder, ledger: Ledger | None, ask: Ask
) -> FolderCheckpoint:
    """The checkpoint of a job, with the ledger that it has or has not."""
    if ledger is None:
        return FolderCheckpoint(folder, ask)
    return LedgerCheckpoint(folder, ask, ledger, job)


def _name(stage: str, part: str = "") -> str:
    """The name of a part in the folder and in the ledger."""
    return f"{stage}-{part}".replace(" ", "-")


def _require_apart(stages: Sequence[str]) -> None:
    """Refuse stages whose parts could not be told apart by their names."""
    for one, other in permutations(map(_name, stages), 2):
        if other.startswith(one):
            raise InputError(
                f"the stages of the run are named {', '.join(map(repr, stages))}; no "
                "name may be another's, or begin with another and a hyphen. Rename "
                "the stages of the method."
            )


def _events_in(folder: RunFolder, name: str) -> Events:
    return decode(json.loads(str(folder.read(name)["events"])))
