# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A job of several processes: the first has the folder and the ledger, others follow.

The first tells the others which job it is, or that there is none, and at the end that
everything is written, so that no process leaves before.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

from dpmcmc.errors import InputError, NotUsableError
from dpmcmc.files import FileError
from dpmcmc.posterior import Posterior
from dpmcmc.processes import on_all, require_all, together
from dpmcmc.sampling.checkpoint import Checkpoint
from dpmcmc.sampling.sample import sample
from dpmcmc.workflow.job import Job, facts_of, job_of_facts
from dpmcmc.workflow.shared_checkpoint import SharedCheckpoint, say
from dpmcmc.workflow.study import Study, study_of

__all__ = ["Announcement", "announced", "drawn", "follow"]

_PREPARED = "the model or the data could not be opened"


class Announcement:
    """What the first process says of its job."""

    def __init__(self) -> None:
        self.is_made = False

    def make(self, job: Job, digest: str) -> None:
        """Tell the others which job it is, and wait until all have opened it."""
        if together() == 1:
            return
        self.is_made = True
        say(lambda: {"job": facts_of(job), "model": digest})
        require_all(True, _PREPARED)


@contextmanager
def announced() -> Iterator[Announcement]:
    """On the first process: tell the others if there is no job, and when it is done."""
    one = Announcement()
    try:
        yield one
    except NotUsableError:  # which all of them raise
        _done()
        raise
    except BaseException as problem:
        if not one.is_made and together() > 1:
            with suppress(type(problem)):
                say(partial(_raised, problem))
        raise
    _done()


def follow() -> None:
    """On any other process: take part in the job of the first, and write nothing.

    Raises
    ------
    InputError
        If the first refused the job, or the model or data cannot be opened here.
    NotUsableError, StoppedError
        As in `run`.
    RuntimeError
        If the first failed.
    """
    said = say(lambda: None)
    job = job_of_facts(said["job"])
    with on_all(_PREPARED):
        study, digest = study_of(job)
        if digest != said["model"]:
            raise FileError(
                f"{job.model} is not the same file here as on the first process. Put "
                "it where all processes see it."
            )
        study.open(job.data or "")
    try:
        drawn(job, study, None, progress=False)
    except NotUsableError:
        _done()
        raise
    _done()


def drawn(
    job: Job, study: Study, checkpoint: Checkpoint | None, progress: bool
) -> Posterior:
    """The draws of a job; all processes that run together draw them together."""
    if job.data is None:
        raise InputError("the job names no data file. Give one.")
    if together() > 1:
        checkpoint = SharedCheckpoint(checkpoint)
    return sample(
        study.prepared_model(),
        study.records(job.data, job.in_parts, job.streamed),
        epsilon=job.epsilon,
        delta=job.delta,
        rho=job.rho,
        mu=job.mu,
        checkpoint=checkpoint,
        progress=progress,
        **job.settings(),
    )


def _done() -> None:
    """Wait until every process is here."""
    if together() > 1:
        require_all(True, "the job ended early")


def _raised(problem: BaseException) -> None:
    raise problem
