# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Running a job: from a data file and a model to draws, a statement and a report."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from dpmcmc import sampler
from dpmcmc.errors import InputError
from dpmcmc.files import FileError, RunFolder
from dpmcmc.ledger import Ledger, Overview
from dpmcmc.model.labels import with_levels
from dpmcmc.model.model import Model
from dpmcmc.posterior.posterior import Posterior
from dpmcmc.report import Budget, Entry, Part, parts_of, write_report
from dpmcmc.workflow.custody import (
    Ask,
    FolderCustody,
    LedgerCustody,
    charged_in_folder,
)
from dpmcmc.workflow.job import Job, facts_of, job_of, named, open_ledger, settled
from dpmcmc.workflow.study import LoadedStudy, Study, load_study

__all__ = ["Outcome", "report", "resume", "run"]

_REPORT = "report.html"


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
        Whether to show progress bars and the choice.

    Raises
    ------
    InputError
        If something cannot be used or paid; nothing was read or spent then. If the
        ledger fails later, what was released before is in the folder.
    """
    job = settled(job)
    loaded = load_study(job.model)
    is_new = not Path(out).exists()
    with open_ledger(job) as ledger:
        job = named(job, ledger)
        facts = {"job": facts_of(job), "model": loaded.digest}
        with RunFolder.create(out, facts) as folder:
            try:
                return _go(job, loaded, folder, ledger, ask, progress)
            except BaseException:
                if "totals" not in folder.facts:  # nothing was set aside
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
    """Go on with a job that was broken off, from what its folder kept.

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
    """
    with RunFolder.open(out, write=True) as folder:
        moved = {"model": model, "data": data, "ledger": ledger, "analyst": analyst}
        job = settled(job_of(folder, **moved))
        loaded = load_study(job.model)
        if loaded.digest != folder.facts["model"]:
            raise FileError(
                f"{job.model} is not what it was when {folder.path} was begun. Put the "
                "old file back, or begin another run."
            )
        with open_ledger(job) as opened:
            return _go(job, loaded, folder, opened, ask, progress)


def report(
    out: str | Path, *, title: str | None = None, ledger: str | None = None
) -> Path:
    """Write the report of a finished job anew, from its folder.

    Parameters
    ----------
    out
        The folder of the job.
    title
        What the page is called.
    ledger
        Where the ledger is now, if it is not where it was.
    """
    folder = RunFolder.open(out)
    job = job_of(folder, ledger=ledger)
    posterior = folder.posterior()
    with open_ledger(job) as opened:
        return _report(job, folder, posterior, opened, title)


def _go(
    job: Job,
    loaded: LoadedStudy,
    folder: RunFolder,
    ledger: Ledger | None,
    ask: Ask,
    progress: bool,
) -> Outcome:
    study = loaded.study
    study = replace(
        study,
        columns=study.columns if job.columns is None else job.columns,
        levels={**(study.levels or {}), **job.levels},
    ).within(job.bounds)
    records = study.read(job.data)
    custody = _custody(job, folder, ledger, ask)
    try:
        posterior = sampler.sample(
            _labelled(study),
            records,
            epsilon=job.epsilon,
            delta=job.delta,
            preparation=study.preparation,
            plate=study.plate,
            covariates=study.covariates if _is_untold(job) else None,
            custody=custody,
            progress=progress,
            **job.settings(),
        )
        folder.save_posterior(posterior)
    except BaseException:
        with suppress(InputError):  # what went wrong first is what is said
            custody.give_back()
        raise
    custody.finish()
    standing = None if ledger is None else ledger.overview(_dataset(job))
    page = _report(job, folder, posterior, ledger, None)
    return Outcome(posterior, folder.path, page, standing)


def _labelled(study: Study) -> Model | Callable[..., Any]:
    """The model, in whose labels levels stand by their texts.

    Not those of columns that were changed before the model sees them.
    """
    model, before = study.model, study.preparation
    changed = frozenset() if before is None else before.made
    levels = {
        name: texts
        for name, texts in (study.levels or {}).items()
        if name not in changed
    }
    if not isinstance(model, Model) or not levels:
        return model
    return replace(model, labels=with_levels(model.labels, levels))


def _is_untold(job: Job) -> bool:
    """Whether the run chooses for itself."""
    told = job.settings()
    usual = {"chains", "warmup", "chunk", "precision"}
    return all(told[name] is None for name in told if name not in usual)


def _custody(
    job: Job, folder: RunFolder, ledger: Ledger | None, ask: Ask
) -> FolderCustody:
    if ledger is None:
        return FolderCustody(folder, ask)
    return LedgerCustody(
        folder,
        ask,
        ledger,
        _dataset(job),
        analyst=_analyst(job),
        purpose=job.purpose,
        only=job.only,
    )


def _dataset(job: Job) -> str:
    assert job.dataset is not None
    return job.dataset


def _analyst(job: Job) -> str:
    assert job.analyst is not None
    return job.analyst


def _report(
    job: Job,
    folder: RunFolder,
    posterior: Posterior,
    ledger: Ledger | None,
    title: str | None,
) -> Path:
    standing = None if ledger is None else ledger.overview(_dataset(job))
    asked = {
        "Model": Path(job.model).name,
        "Data set": job.dataset or Path(job.data).name,
        "Records": f"{posterior.statement.records:,}",
        **({"Purpose": job.purpose} if job.purpose else {}),
        **({"Asked by": job.analyst} if job.analyst else {}),
    }
    return write_report(
        posterior,
        folder.path / _REPORT,
        title=title or job.purpose or None,
        asked=asked,
        budget=None if standing is None else _budget(standing, folder),
        parts=_parts(folder, ledger, posterior.statement.delta),
        rehearsal_text=posterior.settings.get("choice"),
    )


def _parts(folder: RunFolder, ledger: Ledger | None, delta: float) -> tuple[Part, ...]:
    """What each kind of thing that the run released costs by itself."""
    run = folder.facts.get("run", "")
    if ledger is None:
        return parts_of(charged_in_folder(folder).items(), delta)
    return parts_of(ledger.charges(run), delta)


def _budget(standing: Overview, folder: RunFolder) -> Budget:
    spent, reserved = standing.spent, min(standing.reserved, 1 - standing.spent)
    return Budget(
        name=standing.dataset,
        epsilon=standing.epsilon,
        delta=standing.delta,
        spent=spent,
        reserved=reserved,
        left=1 - spent - reserved,
        entries=tuple(
            Entry(
                one.run,
                one.analyst,
                one.purpose,
                None if one.claims is None else one.claims[0],
                one.state,
                one.spent,
            )
            for one in standing.runs
        ),
        this_run=folder.facts.get("run", ""),
    )
