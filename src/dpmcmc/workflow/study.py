# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A study: a model, and how the columns of a table become its records.

Everything in it is public: it is written before anyone looks at the records. It lives
in a Python file, of which `load_study` reads one object.
"""

import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmcmc.adapters.libraries import adapted, is_of_library
from dpmcmc.errors import InputError, require_count
from dpmcmc.files import DataFile, FileError
from dpmcmc.files.problems import not_readable
from dpmcmc.model import Model, Preparation, Schema
from dpmcmc.model.schema import as_schema
from dpmcmc.models.formulas import columns_of, formula
from dpmcmc.private import Records
from dpmcmc.rehearsal.simulate import Covariates
from dpmcmc.workflow.job import Job

if TYPE_CHECKING:
    from dpmcmc.adapters import NumPyro, PyMC

__all__ = ["Study", "load_study", "study_of"]


@dataclass(frozen=True, eq=False)
class Study:
    """A model, and what is done to a table before it.

    Parameters
    ----------
    model
        A `Model` whose records have named columns; or a NumPyro or PyMC model that
        takes columns by name, in `dpmcmc.NumPyro` or `dpmcmc.PyMC` where more must be
        said of it.
    columns
        The columns that are read; unless given, those that such a model takes (its
        arguments without a default, or with None for one), that the schema declares,
        or all of a Parquet or Arrow file. Those of a text file must be named or
        declared.
    schema
        What is known of the columns and of units: a `dpmcmc.Schema`.
    preparation
        What is done to each record before the model reads it, by public bounds.
    covariates
        Where covariates of simulated records come from, as in `rehearse`.
    """

    model: "Model | NumPyro | PyMC | Callable[..., Any]"
    columns: Sequence[str] | None = None
    schema: Schema = field(default_factory=Schema)
    preparation: Preparation | None = None
    covariates: Covariates = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", as_schema(self.schema))

    def open(self, path: str | Path) -> DataFile:
        """Open the columns of a data file; no value is read."""
        return DataFile(path, self.names(), schema=self.schema)

    def records(
        self, path: str | Path, in_parts: bool = False, streamed: bool = False
    ) -> Records:
        """Seal the records of a data file; ids of units are read, to be counted.

        Streamed records are in parts, if only of one process.
        """
        parts = in_parts or streamed
        return Records(self.open(path), in_parts=parts, streamed=streamed)

    def names(self) -> tuple[str, ...] | None:
        """The columns that are read; None for those of the schema or the table."""
        if self.columns is not None:
            return tuple(self.columns)
        if isinstance(self.model, Model):
            return None
        made: Any = adapted(self.model) if is_of_library(self.model) else self.model
        function = getattr(made, "model", made)
        if not callable(function):
            return tuple(made.columns)
        taken = inspect.signature(function).parameters
        kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return tuple(
            one.name
            for one in taken.values()
            if one.kind not in kinds
            and (one.default is one.empty or one.default is None)
        )

    @property
    def declared(self) -> Schema:
        """What is known of the columns that are read."""
        names = self.names()
        return self.schema if names is None else self.schema.of(names)

    def prepared_model(self) -> Any:
        """The model with the preparation before its own.

        A level of a column that the preparation changes is called ``region[0]`` instead
        of ``region=0``: its codes are no longer those of the table.
        """
        model: Any = self.model
        if not isinstance(model, Model) and not hasattr(model, "for_records"):
            model = adapted(model)
        before, own = self.preparation, model.preparation
        if before is None:
            return model
        whole = before if own is None else before.then(own)
        texts = {
            f"{name}={code}": f"{name}[{code}]"
            for name, one in self.schema.columns.items()
            if name in before.made
            for code in range(len(one.levels or ()))
        }
        coords = {
            dim: [texts.get(name, name) for name in names]
            for dim, names in model.coords.items()
        }
        return replace(model, preparation=whole, coords=coords)

    def stand_in(self, data: str | Path | None, records: int | None) -> Any:
        """What has the shape of the records: zeros, for a rehearsal.

        Parameters
        ----------
        data
            A data file, of which only the schema and the number of records are read.
        records
            How many records there are, if not as many as in the file.

        Returns
        -------
        dict or int
            A column of zeros by name; or the number of records alone, which is enough
            for a `Model` whose columns are not named.
        """
        if self.schema.unit is not None:
            raise InputError(
                f"the study protects units by {self.schema.unit!r}, but a rehearsal "
                "simulates single records. Rehearse without a unit, which shows a "
                "weaker promise at a smaller cost."
            )
        if data is None and records is None and self.schema.size is None:
            raise InputError(
                "neither data nor a number of records was given. Give one of them; "
                "nothing is read of data but its schema."
            )
        file = None if data is None else self.open(data)
        names = self.names() or tuple(self.schema.columns)
        known = self.schema.size if records is None else records
        count = len(file) if file is not None and known is None else known
        count = require_count("records", count, "Give the number of records.")
        if file is None and not names:
            return count
        declared = {name: one.dtype for name, one in self.schema.columns.items()}
        kinds = {name: declared.get(name, np.dtype(np.float64)) for name in names}
        kinds = kinds if file is None else file.dtypes
        return {name: np.zeros(count, kind) for name, kind in kinds.items()}


def load_study(place: str) -> tuple[Study, str]:
    """Read a study, a `Model`, a NumPyro or a PyMC model from a Python file.

    The file is run as Python code.

    Parameters
    ----------
    place
        The file and the name in it, such as ``model.py:model``.

    Returns
    -------
    tuple of Study and str
        The study; and the SHA-256 of the file, by which a run that goes on knows the
        same model.

    Raises
    ------
    FileError
        If there is no such file or name, it cannot be run, or it is no model.
    """
    file, colon, name = place.rpartition(":")
    if not colon or not name.isidentifier():
        raise FileError(
            f"the model is {place!r}; it must be a Python file and a name in it, such "
            "as model.py:model."
        )
    path = Path(file)
    if path.suffix != ".py":
        raise FileError(f"{path} is no Python file. Give one that ends in .py.")
    try:
        source = path.read_bytes()
    except OSError as error:
        raise not_readable(path, error) from None
    found = getattr(_module(path, source), name, None)
    if found is None:
        raise FileError(f"{path} has no {name!r}. Name the model that it holds.")
    is_model = isinstance(found, Model) or hasattr(found, "for_records")
    if isinstance(found, type) or not (
        is_model or is_of_library(found) or isinstance(found, Study)
    ):
        raise FileError(
            f"{place} is a {type(found).__name__}; it must be a dpmcmc.Model, a "
            "NumPyro or PyMC model, or a dpmcmc.workflow.Study."
        )
    study = found if isinstance(found, Study) else Study(found)
    return study, hashlib.sha256(source).hexdigest()


def study_of(job: Job) -> tuple[Study, str]:
    """The study of a job, with what the job adds to it, and the SHA-256 of its file."""
    if job.is_formula:
        return _study_of_formula(job)
    if job.family is not None:
        raise InputError(
            f"the family is {job.family!r}, but {job.model} is no formula. Leave the "
            "family out, or write a formula such as 'ill ~ age + income'."
        )
    study, digest = load_study(job.model)
    schema = study.schema.joined(as_schema(job.schema))
    study = replace(
        study,
        columns=study.columns if job.columns is None else job.columns,
        schema=schema.joined(Schema(unit=job.unit, most=job.most)),
    )
    return study, digest


def _study_of_formula(job: Job) -> tuple[Study, str]:
    """The study of a formula, with the bounds and levels of the job's schema."""
    if job.columns is not None:
        raise InputError("a formula names its columns. Leave the columns out.")
    schema = as_schema(job.schema).joined(Schema(unit=job.unit, most=job.most))
    model = formula(job.model, family=job.family or "gaussian", schema=schema)
    assert model.declared is not None
    declared = json.dumps(model.declared, sort_keys=True)
    digest = hashlib.sha256(declared.encode()).hexdigest()
    return Study(model, columns_of(model.declared), schema), digest


def _module(path: Path, source: bytes) -> ModuleType:
    """Run Python code, with its folder among the places to import from.

    What is run is what was hashed: no cache of the compiled file comes between.
    """
    module = ModuleType(f"study of {path.stem}")  # which no import statement can name
    module.__file__ = str(path)
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    sys.modules[module.__name__] = module  # dataclasses look for their module there
    try:
        exec(compile(source, path, "exec"), module.__dict__)
    except InputError as problem:
        raise FileError(f"{path} cannot be run: {problem}") from None
    except (Exception, SystemExit) as problem:
        said = " ".join(str(problem).split()).rstrip(".")
        raise FileError(
            f"{path} cannot be run: {type(problem).__name__}{said and ': ' + said}. "
            f"Fix it; python {path} shows where."
        ) from problem
    finally:
        sys.path.remove(folder)
    return module
