# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of posteriors: densities and traces, with the guarantee in the caption."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmcmc.aligned import broken
from dpmcmc.errors import InputError
from dpmcmc.model.labels import titles_of
from dpmcmc.posterior.posterior import Posterior
from dpmcmc.posterior.statement import Statement
from dpmcmc.posterior.summary import shapes_of_draws

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ALARM", "COLOURS", "density_of", "draw_density", "plot_posterior"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
"""Colours of Okabe and Ito, told apart by readers with any colour vision."""

ALARM = "#B00020"
_MOST_ROWS = 12
_LONGEST_LINE, _MOST_LINES = 22, 3
"""Columns of a line of a title, and lines, that fit beside a picture."""


def plot_posterior(
    posterior: Posterior | Mapping[str, Posterior], path: str | Path | None = None
) -> "Figure":
    """Draw each parameter's density and trace, for one posterior or several.

    Parameters
    ----------
    posterior
        A posterior, or several by name, drawn over each other.
    path
        Where to write the picture; its ending says which kind. Optional.

    Returns
    -------
    matplotlib.figure.Figure
        The figure. Under it stands the guarantee of each posterior; one that is not
        private is named so in red.
    """
    posteriors = (
        {"posterior": posterior} if isinstance(posterior, Posterior) else posterior
    )
    _check(posteriors)
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    parts = _coordinates(next(iter(posteriors.values())))
    height = 2.1 * len(parts) + 0.8 + 0.3 * len(posteriors)
    figure = Figure(figsize=(9, height), layout="constrained")
    parts_of_page: Any = figure.subfigures(
        2, 1, height_ratios=[0.25 + 0.3 * len(posteriors), 2.1 * len(parts) + 0.4]
    )
    captions, body = parts_of_page
    axes = body.subplots(len(parts), 2, squeeze=False, width_ratios=[3, 4])
    for (title, name, index), (left, right) in zip(parts, axes, strict=True):
        # The last is drawn first, so that the one named first lies on top.
        named = list(zip(posteriors.values(), COLOURS, strict=False))
        for each, colour in reversed(named):
            place: Any = (..., *index)
            draw_density(left, each.honest[name][place].ravel(), colour)
            _draw_trace(right, each.draws[name][place], colour)
        left.set_ylabel(_fitting(title), parse_math=False)
        left.set_yticks([])
        left.locator_params(axis="x", nbins=5)
    axes[0, 0].set_title("density of the draws", fontsize=10)
    axes[0, 1].set_title("chain, step by step (after warm-up)", fontsize=10)
    _write_captions(captions, posteriors)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _check(posteriors: Mapping[str, Posterior]) -> None:
    names = {tuple(each.draws) for each in posteriors.values()}
    if len(names) != 1 or len(posteriors) > len(COLOURS):
        raise InputError(
            f"there are {len(posteriors)} posteriors with {len(names)} sets of "
            f"parameters; give from 1 to {len(COLOURS)} posteriors of one model."
        )


def _coordinates(posterior: Posterior) -> list[tuple[str, str, tuple[int, ...]]]:
    """Title, parameter and index of each scalar coordinate, the first few of them."""
    shapes = shapes_of_draws(posterior.draws)
    places = [
        (name, index) for name, shape in shapes.items() for index in np.ndindex(shape)
    ]
    titles = titles_of(shapes, posterior.labels)
    named = zip(titles, places, strict=True)
    return [(title, *place) for title, place in islice(named, _MOST_ROWS)]


def _fitting(title: str) -> str:
    """A title in lines that fit beside one picture; what is too long is cut off."""
    lines = broken(title, _LONGEST_LINE)
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], lines[_MOST_LINES - 1][:-1] + "…"]
    return "\n".join(lines)


def density_of(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A smooth density of values that are not all the same, at points of a grid.

    The grid ends where the values do: those that are never negative show no density
    below 0.
    """
    from scipy.stats import gaussian_kde  # noqa: PLC0415 - slow to import

    grid = np.linspace(values.min(), values.max(), 300)
    return grid, gaussian_kde(values)(grid)


def draw_density(axes: Any, values: np.ndarray, colour: str) -> None:
    """Draw the density of values, or one line where they are all the same."""
    values = values.astype(np.float64)
    if np.ptp(values) == 0:
        axes.axvline(values[0], color=colour)
        return
    grid, density = density_of(values)
    axes.fill_between(grid, density, color=colour, alpha=0.2, linewidth=0)
    axes.plot(grid, density, color=colour)


def _draw_trace(axes: Any, values: np.ndarray, colour: str) -> None:
    fraction = np.linspace(0, 1, values.shape[1])
    for chain in values:
        axes.plot(fraction, chain, color=colour, linewidth=0.7, alpha=0.9)
    axes.set_xticks([0, 0.5, 1], ["first", "", "last"])


def _write_captions(part: Any, posteriors: Mapping[str, Posterior]) -> None:
    lines = len(posteriors)
    for place, ((name, each), colour) in enumerate(
        zip(posteriors.items(), COLOURS, strict=False)
    ):
        statement = each.statement
        chains, draws = each.accepted.shape
        top = 1 - (place + 0.5) / lines
        part.text(0.02, top, "■", color=colour, va="center", fontsize=12)
        part.text(
            0.045,
            top,
            f"{name}: {statement.label}; {chains} × {draws:,} draws from "
            f"{statement.records:,} records{_tempered(statement)}",
            color="black" if statement.is_private else ALARM,
            weight="normal" if statement.is_private else "bold",
            va="center",
            fontsize=10,
        )


def _tempered(statement: Statement) -> str:
    """Say so where the likelihood counts for fewer records than there are."""
    return f", tempered to {statement.tempered:.4g}" if statement.is_tempered else ""
