# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of posteriors: densities and traces, with the guarantee above them.

There is always a picture: values that are infinite or not numbers are left out, and the
picture says so.
"""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpmcmc.aligned import columns_of
from dpmcmc.errors import InputError
from dpmcmc.posterior.posterior import Posterior

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS", "MOST_CHAINS", "MOST_ROWS", "Coordinate", "coordinates_of", "cut",
    "density", "name_style", "new_figure", "plot_posterior", "remark", "save_picture",
    "trace",
]  # fmt: skip

COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7",
    "#E69F00", "#56B4E9", "#000000", "#7F7F7F",
)  # fmt: skip
"""Colours of Okabe and Ito, distinct for readers with any colour vision."""

_ALARM, _INK, _POOLED = "#B00020", "#333333", "#8A939C"
MOST_CHAINS, MOST_ROWS = len(COLOURS), 12
_MOST_POSTERIORS, _LONGEST = 4, 66
_MOST_BARS = 30
"""A discrete parameter with more values is drawn as a density."""

_DENSITY_DRAWS, _GRID, _TRACE_DRAWS = 2000, 150, 300
"""Draws and points of a line: with more, nothing is seen better and the file grows."""

_LARGEST = 1e100
"""Larger values overflow when they are drawn, and count as infinite."""

_OTHER_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Micro Hei", "PingFang SC",
    "Hiragino Sans", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic",
)  # fmt: skip
"""Fonts for letters that the usual one lacks, where they are installed."""


class Coordinate(NamedTuple):
    """One number of θ: its title, and its draws of shape (chains, draws).

    ``draws`` are those to use; ``chain`` are the chain's own.
    """

    title: str
    draws: np.ndarray
    chain: np.ndarray
    is_discrete: bool


def coordinates_of(posterior: Posterior) -> list[Coordinate]:
    """All numbers of θ, in its order."""
    places: list[tuple[str, Any]] = [
        (name, (..., *index))
        for name, values in posterior.draws.items()
        for index in np.ndindex(values.shape[2:])
    ]
    return [
        Coordinate(
            title,
            posterior.draws[name][at].astype(np.float64),
            posterior.chain_draws[name][at].astype(np.float64),
            posterior.draws[name].dtype.kind in "iub",
        )
        for title, (name, at) in zip(posterior.titles, places, strict=True)
    ]


def plot_posterior(
    posterior: Posterior | Mapping[str, Posterior], path: str | Path | None = None
) -> "Figure":
    """Draw each parameter's density and trace, for one posterior or several.

    Parameters
    ----------
    posterior
        A posterior, whose chains have different colours; or up to four of one model by
        name, drawn over each other.
    path
        Where to write the picture; its ending says which kind. Optional.

    Returns
    -------
    matplotlib.figure.Figure
        The figure. Above it stands the guarantee of each posterior; one that is not
        private is marked in red.
    """
    is_one = isinstance(posterior, Posterior)
    posteriors = {"": posterior} if isinstance(posterior, Posterior) else posterior
    _check(posteriors)
    found = [coordinates_of(each) for each in posteriors.values()]
    rows = list(zip(*found, strict=True))[:MOST_ROWS]
    heights = [0.15 + 0.25 * len(posteriors), 0.3 + 1.9 * len(rows)]
    figure = new_figure(9, sum(heights))
    parts: Any = figure.subfigures(2, 1, height_ratios=heights)
    for line, (name, each) in enumerate(posteriors.items()):
        style = {
            "y": 1 - (line + 0.8) / (len(posteriors) + 0.6),
            "color": "black" if each.statement.is_private else _ALARM,
            "va": "center",
        }
        if not is_one:
            parts[0].text(0.01, s="■", **{**style, "color": COLOURS[line]})
        words = _caption(name, each, len(found[0]))
        parts[0].text(0.01 if is_one else 0.03, s=words, **style, **name_style())
    axes = parts[1].subplots(len(rows), 2, squeeze=False, width_ratios=[3, 4])
    for (left, right), row in zip(axes, rows, strict=True):
        # The last is drawn first, so that the one named first lies on top.
        for one, colour in reversed(list(zip(row, COLOURS, strict=False))):
            colours = COLOURS if is_one else (colour,) * MOST_CHAINS
            draws = one.draws if is_one else one.draws.reshape(1, -1)
            _draw_density(left, draws, colours, one.is_discrete)
            _draw_trace(right, one.chain, colours, one.is_discrete)
        title = cut(row[0].title, _LONGEST)
        left.set_title(title, loc="left", size=10, **name_style())
        words = "; ".join(filter(None, (remark(one.draws) for one in row)))
        right.set_title(words, loc="right", size=9, color=_ALARM)
    axes[-1, 0].set_xlabel("value (density of the draws)")
    axes[-1, 1].set_xlabel("the chains in their order, after warm-up")
    save_picture(figure, path)
    return figure


def density(one: Coordinate, row: Any, is_private: bool) -> str:
    """The density of the draws; below it the 94% interval and the mean of a summary."""
    figure, axes = _small(is_private)
    _draw_density(axes, one.draws, COLOURS, one.is_discrete)
    top = axes.get_ylim()[1]
    axes.plot([row["hdi_3%"], row["hdi_97%"]], [-0.07 * top] * 2, color=_INK, lw=3)
    axes.plot(row["mean"], -0.07 * top, "o", color="white", mec=_INK, ms=5)
    axes.set_ylim(-0.14 * top, top)
    axes.spines["left"].set_visible(False)
    return _as_address(figure)


def trace(one: Coordinate, is_private: bool) -> str:
    """The chain's own draws in their order."""
    figure, axes = _small(is_private)
    _draw_trace(axes, one.chain, COLOURS, one.is_discrete)
    return _as_address(figure)


def remark(draws: np.ndarray) -> str:
    """What a picture cannot show of draws, in words; mostly nothing."""
    shown = _finite(draws)
    if not shown.size:
        return "No draw is a finite number."
    words = [f"Every draw is {shown[0]:.5g}."] if np.ptp(shown) == 0 else []
    if shown.size < draws.size:
        missing = draws.size - shown.size
        words.append(f"{missing:,} of {draws.size:,} draws are not finite.")
    return " ".join(words)


def cut(title: str, longest: int) -> str:
    """A title in one line; what is too long for the picture is left out."""
    if columns_of(title) <= longest:
        return title
    while columns_of(title) >= longest:
        title = title[:-1]
    return f"{title}…"


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    return Figure(figsize=(width, height), layout="constrained")


def name_style() -> dict[str, Any]:
    """How a user's words are written: as they are, in the letters of any language."""
    from matplotlib import font_manager  # noqa: PLC0415 - slow to import

    known = {font.name for font in font_manager.fontManager.ttflist}
    fonts = ["DejaVu Sans", *(name for name in _OTHER_FONTS if name in known)]
    return {"parse_math": False, "family": fonts}


def save_picture(figure: "Figure", path: str | Path | None) -> None:
    """Write a picture, if a path is given, as the kind that its ending says."""
    if path is None:
        return
    kinds = sorted(figure.canvas.get_supported_filetypes())
    if Path(path).suffix.lstrip(".").lower() not in kinds:
        raise InputError(
            f"the picture's file is {str(path)!r}; its ending must be one of "
            f"{', '.join(kinds)}. Name it, for example, picture.png."
        )
    figure.savefig(path, dpi=150)


def _check(posteriors: Mapping[str, Posterior]) -> None:
    titles = {tuple(each.titles) for each in posteriors.values()}
    if len(titles) != 1 or len(posteriors) > _MOST_POSTERIORS:
        raise InputError(
            f"there are {len(posteriors)} posteriors with {len(titles)} sets of "
            f"parameters; give from 1 to {_MOST_POSTERIORS} posteriors of one model."
        )


def _caption(name: str, posterior: Posterior, coordinates: int) -> str:
    statement = posterior.statement
    chains, draws = posterior.accepted.shape
    words = [
        f"{name}: {statement.label}" if name else statement.label,
        f"{chains} × {draws:,} draws from {statement.counted}",
    ]
    if statement.is_tempered:
        words.append(f"tempered to {statement.tempered:,.6g}")
    if not posterior.accepted.any():
        words.append("no step was accepted")
    if chains > MOST_CHAINS:
        words.append(f"lines of the first {MOST_CHAINS} chains")
    if coordinates > MOST_ROWS:
        words.append(f"the first {MOST_ROWS} of {coordinates} parameters")
    return "; ".join(words)


def _draw_density(
    axes: Any, draws: np.ndarray, colours: Sequence[str], is_discrete: bool
) -> None:
    """Draw all chains together as a surface, and each as a line of its colour."""
    axes.set_yticks([])
    pooled = _finite(draws)
    if not pooled.size:
        axes.set_xticks([])
        return
    values = np.unique(pooled)
    together = _POOLED if len(draws) > 1 else colours[0]
    each = [(_finite(chain), line) for chain, line in zip(draws, colours, strict=False)]
    axes.locator_params(axis="x", nbins=4, integer=is_discrete, min_n_ticks=1)
    if is_discrete and len(values) <= _MOST_BARS:
        axes.bar(values, _frequencies(pooled, values), color=together, alpha=0.35)
        for own, colour in each:
            axes.plot(values, _frequencies(own, values), "_", color=colour, mew=1.6)
        return
    top = axes.get_ylim()[1] if axes.lines else 0.0
    if len(values) > 1:
        grid, height = _density(pooled)
        axes.fill_between(grid, height, color=together, alpha=0.25, lw=0)
        top = max(top, 1.05 * height.max())
    for own, colour in each:
        if own.size and np.ptp(own) == 0:
            axes.axvline(own[0], color=colour, lw=1.3)
        elif own.size:
            grid, height = _density(own)
            axes.plot(grid, height, color=colour, lw=1.3)
            # A chain that hardly moved would make all others flat.
            top = max(top, min(1.05 * height.max(), 2 * top))
    axes.set_ylim(0, top or 1)


def _draw_trace(
    axes: Any, chains: np.ndarray, colours: Sequence[str], is_discrete: bool
) -> None:
    """Draw each chain from its first draw to its last, with gaps where not finite."""
    count = chains.shape[1]
    kept = np.unique(np.linspace(0, count - 1, min(count, _TRACE_DRAWS)).astype(int))
    where = np.linspace(0, 1, len(kept))
    for chain, colour in zip(chains, colours, strict=False):
        shown = np.where(np.abs(chain) < _LARGEST, chain, np.nan)[kept]
        axes.plot(where, shown, color=colour, lw=0.7, marker="." if count < 3 else "")
    axes.locator_params(axis="y", nbins=4, integer=is_discrete, min_n_ticks=1)
    axes.set_xticks([0, 1], ["first draw", "last draw"])
    if not _finite(chains).size:
        axes.set_yticks([])


def _density(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A smooth density of values that differ, from the smallest to the largest.

    It ends where they do: a scale shows no density below 0.
    """
    from scipy.stats import gaussian_kde  # noqa: PLC0415 - slow to import

    ordered = np.sort(values)
    places = np.linspace(0, len(values) - 1, min(len(values), _DENSITY_DRAWS))
    low, width = ordered[0], ordered[-1] - ordered[0]
    # On the unit interval, so that no scale is too small or too large for it.
    scaled = (ordered[places.astype(int)] - low) / width
    grid = np.linspace(0, 1, _GRID)
    return low + width * grid, gaussian_kde(scaled)(grid) / max(width, 1e-300)


def _frequencies(draws: np.ndarray, values: np.ndarray) -> np.ndarray:
    return (draws[:, None] == values).sum(axis=0) / max(draws.size, 1)


def _finite(values: np.ndarray) -> np.ndarray:
    return values[np.abs(values) < _LARGEST]


def _small(is_private: bool) -> tuple["Figure", Any]:
    """A figure for a page, which has the names outside it."""
    figure = new_figure(3.6, 1.9)
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8, colors=_INK)
    if not is_private:
        axes.set_title("NOT PRIVATE", loc="right", size=8, weight="bold", color=_ALARM)
    for part in (figure, axes):
        part.patch.set_alpha(0)
    return figure, axes


def _as_address(figure: "Figure") -> str:
    """The picture itself, as the address of an image; the same each time."""
    from matplotlib import rc_context  # noqa: PLC0415 - slow to import

    buffer = BytesIO()
    with rc_context({"svg.hashsalt": "dpmcmc", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    svg = buffer.getvalue().decode()
    # Less than a tenth of a point is not seen in a line.
    short = re.sub(
        r' d="M[^"]*"', lambda path: re.sub(r"(\.\d)\d+", r"\1", path[0]), svg
    )
    return f"data:image/svg+xml;base64,{b64encode(short.encode()).decode()}"
