# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What a job that was interrupted or stopped has spent, and how to go on with it."""

import shlex
from pathlib import Path

from dpmcmc.files import RunFolder
from dpmcmc.ledger import Overview
from dpmcmc.workflow.checkpoints import checkpoint_for
from dpmcmc.workflow.job import job_of, open_ledger

__all__ = ["how_it_stands", "interrupted"]

_SUM = "sum-sum"
"""The one part without which nothing goes on: that of `SufficientStatistics`. A fit and
a chain go on without what they lost."""


def interrupted(out: str | Path, *, ledger: str | None = None) -> str:
    """Say in words what the job in a folder has spent, and how to go on with it.

    The command to go on with is in a line of its own.

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
    command = f"Go on with:\n  dpmcmc sample --resume --out {shlex.quote(str(out))}"
    if "reserved" not in folder.facts:
        return f"Nothing was spent. {command}"
    with open_ledger(job_of(folder, ledger=ledger)) as (job, opened):
        lost = checkpoint_for(job, folder, opened, lambda _: None).lost
        standing = "There is no ledger that was charged."
        if opened is not None:
            standing = how_it_stands(opened.overview(job.dataset))
    if _SUM in lost:
        return (
            f"Its part {_SUM!r} was paid for and is lost, so that it cannot go "
            f"on: begin another run, in another folder. {standing}"
        )
    return (
        "What was charged stays charged, and what was released is kept. "
        f"{standing} {command}"
    )


def how_it_stands(view: Overview) -> str:
    """Say in one sentence how a budget stands."""
    return (
        f"Of the budget of {view.dataset} (ε = {view.epsilon:g}, δ = {view.delta:g}), "
        f"{view.spent:.2%} is spent, {view.reserved:.2%} reserved by open runs, and "
        f"{view.left:.2%} left."
    )
