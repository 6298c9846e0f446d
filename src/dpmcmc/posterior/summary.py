# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Summaries of draws: numbers for each coordinate, as a table that aligns."""

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmcmc.aligned import broken, columns_of
from dpmcmc.model.labels import Names, titles_of

if TYPE_CHECKING:
    import pandas

__all__ = ["arviz", "broken", "remark", "shapes_of_draws", "summarise", "table"]

_COLUMNS = ["mean", "sd", "hdi_3%", "hdi_97%", "ess_bulk", "ess_tail", "r_hat"]
_FEWEST_DRAWS = 4
"""Fewer draws of a chain (or of half a single chain) give no diagnostic."""
_WIDEST_NAME = 36
"""Columns of a name in a table of text, beyond which it is broken."""
_ENOUGH_DRAWS, _CLOSE_CHAINS = 100, 1.05


def arviz() -> Any:
    """ArviZ, imported when first needed, without its daily announcement."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\s*ArviZ is undergoing")
        import arviz as az  # noqa: PLC0415 - slow to import, so only where it is used
    return az


def summarise(
    draws: Mapping[str, np.ndarray], labels: Mapping[str, Names] | None = None
) -> "pandas.DataFrame":
    """Mean, sd, 94% interval, effective sample size and R-hat of each coordinate.

    The R-hat of a single chain compares its two halves. Where there are too few draws
    for a number, it is NaN. Rows are called by the labels, where there are any.
    """
    import pandas as pd  # noqa: PLC0415 - slow to import, so only where it is used

    rows = [
        _statistics(values[(..., *index)].astype(np.float64))
        for values in draws.values()
        for index in np.ndindex(values.shape[2:])
    ]
    titles = titles_of(shapes_of_draws(draws), labels or {})
    return pd.DataFrame(rows, index=titles, columns=_COLUMNS)


def shapes_of_draws(draws: Mapping[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    """The shape of one draw of each parameter."""
    return {name: values.shape[2:] for name, values in draws.items()}


def remark(summary: "pandas.DataFrame") -> str | None:
    """A caution, where draws are too few or chains disagree; else None."""
    few = not (summary["ess_bulk"] >= _ENOUGH_DRAWS).all()
    apart = not (summary["r_hat"] <= _CLOSE_CHAINS).all()
    reasons = [
        *(["fewer than 100 effective draws"] if few else []),
        *(["an r-hat above 1.05"] if apart else []),
    ]
    if not reasons:
        return None
    return f"Caution: {' and '.join(reasons)}; read means and intervals as rough."


def table(summary: "pandas.DataFrame") -> list[str]:
    """The summary as aligned lines of text, with digits that the sd justifies.

    A name that is too long goes on in the next line; its numbers stand in the last.
    """
    rows: list[tuple[str, list[str]]] = [
        ("", ["mean", "sd", "3%", "97%", "ess", "ess tail", "r-hat"])
    ]
    for name, *row in summary.itertuples():
        *above, last = broken(str(name), _WIDEST_NAME, "  ")
        rows += [(part, []) for part in above]
        rows.append((last, _cells(row)))
    first = max(columns_of(name) for name, _ in rows)
    widths = [max(map(len, cells)) for cells in zip(*_filled(rows), strict=True)]
    return [
        "  ".join(
            [
                name + " " * (first - columns_of(name)),
                *(
                    cell.rjust(width)
                    for cell, width in zip(cells, widths, strict=False)
                ),
            ]
        ).rstrip()
        for name, cells in rows
    ]


def _statistics(values: np.ndarray) -> list[float]:
    """The columns of one coordinate, whose draws are (chains, draws)."""
    az = arviz()
    low, high = (float(end) for end in az.hdi(values.ravel(), hdi_prob=0.94))
    spread = float(values.std(ddof=1)) if values.size > 1 else math.nan
    bulk, tail, r_hat = math.nan, math.nan, math.nan
    compared = values if len(values) > 1 else _halves(values)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # a chain that stands still divides by zero
        if values.shape[1] >= _FEWEST_DRAWS:
            bulk = float(az.ess(values, method="bulk"))
            tail = float(az.ess(values, method="tail"))
        if compared.shape[1] >= _FEWEST_DRAWS:
            r_hat = float(az.rhat(compared))
    return [float(values.mean()), spread, low, high, bulk, tail, r_hat]


def _halves(values: np.ndarray) -> np.ndarray:
    """A single chain as two: its first half and its second."""
    half = values.shape[1] // 2
    return np.stack([values[0, :half], values[0, half : 2 * half]])


def _filled(rows: list[tuple[str, list[str]]]) -> list[list[str]]:
    return [cells for _, cells in rows if cells]


def _cells(row: list[float]) -> list[str]:
    mean, sd, low, high, bulk, tail, r_hat = row
    places = 4
    if math.isfinite(sd) and sd > 0:
        places = min(max(1 - math.floor(math.log10(sd)), 0), 12)
    shown = [f"{value:.{places}f}" for value in (mean, low, high)]
    cells = [shown[0], f"{sd:.3g}", *shown[1:], f"{bulk:.0f}", f"{tail:.0f}"]
    cells = [*cells, f"{r_hat:.3f}"]
    return ["–" if cell == "nan" else cell for cell in cells]
