# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The supplement's figures of corrections, with the linear programme beside them.

Each function draws one figure, writes it if given a path, and returns the numbers
beneath it as columns of a table. Errors are proven sup-errors of the cdf, where the
paper shows those of an empirical cdf.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from dpmcmc.correction.distribution import Correction
from dpmcmc.correction.mixture import gaussian_mixture
from dpmcmc.correction.regression import ridge
from dpmcmc.correction.stored import STORED_SEED, correction_for
from dpmcmc.errors import require_count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Table", "approximation_errors", "cdfs", "log_densities"]

Table = dict[str, list[float]]
"""Columns of numbers, by their heading."""

_LABELS = {
    "ridge": "ridge regression (Seita et al.)",
    "gaussian_mixture": "Gaussian mixture (the paper)",
    "linear_programme": "linear programme (ours)",
}
_COLOURS = {
    "ridge": "#D55E00",
    "gaussian_mixture": "#0072B2",
    "linear_programme": "#009E73",
}
"""Colours of Okabe and Ito, told apart by readers with any colour vision."""

_SHADES = ("#D55E00", "#E69F00", "#0072B2", "#56B4E9", "#009E73", "#CC79A7")
_RIDGE_STEP = 0.005
"""Spacing of ridge atoms: 4000 intervals on [−10, 10]."""


def approximation_errors(
    path: str | Path | None = None,
    variances: Sequence[float] = (0.5, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0),
    runs: int = 20,
) -> Table:
    """Draw the sup-error of each method against C.

    Parameters
    ----------
    path
        Where to write the picture. Optional.
    variances
        The C to fit.
    runs
        How many starts of the mixture's optimiser, for its mean and standard error.
        The first is looked up if stored; each other takes about ten seconds for
        each C. The other two methods use no random numbers.

    Returns
    -------
    dict
        Columns C, sup-error by method, and the standard error of the mixture's mean
        (not a number for one run).
    """
    count = require_count("runs", runs, "The paper uses 20.")
    table: Table = {"C": [float(variance) for variance in variances]}
    mixtures = np.array(
        [
            [each.sup_error() for each in _mixtures(variance, count)]
            for variance in variances
        ]
    )
    table["ridge"] = [ridge(variance).sup_error() for variance in variances]
    table["gaussian_mixture"] = mixtures.mean(axis=1).tolist()
    table["gaussian_mixture_sem"] = (
        (mixtures.std(axis=1, ddof=1) / np.sqrt(count)).tolist()
        if count > 1
        else [float("nan")] * len(variances)
    )
    table["linear_programme"] = [
        correction_for(variance).sup_error() for variance in variances
    ]
    figure, axes = _figure(1)
    for method, label in _LABELS.items():
        axes[0].plot(
            table["C"], table[method], "o-", color=_COLOURS[method], label=label
        )
    if count > 1:
        axes[0].errorbar(
            table["C"],
            table["gaussian_mixture"],
            table["gaussian_mixture_sem"],
            color=_COLOURS["gaussian_mixture"],
            fmt="none",
            capsize=4,
        )
    axes[0].set(
        xlabel="variance C of the normal part",
        ylabel="sup-error of the cdf",
        yscale="log",
        title=f"Approximation error ({count} run{'s' * (count > 1)} of the mixture)",
    )
    axes[0].legend(loc="lower right", fontsize=9)
    _write(figure, path)
    return table


def log_densities(
    path: str | Path | None = None,
    variances: Sequence[float] = (1.0, 1.5, 1.75, 2.0),
) -> Table:
    """Draw the log-density of V_cor for growing C, by ridge regression and mixture.

    Parameters
    ----------
    path
        Where to write the picture. Optional.
    variances
        The C to fit, six at most.

    Returns
    -------
    dict
        Column x and, for each method and C, the log-density there; −∞ where ridge
        regression has a gap. The linear programme has atoms and no density.

    Notes
    -----
    Some components of a mixture are much narrower than the spacing of x, so their
    centres are among the x.
    """
    mixtures = [correction_for(variance, "gaussian_mixture") for variance in variances]
    centres = np.concatenate([mixture.centres for mixture in mixtures])
    x = np.union1d(np.linspace(-10, 10, 4001), centres[np.abs(centres) <= 10])
    table: Table = {"x": x.tolist()}
    figure, axes = _figure(2)
    panels = dict(zip(("ridge", "gaussian_mixture"), axes, strict=True))
    for variance, mixture, colour in zip(variances, mixtures, _SHADES, strict=False):
        logs = {
            "ridge": _ridge_logs(ridge(variance), x),
            "gaussian_mixture": mixture.log_density(x),
        }
        for method, values in logs.items():
            table[f"{method}, C = {variance:g}"] = values.tolist()
            drawn = np.where(np.isfinite(values), values, np.nan)
            label = f"C = {variance:g}"
            panels[method].plot(x, drawn, color=colour, label=label, linewidth=1)
    for method, panel in panels.items():
        panel.set(title=_LABELS[method], xlabel="x", ylabel="log-density of V_cor")
        panel.set_ylim(-18, 12)
        panel.legend(fontsize=9, loc="upper right", framealpha=1)
    _write(figure, path)
    return table


def cdfs(path: str | Path | None = None, variance: float = 2.0) -> Table:
    """Draw the cdf of N(0, C) + V_cor by each method, and its distance to logistic.

    Parameters
    ----------
    path
        Where to write the picture. Optional.
    variance
        The C to fit.

    Returns
    -------
    dict
        Columns y, logistic, and the cdf by each method.
    """
    y = np.linspace(-10, 10, 2001)
    fits = {
        "ridge": ridge(variance),
        "gaussian_mixture": correction_for(variance, "gaussian_mixture"),
        "linear_programme": correction_for(variance),
    }
    table: Table = {"y": y.tolist(), "logistic": expit(y).tolist()}
    figure, (left, right) = _figure(2)
    left.plot(y, expit(y), color="black", linewidth=4, alpha=0.3, label="logistic")
    for method, fit in fits.items():
        values = fit.smoothed_cdf(y, variance)
        table[method] = values.tolist()
        style = {"color": _COLOURS[method], "label": _LABELS[method], "linewidth": 1.2}
        left.plot(y, values, **style)
        right.plot(y, np.abs(values - expit(y)), **style)
    left.set(xlabel="y", ylabel="cdf", title=f"N(0, {variance:g}) + V_cor")
    right.set(
        xlabel="y",
        ylabel="absolute difference",
        title="Difference from the logistic cdf",
    )
    right.set(yscale="log", ylim=(1e-7, 1))
    left.legend(fontsize=9, loc="upper left")
    _write(figure, path)
    return table


def _mixtures(variance: float, runs: int) -> list[Correction]:
    """Mixtures from this many starts, the stored one first."""
    others = range(STORED_SEED + 1, STORED_SEED + runs)
    first = correction_for(variance, "gaussian_mixture")
    return [first, *(gaussian_mixture(variance, seed=seed) for seed in others)]


def _ridge_logs(fit: Correction, x: np.ndarray) -> np.ndarray:
    """Log of the nearest ridge weight over the spacing, −∞ where that was negative."""
    atoms = np.rint(np.asarray(fit.centres) / _RIDGE_STEP).astype(int)
    wanted = np.rint(x / _RIDGE_STEP).astype(int)
    most = max(abs(atoms).max(), abs(wanted).max())
    weights = np.zeros(2 * most + 1)
    weights[atoms + most] = fit.weights
    with np.errstate(divide="ignore"):
        return np.log(weights[wanted + most] / _RIDGE_STEP)


def _figure(panels: int) -> "tuple[Figure, Any]":
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    figure = Figure(figsize=(4.8 * panels + 1.2, 4.2), layout="constrained")
    return figure, figure.subplots(1, panels, squeeze=False)[0]


def _write(figure: "Figure", path: str | Path | None) -> None:
    if path is not None:
        figure.savefig(path, dpi=150)
