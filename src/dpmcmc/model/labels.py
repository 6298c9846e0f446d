# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Labels: names that people know for the places of an array, such as age and income.

They are public, as the model is: whoever writes it states them.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from dpmcmc.errors import InputError

__all__ = [
    "Names",
    "axes_of",
    "checked",
    "require_fitting",
    "titles_of",
    "with_levels",
]

Names = tuple[str, ...] | tuple[tuple[str, ...] | None, ...]
"""Names of the places of a vector; or for an array of several axes those of each axis,
None for one that is numbered."""

_BREAKS = ("Cc", "Cs", "Zl", "Zp")
"""Kinds of characters that break a line or a file: controls, halves of characters."""

_TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e") | frozenset(
    "\u2066\u2067\u2068\u2069"
)
"""Characters that turn the direction of what follows: a label must not change that."""

_WANTED = (
    "labels must be names of a parameter's places, such as {'coefficients': ('age', "
    "'income')}; for an array of several axes one such tuple for each, or None for an "
    "axis that is numbered"
)


def checked(labels: Any) -> dict[str, Names]:
    """The same labels as tuples.

    Raises
    ------
    InputError
        If they are not names, or an axis has the same name twice.
    """
    if not isinstance(labels, Mapping):
        raise InputError(f"labels is a {type(labels).__name__}; {_WANTED}.")
    return {name: _names(name, given) for name, given in labels.items()}


def axes_of(names: Names) -> tuple[tuple[str, ...] | None, ...]:
    """The names along each axis; None for one that is numbered."""
    if any(isinstance(one, str) for one in names):
        return (names,)  # type: ignore[return-value]
    return names  # type: ignore[return-value]


def require_fitting(
    labels: Mapping[str, Names], shapes: Mapping[str, tuple[int, ...]]
) -> None:
    """Refuse labels that do not fit the parameters as they are shown.

    Parameters
    ----------
    labels
        The labels, checked.
    shapes
        The shape of each parameter, by name.

    Raises
    ------
    InputError
        If there is no such parameter, it has another shape, or two places would be
        called the same.
    """
    for name, names in labels.items():
        if name not in shapes:
            raise InputError(
                f"labels names {name!r}, which is no parameter that draws show; they "
                f"show {', '.join(map(repr, shapes))}. Name one of them."
            )
        shape, axes = shapes[name], axes_of(names)
        sizes = tuple(None if one is None else len(one) for one in axes)
        if len(sizes) != len(shape) or any(
            size is not None and size != length
            for size, length in zip(sizes, shape, strict=True)
        ):
            there = " × ".join("any" if one is None else str(one) for one in sizes)
            raise InputError(
                f"labels has {there} names for {name!r}, whose shape is {shape}. Give "
                f"{_fitting(shape)}."
            )
    if labels:
        _require_different(titles_of(shapes, labels))


def titles_of(
    shapes: Mapping[str, tuple[int, ...]], labels: Mapping[str, Names]
) -> list[str]:
    """What each coordinate is called, in the order of the parameters and of C.

    A scalar is called by its parameter; a place of an array is ``name[age]``, or
    ``name[0]`` where it has no label.
    """
    titles = []
    for name, shape in shapes.items():
        axes = axes_of(labels[name]) if name in labels else (None,) * len(shape)
        places = product(
            *(
                map(str, range(length)) if names is None else names
                for names, length in zip(axes, shape, strict=True)
            )
        )
        titles += [f"{name}[{', '.join(place)}]" if place else name for place in places]
    return titles


def with_levels(
    labels: Mapping[str, Names], levels: Mapping[str, Sequence[str]]
) -> dict[str, Names]:
    """The same labels, with levels by their texts: ``region=north`` for ``region=0``.

    Parameters
    ----------
    labels
        The labels, checked.
    levels
        For columns of text, the values that each may have, in the order of their codes.
    """
    texts = {
        f"{column}={code}": f"{column}={text}"
        for column, listed in levels.items()
        for code, text in enumerate(listed)
    }

    def told(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if names is None else tuple(texts.get(one, one) for one in names)

    changed = {name: tuple(map(told, axes_of(names))) for name, names in labels.items()}
    try:
        return checked(changed)
    except InputError:  # a level may be a text that no label may be
        return dict(labels)


def _names(parameter: Any, given: Any) -> Names:
    """The names of one parameter, as tuples; those of one axis are not nested."""
    if not isinstance(parameter, str):
        raise InputError(f"labels has a {type(parameter).__name__}; {_WANTED}.")
    # a table that was given by mistake must not be shown
    wrong = f"labels has a {type(given).__name__} for {parameter!r}; {_WANTED}."
    listed = _listed(given)
    if listed is None:
        raise InputError(wrong)
    if all(isinstance(one, str) for one in listed):
        return _axis(parameter, listed)
    axes: list[tuple[str, ...] | None] = []
    for one in listed:
        along = None if one is None else _listed(one)
        if one is not None and along is None:
            raise InputError(wrong)
        axes.append(None if along is None else _axis(parameter, along))
    named = [one for one in axes if one is not None]
    if not named:
        raise InputError(f"labels names no place of {parameter!r}. Leave it out.")
    return named[0] if len(axes) == 1 else tuple(axes)


def _listed(given: Any) -> tuple[Any, ...] | None:
    """A sequence as a tuple; None for what is none, or is empty."""
    if hasattr(given, "tolist"):  # an array, or the columns of a pandas table
        given = given.tolist()
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        return None
    return tuple(given)


def _axis(parameter: str, names: tuple[Any, ...]) -> tuple[str, ...]:
    for one in names:
        if not isinstance(one, str) or not one.strip():
            held = "an empty text" if isinstance(one, str) else type(one).__name__
            raise InputError(
                f"labels of {parameter!r} hold {held}; each must be a text that is "
                "not empty. Name every place of the axis."
            )
        if any(unicodedata.category(sign) in _BREAKS or sign in _TURNS for sign in one):
            raise InputError(
                f"labels of {parameter!r} hold {one!r}, which has a line break or "
                "another control character. Leave that out."
            )
    seen = [_as_seen(one) for one in names]
    twice = next(
        (one for one, look in zip(names, seen, strict=True) if seen.count(look) > 1),
        None,
    )
    if twice is not None:
        raise InputError(
            f"labels of {parameter!r} hold {twice!r} twice along one axis. Name each "
            "place differently."
        )
    return tuple(names)


def _as_seen(name: str) -> str:
    """A name as a reader sees it: without characters that are not shown."""
    shown = (sign for sign in name if unicodedata.category(sign) != "Cf")
    return unicodedata.normalize("NFC", "".join(shown)).strip()


def _fitting(shape: tuple[int, ...]) -> str:
    if not shape:
        return "none: it is a single number"
    if len(shape) == 1:
        return f"{shape[0]} names"
    each = ", ".join(map(str, shape))
    return f"a tuple for each of its {len(shape)} axes, of {each} names, or None"


def _require_different(titles: list[str]) -> None:
    seen: set[str] = set()
    for title in titles:
        if title in seen:
            raise InputError(
                f"two places are both shown as {title!r}. Change a label, so that "
                "each is told from the others."
            )
        seen.add(title)
