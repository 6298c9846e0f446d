# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Custody of a run: a folder that keeps what is released, and a ledger that is charged.

A part is charged before a record is read for it. A run that was broken off is taken up
with the parts that its folder kept, and never makes again what was charged.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np
from dp_accounting.dp_event import DpEvent

from dpmcmc.custody import Arrays
from dpmcmc.files import FileError, RunFolder
from dpmcmc.ledger import Ledger, Overview, Reservation, Tally, tally_of
from dpmcmc.ledger.codec import canonical, decode, encode
from dpmcmc.posterior.statement import Statement

__all__ = [
    "Ask",
    "FolderCustody",
    "LedgerCustody",
    "Question",
    "charged_in_folder",
]


class Question(NamedTuple):
    """What is about to be spent, for whoever is asked.

    Attributes
    ----------
    statement
        The statement of the costliest way that the run may go.
    ways
        How many ways there are.
    standing
        How the budget in the ledger stands before, if there is a ledger.
    share
        The share of that budget that is set aside for the run, from 0 to 1.
    """

    statement: Statement
    ways: int
    standing: Overview | None = None
    share: float | None = None


Ask = Callable[[Question], None]
"""Shows what is about to be spent, and raises if it is not wanted."""

_BEGUN = "begun-"


class FolderCustody:
    """Keeps what a run releases in its folder; nobody is charged.

    Parameters
    ----------
    folder
        The folder of the run, locked.
    ask
        Is called once, before anything is spent.
    """

    def __init__(self, folder: RunFolder, ask: Ask) -> None:
        self._folder, self._ask = folder, ask
        self._totals: list[Tally] = []
        before = self._charged_before()
        self._charged = set(before)
        self._tally = Tally()
        for event in before.values():
            self._tally = self._tally.plus(tally_of(event))

    def reserve(self, totals: Sequence[DpEvent], statement: Statement) -> None:
        """Ask; or, for a run that was broken off, see that it is still the same."""
        now = [encode(total) for total in totals]
        before = self._folder.facts.get("totals")
        if before is None:
            self._ask(self._question(totals, statement))
            aside = self._set_aside(totals, statement)
            self._folder.note({"totals": now, **aside})
        elif before != now:
            raise FileError(
                f"{self._folder.path} was begun with other settings, or with another "
                "version of dpmcmc: the run would not cost what it was to cost. Begin "
                "another run, in another folder."
            )
        self._totals = [tally_of(total) for total in totals]

    def charge(self, part: str, event: DpEvent) -> None:
        """Charge a part, once in the life of a run.

        Guarantee
        ---------
        When this has returned, the folder (or the ledger) durably says that the part
        was charged, and for which event; it raises if it said so before. All that was
        ever charged is within one of the totals that were set aside.
        """
        if self.is_charged(part):
            raise FileError(
                f"the run in {self._folder.path} was broken off during its part "
                f"{part!r}, which is paid for and lost; what came after cannot be made "
                "without it. Begin another run, in another folder."
            )
        together = self._tally.plus(tally_of(event))
        if not any(together.within(total) for total in self._totals):
            raise FileError(
                f"the run in {self._folder.path} would release more than was set aside "
                f"for it, with its part {part!r}: it was begun with other settings. "
                "Begin another run, in another folder."
            )
        self._pay(part, event)
        self._charged.add(part)
        self._tally = together

    def is_charged(self, part: str) -> bool:
        """Whether a part was ever charged."""
        return part in self._charged

    def keep(self, part: str, arrays: Arrays) -> None:
        """Keep what was released."""
        self._folder.keep(part, arrays)

    def kept(self, part: str) -> Arrays | None:
        """What was released, if it was kept."""
        return self._folder.read(part) if part in self._folder.parts() else None

    def give_back(self) -> None:
        """Give back what this process holds and has not spent."""

    def finish(self) -> None:
        """Give back what the run holds and has not spent, whoever held it."""

    def _question(
        self,
        totals: Sequence[DpEvent],
        statement: Statement,
    ) -> Question:
        return Question(statement, len(totals))

    def _set_aside(
        self,
        totals: Sequence[DpEvent],  # noqa: ARG002 - a folder holds no budget
        statement: Statement,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Hold the cost of the whole run, and return what is to be noted of it."""
        return {}

    def _charged_before(self) -> Mapping[str, DpEvent]:
        """The parts that were charged before this process, and what for."""
        return charged_in_folder(self._folder)

    def _pay(self, part: str, event: DpEvent) -> None:
        text = canonical(encode(event))
        self._folder.keep(_BEGUN + part, {"event": np.array(text)})


class LedgerCustody(FolderCustody):
    """Keeps what a run releases in its folder, and charges a ledger for it.

    Parameters
    ----------
    folder, ask
        As above.
    ledger, dataset, analyst, purpose, only
        Where to reserve, and for whom and what; as in `Ledger.reserve`.

    Raises
    ------
    FileError
        If the folder holds what the ledger was never charged for.
    """

    def __init__(
        self,
        folder: RunFolder,
        ask: Ask,
        ledger: Ledger,
        dataset: str,
        *,
        analyst: str,
        purpose: str,
        only: bool,
    ) -> None:
        self._ledger, self._dataset = ledger, dataset
        self._analyst, self._purpose, self._only = analyst, purpose, only
        self._run: str | None = folder.facts.get("run")
        self._reservation: Reservation | None = None
        super().__init__(folder, ask)
        self._require_charged()

    def give_back(self) -> None:
        """Close the reservation, if this process holds it."""
        if self._reservation is not None:
            self._reservation.close()
            self._reservation = None

    def finish(self) -> None:
        """Close the reservation, even if it was a process that died that held it."""
        standing = self._ledger.overview(self._dataset)
        if any(one.run == self._run and one.state == "open" for one in standing.runs):
            self._open()
            self.give_back()

    def _question(self, totals: Sequence[DpEvent], statement: Statement) -> Question:
        """See that the ledger would hold the run, before anyone is asked."""
        share = self._ledger.quote(
            self._dataset,
            _covering(totals),
            only=self._only,
            claims=(statement.epsilon, statement.delta),
        )
        standing = self._ledger.overview(self._dataset)
        return Question(statement, len(totals), standing, share)

    def _set_aside(
        self, totals: Sequence[DpEvent], statement: Statement
    ) -> dict[str, Any]:
        self._reservation = self._ledger.reserve(
            self._dataset,
            _covering(totals),
            analyst=self._analyst,
            purpose=self._purpose,
            only=self._only,
            claims=(statement.epsilon, statement.delta),
        )
        self._run = self._reservation.run
        return {"run": self._run}

    def _open(self) -> Reservation:
        """The reservation; that of a run that was broken off is opened anew.

        It is opened only when something is to be charged: a run that lacks nothing
        needs no room in the budget.
        """
        assert self._run is not None
        if self._reservation is None:
            self._reservation = self._ledger.resume(self._run, self._analyst)
        return self._reservation

    def _pay(self, part: str, event: DpEvent) -> None:
        self._open().charge(event, part)

    def _charged_before(self) -> Mapping[str, DpEvent]:
        return {} if self._run is None else dict(self._ledger.charges(self._run))

    def _require_charged(self) -> None:
        """Refuse a ledger that knows less than the folder."""
        for part in self._folder.parts():
            is_paid = part in ("start", "control") or part.startswith("chunk-")
            if is_paid and part not in self._charged:
                raise FileError(
                    f"{self._folder.path} holds {part!r}, for which the ledger "
                    f"{self._ledger.place} was never charged: the ledger is older than "
                    "the folder, or another one. Put back the newer ledger."
                )


def charged_in_folder(folder: RunFolder) -> dict[str, DpEvent]:
    """The parts of a run without a ledger that were begun, and what for."""
    begun = [part for part in folder.parts() if part.startswith(_BEGUN)]
    return {part.removeprefix(_BEGUN): _event_of(folder, part) for part in begun}


def _event_of(folder: RunFolder, begun: str) -> DpEvent:
    kept = folder.read(begun)
    if "event" not in kept:
        raise FileError(
            f"{folder.path} was begun with another version of dpmcmc, which did not "
            "write down what it charged. Begin another run, in another folder."
        )
    return decode(json.loads(str(kept["event"])))


def _covering(totals: Sequence[DpEvent]) -> DpEvent:
    """One event that covers each way that the run may go."""
    if len(totals) == 1:
        return totals[0]
    tallies = [tally_of(total) for total in totals]
    counts = reduce(or_, (tally.counts for tally in tallies))
    return Tally(max(tally.square for tally in tallies), counts).event()
