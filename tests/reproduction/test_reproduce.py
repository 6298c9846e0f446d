# SPDX-FileCopyrightText: 2026 The dpmcmc authors
# SPDX-License-Identifier: Apache-2.0
"""The paper's figures are made with their numbers and a summary, at a small size."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

from dpmcmc import InputError
from reproduction.paper_chains import FULL, QUICK, Experiment
from reproduction.reproduce import FIGURES, chosen_figures, main, reproduce


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_a_picture_and_numbers(made: Any, name: str) -> None:
    pixels = imread(made.folder / f"figure_{name}.png")[..., :3]
    assert min(pixels.shape[:2]) > 500
    assert pixels.std() > 0.05
    assert len(made.columns(name)) > 4
    assert f"\n| {name} " in made.summary


def test_the_summary_is_written_and_says_what_it_is(made: Any) -> None:
    assert (made.folder / "summary.md").read_text(encoding="utf-8") == made.summary
    words = " ".join(made.summary.split())
    for fact in (
        "1,200 steps (the paper: 20,000)",
        "a budget of (0.21, 1e-06)",
        "mean of 2, 300 iterations",
        "NOT PRIVATE",
        "## Privacy statement",
    ):
        assert fact in words


def test_red_is_seen_where_a_chain_is_not_private(made: Any) -> None:
    for name in ("2", "3", "agreement"):
        pixels = imread(made.folder / f"figure_{name}.png")[..., :3]
        alarm = np.array([0xB0, 0x00, 0x20]) / 255
        assert (np.abs(pixels - alarm).max(axis=-1) < 0.02).sum() > 100, name


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
