# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Figure 1c: how many log-likelihood ratios a clip changes.

The boundary never reveals how many ratios it clipped, for that would be a release.
Here ratios are computed from the model, outside the boundary, on simulated records.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc import Model
from reproduction.drawing import (
    COLOURS,
    FigureResult,
    Noted,
    Numbers,
    label_axes,
    panels,
)
from reproduction.paper_chains import Experiment

__all__ = ["ClippedFraction", "clipped_fractions", "figure_1c"]

_BATCHES = (100, 1000, 10_000)
_PROPOSAL_VARIANCES = (1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
_RECORDS = 20_000
_SEED = 4


@dataclass(frozen=True)
class ClippedFraction:
    """Fraction of ratios beyond a clip, for one proposal variance and one clip."""

    variance: float
    clip: float
    fraction: float
    standard_error: float


def clipped_fractions(
    model: Model,
    x: np.ndarray,
    points: np.ndarray,
    variances: Iterable[float],
    clips: Sequence[float],
    generator: np.random.Generator,
) -> list[ClippedFraction]:
    """Count ratios beyond each clip, for moves of each variance from given points.

    Parameters
    ----------
    model
        The paper's mixture.
    x
        Simulated records.
    points
        Where moves start: rows of mean and gap, such as draws of the posterior. Moves
        of all variances have the same directions.
    variances
        Variances of the random walk in each coordinate.
    clips
        Bounds on a record's log-likelihood ratio.
    generator
        Makes the moves.
    """
    directions = generator.standard_normal(points.shape)
    records = {"x": jnp.asarray(x)}

    def log_likelihoods(point: jax.Array) -> jax.Array:
        theta = {"mean": point[0], "gap": point[1]}
        return jax.vmap(model.log_likelihood, in_axes=(None, 0))(theta, records)

    def fractions(pair: jax.Array) -> jax.Array:
        ratios = log_likelihoods(pair[1]) - log_likelihoods(pair[0])
        return (jnp.abs(ratios) > jnp.asarray(clips)[:, None]).mean(axis=1)

    over_pairs = jax.jit(lambda pairs: jax.lax.map(fractions, pairs))
    found = []
    for variance in variances:
        moved = points + directions * variance**0.5
        pairs = jnp.asarray(np.stack([points, moved], axis=1), jnp.float32)
        each = np.asarray(over_pairs(pairs), np.float64)
        errors = each.std(axis=0, ddof=1) / len(points) ** 0.5
        found += [
            ClippedFraction(variance, clip, float(fraction), float(error))
            for clip, fraction, error in zip(
                clips, each.mean(axis=0), errors, strict=True
            )
        ]
    return found


def figure_1c(experiment: Experiment) -> FigureResult:
    """Clipped ratios against the proposal variance."""
    sizes, generator = experiment.sizes, np.random.default_rng(_SEED)
    clips = {batch**0.5 / sizes.tempered: batch for batch in _BATCHES}
    found = clipped_fractions(
        experiment.model,
        experiment.records["x"][:_RECORDS],
        experiment.grid.draw(sizes.pairs, generator),
        experiment.bar(_PROPOSAL_VARIANCES, "Counting clipped ratios", "variances"),
        list(clips),
        generator,
    )
    figure, ((axes,),) = panels()
    for (clip, batch), colour in zip(clips.items(), COLOURS, strict=False):
        line = [each for each in found if each.clip == clip and each.fraction > 0]
        axes.errorbar(
            [each.variance for each in line],
            [each.fraction for each in line],
            [each.standard_error for each in line],
            color=colour,
            marker="o",
            markersize=4,
            linewidth=2.2 if batch == sizes.batch else 1.2,
            capsize=3,
            label=f"b = {batch:,}: clip √b/N₀ = {clip:.3g}",
        )
    axes.axvline(sizes.proposal_variance, color="0.45", linewidth=1, linestyle=":")
    label_axes(
        axes,
        "proposal variance (dotted: the paper's)",
        "fraction of log-likelihood ratios beyond the clip",
        f"Clipped ratios, N₀ = {sizes.tempered:g} (simulated records)",
        xscale="log",
        yscale="log",
        ylim=(1e-6, 1),
    )
    axes.legend(fontsize=9, loc="lower right")
    numbers: Numbers = {
        "proposal variance": [each.variance for each in found],
        "batch": [float(clips[each.clip]) for each in found],
        "clip": [each.clip for each in found],
        "fraction clipped": [each.fraction for each in found],
        "standard error": [each.standard_error for each in found],
    }
    noted = [
        Noted(
            f"clipped ratios, b = {clips[each.clip]:,}, proposal variance "
            f"{each.variance:g}",
            f"{each.fraction:.2e} ± {each.standard_error:.0e}",
            f"clip {each.clip:.3g}",
        )
        for each in found
        if each.variance == sizes.proposal_variance
    ]
    return FigureResult(figure, numbers, noted)
