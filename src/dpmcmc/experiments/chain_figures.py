# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The figures of the paper's chains: 1c, 2 and 3, with the numbers beneath them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

from dpmcmc.experiments.accuracy import STATISTICS, accuracy
from dpmcmc.experiments.clipping import clipped_share
from dpmcmc.experiments.correction_figures import Table
from dpmcmc.experiments.paper_chains import Study
from dpmcmc.experiments.paper_pictures import (
    draw_accuracy,
    draw_clipping,
    draw_samples,
)
from dpmcmc.posterior.posterior import Posterior
from dpmcmc.posterior.statement import round_up

__all__ = ["Drawn", "Row", "accuracy_figure", "clipping_figure", "samples_figure"]

_SYMBOLS = {"mean": "θ₁", "gap": "θ₂"}
_BATCHES = (100, 1000, 10_000)
_PROPOSAL_VARIANCES = (1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
_CLIPPING_RECORDS = 20_000
_CLIPPING_SEED = 4
_MOST_SAMPLES = 5000


@dataclass(frozen=True)
class Row:
    """A number to note: what it is, its value here, and what to hold it against."""

    quantity: str
    value: str
    beside: str


@dataclass(frozen=True)
class Drawn:
    """The numbers beneath a picture, and those of them to note."""

    numbers: Table
    rows: list[Row]


def clipping_figure(study: Study, path: Path) -> Drawn:
    """Figure 1c: clipped ratios against the proposal variance."""
    settings = study.settings
    generator = np.random.default_rng(_CLIPPING_SEED)
    clips = {batch**0.5 / settings.tempered: batch for batch in _BATCHES}
    found = clipped_share(
        study.model,
        study.records[:_CLIPPING_RECORDS],
        study.grid.draw(settings.pairs, generator),
        tqdm(
            _PROPOSAL_VARIANCES,
            "Counting clipped ratios",
            unit=" variances",
            disable=not study.progress,
        ),
        list(clips),
        generator,
    )
    draw_clipping(found, clips, settings, path)
    numbers = {
        "proposal variance": [each.variance for each in found],
        "batch": [float(clips[each.clip]) for each in found],
        "clip": [each.clip for each in found],
        "share clipped": [each.share for each in found],
        "standard error": [each.standard_error for each in found],
    }
    rows = [
        Row(
            f"clipped ratios, b = {clips[each.clip]:,}, proposal variance "
            f"{each.variance:g}",
            f"{each.share:.2e} ± {each.standard_error:.0e}",
            f"clip {each.clip:.3g}",
        )
        for each in found
        if each.variance == settings.proposal_variance
    ]
    return Drawn(numbers, rows)


def samples_figure(study: Study, path: Path) -> Drawn:
    """Figure 2: samples without and with privacy, and of Seita et al."""
    chains = {
        "exact": (study.exact, "(a) all records, without privacy"),
        "Seita": (study.seita, "Seita et al.: batches, C = 1"),
        "private": (study.private, "(b) the paper's test, with privacy"),
    }
    shown = {name: _thinned(chain) for name, (chain, _) in chains.items()}
    panels = {
        f"{title}: {len(shown[name]['mean']):,} samples": (
            shown[name],
            chain.statement,
        )
        for name, (chain, title) in chains.items()
    }
    draw_samples(panels, study.grid, path)
    numbers = {
        f"{name} {parameter}": values
        for name, samples in shown.items()
        for parameter, values in samples.items()
    }
    paper, _ = study.settings.epsilons(study.settings.steps)
    statement = study.private.statement
    cost = Row(
        f"ε of the private chain, {statement.steps:,} steps, δ = {statement.delta:g}",
        f"certified {round_up(statement.epsilon)}",
        f"paper's accountant {paper:.5g}",
    )
    titles = {
        "exact": "all records, NOT PRIVATE",
        "Seita": "batches, C = 1 (Seita et al.), NOT PRIVATE",
        "private": "private chain",
    }
    compared = [
        row
        for name, (chain, _) in chains.items()
        for row in _beside_grid(chain, titles[name], study)
    ]
    return Drawn(numbers, [cost, *compared])


def accuracy_figure(study: Study, path: Path) -> Drawn:
    """Figure 3: accuracy of means and variances against ε."""
    table = accuracy(study)
    draw_accuracy(table, study.settings, path)
    rows = []
    for statistic in STATISTICS:
        for name, symbol in _SYMBOLS.items():
            heading = f"{statistic} of {name}, against chain"
            grid = f"{statistic} of {name}, against grid"
            rows += [
                Row(
                    f"error of the posterior {statistic} of {symbol}, "
                    f"{table['steps'][at]:,.0f} steps (ε: paper "
                    f"{table['epsilon_paper'][at]:.2g}, certified "
                    f"{round_up(table['epsilon_certified'][at], 2)})",
                    f"{table[heading][at]:.3f} ± "
                    f"{table[f'{heading}, standard error'][at]:.3f}",
                    f"against the grid {table[grid][at]:.3f}",
                )
                for at in (0, -1)
            ]
    pooled = f"{study.settings.runs} seeded runs together, NOT PRIVATE"
    return Drawn(table, rows + _beside_grid(study.runs, pooled, study))


def _thinned(posterior: Posterior) -> Table:
    """At most 5000 samples of a chain after warm-up, evenly spaced."""
    chains, draws = posterior.accepted.shape
    kept = np.linspace(0, chains * draws - 1, min(_MOST_SAMPLES, chains * draws))
    index = kept.astype(int)
    return {name: posterior.draws[name].ravel()[index].tolist() for name in _SYMBOLS}


def _beside_grid(posterior: Posterior, title: str, study: Study) -> list[Row]:
    """Mean and sd of each parameter after warm-up, beside those of the grid."""
    summary, moments = posterior.summary(), study.grid.moments()
    rows = []
    for name, symbol in _SYMBOLS.items():
        mean, sd, ess = summary.loc[name, ["mean", "sd", "ess_bulk"]]
        true_mean, true_sd = moments[name]
        rows.append(
            Row(
                f"{symbol}, {title}",
                f"mean {mean:.3f} ± {sd / ess**0.5:.3f}, sd {sd:.3f} (ess {ess:.0f})",
                f"grid: mean {true_mean:.3f}, sd {true_sd:.3f}",
            )
        )
    return rows
