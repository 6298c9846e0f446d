# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A job: from a data file and a model to draws, a statement and a report.

The settings of a job are written into its folder before anything is spent, so that a
job that was broken off can be taken up from its folder alone.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from dpmcmc import sampler
from dpmcmc.acceptance import MinibatchBarker
from dpmcmc.errors import InputError
from dpmcmc.files import FileError, RunFolder
from dpmcmc.ledger import Ledger, Overview
from dpmcmc.posterior import Posterior
from dpmcmc.proposals import Adaptive, RandomWalk
from dpmcmc.report import Budget, Entry, write_report
from dpmcmc.workflow.custody import Ask, FolderCustody, LedgerCustody
from dpmcmc.workflow.study import LoadedStudy, load_study

__all__ = ["Job", "Outcome", "report", "resume", "run"]

_REPORT = "report.html"


@dataclass(frozen=True)
class Job:
    """What is to be run, in plain values that a folder can keep.

    Attributes
    ----------
    model
        The Python file of the model, and its name in it: ``model.py:model``.
    data
        The data file.
    epsilon, delta
        The budget of the run.
    columns, levels, bounds
        The columns to read; the values that columns of text may have; public bounds
        to which columns are clamped. They add to what a study says.
    clip, steps, scale, batch, chains, tempering, start, warmup, precision, chunk
        As in `sample`; ``scale`` is that of an adaptive random walk, and ``batch``
        that of a `MinibatchBarker`. If none is given, the run chooses for itself.
    ledger, dataset, spender, purpose, only
        The ledger that is charged, if there is one, and in whose name; as in
        `Ledger.reserve`.
    """

    model: str
    data: str
    epsilon: float | None
    delta: float
    columns: tuple[str, ...] | None = None
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    clip: float | None = None
    steps: int | None = None
    scale: float | None = None
    batch: int | None = None
    chains: int = 1
    tempering: float | None = None
    start: str | None = None
    warmup: int | None = None
    precision: str | None = None
    chunk: int | None = None
    ledger: str | None = None
    dataset: str | None = None
    spender: str | None = None
    purpose: str = ""
    only: bool = False

    def settings(self) -> dict[str, Any]:
        """What `sample` is told besides the model, the records and the budget."""
        names = ("clip", "steps", "chains", "tempering", "start", "warmup", "chunk")
        told = {name: getattr(self, name) for name in (*names, "precision")}
        if self.scale is not None:
            told["proposal"] = Adaptive(RandomWalk(self.scale))
        if self.batch is not None:
            told["test"] = MinibatchBarker(self.batch)
        return told


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
        Is shown the statement before anything is spent, and raises if it is not
        wanted; then the folder is left without a run.
    progress
        Whether to show progress bars and the choice.

    Raises
    ------
    InputError
        If something cannot be used or paid; nothing was read or spent then. If the
        ledger fails later, what was released before is in the folder.
    """
    loaded = load_study(job.model)
    with _ledger(job) as ledger:
        folder = RunFolder.create(out, {"job": asdict(job), "model": loaded.digest})
        with folder:
            try:
                return _go(job, loaded, folder, ledger, ask, progress)
            except BaseException:
                if "totals" not in folder.facts:  # nothing was set aside
                    folder.discard()
                raise


def resume(
    out: str | Path, *, ask: Ask, data: str | None = None, progress: bool = True
) -> Outcome:
    """Go on with a job that was broken off, from what its folder kept.

    Parameters
    ----------
    out
        The folder of the job.
    data
        Where the data file is now, if it was moved.
    ask, progress
        As in `run`.
    """
    with RunFolder.open(out, write=True) as folder:
        job = _job_of(folder)
        job = job if data is None else replace(job, data=data)
        loaded = load_study(job.model)
        if loaded.digest != folder.facts["model"]:
            raise FileError(
                f"{job.model} is not what it was when {folder.path} was begun. Put the "
                "old file back, or begin another run."
            )
        with _ledger(job) as ledger:
            return _go(job, loaded, folder, ledger, ask, progress)


def report(out: str | Path, *, title: str | None = None) -> Path:
    """Write the report of a finished job anew, from its folder."""
    folder = RunFolder.open(out)
    job = _job_of(folder)
    posterior = folder.posterior()
    standing = None
    if job.ledger is not None:
        with _ledger(job) as ledger:
            assert ledger is not None
            standing = ledger.overview(_dataset(job))
    return _report(job, folder, posterior, standing, title)


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
            study.model,
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
    finally:
        custody.close()
    standing = None if ledger is None else ledger.overview(_dataset(job))
    page = _report(job, folder, posterior, standing, None)
    return Outcome(posterior, folder.path, page, standing)


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
        spender=_spender(job),
        purpose=job.purpose,
        only=job.only,
    )


@contextmanager
def _ledger(job: Job) -> Iterator[Ledger | None]:
    if job.ledger is None:
        if job.only or job.dataset is not None:
            raise InputError(
                "dataset and only are for runs with a ledger, but none was given. Name "
                "the ledger, or leave them out."
            )
        yield None
        return
    with Ledger.open(job.ledger, create=False) as ledger:
        known = ledger.datasets()
        if job.dataset is None or job.dataset not in known:
            raise InputError(
                f"the data set is {job.dataset!r}; the ledger has "
                f"{', '.join(map(repr, known)) or 'none'}. Name one of them, or "
                "register it."
            )
        yield ledger


def _dataset(job: Job) -> str:
    assert job.dataset is not None
    return job.dataset


def _spender(job: Job) -> str:
    assert job.spender is not None
    return job.spender


def _job_of(folder: RunFolder) -> Job:
    kept = folder.facts.get("job")
    if not isinstance(kept, dict) or set(kept) != {one.name for one in fields(Job)}:
        raise FileError(
            f"{folder.path} is not the folder of a job that this version of dpmcmc can "
            "read. Use the version that began it."
        )
    pairs = {name: tuple(pair) for name, pair in kept["bounds"].items()}
    levels = {name: tuple(values) for name, values in kept["levels"].items()}
    columns = None if kept["columns"] is None else tuple(kept["columns"])
    return Job(**{**kept, "bounds": pairs, "levels": levels, "columns": columns})


def _report(
    job: Job,
    folder: RunFolder,
    posterior: Posterior,
    standing: Overview | None,
    title: str | None,
) -> Path:
    asked = {
        "Model": job.model,
        "Data set": job.dataset or Path(job.data).name,
        "Records": f"{posterior.statement.records:,}",
        **({"Purpose": job.purpose} if job.purpose else {}),
        **({"Asked by": job.spender} if job.spender else {}),
    }
    return write_report(
        posterior,
        folder.path / _REPORT,
        title=title or job.purpose or None,
        asked=asked,
        budget=None if standing is None else _budget(standing, folder),
        rehearsal_text=posterior.settings.get("choice"),
    )


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
            Entry(one.run, one.spender, one.purpose, one.claims[0], one.state)
            for one in standing.runs
            if one.claims is not None
        ),
        this_run=folder.facts.get("run", ""),
    )
