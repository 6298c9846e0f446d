# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""Figures are written with their numbers and a summary, and named as in the paper."""

import csv
from pathlib import Path

import numpy as np
import pytest

from dpmcmc import InputError
from reproduction.paper_chains import FULL, QUICK, Experiment
from reproduction.reproduce import FIGURES, chosen_figures, main, reproduce


def columns(path: Path) -> dict[str, list[float]]:
    """The numbers of a figure, as they were written."""
    with path.open(encoding="utf-8") as file:
        heading, *rows = csv.reader(file)
    return dict(zip(heading, np.array(rows, float).T.tolist(), strict=True))


@pytest.mark.slow
def test_pictures_numbers_and_a_summary_are_written(
    tmp_path: Path, experiment: Experiment
) -> None:
    summary = reproduce(["1b", "2"], tmp_path / "new", experiment)
    assert {path.name for path in (tmp_path / "new").iterdir()} == {
        *("figure_1b.png", "figure_2.png", "figure_1b.csv", "figure_2.csv"),
        "summary.md",
    }
    assert (tmp_path / "new" / "summary.md").read_text(encoding="utf-8") == summary
    drawn = FIGURES["2"][1](experiment)
    assert columns(tmp_path / "new" / "figure_2.csv") == drawn.numbers
    assert "1,200 steps (the paper: 20,000)" in " ".join(summary.split())
    for fact in (
        *(note.quantity for note in drawn.noted),
        "NOT PRIVATE",
        "| 1b ",
        experiment.private.statement.label,
    ):
        assert fact in summary


def test_sizes_are_the_papers() -> None:
    sizes = (FULL.records, FULL.batch, FULL.tempered, FULL.proposal_variance)
    assert sizes == (10**6, 1000, 100, 0.01)
    assert (FULL.steps, FULL.runs, FULL.baseline_steps) == (20_000, 20, 5000)
    assert (FULL.fits, FULL.iterations) == (20, 20_000)
    assert QUICK.records == FULL.records
    assert FULL.walk.scale == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["2a"], ["2"]),
        (["3", "1"], ["1a", "1b", "1c", "3"]),
        (["1b", "1b"], ["1b"]),
        (["6b", "5"], ["5", "6"]),
        (["agreement"], ["agreement"]),
        (["all"], list(FIGURES)),
    ],
)
def test_figures_are_named_as_in_the_paper(words: list[str], names: list[str]) -> None:
    assert chosen_figures(words) == names


@pytest.mark.parametrize("word", ["7", "1d", "", "a", "1aa", "ALL"])
def test_an_unknown_figure_is_refused(
    word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["1a", word, "--out", str(out)]) == 2
    assert repr(word) in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("folder", ["file", "file/out"])
def test_a_folder_that_cannot_be_made_is_refused(
    folder: str, tmp_path: Path, experiment: Experiment
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=str(tmp_path / folder)):
        reproduce(["6"], tmp_path / folder, experiment)


def test_the_command_draws_and_prints_the_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["6", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") in printed.out
    assert "Figures" in printed.err  # the progress bar
    assert "Chains:" not in printed.out  # there are none in this figure
