# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Figures 2 and 3 show the chains that were drawn, and their errors."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from reproduction.chain_figures import checkpoints, running_moments
from reproduction.drawing import FigureResult
from reproduction.paper_chains import FULL, QUICK, Experiment, whole_chain


@pytest.mark.slow
def test_the_samples_are_those_of_the_chains(
    draw: Callable[[str], FigureResult], experiment: Experiment
) -> None:
    numbers = draw("2").numbers
    again = Experiment(experiment.sizes, progress=False).seita
    assert not again.statement.is_private
    np.testing.assert_allclose(numbers["Seita mean"], again.draws["mean"][0])
    assert {len(column) for column in numbers.values()} == {900}


def test_only_the_private_chain_is_private(experiment: Experiment) -> None:
    assert experiment.private.statement.is_private
    for chain in (experiment.exact, experiment.seita, experiment.runs):
        assert not chain.statement.is_private


def test_accuracy_is_against_the_chain_and_the_grid(
    draw: Callable[[str], FigureResult], experiment: Experiment
) -> None:
    numbers, runs = draw("3").numbers, whole_chain(experiment.runs, "gap")
    assert runs.shape == (3, 1200)
    truth = {
        "chain": whole_chain(experiment.exact, "gap").mean(),
        "grid": experiment.grid.moments()["gap"][0],
    }
    for against, value in truth.items():
        errors = np.abs(runs.mean(axis=1) - value)
        heading = f"mean of gap, against {against}"
        assert numbers[heading][-1] == pytest.approx(errors.mean())
        assert numbers[f"{heading}, standard error"][-1] == pytest.approx(
            errors.std(ddof=1) / 3**0.5
        )
    assert numbers["steps"] == [1000.0, 1200.0]
    assert np.all(np.diff(numbers["epsilon_paper"]) > 0)
    assert np.all(np.diff(numbers["epsilon_certified"]) > 0)


def test_running_moments_are_those_of_the_first_steps() -> None:
    chains = np.random.default_rng(5).normal(1.0, 2.0, (3, 50))
    found = running_moments(chains, [10, 50])
    np.testing.assert_allclose(found["mean"][:, 0], chains[:, :10].mean(axis=1))
    np.testing.assert_allclose(found["variance"][:, 1], chains.var(axis=1))


def test_the_checkpoints_go_from_a_thousand_to_the_end() -> None:
    for sizes in (FULL, QUICK):
        found = checkpoints(sizes)
        assert (found[0], found[-1]) == (1000, sizes.steps)
        assert len(found) > 5
    assert checkpoints(replace(FULL, steps=50)) == [50]
