# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The schema: what is known of a table without looking at its records.

The type of each column, its bounds or levels, what it is measured in; and which column
says whose a record is. All of it is public. What a value becomes follows from the
schema and that value alone.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np

from dpmcmc.errors import InputError, require_count
from dpmcmc.model.missing import Missing, as_missing, integrate_missing
from dpmcmc.model.preparation import Clamp, Preparation
from dpmcmc.model.preparation.public_numbers import show_range

__all__ = ["DeclaredColumn", "Schema", "as_schema", "days_since"]

_DTYPES = {
    "number": np.dtype(np.float64),
    "integer": np.dtype(np.int64),
    "boolean": np.dtype(bool),
    "text": np.dtype(np.int32),
    "date": np.dtype(np.float64),
}
_BOUNDED = ("number", "integer", "date")
_SHOWN = 8
"""How many levels a sentence lists."""


@dataclass(frozen=True)
class DeclaredColumn:
    """What is known of one column.

    Parameters
    ----------
    type
        ``number``, ``integer``, ``boolean``, ``text`` or ``date``; it may be left out
        where there are levels or an origin.
    bounds
        The least and the greatest value; what lies outside is moved to the nearer. Of
        a date they are dates.
    levels
        The values that a text may have. A text becomes its place among them: 0, 1, …;
        any other is missing.
    origin
        The day from which a date is counted, in days.
    measured_in
        The unit of measurement, such as ``years``, for statements and reports.
    if_missing
        The distribution of a missing value, over which the likelihood is integrated:
        ``{"mean": 50, "sd": 20}`` of a number or date, ``{"probabilities": [...]}`` of
        levels. Unless given, a record in which it is missing counts for nothing.
    """

    type: str = ""
    bounds: tuple[float, float] | None = None
    levels: tuple[str, ...] | None = None
    origin: date | None = None
    measured_in: str = ""
    if_missing: Missing | None = None
    _places: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        levels, origin = _levels(self.levels), _origin(self.origin)
        implied = "text" if levels else "date" if origin else ""
        kind = self.type or implied
        if kind not in _DTYPES:
            raise InputError(
                f"type is {self.type!r}; it must be one of {', '.join(_DTYPES)}."
            )
        if (kind == "text") != bool(levels):
            raise InputError(
                "a text needs levels, the values that it may have, and nothing else "
                "has them. Choose them without looking at the records; leave a column "
                "of ids out."
            )
        if (kind == "date") != (origin is not None):
            raise InputError(
                "a date needs an origin, the day from which days are counted, such as "
                "2000-01-01, and nothing else has one."
            )
        if not isinstance(self.measured_in, str):
            raise InputError(f"measured_in is {self.measured_in!r}; give a text.")
        made = {
            "type": kind,
            "levels": levels,
            "origin": origin,
            "bounds": _bounds(self.bounds, kind, origin),
            "if_missing": as_missing(self.if_missing, kind, levels),
            "_places": {text: place for place, text in enumerate(levels or ())},
        }
        for name, value in made.items():
            object.__setattr__(self, name, value)

    @property
    def dtype(self) -> np.dtype:
        """The dtype that it enters with; what may be missing enters as NaN."""
        return np.dtype(np.float64) if self.if_missing else _DTYPES[self.type]

    @property
    def ends(self) -> Clamp | None:
        """What moves its numbers to the least and the largest; None if unbounded."""
        if self.levels is not None:
            return Clamp(0, len(self.levels) - 1)
        if self.type == "boolean":
            return Clamp(0, 1)
        return None if self.bounds is None else Clamp(*self.bounds)

    def number_of(self, value: Any) -> float | None:
        """The number that a text, date or boolean becomes; None if it is missing.

        No value raises an error.
        """
        try:
            if self.levels is not None:
                return self._places.get(value)
            if self.origin is not None:
                return days_since(self.origin, value)
            return float(value) if isinstance(value, bool | np.bool_) else None
        except Exception:  # such as what has no hash
            return None

    def describe(self) -> str:
        """What it is, in words."""
        unit = self.measured_in
        if self.levels is not None:
            rest = len(self.levels) - _SHOWN
            more = f" and {rest} more" if rest > 0 else ""
            what = f"one of {', '.join(self.levels[:_SHOWN])}{more}"
        elif self.origin is not None:
            what = f"days since {self.origin}"
        else:
            what = f"{self.type} in {unit}" if unit else self.type
        ends = "" if self.bounds is None else f", clamped to {show_range(*self.bounds)}"
        then = "" if self.if_missing is None else f"; {self.if_missing.describe()}"
        return f"{what}{ends}{then}"

    def to_dict(self) -> dict[str, Any]:
        """As plain values, without what is not declared."""
        found: dict[str, Any] = {"type": self.type}
        if self.bounds is not None:
            found["bounds"] = [self._end(end) for end in self.bounds]
        if self.levels is not None:
            found["levels"] = list(self.levels)
        if self.origin is not None:
            found["origin"] = self.origin.isoformat()
        if self.measured_in:
            found["measured_in"] = self.measured_in
        if self.if_missing is not None:
            found["if_missing"] = self.if_missing.to_dict()
        return found

    def _end(self, end: float) -> Any:
        """A bound as it was given: a date of a date."""
        if self.origin is None:
            return end
        return (self.origin + timedelta(days=end)).isoformat()


@dataclass(frozen=True)
class Schema:
    """What is known of a table without looking at its records.

    Parameters
    ----------
    columns
        For each column that is read a `DeclaredColumn`, or a dict of what it is given;
        that of the ids needs none.
    unit, most
        The column of ids if units are protected, such as persons with all their
        records, and how many records of a unit count; as in `Records`.
    size
        A public number of records, or units, if how many there are is protected, too.

    Examples
    --------
    >>> schema = Schema({
    ...     "age": {"type": "number", "bounds": [0, 120], "measured_in": "years"},
    ...     "region": {"levels": ["north", "south"]},
    ...     "since": {"origin": "2000-01-01"},
    ... })
    >>> print(*schema.describe(), sep="; ")
    age: number in years, clamped to [0, 120]; region: one of north, south; since: days since 2000-01-01
    """  # noqa: E501 - the words of a statement are not broken

    columns: Mapping[str, DeclaredColumn] = field(default_factory=dict)
    unit: str | None = None
    most: int | None = None
    size: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise InputError(
                f"columns is {self.columns!r}; it must map names of columns to what is "
                "known of them, as {'age': {'type': 'number', 'bounds': [0, 120]}}."
            )
        unit, most = self.unit or None, _whole(self.most)
        if (unit is None) != (most is None) or not isinstance(unit, str | None):
            raise InputError(
                f"unit is {unit!r} and most is {most!r}; give both or neither: the "
                "column with the ids of units, and how many records of a unit count."
            )
        size = _whole(self.size)
        for name, count in {"most": most, "size": size}.items():
            if count is not None:
                require_count(name, count, "Choose it without looking at the records.")
            object.__setattr__(self, name, count)
        object.__setattr__(self, "unit", unit)
        # ids are compared as they are, and are no part of a record
        of_a_record = {name: one for name, one in self.columns.items() if name != unit}
        made = {name: _column(name, one) for name, one in of_a_record.items()}
        object.__setattr__(self, "columns", made)

    def joined(self, other: "Schema") -> "Schema":
        """Both together; where both say something, what the other says."""
        of = self if other.unit is None else other
        size = self.size if other.size is None else other.size
        return Schema({**self.columns, **other.columns}, of.unit, of.most, size)

    def of(self, names: Any) -> "Schema":
        """What it says of these columns."""
        kept = {name: one for name, one in self.columns.items() if name in names}
        return replace(self, columns=kept)

    def describe(self, then: Preparation | None = None) -> tuple[str, ...]:
        """What is known of each column, and is then done to it, one line each."""
        lines = []
        for name, one in self.columns.items():
            steps = () if then is None else then.steps_of(name)
            rest = steps[steps[:1] == (one.ends,) :]
            words = [f"{name}: {one.describe()}", *[step.describe() for step in rest]]
            lines.append(", then ".join(words))
        others = () if then is None else then.describe(without=self.columns)
        return (*lines, *others)

    def applied_to(self, model: Any) -> Any:
        """The model of records as they are declared.

        Columns are clamped before its own preparation, what is missing is integrated
        out, and a level that it calls ``region=0`` is called ``region=north``.

        Parameters
        ----------
        model
            A `Model`, or what has a preparation and coords like one.
        """
        own = model.preparation
        clamps = self._clamps(own)
        if clamps is not None:
            own = clamps if own is None else clamps.then(own)
        texts = {
            f"{name}={place}": f"{name}={text}"
            for name, one in self.columns.items()
            for place, text in enumerate(one.levels or ())
        }
        coords = {
            dim: [texts.get(name, name) for name in names]
            for dim, names in model.coords.items()
        }
        made = replace(model, preparation=own, coords=coords)
        missing = {
            name: one.if_missing
            for name, one in self.columns.items()
            if one.if_missing is not None
        }
        return integrate_missing(made, missing) if missing else made

    def _clamps(self, own: Preparation | None) -> Preparation | None:
        """What moves values to their bounds; None if nothing has to.

        A model's own preparation may begin with the same: that of a formula does.
        """
        bounds = {n: Clamp(*c.bounds) for n, c in self.columns.items() if c.bounds}
        found = {
            name: clamp
            for name, clamp in bounds.items()
            if own is None or own.steps_of(name)[:1] != (clamp,)
        }
        return Preparation(found) if found else None

    def to_dict(self) -> dict[str, Any]:
        """As plain values that JSON and YAML can hold, which `as_schema` reads."""
        unit = {} if self.unit is None else {"unit": self.unit, "most": self.most}
        size = {} if self.size is None else {"size": self.size}
        columns = {name: one.to_dict() for name, one in self.columns.items()}
        return {**unit, **size, "columns": columns}


def as_schema(given: Any) -> Schema:
    """A schema from one, from plain values as a file has them, or from None."""
    if given is None or isinstance(given, Schema):
        return given or Schema()
    known = [one.name for one in fields(Schema)]
    if not isinstance(given, Mapping) or not set(given) <= set(known):
        what = sorted(given) if isinstance(given, Mapping) else type(given).__name__
        raise InputError(
            f"a schema has the parts {', '.join(known)}, but this is {what}. "
            "dpmcmc schema writes a template."
        )
    return Schema(**{name: value for name, value in given.items() if value})


def days_since(origin: date, value: Any) -> float | None:
    """Days from an origin to a date, a time or an ISO text; None for what is none."""
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    if not isinstance(value, date):
        return None
    if not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    days = float((value - datetime.combine(origin, time())) / timedelta(days=1))
    return None if math.isnan(days) else days


def _column(name: Any, given: Any) -> DeclaredColumn:
    if not isinstance(name, str):
        raise InputError(f"{name!r} is not the name of a column: give text.")
    if isinstance(given, DeclaredColumn):
        return given
    known = [one.name for one in fields(DeclaredColumn) if one.init]
    if not isinstance(given, Mapping) or not set(given) <= set(known):
        raise InputError(
            f"column {name!r} is declared as {given!r}; it can have "
            f"{', '.join(known)}, as in {{'type': 'number', 'bounds': [0, 120]}}."
        )
    try:
        # what is left empty in a template is not declared
        said = {key: value for key, value in given.items() if value not in ("", None)}
        return DeclaredColumn(**said)
    except InputError as problem:
        raise InputError(f"column {name!r}: {problem}") from None


def _levels(given: Any) -> tuple[str, ...] | None:
    if given is None:
        return None
    listed = tuple(given) if isinstance(given, list | tuple) else ()
    is_text = all(isinstance(value, str) for value in listed)
    if not is_text or len(set(listed)) < max(2, len(listed)):
        raise InputError(
            f"levels are {given!r}; they must be at least two different texts. Choose "
            "them without looking at the records."
        )
    return listed


def _origin(given: Any) -> date | None:
    if given is None:
        return None
    try:
        return date.fromisoformat(str(given))
    except ValueError:
        raise InputError(
            f"origin is {given!r}; it must be a day, such as 2000-01-01."
        ) from None


def _bounds(given: Any, kind: str, origin: date | None) -> tuple[float, float] | None:
    if given is None:
        return None
    if kind not in _BOUNDED:
        raise InputError(f"bounds are for numbers and dates, and this is a {kind}.")
    try:
        low, high = given if isinstance(given, list | tuple) else ()
        if origin is not None:
            low, high = (days_since(origin, end) for end in (low, high))
        if isinstance(low, bool) or isinstance(high, bool):
            raise TypeError
        step = Clamp(float(low), float(high))
    except (TypeError, ValueError):
        what = "dates, as [2000-01-01, 2020-12-31]" if origin else "numbers"
        raise InputError(
            f"bounds are {given!r}; they must be two {what}, the lower first. Choose "
            "them without looking at the records."
        ) from None
    return float(step.low), float(step.high)  # type: ignore[arg-type]


def _whole(given: Any) -> Any:
    """A number that a file holds as text."""
    is_count = isinstance(given, str) and given.isdecimal()
    return int(given) if is_count else None if given == "" else given
