# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Summaries of draws: numbers for each coordinate, as a table that aligns."""

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpmcmc.aligned import aligned, in_html
from dpmcmc.posterior.diagnostics import (
    bulk_size,
    r_hat,
    shortest_interval,
    tail_size,
)

if TYPE_CHECKING:
    import pandas

__all__ = [
    "Mixing",
    "caution",
    "html_table",
    "mixing_of",
    "shapes_of_draws",
    "summarise",
    "table",
]

_COLUMNS = ["mean", "sd", "hdi_3%", "hdi_97%", "ess_bulk", "ess_tail", "r_hat"]
_HEADER = ["", "mean", "sd", "3%", "97%", "ess", "ess tail", "r-hat"]
_FEWEST_DRAWS = 4
"""Fewer draws of a chain (or of half a single chain) give no diagnostic."""
_ENOUGH_DRAWS, _CLOSE_CHAINS = 100, 1.05
_INTERVAL = 0.94


class Mixing(NamedTuple):
    """How well chains have mixed, by coordinate; NaN where it cannot be said."""

    ess_bulk: np.ndarray
    ess_tail: np.ndarray
    r_hat: np.ndarray


def summarise(draws: Mapping[str, np.ndarray], titles: list[str]) -> "pandas.DataFrame":
    """Mean, sd, 94% interval, effective sample size and R-hat of draws, as in ArviZ.

    The R-hat of a single chain compares its two halves. Where there are too few draws
    for a number, or a chain stood still, it is NaN.
    """
    import pandas as pd  # noqa: PLC0415 - slow to import, so only where it is used

    places = [_location(values) for values in _coordinates(draws)]
    columns = [*np.transpose(places), *mixing_of(draws)]
    return pd.DataFrame(
        dict(zip(_COLUMNS, columns, strict=True)), index=pd.Index(titles)
    )


def mixing_of(draws: Mapping[str, np.ndarray]) -> Mixing:
    """Effective sample sizes and R-hat of every coordinate."""
    rows = [_mixing(values) for values in _coordinates(draws)]
    return Mixing(*np.transpose(rows))


def shapes_of_draws(draws: Mapping[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    """The shape of one draw of each parameter."""
    return {name: values.shape[2:] for name, values in draws.items()}


def caution(chain_draws: Mapping[str, np.ndarray], accepted: np.ndarray) -> str | None:
    """A caution, where draws are too few or chains disagree; else None.

    It is by the chain's own draws: noise that was added to them could hide it.
    """
    if accepted.size and not accepted.any():
        return "Caution: no step was accepted; the draws say nothing of the posterior."
    mixing = mixing_of(chain_draws)
    few = not (mixing.ess_bulk >= _ENOUGH_DRAWS).all()
    apart = (mixing.r_hat > _CLOSE_CHAINS).any()
    reasons = [
        *(["fewer than 100 effective draws"] if few else []),
        *(["an r-hat above 1.05"] if apart else []),
    ]
    if not reasons:
        return None
    return f"Caution: {' and '.join(reasons)}; read means and intervals as rough."


def table(summary: "pandas.DataFrame") -> list[str]:
    """The summary as aligned lines of text, with digits that the sd justifies."""
    rows = [_HEADER, *_rows(summary)]
    return aligned(rows, right=range(1, len(_HEADER)), broken_at=[0])


def html_table(summary: "pandas.DataFrame") -> str:
    """The same for notebooks."""
    return in_html([_HEADER, *_rows(summary)], right=range(1, len(_HEADER)))


def _rows(summary: "pandas.DataFrame") -> list[list[str]]:
    return [[str(name), *_cells(row)] for name, *row in summary.itertuples()]


def _coordinates(draws: Mapping[str, np.ndarray]) -> Iterator[np.ndarray]:
    """Draws of each coordinate, in float64, of shape (chains, draws)."""
    for values in draws.values():
        for index in np.ndindex(values.shape[2:]):
            yield values[(..., *index)].astype(np.float64)


def _location(values: np.ndarray) -> list[float]:
    """Mean, sd and 94% interval of one coordinate; NaN if a draw is not finite."""
    if not np.all(np.isfinite(values)):
        return [math.nan] * 4
    spread = float(values.std(ddof=1)) if values.size > 1 else math.nan
    return [float(values.mean()), spread, *shortest_interval(values, _INTERVAL)]


def _mixing(values: np.ndarray) -> list[float]:
    """Effective sample sizes and R-hat of one coordinate of chains.

    A chain that stood still has the same number throughout, of which there is no
    effective size.
    """
    if not np.all(np.isfinite(values)) or np.any(np.ptp(values, axis=1) == 0):
        return [math.nan] * 3
    bulk, tail, ratio = math.nan, math.nan, math.nan
    compared = values if len(values) > 1 else _halves(values)
    with np.errstate(all="ignore"):
        if values.shape[1] >= _FEWEST_DRAWS:
            bulk, tail = bulk_size(values), tail_size(values)
        if compared.shape[1] >= _FEWEST_DRAWS:
            ratio = r_hat(compared)
    return [bulk, tail, ratio]


def _halves(values: np.ndarray) -> np.ndarray:
    """A single chain as two: its first half and its second."""
    half = values.shape[1] // 2
    return np.stack([values[0, :half], values[0, half : 2 * half]])


def _cells(row: list[float]) -> list[str]:
    mean, sd, low, high, bulk, tail, ratio = row
    places = 4
    if math.isfinite(sd) and sd > 0:
        places = min(max(1 - math.floor(math.log10(sd)), 0), 12)
    shown = [f"{value:.{places}f}" for value in (mean, low, high)]
    cells = [shown[0], f"{sd:.3g}", *shown[1:], f"{bulk:.0f}", f"{tail:.0f}"]
    return ["–" if cell == "nan" else cell for cell in [*cells, f"{ratio:.3f}"]]
