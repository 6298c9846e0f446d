# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The figures of a report: small, the same each time, and with no names in them."""

import re
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np

from dpmcmc.report.coordinates import Coordinate
from dpmcmc.report.pictures import COLOURS, density_of, draw_density

__all__ = [
    "MOST_LINES",
    "MOST_TRACE",
    "chart_density",
    "chart_pair",
    "chart_ranks",
    "chart_trace",
    "rank_counts",
]

_SIZE = (3.7, 2.1)
_INK = "#333333"
_MOST_DENSITY, MOST_TRACE, _MOST_PAIR = 4000, 400, 1000
"""Draws in a figure: beyond them nothing more is seen, and the file grows."""

_DOTS = 130
"""Dots an inch of a cloud of points, which is no vector picture."""

_NOTHING = {"Date": None, "Creator": None, "Format": None, "Type": None}
_MOST_BARS, MOST_LINES = 30, 8
_CHAINS = (*COLOURS, "#E69F00", "#56B4E9", "#000000", "#7F7F7F")


def chart_density(one: Coordinate) -> bytes:
    """The density, with both intervals and the mean under it."""

    def draw(axes: Any) -> None:
        values = _finite(_thinned(one.honest.ravel(), _MOST_DENSITY))
        if one.is_discrete:
            _draw_shares(axes, values)
            axes.locator_params(axis="x", integer=True)
        elif values.size:
            draw_density(axes, values, COLOURS[0])
            if one.is_noise_aware and np.ptp(one.chain) > 0:
                own = _finite(_thinned(one.chain.ravel(), _MOST_DENSITY))
                axes.plot(*density_of(own), color=COLOURS[1], ls="--", lw=1.1)
        top = axes.get_ylim()[1]
        line = {"color": _INK, "solid_capstyle": "butt", "clip_on": False}
        axes.plot([one.low_94, one.high_94], [-0.07 * top] * 2, lw=1.2, **line)
        axes.plot([one.low_90, one.high_90], [-0.07 * top] * 2, lw=4, **line)
        axes.plot(one.mean, -0.07 * top, "o", color="white", mec=_INK, ms=5, zorder=5)
        axes.set_ylim(-0.14 * top, top)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)

    return _svg(draw)


def chart_trace(one: Coordinate) -> bytes:
    """The draws of each chain in their order."""

    def draw(axes: Any) -> None:
        count = one.chain.shape[1]
        kept = np.unique(np.linspace(0, count - 1, min(count, MOST_TRACE)).astype(int))
        for place, chain in enumerate(one.chain[:MOST_LINES]):
            colour = _CHAINS[place % len(_CHAINS)]
            axes.plot(kept + 1, chain[kept], color=colour, lw=0.7, alpha=0.85)
        axes.set_xlabel("draw", fontsize=8)

    return _svg(draw)


def chart_ranks(one: Coordinate) -> bytes:
    """How often each part of the run has draws of each rank."""

    def draw(axes: Any) -> None:
        counts = rank_counts(one)
        edges = np.linspace(0, 100, counts.shape[1] + 1)
        for place, part in enumerate(counts[:MOST_LINES]):
            colour = _CHAINS[place % len(_CHAINS)]
            style = "-" if place % 2 == 0 else "--"
            axes.stairs(part, edges, baseline=None, color=colour, lw=1.4, ls=style)
        axes.axhline(1, color=_INK, lw=0.8, ls=":")
        axes.set_ylim(0, max(2.0, 1.05 * counts.max()))
        axes.set_xlim(0, 100)
        axes.set_xlabel("rank among all draws, in %", fontsize=8)

    return _svg(draw)


def chart_pair(one: Coordinate, other: Coordinate) -> bytes:
    """Draws of two numbers against each other."""

    def draw(axes: Any) -> None:
        axes.plot(
            _thinned(one.honest.ravel(), _MOST_PAIR),
            _thinned(other.honest.ravel(), _MOST_PAIR),
            "o",
            color=COLOURS[0],
            ms=2.4,
            mew=0,
            alpha=0.35,
            rasterized=True,
        )
        axes.axvline(one.mean, color=_INK, lw=0.7, ls=":")
        axes.axhline(other.mean, color=_INK, lw=0.7, ls=":")

    return _svg(draw, (3.2, 2.6))


def rank_counts(one: Coordinate) -> np.ndarray:
    """For each part of the run, draws in bins of rank, over what likeness would give.

    The parts are the chains, or the halves of a single one.
    """
    from scipy.stats import rankdata  # noqa: PLC0415 - slow to import

    parts = one.chain
    if len(parts) == 1:
        half = max(parts.shape[1] // 2, 1)
        parts = parts[:, : 2 * half].reshape(-1, half)
    bins = int(np.clip(parts.shape[1] // 25, 1, 20))
    ranks = rankdata(parts.ravel()).reshape(parts.shape)
    edges = np.linspace(0.5, parts.size + 0.5, bins + 1)
    counts = np.stack([np.histogram(part, edges)[0] for part in ranks])
    return counts * bins / parts.shape[1]


def _draw_shares(axes: Any, values: np.ndarray) -> None:
    """How often each whole number was drawn; of very many, in bins."""
    found, counts = np.unique(values, return_counts=True)
    if len(found) <= _MOST_BARS:
        axes.bar(found, counts / values.size, width=0.7, color=COLOURS[0], alpha=0.6)
        return
    axes.hist(
        values,
        bins=_MOST_BARS,
        color=COLOURS[0],
        alpha=0.6,
        weights=np.full(values.size, 1 / values.size),
    )


def _thinned(values: np.ndarray, most: int) -> np.ndarray:
    """So many values at most, evenly picked."""
    places = np.linspace(0, len(values) - 1, min(len(values), most)).astype(int)
    return values[places]


def _finite(values: np.ndarray) -> np.ndarray:
    return values[np.isfinite(values)]


def _svg(draw: Callable[[Any], None], size: tuple[float, float] = _SIZE) -> bytes:
    """Draw on fresh axes, and return the bytes of a vector picture."""
    from matplotlib import rc_context  # noqa: PLC0415 - slow to import
    from matplotlib.figure import Figure  # noqa: PLC0415

    # A fixed salt and no date: the same posterior gives the same bytes.
    with rc_context({"svg.hashsalt": "dpmcmc", "svg.fonttype": "path"}):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8, colors=_INK)
        axes.ticklabel_format(useOffset=False)
        axes.locator_params(axis="x", nbins=5)
        axes.locator_params(axis="y", nbins=4)
        draw(axes)
        buffer = BytesIO()
        figure.savefig(buffer, format="svg", dpi=_DOTS, metadata=_NOTHING)
    return _compact(buffer.getvalue().decode()).encode()


def _compact(svg: str) -> str:
    """The same picture in fewer bytes: less than a tenth of a point is not seen."""
    body = svg[svg.index("<svg") :]

    def rounded(path: re.Match[str]) -> str:
        numbers = re.sub(r"-?\d+\.\d+", lambda one: f"{float(one[0]):.1f}", path[0])
        return " ".join(numbers.split())

    return re.sub(r">\s+<", "><", re.sub(r'd="M[^"]*"', rounded, body))
