# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a job that was broken off has spent, and whether it can go on."""

import shlex
from pathlib import Path

from dpmcmc.files import RunFolder
from dpmcmc.ledger import Overview
from dpmcmc.workflow.custody import FolderCustody, LedgerCustody
from dpmcmc.workflow.job import job_of, open_ledger

__all__ = ["broken_off", "how_it_stands"]

_NEEDED = ("start", "control")
"""Parts without which nothing that comes after can be made."""


def broken_off(out: str | Path, *, ledger: str | None = None) -> str:
    """Say in words what the job in a folder has spent, and how to go on with it.

    The command to go on with stands in a line of its own.

    Parameters
    ----------
    out
        The folder of the job; it may not be there.
    ledger
        Where the ledger is now, if it is not where it was.
    """
    if not (Path(out) / "run.json").exists():
        return "Nothing was spent."
    folder = RunFolder.open(out)
    if "totals" not in folder.facts:
        return f"Nothing was spent. {_command(out)}"
    job = job_of(folder, ledger=ledger)
    with open_ledger(job) as opened:
        custody = FolderCustody(folder, lambda _: None)
        said = "There is no ledger that was charged."
        if opened is not None:
            assert job.dataset is not None
            custody = LedgerCustody(
                folder,
                lambda _: None,
                opened,
                job.dataset,
                analyst=job.analyst or "",
                purpose=job.purpose,
                only=job.only,
            )
            said = how_it_stands(opened.overview(job.dataset))
        lost = [
            part
            for part in _NEEDED
            if custody.is_charged(part) and custody.kept(part) is None
        ]
    if lost:
        return (
            f"Its {lost[0]} was paid for and is lost, so that it cannot go on: begin "
            f"another run, in another folder. {said}"
        )
    return (
        "What was begun stays paid for, and what was made is kept. "
        f"{said} {_command(out)}"
    )


def _command(out: str | Path) -> str:
    return f"Go on with:\n  dpmcmc sample --resume --out {shlex.quote(str(out))}"


def how_it_stands(view: Overview) -> str:
    """Say in one sentence how a budget stands."""
    return (
        f"Of the budget of {view.dataset} (ε = {view.epsilon:g}, δ = {view.delta:g}), "
        f"{view.spent:.2%} is spent, {view.reserved:.2%} reserved by open runs, and "
        f"{view.left:.2%} left."
    )
