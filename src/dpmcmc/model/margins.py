# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Margins of a table of cells: what is counted beside the cells, and put with them.

A regression without interactions rests on a few sums of cells. With noise on each cell
such a sum has that of all its cells; a margin, counted on its own, has that of one bin.
The fractions of the budget are chosen from the table's shape and the model, before a
record is read: the precision of what is released is linear in them, and the sum of
variances that they make is convex (an A-optimal design).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import solve_triangular

from dpmcmc.errors import InputError

__all__ = [
    "Margin",
    "choose_margins",
    "combine",
    "left_for_table",
    "require_margins",
]

_POINTS = 16
"""At so many points the variances are averaged."""

_ITERATIONS = 300

_TABLE, _LEAST = 0.1, 0.005
"""The least fractions of the table and of a margin: a model may need interactions that
the points do not show, and a margin of less is not worth its pass."""

_ROWS = 256
"""The most bins of the margin of all covariates: a step takes as long as cells times
bins, and this margin has nearly as many as the table."""

_GAIN = 0.9
"""Margins are taken if variances are at most this part of those of the table alone."""

_FLAT = 1e-9
"""Directions with less information, relative to the most, have none."""


@dataclass(frozen=True, eq=False)
class Margin:
    """A coarser table, counted beside the table of cells.

    Parameters
    ----------
    places
        The number of each cell's bin, from 0 on; as many as there are cells.
    fraction
        Its fraction of the budget, in squares of μ. The table has what is left.
    words
        What it is a margin of, for the statement.
    """

    places: np.ndarray
    fraction: float
    words: str = "a margin"

    @property
    def bins(self) -> int:
        """How many bins it has."""
        return int(np.max(self.places)) + 1


def require_margins(margins: Sequence[Margin], cells: int | None) -> None:
    """Refuse margins that are none of the table.

    Raises
    ------
    InputError
        If there is no table, a margin says not of each cell which bin it is in, or
        nothing of the budget is left for the table.
    """
    for margin in margins:
        places = np.asarray(margin.places)
        is_whole = places.dtype.kind in "iu" and places.shape == (cells,)
        if not is_whole or places.min() < 0:
            raise InputError(
                f"the margin {margin.words!r} has the places {margin.places!r}; there "
                "must be one for each cell, a whole number from 0 on. Margins are for "
                "statistics that are cells."
            )
        if not margin.fraction > 0:
            raise InputError(
                f"the margin {margin.words!r} has the fraction {margin.fraction!r}; "
                "it must be above 0."
            )
    left = left_for_table(margins)
    if not left > 0:
        raise InputError(
            f"the fractions of margins are {1 - left:g} together; they must be below "
            "1, as the table has what is left."
        )


def left_for_table(margins: Sequence[Margin]) -> float:
    """Return the fraction of the budget that margins leave for the table."""
    return 1.0 - math.fsum(margin.fraction for margin in margins)


def combine(
    table: np.ndarray, released: Sequence[np.ndarray], margins: Sequence[Margin]
) -> tuple[np.ndarray, np.ndarray]:
    """Put a noisy table with its noisy margins, by weighted least squares.

    Parameters
    ----------
    table
        The noisy counts of the cells.
    released
        Those of each margin.
    margins
        What they are margins of, and their fractions of the budget.

    Returns
    -------
    tuple
        The counts ĉ, and a matrix B with a column for each cell. With noise of sd s on
        each count of the table, that of ĉ has the covariance s²(I − BᵀB). Without
        margins B has no rows.
    """
    if not margins:
        return table, np.zeros((0, len(table)))
    own = left_for_table(margins)
    sums = np.concatenate(
        [np.arange(margin.bins)[:, None] == margin.places for margin in margins]
    ).astype(float)
    # variances of the margins' counts, in units of that of a cell
    variances = np.concatenate(
        [np.full(margin.bins, own / margin.fraction) for margin in margins]
    )
    root = np.linalg.cholesky(np.diag(variances) + sums @ sums.T)
    known = solve_triangular(root, sums, lower=True)
    difference = np.concatenate(released) - sums @ table
    return table + known.T @ solve_triangular(root, difference, lower=True), known


def choose_margins(
    columns: Sequence[tuple[str, int]],
    responses: tuple[str, int],
    log_probabilities: Callable[[jax.Array], jax.Array],
    start: np.ndarray,
) -> tuple[Margin, ...]:
    """Choose margins of the table, and their fractions of the budget.

    They are that of all covariates, if it is small, and those of one covariate with
    the responses.
    They minimise the variances that noise adds to the coefficients, each over its own
    without noise, for a uniform table, on average over points about the start at
    which log-likelihoods of a record differ from those at the start by about one.

    Parameters
    ----------
    columns
        Name and number of values of each covariate, in the order of the table.
    responses
        The name of the responses, and how many values they have together; they vary
        fastest.
    log_probabilities
        Log-likelihoods of the cells as a function of coordinates of θ.
    start
        The coordinates of the starting point.

    Returns
    -------
    tuple
        No margin, if the table alone does about as well.
    """
    if len(columns) < 2:
        return ()
    sizes = [size for _, size in (*columns, responses)]
    needed = _needed(sizes, log_probabilities, start)
    if needed is None:
        return ()
    last = len(columns)
    named: dict[str, tuple[int, ...]] = {
        f"{name} with {responses[0]}": (k, last) for k, (name, _) in enumerate(columns)
    }
    if np.prod(sizes[:-1]) <= _ROWS:
        named = {"all covariates": tuple(range(last)), **named}
    tables = [tuple(range(last + 1)), *named.values()]
    precisions = np.array(
        [
            [_cells(sizes, table) * (effect <= set(table)) for table in tables]
            for effect in _effects(last)
        ]
    )
    places = np.indices(sizes)
    return tuple(
        Margin(
            np.ravel_multi_index(
                [places[axis].ravel() for axis in one], [sizes[axis] for axis in one]
            ),
            float(fraction),
            said,
        )
        for (said, one), fraction in zip(
            named.items(), _fractions(needed, precisions), strict=True
        )
        if fraction
    )


def _cells(sizes: Sequence[int], table: Sequence[int]) -> float:
    """How many cells each bin of a coarser table has."""
    return float(np.prod(sizes) / np.prod([sizes[axis] for axis in table]))


def _effects(last: int) -> list[set[int]]:
    """The columns that each part of a function of the cells depends on.

    Parts, as in the analysis of variance: the mean, the effect of each covariate and
    the rest; then the same for how they differ by the responses, the last column.
    """
    alone = [set[int](), *({k} for k in range(last)), set(range(last))]
    return [*alone, *(one | {last} for one in alone)]


def _needed(
    sizes: Sequence[int],
    log_probabilities: Callable[[jax.Array], jax.Array],
    start: np.ndarray,
) -> np.ndarray | None:
    """What coefficients need of the table: the squared length of each part.

    The variance that noise adds to a coefficient is a quadratic form of a function of
    the cells, and parts of that are orthogonal. A margin tells of those that depend
    on no other columns than its own.

    Returns
    -------
    ndarray or None
        In the order of `_effects`; they add up to one. None if there is no information
        on θ.
    """
    rows = np.prod(sizes[:-1])

    @jax.jit
    def look(point: jax.Array) -> tuple[jax.Array, jax.Array]:
        log_p = jnp.reshape(log_probabilities(point), (-1, sizes[-1]))
        gradients = jax.jacfwd(log_probabilities)(point)
        return jax.nn.softmax(log_p, axis=1).ravel(), gradients

    def at(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradients, and the information of a record of a uniform table."""
        with jax.enable_x64(True):
            weights, gradients = map(np.asarray, look(jnp.asarray(point)))
        return gradients, np.einsum("c,ci,cj->ij", weights / rows, gradients, gradients)

    def lengths(point: np.ndarray) -> np.ndarray | None:
        gradients, information = at(point)
        if not (np.isfinite(gradients).all() and np.isfinite(information).all()):
            return None
        covariance = np.linalg.pinv(information, rcond=_FLAT, hermitian=True)
        sd = np.sqrt(np.diag(covariance))
        scaled = (gradients @ covariance)[:, sd > 0] / sd[sd > 0]
        table = scaled.reshape(*sizes, -1)
        mean = table.mean(axis=-2, keepdims=True)
        found = [*(sizes[-1] * _by_effect(mean)), *_by_effect(table - mean)]
        return found / np.sum(found) if np.sum(found) > 0 else None

    _, information = at(start)
    if not np.isfinite(information).all():
        return None
    values, vectors = np.linalg.eigh(information)
    values = np.where(values > _FLAT * values.max(), values, np.inf)
    root = vectors / np.sqrt(len(start) * values)
    moves = np.random.default_rng(0).standard_normal((_POINTS, len(start))) @ root.T
    found = [one for move in moves if (one := lengths(start + move)) is not None]
    return np.mean(found, axis=0) if found else None


def _by_effect(table: np.ndarray) -> np.ndarray:
    """Squared lengths of the mean over covariates, of their effects, and of the rest.

    Parameters
    ----------
    table
        An axis for each covariate, and two more.
    """
    axes = range(table.ndim - 2)
    common = table.mean(axis=tuple(axes), keepdims=True)
    effects = [
        table.mean(axis=tuple(axis for axis in axes if axis != k), keepdims=True)
        - common
        for k in axes
    ]
    rest = table - common - sum(effects)
    parts = [np.broadcast_to(one, table.shape) for one in (common, *effects, rest)]
    return np.array([np.sum(part**2) for part in parts])


def _fractions(needed: np.ndarray, precisions: np.ndarray) -> np.ndarray:
    """The best fractions of the margins; zeros if the table alone does about as well.

    By the multiplicative algorithm for A-optimal designs (Silvey, Titterington and
    Torsney 1978): each fraction times the root of what more of it would gain.

    Parameters
    ----------
    needed
        What is needed of each part.
    precisions
        With what precision the table, and each margin, tells of each part if it has the
        whole budget.
    """
    fractions = np.full(precisions.shape[1], 1 / precisions.shape[1])
    for _ in range(_ITERATIONS):
        fractions = fractions * np.sqrt(
            (needed / (precisions @ fractions) ** 2) @ precisions
        )
        fractions /= fractions.sum()
    margins = np.where(fractions[1:] < _LEAST, 0, fractions[1:])
    margins *= min(1, (1 - _TABLE) / max(margins.sum(), 1 - _TABLE))
    chosen = np.array([1 - margins.sum(), *margins])
    is_worth_it = np.sum(needed / (precisions @ chosen)) < _GAIN
    return margins if is_worth_it else np.zeros_like(margins)
