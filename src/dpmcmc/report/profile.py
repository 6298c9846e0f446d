# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A picture of a privacy profile: which ε holds at which δ."""

from pathlib import Path
from typing import TYPE_CHECKING

from dpmcmc.errors import InputError
from dpmcmc.posterior import Statement
from dpmcmc.report.pictures import COLOURS, new_figure, save_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_profile"]


def plot_profile(statement: Statement, path: str | Path | None = None) -> "Figure":
    """Draw all pairs (ε, δ) of a statement that hold at the same time.

    Parameters
    ----------
    statement
        The statement of a private result.
    path
        The file to write, if any.

    Raises
    ------
    InputError
        If the statement has no profile, as that of a result that is not private.
    """
    if not statement.is_private or not statement.profile:
        raise InputError(
            "the statement has no privacy profile. Give that of a private result."
        )
    figure = new_figure(6, 3.6)
    axes = figure.subplots()
    epsilons, deltas = zip(*statement.profile, strict=True)
    axes.plot(epsilons, deltas, "o-", color=COLOURS[0], ms=4)
    axes.plot(statement.epsilon, statement.delta, "o", color=COLOURS[1], ms=8)
    axes.set_yscale("log")
    axes.set_xlim(left=0)
    axes.set_xlabel("ε")
    axes.set_ylabel("δ")
    axes.set_title(statement.label, loc="left", size=10)
    save_picture(figure, path)
    return figure
