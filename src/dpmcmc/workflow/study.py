# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A study: a model, and how the columns of a table become its records.

Everything in it is public: it is written before anyone looks at the records. It lives
in a Python file, of which `load_study` reads one object.
"""

import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from dpmcmc.errors import InputError
from dpmcmc.files import DataFile, FileError
from dpmcmc.model.model import Model
from dpmcmc.model.preparation import Clamp, Preparation
from dpmcmc.private import Records
from dpmcmc.rehearsal import Covariates

__all__ = ["LoadedStudy", "Study", "load_study"]


@dataclass(frozen=True, eq=False)
class Study:
    """A model, and what is done to a table before it.

    Parameters
    ----------
    model
        A `Model` whose records have named columns, or a NumPyro model that takes
        columns by name.
    columns
        The columns that are read; unless given, all of a Parquet or Arrow file, or
        those that a NumPyro model takes: its arguments without a default, or with None
        for one. The columns of a text file must be named.
    levels
        For columns of text, the values that each may have.
    integers
        The columns that hold integers, such as codes of groups, if the file does not
        say so.
    preparation
        What is done to each record before the model reads it, by public bounds.
    covariates
        Where covariates of simulated records come from, as in `sample`.
    plate
        The plate of the records in a NumPyro model, as in `sample`.
    """

    model: Model | Callable[..., Any]
    columns: Sequence[str] | None = None
    levels: Mapping[str, Sequence[str]] | None = None
    integers: Sequence[str] = ()
    preparation: Preparation | None = None
    covariates: Covariates = None
    plate: str | None = None

    def open(self, path: str | Path) -> DataFile:
        """Open the columns of a data file; no value is read."""
        return DataFile(path, self.names(), levels=self.levels, integers=self.integers)

    def read(self, path: str | Path) -> Records:
        """Seal the columns of a data file, whose values are read when first needed."""
        return Records(self.open(path))

    def names(self) -> tuple[str, ...] | None:
        """The columns that are read; None for all of the table."""
        if self.columns is not None:
            return tuple(self.columns)
        if isinstance(self.model, Model):
            return None
        taken = inspect.signature(self.model).parameters.values()
        kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return tuple(
            one.name
            for one in taken
            if one.kind not in kinds
            and (one.default is one.empty or one.default is None)
        )

    def within(self, bounds: Mapping[str, tuple[float, float]]) -> "Study":
        """The same study, its columns first clamped to more public bounds."""
        if not bounds:
            return self
        clamped = Preparation({name: Clamp(*pair) for name, pair in bounds.items()})
        then = clamped if self.preparation is None else clamped.then(self.preparation)
        return replace(self, preparation=then)


@dataclass(frozen=True, eq=False)
class LoadedStudy:
    """A study with the place that it was read from.

    Attributes
    ----------
    study
        The study.
    place
        The file and the name in it, as ``model.py:name``.
    digest
        SHA-256 of the file, by which a run that goes on knows the same model.
    """

    study: Study
    place: str
    digest: str


def load_study(place: str) -> LoadedStudy:
    """Read a study, a `Model` or a NumPyro model from a Python file.

    The file is run as Python code.

    Parameters
    ----------
    place
        The file and the name in it, such as ``model.py:model``.

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
    if not path.is_file():
        raise FileError(f"there is no file {path}. Give the file of the model.")
    if path.suffix != ".py":
        raise FileError(f"{path} is no Python file. Give one that ends in .py.")
    try:
        source = path.read_bytes()
    except OSError as error:
        raise FileError(
            f"{path} cannot be read ({error.strerror}). Get leave to read it."
        ) from None
    digest = hashlib.sha256(source).hexdigest()
    found = getattr(_module(path, source), name, None)
    if found is None:
        raise FileError(f"{path} has no {name!r}. Name the model that it holds.")
    if isinstance(found, Study):
        return LoadedStudy(found, place, digest)
    if isinstance(found, type) or not (isinstance(found, Model) or callable(found)):
        raise FileError(
            f"{place} is a {type(found).__name__}; it must be a dpmcmc.Model, a "
            "NumPyro model or a dpmcmc.workflow.Study."
        )
    return LoadedStudy(Study(found), place, digest)


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
            f"Mend it; python {path} shows where."
        ) from problem
    finally:
        sys.path.remove(folder)
    return module
