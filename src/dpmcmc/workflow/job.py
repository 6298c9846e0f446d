# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A job: what is to be run, in plain values.

The settings of a job are written into its folder before anything is spent, so that a
job that was interrupted can go on from its folder alone.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from dpmcmc.errors import InputError
from dpmcmc.files import FileError, RunFolder, read_schema
from dpmcmc.ledger import Ledger
from dpmcmc.ledger.texts import analyst_or_user
from dpmcmc.model.schema import as_schema
from dpmcmc.proposals import Adaptive, RandomWalk
from dpmcmc.sampling.plan import Method
from dpmcmc.sampling.sample import METHODS

__all__ = ["Job", "facts_of", "job_of", "job_of_facts", "open_ledger", "settled"]

_METHODS: dict[str, Any] = {
    re.sub(r"(?<=.)(?=[A-Z])", "-", kind.__name__).lower(): kind for kind in METHODS
}
"""Methods by the names that commands give them: `MinibatchBarker` is
``minibatch-barker``."""

_SETTINGS = {
    "clip": "clip",
    "batch": "batch",
    "tempering": "tempering",
    "scale": "proposal",
}
"""What a job says of its method, and which field of the method that is."""


@dataclass(frozen=True)
class Job:
    """What is to be run, in plain values that a folder can keep.

    Attributes
    ----------
    model
        The Python file of the model, and its name in it: ``model.py:model``; or a
        formula, such as ``ill ~ age + (1 | clinic)``.
    family
        The family of a formula; gaussian unless given.
    data
        The data file; none for a rehearsal of a number of records.
    epsilon, delta, rho, mu
        The budget of the run, as in `sample`.
    columns, schema
        The columns to read; and what is known of them, as a file or as the plain values
        of one (`dpmcmc.read_schema`). They add to what a study says.
    unit, most
        The column of ids of units that are protected with all their records, and how
        many records of a unit count; as in `Records`, and in place of the schema's.
    method
        ``control-variates``, ``sufficient-statistics``, ``barker``,
        ``gaussian-barker`` or ``minibatch-barker``; the default of `sample` unless
        given.
    clip, batch, tempering, scale
        Settings of the method. ``scale`` is that of an adaptive random walk.
    steps, chains, warmup, start, precision
        As in `sample`; ``start`` is ``prior`` or nothing.
    in_parts
        Whether the data, which is Parquet, is read in parts by all processes that run
        together; as in `Records`.
    streamed
        Whether the data, which is Parquet, stays on disk and passes through the devices
        in blocks; as in `Records`.
    ledger, dataset, analyst, purpose, only
        The ledger that is charged, if there is one, and in whose name; as in
        `Ledger.reserve`. A ledger with one data set needs no ``dataset``; the analyst
        is the user of the operating system unless given.
    """

    model: str
    data: str | None
    epsilon: float | None
    delta: float
    rho: float | None = None
    mu: float | None = None
    family: str | None = None
    columns: tuple[str, ...] | None = None
    schema: str | Mapping[str, Any] | None = None
    unit: str | None = None
    most: int | None = None
    method: str | None = None
    clip: float | None = None
    batch: int | None = None
    tempering: float | None = None
    scale: float | None = None
    steps: int | None = None
    chains: int | None = None
    warmup: int | None = None
    start: str | None = None
    precision: str | None = None
    in_parts: bool = False
    streamed: bool = False
    ledger: str | None = None
    dataset: str = ""
    analyst: str = ""
    purpose: str = ""
    only: bool = False

    @property
    def is_formula(self) -> bool:
        """Whether the model is a formula, and not a name in a file."""
        return "~" in self.model

    def made_method(self) -> Method | None:
        """The method with its settings; None for the default of `sample`.

        Raises
        ------
        InputError
            If there is no such method, or it has no such setting.
        """
        given = {name: getattr(self, name) for name in _SETTINGS}
        given = {name: value for name, value in given.items() if value is not None}
        if self.method is None and not given:
            return None
        if self.method not in _METHODS:
            raise InputError(
                f"method is {self.method!r}; it must be one of {', '.join(_METHODS)}. "
                "Leave it out, with clip, batch, tempering and scale, for the default."
            )
        kind = _METHODS[self.method]
        known = {one.name: one.default is not MISSING for one in fields(kind)}
        for name in given:
            if _SETTINGS[name] not in known:
                raise InputError(
                    f"{name} is {given[name]!r}, but the method {self.method} has no "
                    "such setting. Leave it out, or choose another method."
                )
        for name, has_default in known.items():
            if name not in given and not has_default:
                raise InputError(f"the method {self.method} needs a {name}. Give one.")
        if "scale" in given:
            given["scale"] = Adaptive(RandomWalk(given["scale"]))
        made: Method = kind(**{_SETTINGS[name]: given[name] for name in given})
        return made

    def settings(self) -> dict[str, Any]:
        """What `sample` is given beside the model, the records and the budget."""
        names = ("steps", "chains", "warmup", "start", "precision")
        given = {name: getattr(self, name) for name in names}
        return {**given, "method": self.made_method()}


def settled(job: Job) -> Job:
    """The same job, in any working folder: whole paths, an analyst, and its schema."""
    analyst, ledger = job.analyst, job.ledger
    if ledger is not None:
        analyst = analyst or analyst_or_user(None)
        ledger = ledger if "://" in ledger else _whole(ledger)
    data = job.data if job.data is None or "://" in job.data else _whole(job.data)
    model = job.model if job.is_formula else _whole(job.model)
    schema = job.schema
    if schema is not None:
        read = read_schema(schema) if isinstance(schema, str) else as_schema(schema)
        schema = read.to_dict()
    return replace(
        job, model=model, data=data, schema=schema, ledger=ledger, analyst=analyst
    )


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
    return job_of_facts({**kept, **now})


def job_of_facts(facts: Mapping[str, Any]) -> Job:
    """The job that `facts_of` wrote, as JSON has it."""
    columns = None if facts["columns"] is None else tuple(facts["columns"])
    return Job(**{**facts, "columns": columns})


@contextmanager
def open_ledger(job: Job) -> Iterator[tuple[Job, Ledger | None]]:
    """The job with the name of its data set, and its ledger; None if it has none."""
    if job.ledger is None:
        if job.only or job.dataset:
            raise InputError(
                "dataset and only are for runs with a ledger, but none was given. Name "
                "the ledger, or leave them out."
            )
        yield job, None
        return
    with Ledger.open(job.ledger, create=False) as ledger:
        known = ledger.datasets()
        dataset = job.dataset or (known[0] if len(known) == 1 else "")
        if dataset not in known:
            raise InputError(
                f"the data set is {job.dataset!r}; the ledger has "
                f"{', '.join(map(repr, known)) or 'none'}. Name one of them, or "
                "register it."
            )
        yield replace(job, dataset=dataset), ledger


def _whole(path: str) -> str:
    return str(Path(path).expanduser().absolute())
