# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What is declared of columns: bounds of numbers, levels of everything else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Real
from typing import Any

import numpy as np

from dpmcmc.errors import InputError
from dpmcmc.models.settings import Range, require_range

__all__ = ["Declared", "Levels"]

_POINTS = 4000
"""Points of the declared box on which columns of a design are looked at."""


@dataclass(frozen=True)
class Levels:
    """The values that a column may have, in their order.

    Attributes
    ----------
    names
        What they are called.
    codes
        What stands for them in a record: their places for text; themselves for numbers.
    is_text
        Whether they are text.
    """

    names: tuple[str, ...]
    codes: tuple[int, ...]
    is_text: bool

    @classmethod
    def of(cls, column: str, values: Any) -> "Levels":
        """Check what was declared."""
        listed = isinstance(values, Sequence | np.ndarray) and not isinstance(
            values, str
        )
        given = list(values) if listed else []
        is_text = all(isinstance(value, str) for value in given)
        are_codes = all(
            isinstance(value, Real | np.bool_) and float(value).is_integer()
            for value in given
        )
        if len(given) < 2 or len(set(given)) < len(given) or not is_text | are_codes:
            raise InputError(
                f"levels has {column!r}: {values!r}; it must be a list of at least two "
                "different texts, or of whole numbers. Choose it without looking at "
                "the records."
            )
        if is_text:
            return cls(tuple(given), tuple(range(len(given))), True)
        codes = tuple(int(value) for value in given)
        return cls(tuple(map(str, codes)), codes, False)


@dataclass(frozen=True)
class Declared:
    """Public bounds and levels, by the names of columns."""

    bounds: Mapping[str, Range]
    levels: Mapping[str, Levels]

    @classmethod
    def of(cls, bounds: Any, levels: Any) -> "Declared":
        """Check what a user gave."""
        for name, given in (("bounds", bounds), ("levels", levels)):
            if not isinstance(given, Mapping):
                raise InputError(
                    f"{name} is a {type(given).__name__}; it must be a dict with the "
                    "names of columns, such as bounds={'age': (0, 110)} or "
                    "levels={'region': ['north', 'south']}."
                )
        both = sorted(set(bounds) & set(levels))
        if both:
            raise InputError(
                f"bounds and levels both name {', '.join(map(repr, both))}. Give "
                "bounds to numbers, and levels to what has a few values."
            )
        return cls(
            {
                name: require_range(f"bounds[{name!r}]", pair)
                for name, pair in bounds.items()
            },
            {name: Levels.of(name, values) for name, values in levels.items()},
        )

    def require(self, numbers: Sequence[str], grouped: Sequence[str]) -> None:
        """Refuse columns of which too little is declared; all of them are named."""
        without = [name for name in numbers if name not in self.bounds]
        unlisted = [name for name in grouped if name not in self.levels]
        problems = []
        if without:
            shown = ", ".join(f"{name!r}: (low, high)" for name in without)
            problems.append(
                f"the bounds of {_listed(without)} are not declared. Give "
                f"bounds={{{shown}}}, or levels if it has a few values"
            )
        if unlisted:
            shown = ", ".join(f"{name!r}: [...]" for name in unlisted)
            problems.append(
                f"the levels of {_listed(unlisted)} are not declared. Give "
                f"levels={{{shown}}}"
            )
        if problems:
            raise InputError(
                f"{'; and '.join(problems)}. They are public: choose them without "
                f"looking at the records.{self._meant([*without, *unlisted])}"
            )

    def _meant(self, missing: Sequence[str]) -> str:
        known = [*self.bounds, *self.levels]
        for name in set(missing).difference(known):
            if close := get_close_matches(name, known, 1):
                return f" Was {close[0]!r} meant by {name!r}?"
        return ""

    def points(self, columns: Sequence[str]) -> dict[str, np.ndarray]:
        """Points of the declared box, as prepared records have them, by column.

        They are made up, and the same for the same declaration.
        """
        rng = np.random.default_rng(0)
        found: dict[str, np.ndarray] = {}
        for name in columns:
            if name in self.levels:
                count = len(self.levels[name].codes)
                found[name] = np.eye(count)[rng.integers(0, count, _POINTS)]
            else:
                low, high = self.bounds[name]
                evenly = rng.uniform(low, high, _POINTS)
                # both ends of every column, with ends and middles of the others
                evenly[: _POINTS // 4] = rng.choice([low, high], _POINTS // 4)
                found[name] = evenly
        return found


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
