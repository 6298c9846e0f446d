# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""A picture of an audit: certified ε, and the bound from below beside each."""

from pathlib import Path
from typing import TYPE_CHECKING

from dpmcmc.audit.catalogue import Audit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_audit"]

_FINE, _ALARM, _CERTIFIED = "#0072B2", "#B00020", "#8A939C"


def plot_audit(found: Audit, path: Path | str | None = None) -> "Figure":
    """Draw an audit; write it to a file if a path is given."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    attacks = [one for one in found.findings if one.certified is not None]
    figure = Figure(figsize=(9, 1.4 + 0.3 * len(attacks)), layout="constrained")
    axes = figure.add_subplot()
    for place, one in enumerate(attacks):
        part = one.tightness or 0.0
        colour = _FINE if one.passed else _ALARM
        axes.barh(place, part, color=colour, height=0.6)
        axes.text(
            1.02,
            place,
            f"ε between {one.bound:.3g} and {one.certified:.3g} at δ = {one.delta:g}",
            va="center",
            fontsize=8,
            transform=axes.get_yaxis_transform(),
        )
    axes.axvline(1.0, color=_CERTIFIED, linestyle="--")
    axes.set_yticks(range(len(attacks)), [one.name for one in attacks], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, max(1.05, *(one.tightness or 0.0 for one in attacks)))
    axes.set_xlabel("bound on ε from below, as a fraction of the certified ε")
    verdict = "no certificate was broken" if found.passed else "ALARM"
    axes.set_title(f"Audit: {verdict}", loc="left")
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
