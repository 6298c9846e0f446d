# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A job: what is to be run, in plain values.

The settings of a job are written into its folder before anything is spent, so that a
job that was broken off can be taken up from its folder alone.
"""

import getpass
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from dpmcmc.acceptance import MinibatchBarker
from dpmcmc.errors import InputError
from dpmcmc.files import FileError, RunFolder
from dpmcmc.ledger import Ledger
from dpmcmc.proposals import Adaptive, RandomWalk

__all__ = ["Job", "facts_of", "job_of", "named", "open_ledger", "settled"]


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
    ledger, dataset, analyst, purpose, only
        The ledger that is charged, if there is one, and in whose name; as in
        `Ledger.reserve`. A ledger with one data set needs no ``dataset``; the analyst
        is the user of the operating system unless given.
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
    chains: int | None = None
    tempering: float | None = None
    start: str | None = None
    warmup: int | None = None
    precision: str | None = None
    chunk: int | None = None
    ledger: str | None = None
    dataset: str | None = None
    analyst: str | None = None
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


def settled(job: Job) -> Job:
    """The same job, in any working folder: with whole paths and an analyst."""
    analyst, ledger = job.analyst, job.ledger
    if ledger is not None:
        analyst = getpass.getuser() if analyst is None else analyst
        ledger = ledger if "://" in ledger else _whole(ledger)
    return replace(
        job,
        model=_whole(job.model),
        data=_whole(job.data),
        ledger=ledger,
        analyst=analyst,
    )


def named(job: Job, ledger: Ledger | None) -> Job:
    """The same job with the name of its data set, if it is the only one there is."""
    if ledger is None or job.dataset is not None:
        return job
    (only,) = ledger.datasets()
    return replace(job, dataset=only)


def facts_of(job: Job) -> dict[str, Any]:
    """What a folder keeps of a job: all but a password."""
    ledger = job.ledger
    if ledger is not None and "://" in ledger:
        from sqlalchemy import make_url  # noqa: PLC0415 - optional

        from dpmcmc.ledger.store import without_password  # noqa: PLC0415 - optional

        ledger = without_password(make_url(ledger)).render_as_string()
    return asdict(replace(job, ledger=ledger))


def job_of(folder: RunFolder, **elsewhere: str | None) -> Job:
    """The job that a folder keeps, but for what is elsewhere now."""
    kept = folder.facts.get("job")
    if not isinstance(kept, dict) or set(kept) != {one.name for one in fields(Job)}:
        raise FileError(
            f"{folder.path} is not the folder of a job that this version of dpmcmc can "
            "read. Use the version that began it."
        )
    now = {name: value for name, value in elsewhere.items() if value is not None}
    if "ledger" in now and kept["ledger"] is None:
        raise InputError(
            f"{folder.path} was begun without a ledger, and goes on without one. Leave "
            "the ledger out, or begin another run."
        )
    pairs = {name: tuple(pair) for name, pair in kept["bounds"].items()}
    levels = {name: tuple(values) for name, values in kept["levels"].items()}
    columns = None if kept["columns"] is None else tuple(kept["columns"])
    return Job(**{**kept, "bounds": pairs, "levels": levels, "columns": columns, **now})


@contextmanager
def open_ledger(job: Job) -> Iterator[Ledger | None]:
    """The ledger of a job, which must know its data set; None if it has none."""
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
        if job.dataset not in known and not (job.dataset is None and len(known) == 1):
            raise InputError(
                f"the data set is {job.dataset!r}; the ledger has "
                f"{', '.join(map(repr, known)) or 'none'}. Name one of them, or "
                "register it."
            )
        yield ledger


def _whole(path: str) -> str:
    return str(Path(path).expanduser().absolute())
