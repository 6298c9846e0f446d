# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Custody of a run: a folder that keeps what is released, and a ledger that is charged.

A part is charged before a record is read for it. A run that was broken off is taken up
with the parts that its folder kept, and never makes again what was charged.
"""

from collections.abc import Callable, Sequence

from dp_accounting.dp_event import DpEvent

from dpmcmc.custody import Arrays
from dpmcmc.files import FileError, RunFolder
from dpmcmc.ledger import Ledger, Reservation
from dpmcmc.ledger.codec import encode
from dpmcmc.statement import Statement

__all__ = ["Ask", "FolderCustody", "LedgerCustody"]

Ask = Callable[[Statement, int], None]
"""Shows what is about to be spent, and raises if it is not wanted. It is given the
statement of the costliest way that the run may go, and how many such ways there are."""

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

    def reserve(self, totals: Sequence[DpEvent], statement: Statement) -> None:
        """Ask; or, for a run that was broken off, see that it is still the same."""
        now = [encode(total) for total in totals]
        before = self._folder.facts.get("totals")
        if before is None:
            self._ask(statement, len(totals))
            self._set_aside(totals, statement)
            self._folder.note({"totals": now})
        elif before != now:
            raise FileError(
                f"{self._folder.path} was begun with other settings, or with another "
                "version of dpmcmc: the run would not cost what it was to cost. Begin "
                "another run, in another folder."
            )

    def charge(self, part: str, event: DpEvent) -> None:
        """Charge a part, once in the life of a run.

        Guarantee
        ---------
        When this has returned, the folder (or the ledger) durably says that the part
        was charged, and it raises if it said so before.
        """
        if self.is_charged(part):
            raise FileError(
                f"the run in {self._folder.path} was broken off during its part "
                f"{part!r}, which is paid for and lost; what came after cannot be made "
                "without it. Begin another run, in another folder."
            )
        self._pay(part, event)

    def is_charged(self, part: str) -> bool:
        """Whether a part was ever charged."""
        return _BEGUN + part in self._folder.parts()

    def keep(self, part: str, arrays: Arrays) -> None:
        """Keep what was released."""
        self._folder.keep(part, arrays)

    def kept(self, part: str) -> Arrays | None:
        """What was released, if it was kept."""
        return self._folder.read(part) if part in self._folder.parts() else None

    def close(self) -> None:
        """Give back what was set aside and not spent."""

    def _set_aside(self, totals: Sequence[DpEvent], statement: Statement) -> None:
        """Hold the cost of the whole run; a folder holds none."""

    def _pay(self, part: str, event: DpEvent) -> None:  # noqa: ARG002 - nobody is paid
        self._folder.keep(_BEGUN + part, {})


class LedgerCustody(FolderCustody):
    """Keeps what a run releases in its folder, and charges a ledger for it.

    Parameters
    ----------
    folder, ask
        As above.
    ledger, dataset, spender, purpose, only
        Where to reserve, and for whom and what; as in `Ledger.reserve`.
    """

    def __init__(
        self,
        folder: RunFolder,
        ask: Ask,
        ledger: Ledger,
        dataset: str,
        *,
        spender: str,
        purpose: str,
        only: bool,
    ) -> None:
        super().__init__(folder, ask)
        self._ledger, self._dataset = ledger, dataset
        self._spender, self._purpose, self._only = spender, purpose, only
        run = folder.facts.get("run")
        self._reservation: Reservation | None = None
        if run is not None:
            self._reservation = ledger.resume(run, spender)

    @property
    def run(self) -> str | None:
        """The id of the run in the ledger, once it has one."""
        return None if self._reservation is None else self._reservation.run

    def is_charged(self, part: str) -> bool:
        """Whether the ledger was ever charged for a part."""
        reservation = self._reservation
        return reservation is not None and part in reservation.parts()

    def close(self) -> None:
        """Give back what was reserved and not charged."""
        if self._reservation is not None:
            self._reservation.close()

    def _set_aside(self, totals: Sequence[DpEvent], statement: Statement) -> None:
        self._reservation = self._ledger.reserve(
            self._dataset,
            totals,
            spender=self._spender,
            purpose=self._purpose,
            only=self._only,
            claims=(statement.epsilon, statement.delta),
        )
        self._folder.note({"run": self._reservation.run})

    def _pay(self, part: str, event: DpEvent) -> None:
        assert self._reservation is not None
        self._reservation.charge(event, part)
