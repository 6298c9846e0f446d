# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Figure 3: how close the first steps of a chain come to the posterior's moments."""

from collections.abc import Sequence

import numpy as np
from tqdm.auto import tqdm

from dpmcmc.experiments.correction_figures import Table
from dpmcmc.experiments.paper_chains import Settings, Study, whole_chain

__all__ = ["STATISTICS", "accuracy", "checkpoints", "running_moments"]

STATISTICS = ("mean", "variance")
_FIRST, _MOST = 1000, 20


def checkpoints(settings: Settings) -> list[int]:
    """Numbers of steps to look at: evenly from 1000 to the last."""
    first = min(_FIRST, settings.steps)
    count = min(_MOST, max(2, 2 * settings.steps // _FIRST - 1))
    return np.unique(np.linspace(first, settings.steps, count).astype(int)).tolist()


def running_moments(chains: np.ndarray, counts: Sequence[int]) -> dict[str, np.ndarray]:
    """Mean and variance of the first steps of each chain, of shape (chains, counts)."""
    index = np.asarray(counts) - 1
    means = np.cumsum(chains, axis=1)[:, index] / counts
    squares = np.cumsum(chains**2, axis=1)[:, index] / counts
    return {"mean": means, "variance": squares - means**2}


def accuracy(study: Study) -> Table:
    """Errors of means and variances after each number of steps, over all runs.

    Returns
    -------
    dict
        Columns steps, both ε of one private chain of as many steps, and for each
        statistic and parameter the mean absolute error with its standard error,
        against the first steps of the chain without privacy and against the grid.
    """
    counts = checkpoints(study.settings)
    bar = tqdm(counts, "Accounting", unit=" costs", disable=not study.progress)
    costs = [study.settings.epsilons(count) for count in bar]
    table: Table = {
        "steps": [float(count) for count in counts],
        "epsilon_paper": [paper for paper, _ in costs],
        "epsilon_certified": [certified for _, certified in costs],
    }
    first = min(study.settings.baseline_steps, study.settings.steps)
    for name, (centre, sd) in study.grid.moments().items():
        found = running_moments(whole_chain(study.runs, name), counts)
        chain = running_moments(whole_chain(study.exact, name), [first])
        truths = {"mean": centre, "variance": sd**2}
        for statistic in STATISTICS:
            for against, truth in (
                ("chain", chain[statistic].item()),
                ("grid", truths[statistic]),
            ):
                errors = np.abs(found[statistic] - truth)
                heading = f"{statistic} of {name}, against {against}"
                spread = errors.std(axis=0, ddof=1) / len(errors) ** 0.5
                table[heading] = errors.mean(axis=0).tolist()
                table[f"{heading}, standard error"] = spread.tolist()
    return table
