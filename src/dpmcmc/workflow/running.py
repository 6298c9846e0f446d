# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Running a job: from a data file and a model to draws, a statement and a report."""

import json
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import NamedTuple, cast

import yaml

from dpmcmc.errors import InputError, NotUsableError, StoppedError
from dpmcmc.files import FileError, RunFolder
from dpmcmc.files.writing import write_safely
from dpmcmc.ledger import Ledger, Overview
from dpmcmc.model.schema import as_schema
from dpmcmc.posterior import Posterior, Statement
from dpmcmc.report import Budget, BudgetEntry, filing, write_report
from dpmcmc.workflow.checkpoints import Ask, Question, checkpoint_for
from dpmcmc.workflow.duration import expected_seconds
from dpmcmc.workflow.following import announced, drawn
from dpmcmc.workflow.interrupted import interrupted
from dpmcmc.workflow.job import Job, facts_of, job_of, open_ledger, settled
from dpmcmc.workflow.study import Study, study_of

__all__ = ["Outcome", "budget_of", "report", "resume", "run", "write_filing"]


class Outcome(NamedTuple):
    """What a job left behind: the draws, and where the folder and the report are.

    ``standing`` is how the budget stands now, if the job has a ledger.
    """

    posterior: Posterior
    folder: Path
    report: Path
    standing: Overview | None


def run(job: Job, out: str | Path, *, ask: Ask, progress: bool = True) -> Outcome:
    """Run a job, and write what it released into a new folder.

    Parameters
    ----------
    job
        What to run.
    out
        The folder: new, or empty.
    ask
        Is shown what is about to be spent, and raises if it is not wanted; then no
        folder is left, and nothing is reserved.
    progress
        Whether to show progress bars.

    Raises
    ------
    InputError
        If something cannot be used or paid; nothing was read or spent.
    NotUsableError
        If what was released says that the rest would be of no use. The folder has
        what was released and its statement; the rest was not spent.
    StoppedError
        If something failed after part of the budget was spent. What was released is
        in the folder, from which `resume` goes on.
    """
    is_new = not Path(out).exists()
    with announced() as others, open_ledger(settled(job)) as (whole, ledger):
        study, digest = study_of(whole)
        facts = {
            "job": facts_of(whole),
            "model": digest,
            "begun": date.today().isoformat(),
            "schema": study.declared.to_dict(),
        }
        with RunFolder.create(out, facts) as folder:
            try:
                others.make(whole, digest)
                return _go(whole, study, folder, ledger, ask, progress)
            except BaseException:
                if "reserved" not in folder.facts:  # nothing was spent
                    folder.discard()
                    if is_new:
                        folder.path.rmdir()
                raise


def resume(
    out: str | Path,
    *,
    ask: Ask,
    progress: bool = True,
    model: str | None = None,
    data: str | None = None,
    ledger: str | None = None,
    analyst: str | None = None,
) -> Outcome:
    """Go on with a job that was interrupted, from what its folder kept.

    Parameters
    ----------
    out
        The folder of the job.
    ask, progress
        As in `run`. Nobody is asked again for what was agreed to.
    model, data, ledger
        Where they are now, if they were moved or if the URL of the ledger has a
        password, which a folder never keeps. Nothing else can be changed.
    analyst
        Who goes on, if it is another.

    Raises
    ------
    InputError, NotUsableError, StoppedError
        As in `run`.
    """
    with announced() as others, RunFolder.open(out, write=True) as folder:
        moved = {"model": model, "data": data, "ledger": ledger, "analyst": analyst}
        job = settled(job_of(folder, **moved))
        study, digest = study_of(job)
        if digest != folder.facts["model"]:
            raise FileError(
                f"{job.model} is not what it was when {folder.path} was begun. Put the "
                "old file back, or begin another run."
            )
        with open_ledger(job) as (job, opened):
            others.make(job, digest)
            return _go(job, study, folder, opened, ask, progress)


def report(out: str | Path, *, title: str = "", ledger: str | None = None) -> Path:
    """Write the report of a finished job anew, from its folder.

    Parameters
    ----------
    out
        The folder of the job.
    title
        The title of the page.
    ledger
        Where the ledger is now, if it is not where it was.
    """
    folder = RunFolder.open(out)
    posterior = folder.posterior()
    with open_ledger(job_of(folder, ledger=ledger)) as (job, opened):
        standing = None if opened is None else opened.overview(job.dataset)
    return _report(job, folder, posterior, standing, title)


def write_filing(out: str | Path, place: str | Path, *, title: str = "") -> Path:
    """Write the statement of a finished job as a registry of deployments asks.

    Parameters
    ----------
    out
        The folder of the job.
    place
        The file to write: ``.json``, ``.yaml`` or ``.yml``.
    title
        The name of the deployment.
    """
    path, folder = Path(place), RunFolder.open(out)
    if path.suffix not in (".json", ".yaml", ".yml"):
        raise InputError(f"{path} must end in .json, .yaml or .yml. Rename it.")
    job = job_of(folder)
    values = filing(
        folder.posterior().statement,
        name=title or job.dataset,
        intended_use=job.purpose,
    )
    text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
    if path.suffix == ".json":
        text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
    write_safely(path, text.encode())
    return path


def _go(
    job: Job,
    study: Study,
    folder: RunFolder,
    ledger: Ledger | None,
    ask: Ask,
    progress: bool,
) -> Outcome:

    def agreed(question: Question) -> None:
        seconds = expected_seconds(job, study, question.statement)
        ask(question._replace(seconds=seconds))

    checkpoint = checkpoint_for(job, folder, ledger, agreed)
    try:
        posterior = drawn(job, study, checkpoint, progress)
        folder.save_posterior(posterior)
    except NotUsableError as stopped:
        folder.save_statement(cast(Statement, stopped.statement))
        checkpoint.finish()
        raise
    except BaseException as error:
        with suppress(InputError):  # what went wrong first is what is said
            checkpoint.give_back()
            if isinstance(error, StoppedError):
                error.add_note(interrupted(folder.path))
        raise
    checkpoint.finish()
    standing = None if ledger is None else ledger.overview(job.dataset)
    page = _report(job, folder, posterior, standing, "")
    return Outcome(posterior, folder.path, page, standing)


def _report(
    job: Job,
    folder: RunFolder,
    posterior: Posterior,
    standing: Overview | None,
    title: str,
) -> Path:
    asked = {
        "Formula" if job.is_formula else "Model": job.model
        if job.is_formula
        else Path(job.model).name,
        "Family": (job.family or "gaussian") if job.is_formula else "",
        "Data set": job.dataset or Path(job.data or "").name,
        "Protected": posterior.statement.counted,
        "Date": folder.facts.get("begun", ""),
        "Purpose": job.purpose,
        "Asked by": job.analyst,
    }
    return write_report(
        posterior,
        folder.path / "report.html",
        title=title or job.purpose,
        asked={name: text for name, text in asked.items() if text},
        schema=as_schema(folder.facts.get("schema")),
        budget=None
        if standing is None
        else budget_of(standing, folder.facts.get("run", "")),
    )


def budget_of(standing: Overview, run: str = "") -> Budget:
    """How a budget stands, as reports and pictures show it; ``run`` is their own."""
    spent, reserved = standing.spent, min(standing.reserved, 1 - standing.spent)
    return Budget(
        dataset=standing.dataset,
        epsilon=standing.epsilon,
        delta=standing.delta,
        spent=spent,
        reserved=reserved,
        left=1 - spent - reserved,
        entries=tuple(
            BudgetEntry(one.run, one.analyst, one.purpose, one.time[:10], one.spent)
            for one in standing.runs
        ),
        this_run=run,
    )
