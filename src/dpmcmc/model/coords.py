# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Names for the places of parameters: coords and dims, as ArviZ and PyMC have them."""

from collections.abc import Mapping, Sequence
from itertools import product

from dpmcmc.errors import InputError

__all__ = ["Coords", "Dims", "checked_coords", "require_fitting", "titles_of"]

Coords = Mapping[str, Sequence[str]]
"""The names along each dimension: ``{"predictor": ["age", "income"]}``."""

Dims = Mapping[str, Sequence[str | None]]
"""The dimensions of each parameter, ``{"coefficients": ["predictor"]}``; None for an
axis that is numbered."""

Shapes = Mapping[str, tuple[int, ...]]
"""The shape of each parameter, by its name."""


def checked_coords(
    coords: Coords, dims: Dims
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str | None, ...]]]:
    """The same coords and dims as tuples.

    Raises
    ------
    InputError
        If names repeat along a dimension, or a dimension has no names.
    """
    names = {dim: tuple(map(str, given)) for dim, given in coords.items()}
    for dim, given in names.items():
        if len(set(given)) < len(given) or dim in ("chain", "draw"):
            raise InputError(
                f"coords has the dimension {dim!r} with {len(given)} names, of which "
                f"{len(set(given))} differ; names along a dimension must all differ, "
                "and it must not be called 'chain' or 'draw'."
            )
    axes = {parameter: tuple(given) for parameter, given in dims.items()}
    unknown = {dim for given in axes.values() for dim in given if dim} - set(names)
    if unknown:
        raise InputError(
            f"dims names {', '.join(map(repr, sorted(unknown)))}, but coords has "
            f"{', '.join(map(repr, names)) or 'nothing'}. Give the names along each "
            "dimension in coords."
        )
    return names, axes


def require_fitting(coords: Coords, dims: Dims, shapes: Shapes) -> None:
    """Refuse dims that do not fit the parameters as they are shown."""
    for parameter, axes in dims.items():
        if parameter not in shapes:
            raise InputError(
                f"dims names {parameter!r}, which is not a parameter of the draws: "
                f"they have {', '.join(map(repr, shapes))}."
            )
        sizes = tuple(len(coords[dim]) if dim else None for dim in axes)
        fits = len(sizes) == len(shapes[parameter]) and all(
            size in (None, length)
            for size, length in zip(sizes, shapes[parameter], strict=True)
        )
        if not fits:
            raise InputError(
                f"dims gives {parameter!r} the dimensions {list(axes)} of sizes "
                f"{list(sizes)}, but its shape is {shapes[parameter]}. Name one "
                "dimension for each axis, or None for an axis that is numbered."
            )


def titles_of(shapes: Shapes, coords: Coords, dims: Dims) -> list[str]:
    """What each coordinate is called, parameter by parameter in C order.

    A scalar is called by its parameter; a place of an array is ``name[age]``, or
    ``name[0]`` along an axis that is numbered.
    """
    titles = []
    for name, shape in shapes.items():
        axes = dims.get(name, (None,) * len(shape))
        places = product(
            *(
                coords[dim] if dim else map(str, range(length))
                for dim, length in zip(axes, shape, strict=True)
            )
        )
        titles += [f"{name}[{', '.join(place)}]" if place else name for place in places]
    return titles
