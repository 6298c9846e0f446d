# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The supplement's figures 4, 5 and 6: corrections V_cor, by three methods of fitting.

Errors are proven sup-errors of the cdf, where the paper shows those of an empirical
cdf.
"""

import time
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.special import expit, logsumexp
from scipy.stats import norm

from dpmcmc.correction import Correction, linear_programme
from reproduction.drawing import (
    COLOURS,
    FigureResult,
    Noted,
    Numbers,
    label_axes,
    panels,
)
from reproduction.mixture_fit import gaussian_mixture
from reproduction.paper_chains import Experiment
from reproduction.ridge_fit import STEP, ridge

__all__ = ["figure_4", "figure_5", "figure_6", "log_density"]

_LABELS = {
    "mixture": "Gaussian mixture (the paper)",
    "ridge": "ridge regression (Seita et al.)",
    "programme": "linear programme (dpmcmc)",
}
_STYLES = dict(zip(_LABELS, COLOURS, strict=False))
_DENSITIES_OF = (1.0, 1.5, 1.75, 2.0)
_CDF_OF = 2.0


def figure_4(experiment: Experiment) -> FigureResult:
    """Sup-error of each method against C, and how long a fit takes."""
    sizes = experiment.sizes
    found: dict[str, list[list[float]]] = {method: [] for method in _LABELS}
    seconds: dict[str, list[float]] = {method: [] for method in _LABELS}
    for variance in experiment.bar(sizes.variances, "Fitting", "C"):
        for method in _LABELS:
            seeds = range(1, sizes.fits + 1) if method == "mixture" else [1]
            begun = time.perf_counter()
            fits = [_fit(method, variance, sizes.iterations, seed) for seed in seeds]
            seconds[method].append((time.perf_counter() - begun) / len(fits))
            found[method].append([fit.sup_error() for fit in fits])
    mixtures = np.array(found["mixture"])
    spread = mixtures.std(axis=1, ddof=1) / sizes.fits**0.5
    errors = {method: np.mean(each, axis=1).tolist() for method, each in found.items()}
    numbers: Numbers = {
        "C": list(sizes.variances),
        **errors,
        "mixture, standard error": spread.tolist(),
        **{f"{method}, seconds": each for method, each in seconds.items()},
    }
    figure, ((axes,),) = panels()
    for method, label in _LABELS.items():
        axes.errorbar(
            sizes.variances,
            errors[method],
            spread if method == "mixture" else None,
            color=_STYLES[method],
            marker="o",
            markersize=4,
            capsize=4,
            label=label,
        )
    label_axes(
        axes,
        "variance C of the normal part",
        "sup-error of the cdf",
        f"Error of corrections (mixture: mean of {sizes.fits}, standard error)",
        yscale="log",
    )
    axes.legend(loc="lower right", fontsize=9)
    noted = [
        Noted(
            f"sup-error at C = {variance:g} (mixture: mean of {sizes.fits}, "
            f"{sizes.iterations:,} iterations)",
            f"linear programme {errors['programme'][at]:.2e}",
            f"mixture {errors['mixture'][at]:.2e} ± {spread[at]:.0e}, "
            f"ridge {errors['ridge'][at]:.2e}",
        )
        for at, variance in enumerate(sizes.variances)
    ]
    times = {method: f"{np.median(each):.2g}" for method, each in seconds.items()}
    noted.append(
        Noted(
            "seconds for a fit, median",
            f"linear programme {times['programme']}",
            f"mixture {times['mixture']}, ridge {times['ridge']}",
        )
    )
    return FigureResult(figure, numbers, noted)


def figure_5(experiment: Experiment) -> FigureResult:
    """Log-densities of V_cor for growing C, by ridge regression and mixture.

    The linear programme's V_cor has atoms and no density. Some components of a mixture
    are much narrower than the spacing of x, so their centres are among the x.
    """
    fits = {
        (method, variance): _fit(method, variance, experiment.sizes.iterations)
        for method in ("ridge", "mixture")
        for variance in _DENSITIES_OF
    }
    centres = np.concatenate(
        [fit.centres for (method, _), fit in fits.items() if method == "mixture"]
    )
    x = np.union1d(np.linspace(-10, 10, 4001), centres[np.abs(centres) <= 10])
    numbers: Numbers = {"x": x.tolist()}
    figure, (row,) = panels(1, 2, (5.4, 4.2), shared=True)
    densities: dict[str, Callable[[Correction, np.ndarray], np.ndarray]] = {
        "ridge": _ridge_log_density,
        "mixture": log_density,
    }
    for axes, (method, logs_of) in zip(row, densities.items(), strict=True):
        for variance, colour in zip(_DENSITIES_OF, COLOURS, strict=True):
            logs = logs_of(fits[method, variance], x)
            numbers[f"{method}, C = {variance:g}"] = logs.tolist()
            drawn = np.where(np.isfinite(logs), logs, np.nan)
            axes.plot(x, drawn, color=colour, label=f"C = {variance:g}", linewidth=1)
        up = "log-density of V_cor"
        label_axes(axes, "x", up, _LABELS[method], ylim=(-18, 12))
        axes.label_outer()
        axes.legend(fontsize=9, loc="upper right", framealpha=1)
    noted = [
        Noted(
            f"fraction of [−10, 10] without density, ridge, C = {variance:g}",
            f"{np.isinf(numbers[f'ridge, C = {variance:g}']).mean():.0%}",
            f"mixture {np.isinf(numbers[f'mixture, C = {variance:g}']).mean():.0%}",
        )
        for variance in _DENSITIES_OF
    ]
    return FigureResult(figure, numbers, noted)


def figure_6(experiment: Experiment) -> FigureResult:
    """The cdf of N(0, C) + V_cor by each method, and its distance to logistic."""
    y = np.linspace(-10, 10, 2001)
    numbers: Numbers = {"y": y.tolist(), "logistic": expit(y).tolist()}
    figure, ((left, right),) = panels(1, 2, (5.4, 4.2))
    left.plot(y, expit(y), color="black", linewidth=4, alpha=0.3, label="logistic")
    largest = {}
    for method, label in _LABELS.items():
        fit = _fit(method, _CDF_OF, experiment.sizes.iterations)
        cdf = fit.smoothed_cdf(y, _CDF_OF)
        gaps = np.abs(cdf - expit(y))
        numbers[method], largest[method] = cdf.tolist(), f"{gaps.max():.2e}"
        left.plot(y, cdf, color=_STYLES[method], label=label, linewidth=1.2)
        right.plot(y, gaps, color=_STYLES[method], linewidth=1.2)
    label_axes(left, "y", "cdf", f"(a) N(0, {_CDF_OF:g}) + V_cor")
    label_axes(
        right,
        "y",
        "absolute difference",
        "(b) difference from the logistic cdf",
        yscale="log",
        ylim=(1e-7, 1),
    )
    left.legend(fontsize=9, loc="upper left")
    noted = Noted(
        f"largest difference from the logistic cdf on [−10, 10], C = {_CDF_OF:g}",
        f"linear programme {largest['programme']}",
        f"mixture {largest['mixture']}, ridge {largest['ridge']}",
    )
    return FigureResult(figure, numbers, [noted])


def log_density(fit: Correction, x: np.ndarray) -> np.ndarray:
    """Log-density of a V_cor without atoms."""
    each = norm.logpdf(x[:, None], fit.centres, fit.widths)
    return np.asarray(logsumexp(each, axis=1, b=np.array(fit.weights)))


def _ridge_log_density(fit: Correction, x: np.ndarray) -> np.ndarray:
    """Log of the nearest ridge weight over the spacing, −∞ where that was negative."""
    weights = dict(zip(np.rint(np.divide(fit.centres, STEP)), fit.weights, strict=True))
    with np.errstate(divide="ignore"):
        return np.log([weights.get(place, 0.0) / STEP for place in np.rint(x / STEP)])


@cache
def _fit(method: str, variance: float, iterations: int, seed: int = 1) -> Correction:
    """Fit a correction; what one figure has fitted, another need not."""
    if method == "mixture":
        return gaussian_mixture(variance, seed=seed, iterations=iterations)
    return ridge(variance) if method == "ridge" else linear_programme(variance)
