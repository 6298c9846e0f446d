# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""What the figures share: the form of a result, colours, and panels of one look."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

__all__ = [
    "ALARM",
    "COLOURS",
    "FigureResult",
    "Noted",
    "Numbers",
    "label_axes",
    "panels",
]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
"""Colours of Okabe and Ito, distinct under any colour vision."""

ALARM = "#B00020"
"""The colour of what is not private."""

Numbers = dict[str, list[float]]
"""Columns of numbers, by their heading."""


@dataclass(frozen=True)
class Noted:
    """A number for the summary: what it is, its value, and what to compare it with."""

    quantity: str
    value: str
    beside: str


@dataclass(frozen=True)
class FigureResult:
    """A figure, the numbers in it, and those of them for the summary."""

    picture: Figure
    numbers: Numbers
    noted: list[Noted]


def panels(
    rows: int = 1,
    columns: int = 1,
    size: tuple[float, float] = (6.4, 4.4),
    shared: bool = False,
) -> tuple[Figure, np.ndarray]:
    """Make a figure with panels of a size, and return it with their axes."""
    width, height = size
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(
        rows, columns, squeeze=False, sharex=shared, sharey=shared
    )


def label_axes(axes: Any, across: str, up: str, title: str = "", **more: Any) -> None:
    """Label a panel, lay a grid under it, and set anything else of it."""
    axes.set(xlabel=across, ylabel=up, **more)
    axes.set_title(title, fontsize=10)
    axes.grid(True, which="major", color="0.9")
