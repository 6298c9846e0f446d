# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Figures 1a and 1b of the paper, with the certified costs beside the paper's.

Run ``python -m dpmcmc.experiments.budget_figures FOLDER`` to draw both into a folder.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from dp_accounting.dp_event import SelfComposedDpEvent

from dpmcmc.accounting import MinibatchBit, certify_epsilon
from dpmcmc.accounting.paper import paper_epsilon
from dpmcmc.report.budgets import Line, plot_lines

__all__ = ["draw", "figure_1a", "figure_1b"]

DELTA = 1e-6
"""The paper does not state the δ of its figure."""

SIZES = (10**5, 10**6, 10**7)
"""Numbers of records of figure 1a."""

BATCHES = (100, 1000, 10000)
"""Batches of figure 1b."""


def figure_1a(
    shares: Sequence[float] = tuple(np.geomspace(5e-4, 2e-2, 7)),
    steps: int = 5000,
) -> list[Line]:
    """Return ε against the share q of records in a batch, for several sizes."""
    lines = []
    for group, records in enumerate(SIZES):
        bits = [(q, MinibatchBit(round(q * records), records)) for q in shares]
        curves = [(q, *_costs(bit, steps)) for q, bit in bits]
        lines += _pair(f"N = {records:.0e}".replace("e+0", "e"), group, curves)
    return lines


def figure_1b(
    counts: Sequence[int] = tuple(np.geomspace(100, 20000, 9).astype(int).tolist()),
    share: float = 1e-3,
) -> list[Line]:
    """Return ε against the number of steps, for several batches."""
    lines = []
    for group, batch in enumerate(BATCHES):
        bit = MinibatchBit(batch, round(batch / share))
        curves = [(count, *_costs(bit, count)) for count in counts]
        lines += _pair(f"b = {batch}", group, curves)
    return lines


def draw(folder: Path) -> tuple[Path, Path]:
    """Draw both figures into a folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    first, second = folder / "figure_1a.png", folder / "figure_1b.png"
    plot_lines(
        figure_1a(),
        "share q of the records in a batch",
        f"ε of 5000 steps, δ = {DELTA:g}: paper (dashed) and certified (solid)",
        path=first,
    )
    plot_lines(
        figure_1b(),
        "steps",
        f"ε at q = 0.001, δ = {DELTA:g}: paper (dashed) and certified (solid)",
        path=second,
    )
    return first, second


def _costs(bit: MinibatchBit, steps: int) -> tuple[float, float]:
    certified = certify_epsilon(SelfComposedDpEvent(bit, steps), DELTA).epsilon
    return certified, paper_epsilon(bit, steps, DELTA)[0]


def _pair(
    label: str, group: int, curves: Sequence[tuple[float, float, float]]
) -> list[Line]:
    certified = tuple((x, e) for x, e, _ in curves)
    paper = tuple((x, e) for x, _, e in curves)
    return [
        Line(f"{label}, paper", group, False, paper),
        Line(f"{label}, certified", group, True, certified),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    for drawn in draw(parser.parse_args().folder):
        print(drawn)
